/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/netlink.h"

#include "kernel/dump.h"

#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/filter.h>
#include <linux/netconf.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <unistd.h>

#define RECEIVE_SIZE (32 * 1024)
#define BUFFER_SIZE (1024 * 1024) /* bytes of events that may wait while we work; after more, all is read again */
#define FOCUS_MAX 200             /* a jump of the filter reaches 255 instructions */

/* ---- sockets ---- */

static int open_socket(int protocol, guint32 groups)
{
    const int size = BUFFER_SIZE;
    struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = groups};
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);

    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    close(fd);
    return -1;
}

#define GROUP(number) (1u << (number) >> 1)

gboolean ibh_events_open(IbhEvents *events, GError **error)
{
    const guint32 groups = GROUP(RTNLGRP_LINK) | GROUP(RTNLGRP_IPV4_IFADDR) | GROUP(RTNLGRP_IPV6_IFADDR) |
                           GROUP(RTNLGRP_IPV4_ROUTE) | GROUP(RTNLGRP_IPV6_ROUTE) | GROUP(RTNLGRP_IPV4_RULE) |
                           GROUP(RTNLGRP_IPV6_RULE) | GROUP(RTNLGRP_IPV4_NETCONF) | GROUP(RTNLGRP_IPV6_NETCONF);

    *events = (IbhEvents){.netlink = open_socket(NETLINK_ROUTE, groups), .uevents = -1};
    if (events->netlink < 0) {
        g_set_error(error, G_FILE_ERROR, (gint)g_file_error_from_errno(errno),
                    "--watch cannot subscribe to the kernel's events: %s", ibh_strerror(errno));
        return FALSE;
    }
    events->uevents = open_socket(NETLINK_KOBJECT_UEVENT, 1);
    return TRUE;
}

void ibh_events_close(IbhEvents *events)
{
    if (events->netlink >= 0)
        close(events->netlink);
    if (events->uevents >= 0)
        close(events->uevents);
    events->netlink = events->uevents = -1;
}

/* ---- the filter in the kernel ---- */

/* Loads are in network order, the message is in the host's. */
#define ATTRIBUTES ((guint32)(sizeof(struct nlmsghdr) + sizeof(struct rtmsg)))
#define FIELD(field) ((guint32)sizeof(struct nlmsghdr) + (guint32)G_STRUCT_OFFSET(struct rtmsg, field))

#define ATTRIBUTE(type) /* A = its offset, 0: it is not there */                                                       \
    BPF_STMT(BPF_LD | BPF_IMM, ATTRIBUTES), BPF_STMT(BPF_LDX | BPF_IMM, type),                                         \
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (guint32)(SKF_AD_OFF + SKF_AD_NLATTR))
#define IF(what, value, if_true, if_false) BPF_JUMP(BPF_JMP | (what) | BPF_K, value, if_true, if_false)
#define PASS BPF_STMT(BPF_RET | BPF_K, G_MAXUINT32)
#define DROP BPF_STMT(BPF_RET | BPF_K, 0)

void ibh_events_focus(IbhEvents *events, const GArray *ifindexes)
{
    guint8 left = (guint8)ifindexes->len; /* how far the end is */
    const struct sock_filter head[] = {
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, G_STRUCT_OFFSET(struct nlmsghdr, nlmsg_type)),
        IF(BPF_JEQ, g_htons(RTM_NEWROUTE), 2, 0),
        IF(BPF_JEQ, g_htons(RTM_DELROUTE), 1, 0),
        PASS, /* not a route */
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, FIELD(rtm_protocol)),
        IF(BPF_JEQ, RTPROT_KERNEL, 0, 1),
        PASS, /* connected, or ours */
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, FIELD(rtm_table)),
        IF(BPF_JEQ, RT_TABLE_MAIN, 1, 0),
        DROP, /* of another table */
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, G_STRUCT_OFFSET(struct nlmsghdr, nlmsg_flags)),
        IF(BPF_JSET, g_htons(NLM_F_REPLACE), 0, 1),
        PASS, /* it may have replaced a route of a rail, whose deletion the kernel does not report */
        ATTRIBUTE(RTA_MULTIPATH),
        IF(BPF_JEQ, 0, 1, 0),
        PASS,
        ATTRIBUTE(RTA_OIF),
        IF(BPF_JEQ, 0, left + 2, 0),
        BPF_STMT(BPF_MISC | BPF_TAX, 0),
        BPF_STMT(BPF_LD | BPF_W | BPF_IND, sizeof(struct nlattr)),
    };
    const struct sock_filter end[] = {DROP /* by another NIC */, PASS};
    g_autoptr(GArray) code = g_array_new(FALSE, FALSE, sizeof *head);
    struct sock_fprog program;
    const int nothing = 0; /* the kernel looks at no option without a value */

    if (ifindexes->len > FOCUS_MAX) {
        (void)setsockopt(events->netlink, SOL_SOCKET, SO_DETACH_FILTER, &nothing, sizeof nothing);
        return;
    }
    g_array_append_vals(code, head, G_N_ELEMENTS(head));
    IBH_EACH (const int, ifindex, ifindexes) {
        const struct sock_filter it = IF(BPF_JEQ, g_htonl((guint32)*ifindex), left--, 0);

        g_array_append_val(code, it);
    }
    g_array_append_vals(code, end, G_N_ELEMENTS(end));
    program = (struct sock_fprog){.len = (guint16)code->len, .filter = (struct sock_filter *)(gpointer)code->data};
    (void)setsockopt(events->netlink, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}

