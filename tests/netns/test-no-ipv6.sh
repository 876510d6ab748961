#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A host without IPv6: switched off for every interface, or missing from the kernel as a whole (ipv6.disable=1). The
# IPv4 rails are as anywhere else.
. "$(dirname "$0")/lib.sh"
needs cc

make_wire
new_host B
for scope in all default lo; do on B sh -c "echo 1 > /proc/sys/net/ipv6/conf/$scope/disable_ipv6"; done
ip -n B link add docker0 type bridge forward_delay 0
for i in 0 1; do add_nic B ib$i $i 172.16.34.$((i + 1))/16; done
ip -n B address add 172.16.5.1/24 dev docker0
ip -n B link set docker0 up
ip -n B route add default via 172.16.0.1 dev ib0
rdma B ib0 ib1
wait_until 5 settled B
expect_equal "there is no IPv6 address" "" "$(ip -n B -6 address show)"
before=$(state B)

# Where the family is missing, the kernel has no dump of its routes, and answers with those of every family there is.
cat >$work/no-ipv6.c <<'END'
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    ssize_t (*real)(int, const struct msghdr *, int);
    struct nlmsghdr *header = message->msg_iov[0].iov_base;
    struct rtgenmsg *generic;

    *(void **)&real = dlsym(RTLD_NEXT, "sendmsg");
    if (message->msg_iov[0].iov_len < NLMSG_HDRLEN + sizeof *generic)
        return real(fd, message, flags);
    generic = NLMSG_DATA(header);
    if ((header->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP && generic->rtgen_family == AF_INET6) {
        generic->rtgen_family = AF_UNSPEC;
        close(creat(ASKED, 0600));
    }
    return real(fd, message, flags);
}

int socket(int family, int type, int protocol)
{
    int (*real)(int, int, int);

    *(void **)&real = dlsym(RTLD_NEXT, "socket");
    if (family == AF_INET6) {
        errno = EAFNOSUPPORT;
        return -1;
    }
    return real(family, type, protocol);
}
END
cc -D_GNU_SOURCE -DASKED="\"$work/asked\"" -shared -fPIC -o $work/no-ipv6.so $work/no-ipv6.c -ldl

try() { # WHAT
    expect_hook 0 B --apply
    expect_equal "$1: no complaint" "" "$err"
    expect_rules B "$(for i in 1 2; do rule_line 172.16.34.$i 94$i; done)
$(default_lines 172.16.34.1 941)"
    expect_routes B "$(for i in 1 2; do
        route_line 172.16.0.0/16 ib$((i - 1)) 94$i 172.16.34.$i
    done)
default via 172.16.0.1 dev ib0 table 2941 proto kernel metric $MARK onlink"
    expect_hook 0 B --apply --json
    expect_equal "$1: a second --apply changes nothing" false "$(json .changed)"
    expect_hook 0 B --check
    expect_hook 0 B --show
    expect_hook 0 B --undo
    expect_equal "$1: no complaint of --undo" "" "$err"
    expect_equal "$1: the state after --undo" "$before" "$(state B)"
}

try "disable_ipv6=1"
hook() { # HOST ARGUMENT…: as if the kernel had no IPv6
    on "$1" env LD_PRELOAD=$work/no-ipv6.so "$IB_HOOK" --sysfs "/run/sys/$1" "${@:2}"
}
try "no IPv6 in the kernel"
[ -e $work/asked ] || fail "the library stands between the program and the kernel"
