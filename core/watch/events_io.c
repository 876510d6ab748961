/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watch/events_io.h"

#include "kernel/netlink.h"

#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/filter.h>
#include <linux/netconf.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Bytes of reports that may wait while we work. If more come, the kernel drops some. In a container with a user
 * namespace of its own, net.core.rmem_max limits the buffer. */
#define BUFFER_SIZE (1024 * 1024)
#define RECEIVE_SIZE (32 * 1024) /* bytes of the longest datagram that the kernel sends */

/* ---- sockets ---- */

/* Returns a netlink socket that receives these multicast groups; -1 on failure. */
static int open_socket(int protocol, guint32 groups)
{
    const int size = BUFFER_SIZE;
    struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = groups};
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);

    if (fd < 0)
        return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size) < 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    close(fd);
    return -1;
}

#define GROUP(number) (1u << (number) >> 1) /* the bit of a multicast group; the numbers count from 1 */

gboolean ibh_events_open(IbhEvents *events, GError **error)
{
    const guint32 groups = GROUP(RTNLGRP_LINK) | GROUP(RTNLGRP_IPV4_IFADDR) | GROUP(RTNLGRP_IPV6_IFADDR) |
                           GROUP(RTNLGRP_IPV4_ROUTE) | GROUP(RTNLGRP_IPV6_ROUTE) | GROUP(RTNLGRP_IPV4_RULE) |
                           GROUP(RTNLGRP_IPV6_RULE) | GROUP(RTNLGRP_IPV4_NETCONF) | GROUP(RTNLGRP_IPV6_NETCONF);
    const int nexthops = RTNLGRP_NEXTHOP; /* the 32nd group: in GROUP(), C does not define the shift by 32 */

    *events = (IbhEvents){.netlink = open_socket(NETLINK_ROUTE, groups),
                          .uevents = -1,
                          .taken = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
                          .moved = IBH_NEW_ARRAY(int)};
    if (events->netlink < 0) {
        g_set_error(error, G_FILE_ERROR, (gint)g_file_error_from_errno(errno),
                    "--watch cannot subscribe to the kernel's events: %s", ibh_errno_text(errno));
        return FALSE;
    }
    /* Ignore a failure: Linux before 5.3 has no nexthop objects, and so no reports about them. */
    (void)setsockopt(events->netlink, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &nexthops, sizeof nexthops);
    events->uevents = open_socket(NETLINK_KOBJECT_UEVENT, 1); /* group 1: uevents that the kernel itself sends */
    return TRUE;
}

void ibh_events_close(IbhEvents *events)
{
    if (events->netlink >= 0)
        close(events->netlink);
    if (events->uevents >= 0)
        close(events->uevents);
    events->netlink = events->uevents = -1;
    g_clear_pointer(&events->filter, g_array_unref);
    g_hash_table_unref(events->taken);
    g_array_unref(events->moved);
}

/* ---- the filter ---- */