/* ---- reading ---- */

static guint32 find_u32(const struct nlmsghdr *header, gsize fixed, int type)
{
    return get_u32(nlmsg_find_attr((struct nlmsghdr *)(guintptr)header, (int)fixed, type), 0);
}

static gboolean takes_ours(const struct nlmsghdr *header)
{
    if (header->nlmsg_type == RTM_DELRULE)
        return find_u32(header, sizeof(struct fib_rule_hdr), FRA_SUPPRESS_IFGROUP) == IBH_MARK;
    return header->nlmsg_type == RTM_DELROUTE && find_u32(header, sizeof(struct rtmsg), RTA_PRIORITY) == IBH_MARK;
}

/* Of what a message about a link, an address or an interface's settings is; 0: of something else. */
static int link_of(const struct nlmsghdr *header)
{
    const struct ifinfomsg *link = nlmsg_data(header);
    const struct ifaddrmsg *address = nlmsg_data(header);

    switch (header->nlmsg_type) {
    case RTM_NEWLINK:
    case RTM_DELLINK:
        return nlmsg_valid_hdr(header, sizeof *link) ? link->ifi_index : 0;
    case RTM_NEWADDR:
    case RTM_DELADDR:
        return nlmsg_valid_hdr(header, sizeof *address) ? (int)address->ifa_index : 0;
    case RTM_NEWNETCONF:
        return (int)find_u32(header, sizeof(struct netconfmsg), NETCONFA_IFINDEX);
    default:
        return 0;
    }
}

/* The port of a program's first netlink socket is its process id. */
static void remember_who(IbhEvents *events, guint32 port)
{
    g_autofree char *path = g_strdup_printf("/proc/%u/comm", port);
    g_autofree char *name = NULL;

    if (port <= G_MAXINT && g_file_get_contents(path, &name, NULL, NULL))
        g_snprintf(events->who, sizeof events->who, "process %u (%s)", port, g_strstrip(name));
    else
        g_snprintf(events->who, sizeof events->who, "process %u (ended, or hidden from this one)", port);
}

/* Messages come from the kernel alone: the port of the sender is 0. */
static gssize receive(int fd, char *buffer, gboolean *ret_overrun)
{
    struct sockaddr_nl from = {.nl_pid = 0};
    socklen_t size = sizeof from;
    gssize length;

    do
        length = recvfrom(fd, buffer, RECEIVE_SIZE, 0, (struct sockaddr *)&from, &size);
    while ((length < 0 && errno == EINTR) || (length >= 0 && from.nl_pid != 0));
    *ret_overrun = length < 0 && errno == ENOBUFS;
    return length;
}

static gboolean drain_netlink(IbhEvents *events, char *buffer, guint32 own, const GArray *ifindexes)
{
    gboolean concerns = FALSE, overrun = FALSE;
    gssize length;

    while ((length = receive(events->netlink, buffer, &overrun)) >= 0 || overrun) {
        struct nlmsghdr *header = (void *)buffer;
        int left = (int)length;

        concerns |= overrun; /* the lost events may have concerned us */
        for (; nlmsg_ok(header, left); header = nlmsg_next(header, &left)) {
            if (own && header->nlmsg_pid == own)
                continue;
            concerns = TRUE;
            events->ours |= takes_ours(header) || ibh_has(ifindexes, link_of(header));
            if (header->nlmsg_pid && takes_ours(header))
                remember_who(events, header->nlmsg_pid);
        }
    }
    return concerns;
}

static gboolean drain_uevents(IbhEvents *events, char *buffer)
{
    static const char wanted[] = "SUBSYSTEM=infiniband";
    gboolean concerns = FALSE, overrun = FALSE;
    gssize length;

    while (events->uevents >= 0 && ((length = receive(events->uevents, buffer, &overrun)) >= 0 || overrun))
        concerns |= overrun || (length > 0 && memmem(buffer, (gsize)length, wanted, sizeof wanted));
    return concerns;
}

gboolean ibh_events_drain(IbhEvents *events, guint32 own, const GArray *ifindexes)
{
    g_autofree char *buffer = g_malloc(RECEIVE_SIZE);
    gboolean concerns;

    events->ours = FALSE;
    events->who[0] = '\0';
    concerns = drain_netlink(events, buffer, own, ifindexes);
    return drain_uevents(events, buffer) || concerns;
}
