/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Attaches a program to a NIC that drops all that comes in:   xdp NIC
 * or a tcx program that drops all that comes in, or leaves:   xdp NIC ingress|egress
 * or makes a file of one for `ip route ... encap bpf out pinned FILE`, that drops what the route sends:   xdp pin FILE
 */
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TCX_INGRESS 46 /* BPF_TCX_INGRESS, which older headers do not have */
#define TCX_EGRESS 47

static int load(uint32_t type, int32_t verdict)
{
    const struct bpf_insn steps[] = {
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = verdict},
        {.code = BPF_JMP | BPF_EXIT},
    };
    static const char license[] = "GPL";
    union bpf_attr attributes;

    memset(&attributes, 0, sizeof attributes);
    attributes.prog_type = type;
    attributes.insns = (uint64_t)(uintptr_t)steps;
    attributes.insn_cnt = sizeof steps / sizeof steps[0];
    attributes.license = (uint64_t)(uintptr_t)license;
    return (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attributes, sizeof attributes);
}

static int attach_tcx(const char *nic, uint32_t where)
{
    union bpf_attr attributes;
    const int program = load(BPF_PROG_TYPE_SCHED_CLS, TC_ACT_SHOT);

    memset(&attributes, 0, sizeof attributes);
    attributes.target_fd = if_nametoindex(nic);
    attributes.attach_bpf_fd = (uint32_t)program;
    attributes.attach_type = where;
    if (program >= 0 && attributes.target_fd && syscall(SYS_bpf, BPF_PROG_ATTACH, &attributes, sizeof attributes) == 0)
        return 0;
    perror("tcx (of Linux 6.6 and later)");
    return 1;
}

static int pin(const char *file)
{
    union bpf_attr attributes;
    const int program = load(BPF_PROG_TYPE_LWT_OUT, BPF_DROP);

    memset(&attributes, 0, sizeof attributes);
    attributes.pathname = (uint64_t)(uintptr_t)file;
    attributes.bpf_fd = (uint32_t)program;
    if (program >= 0 && syscall(SYS_bpf, BPF_OBJ_PIN, &attributes, sizeof attributes) == 0)
        return 0;
    perror(file);
    return 1;
}

int main(int argc, char **argv)
{
    struct {
        struct nlmsghdr header;
        struct ifinfomsg info;
        struct nlattr xdp, fd_header;
        int32_t fd;
        struct nlattr flags_header;
        uint32_t flags;
    } request = {
        .header = {.nlmsg_len = sizeof request, .nlmsg_type = RTM_SETLINK, .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK},
        .info = {.ifi_index = argc == 2 ? (int)if_nametoindex(argv[1]) : 0},
        .xdp = {.nla_len = 20, .nla_type = NLA_F_NESTED | IFLA_XDP},
        .fd_header = {.nla_len = 8, .nla_type = IFLA_XDP_FD},
        .flags_header = {.nla_len = 8, .nla_type = IFLA_XDP_FLAGS},
        .flags = XDP_FLAGS_SKB_MODE};
    struct {
        struct nlmsghdr header;
        struct nlmsgerr error;
    } answer = {.error = {.error = -1}};
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

    if (argc == 3 && strcmp(argv[1], "pin") == 0)
        return pin(argv[2]);
    if (argc == 3)
        return attach_tcx(argv[1], strcmp(argv[2], "egress") == 0 ? TCX_EGRESS : TCX_INGRESS);
    request.fd = load(BPF_PROG_TYPE_XDP, XDP_DROP);
    if (request.info.ifi_index && request.fd >= 0 && send(fd, &request, sizeof request, 0) == sizeof request)
        (void)recv(fd, &answer, sizeof answer, 0);
    if (answer.error.error)
        fputs("usage: xdp NIC [ingress|egress] (as root)\n", stderr);
    return answer.error.error != 0;
}