gboolean ibh_events_set_focus(IbhEvents *events, const IbhFocus *focus)
{
    g_autoptr(GArray) before = events->filter, filter = ibh_focus_filter(focus);
    const struct sock_fprog program = {.len = (guint16)filter->len, .filter = (gpointer)filter->data};
    const gboolean fits = filter->len <= BPF_MAXINSNS;
    const int nothing = 0; /* SO_DETACH_FILTER ignores the value, but the kernel wants one */

    events->filter = g_array_ref(filter);
    if (before && before->len == filter->len &&
        memcmp(before->data, filter->data, before->len * sizeof(struct sock_filter)) == 0)
        return FALSE;
    /* The old program would drop reports about new subnets, so it must go. While both programs exist, the kernel counts
     * both against net.core.optmem_max. So if attaching fails, we detach the old program and try again. Without a
     * program, we hear all reports, which only costs time. */
    if (!fits || setsockopt(events->netlink, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) != 0) {
        (void)setsockopt(events->netlink, SOL_SOCKET, SO_DETACH_FILTER, &nothing, sizeof nothing);
        if (fits)
            (void)setsockopt(events->netlink, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
    }
    return before != NULL;
}

/* ---- what a report says ---- */

/* Returns the value of an attribute; 0 if there is none. `fixed` is the size of the header before the attributes. */
static guint32 find_u32(struct nlmsghdr *header, gsize fixed, int type)
{
    const struct nlattr *attribute = nlmsg_find_attr(header, (int)fixed, type);

    return attribute && nla_len(attribute) >= (int)sizeof(guint32) ? nla_get_u32(attribute) : 0;
}

/* Returns what changed, in words. `ret_ifindex` is the interface whose link, address or sysctl changed; 0 for other
 * reports; negative for the sysctls below conf/all and conf/default. */
static const char *name_change(struct nlmsghdr *header, int *ret_ifindex)
{
    const struct ifinfomsg *link = nlmsg_data(header);
    const struct ifaddrmsg *address = nlmsg_data(header);

    *ret_ifindex = 0;
    switch (header->nlmsg_type & ~1) { /* RTM_NEW… and RTM_DEL… differ in the last bit */
    case RTM_NEWLINK:
        *ret_ifindex = nlmsg_valid_hdr(header, sizeof *link) ? link->ifi_index : 0;
        return "a link changed";
    case RTM_NEWADDR:
        *ret_ifindex = nlmsg_valid_hdr(header, sizeof *address) ? (int)address->ifa_index : 0;
        return "an address changed";
    case RTM_NEWNETCONF:
        *ret_ifindex = (int)find_u32(header, sizeof(struct netconfmsg), NETCONFA_IFINDEX);
        return "a sysctl changed";
    case RTM_NEWRULE:
        return "a rule changed";
    case RTM_NEWROUTE:
        return "a route changed";
    default:
        return "a nexthop changed";
    }
}

/* Returns the key that a deleted rule (or, if `rule` is NULL, a deleted route) has in IbhEvents.taken. Rules with the
 * same source share a key, and so do routes of one family in the same table; so a rail has only a few keys. */
static char *make_taken_key(int family, const IbhRule *rule, guint32 table)
{
    char from[IBH_IP_STRLEN];

    return rule ? g_strdup_printf("%d from %s", family, ibh_ip_format(&rule->from.ip, from))
                : g_strdup_printf("%d table %u", family, table);
}

guint32 ibh_events_taker(const IbhEvents *events, const IbhOp *op)
{
    const gboolean is_rule = op->type == IBH_OP_RULE_ADD;
    g_autofree char *name = make_taken_key(op->unit.family, is_rule ? &op->rule : NULL, op->route.table);

    if (!is_rule && op->type != IBH_OP_ROUTE_ADD && op->type != IBH_OP_ROUTE_REPLACE)
        return 0;
    return GPOINTER_TO_UINT(g_hash_table_lookup(events->taken, name));
}

/* Notes what a report says. Sets `*ours` if the report is about one of `nics`, or about the deletion of a rule or route
 * of ours. */
static void note_report(IbhEvents *events, struct nlmsghdr *header, const GArray *nics, gboolean *ours)
{
    const struct rtmsg *info = nlmsg_data(header); /* struct fib_rule_hdr begins with the same fields */
    const gboolean deletes_rule =
        header->nlmsg_type == RTM_DELRULE && nlmsg_valid_hdr(header, sizeof(struct fib_rule_hdr));
    /* the rule that was deleted; for all other reports, a rule without our mark */
    const IbhRule rule = deletes_rule ? ibh_rule_of(header) : (IbhRule){.suppress_ifgroup = -1};
    const gboolean deletes_ours =
        rule.suppress_ifgroup == IBH_MARK ||
        (header->nlmsg_type == RTM_DELROUTE && find_u32(header, sizeof *info, RTA_PRIORITY) == IBH_MARK);
    int ifindex;
    const char *change = name_change(header, &ifindex);
    const gboolean is_about_nics = ibh_numbers_have(nics, ifindex);

    /* A report about us is a better reason to give than an earlier report about others. */
    if (!events->first || ((deletes_ours || is_about_nics) && !*ours))
        events->first = change;
    *ours |= deletes_ours || is_about_nics;
    if (deletes_ours && header->nlmsg_pid) /* 0: the kernel itself deleted the rule or route */
        g_hash_table_insert(events->taken,
                            make_taken_key(info->rtm_family, deletes_rule ? &rule : NULL,
                                           deletes_rule ? 0 : find_u32(header, sizeof *info, RTA_TABLE)),
                            GUINT_TO_POINTER(header->nlmsg_pid));
    if (is_about_nics && (header->nlmsg_type & ~1) != RTM_NEWNETCONF && !ibh_numbers_have(events->moved, ifindex))
        g_array_append_val(events->moved, ifindex);
}

void ibh_events_forget(IbhEvents *events)
{
    events->first = NULL;
    g_hash_table_remove_all(events->taken);
    g_array_set_size(events->moved, 0);
}

/* ---- reading ---- */

/* Reads a datagram from the kernel, whose port is 0; skips datagrams from other senders. `*ret_length` is negative if
 * datagrams were lost. Returns FALSE if nothing waits. */
static gboolean receive_report(int fd, char *buffer, gssize *ret_length)
{
    struct sockaddr_nl from = {.nl_pid = 0};
    socklen_t size = sizeof from;
    gssize length;

    do
        length = recvfrom(fd, buffer, RECEIVE_SIZE, 0, (struct sockaddr *)&from, &size);
    while ((length < 0 && errno == EINTR) || (length >= 0 && from.nl_pid != 0));
    *ret_length = length;
    return length >= 0 || errno == ENOBUFS;
}

gboolean ibh_events_drain(IbhEvents *events, const GArray *own, const GArray *nics, gboolean *ret_ours)
{
    static const char rdma[] = "SUBSYSTEM=infiniband"; /* compared with the NUL: infiniband_verbs must not match */
    g_autofree char *buffer = g_malloc(RECEIVE_SIZE);
    gboolean concerns = FALSE;
    gssize length;

    *ret_ours = FALSE;
    while (receive_report(events->netlink, buffer, &length)) {
        struct nlmsghdr *header = (void *)buffer;
        int left = (int)length;

        concerns |= length < 0; /* a lost report may have concerned us */
        for (; nlmsg_ok(header, left); header = nlmsg_next(header, &left)) {
            if (ibh_numbers_have(own, (int)header->nlmsg_pid))
                continue;
            concerns = TRUE;
            note_report(events, header, nics, ret_ours);
        }
    }
    while (events->uevents >= 0 && receive_report(events->uevents, buffer, &length))
        concerns |= length < 0 || memmem(buffer, (gsize)length, rdma, sizeof rdma);
    return concerns;
}
