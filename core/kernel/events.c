/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/netlink.h"

#include "kernel/dump.h"

#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/netconf.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <unistd.h>

#define BUFFER_SIZE (1024 * 1024) /* bytes of events that may wait while we work; after more, all is read again */

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
    const int nexthops = RTNLGRP_NEXTHOP; /* beyond the groups that an address has bits for */

    *events = (IbhEvents){.netlink = open_socket(NETLINK_ROUTE, groups), .uevents = -1};
    if (events->netlink < 0) {
        g_set_error(error, G_FILE_ERROR, (gint)g_file_error_from_errno(errno),
                    "--watch cannot subscribe to the kernel's events: %s", ibh_errno_text(errno));
        return FALSE;
    }
    /* Before Linux 5.3 there are none. */
    (void)setsockopt(events->netlink, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &nexthops, sizeof nexthops);
    events->uevents = open_socket(NETLINK_KOBJECT_UEVENT, 1);
    events->taken = IBH_NEW_ARRAY(IbhTaken);
    events->moved = IBH_NEW_ARRAY(int);
    return TRUE;
}

void ibh_events_close(IbhEvents *events)
{
    if (events->netlink >= 0)
        close(events->netlink);
    if (events->uevents >= 0)
        close(events->uevents);
    events->netlink = events->uevents = -1;
    g_clear_pointer(&events->taken, g_array_unref);
    g_clear_pointer(&events->moved, g_array_unref);
    g_clear_pointer(&events->filter, g_array_unref);
}

/* ---- messages ---- */

static guint32 find_u32(struct nlmsghdr *header, gsize fixed, int type)
{
    return get_u32(nlmsg_find_attr(header, (int)fixed, type), 0);
}

static gboolean takes_ours(struct nlmsghdr *header)
{
    if (header->nlmsg_type == RTM_DELRULE)
        return nlmsg_valid_hdr(header, sizeof(struct fib_rule_hdr)) && ibh_rule_of(header).suppress_ifgroup == IBH_MARK;
    return header->nlmsg_type == RTM_DELROUTE && find_u32(header, sizeof(struct rtmsg), RTA_PRIORITY) == IBH_MARK;
}

/* Of what a message about a link, an address or an interface's settings is; 0: of something else. */
static int link_of(struct nlmsghdr *header)
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

/* ---- what another process deletes ---- */

/* Rules by their source, routes by their table: what of a rail and family is deleted is one thing or a few. */
static IbhTaken *find_taken(const IbhEvents *events, const IbhTaken *like)
{
    IBH_EACH (IbhTaken, taken, events->taken) {
        if (taken->family == like->family && taken->table == like->table && ibh_ip_equal(&taken->from, &like->from))
            return taken;
    }
    return NULL;
}

static void remember_taken(IbhEvents *events, struct nlmsghdr *header)
{
    const struct rtmsg *info = nlmsg_data(header); /* of a rule, it begins with the same fields */
    IbhTaken taken = {.family = info->rtm_family, .port = header->nlmsg_pid}, *before;

    if (header->nlmsg_type == RTM_DELRULE)
        taken.from = ibh_rule_of(header).from.ip;
    else
        taken.table = find_u32(header, sizeof *info, RTA_TABLE);
    before = find_taken(events, &taken);
    if (before)
        *before = taken;
    else
        g_array_append_val(events->taken, taken);
}

guint32 ibh_events_taker(const IbhEvents *events, const IbhOp *op)
{
    const gboolean is_rule = op->type == IBH_OP_RULE_ADD;
    const IbhTaken made = {.family = op->unit.family,
                           .from = is_rule ? op->rule.from.ip : (IbhIp){.family = AF_UNSPEC},
                           .table = is_rule ? 0 : op->route.table};
    const IbhTaken *taken = find_taken(events, &made);

    if (!is_rule && op->type != IBH_OP_ROUTE_ADD && op->type != IBH_OP_ROUTE_REPLACE)
        return 0;
    return taken ? taken->port : 0;
}

/* ---- reading ---- */

/* Messages come from the kernel alone: the port of the sender is 0. */
static gssize receive(int fd, char *buffer, gboolean *ret_overrun)
{
    struct sockaddr_nl from = {.nl_pid = 0};
    socklen_t size = sizeof from;
    gssize length;

    do
        length = recvfrom(fd, buffer, IBH_RECEIVE_SIZE, 0, (struct sockaddr *)&from, &size);
    while ((length < 0 && errno == EINTR) || (length >= 0 && from.nl_pid != 0));
    *ret_overrun = length < 0 && errno == ENOBUFS;
    return length;
}

static void remember_moved(IbhEvents *events, struct nlmsghdr *header, const GArray *ifindexes)
{
    const int ifindex = header->nlmsg_type == RTM_NEWNETCONF ? 0 : link_of(header);

    if (ibh_numbers_have(ifindexes, ifindex) && !ibh_numbers_have(events->moved, ifindex))
        g_array_append_val(events->moved, ifindex);
}

static const char *name_change(guint16 type)
{
    switch (type) {
    case RTM_NEWLINK:
    case RTM_DELLINK:
        return "a link changed";
    case RTM_NEWADDR:
    case RTM_DELADDR:
        return "an address changed";
    case RTM_NEWRULE:
    case RTM_DELRULE:
        return "a rule changed";
    case RTM_NEWROUTE:
    case RTM_DELROUTE:
        return "a route changed";
    case RTM_NEWNETCONF:
    case RTM_DELNETCONF:
        return "a sysctl changed";
    default:
        return "a nexthop changed";
    }
}

static gboolean drain_netlink(IbhEvents *events, char *buffer, guint32 own, const GArray *ifindexes)
{
    gboolean concerns = FALSE, overrun = FALSE, takes, ours;
    gssize length;

    while ((length = receive(events->netlink, buffer, &overrun)) >= 0 || overrun) {
        struct nlmsghdr *header = (void *)buffer;
        int left = (int)length;

        concerns |= overrun; /* the lost events may have concerned us */
        for (; nlmsg_ok(header, left); header = nlmsg_next(header, &left)) {
            if (own && header->nlmsg_pid == own)
                continue;
            takes = takes_ours(header);
            ours = takes || ibh_numbers_have(ifindexes, link_of(header));
            if (!events->first || (ours && !events->ours))
                events->first = name_change(header->nlmsg_type);
            concerns = TRUE;
            events->ours |= ours;
            if (header->nlmsg_pid && takes)
                remember_taken(events, header);
            remember_moved(events, header, ifindexes);
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
    g_autofree char *buffer = g_malloc(IBH_RECEIVE_SIZE);
    gboolean concerns;

    events->ours = FALSE;
    concerns = drain_netlink(events, buffer, own, ifindexes);
    return drain_uevents(events, buffer) || concerns;
}
