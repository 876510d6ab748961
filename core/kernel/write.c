/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/netlink.h"

#include "kernel/dump.h"

#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <sys/socket.h>

typedef struct {
    struct nl_msg *message;
    gboolean too_long; /* a route may have too many nexthops for a message */
} Change;

static void put(Change *change, int type, gconstpointer value, gsize size)
{
    change->too_long |= nla_put(change->message, type, (int)size, value) < 0;
}

static void put_u32(Change *change, int type, guint32 value)
{
    put(change, type, &value, sizeof value);
}

static void put_ip_attribute(Change *change, int type, const IbhIp *ip)
{
    if (ip->family != AF_UNSPEC)
        put(change, type, ip->bytes, ibh_ip_bits(ip) / 8);
}

static void put_prefix(Change *change, int type, const IbhPrefix *prefix)
{
    if (prefix->length)
        put_ip_attribute(change, type, &prefix->ip);
}

/* Sends the change, waits for the answer, and frees the message. Also succeeds if the kernel refuses the change with
 * the errno `as_wanted`, which shows that the change is not needed. If `as_wanted` is 0, every refusal is an error. */
static gboolean send_change(IbhNetlink *netlink, const Change *change, int as_wanted, GError **error)
{
    g_autoptr(IbhMessage) message = change->message;
    g_autoptr(GError) local = NULL;

    nlmsg_hdr(message)->nlmsg_flags |= NLM_F_ACK;
    if (change->too_long)
        g_set_error_literal(&local, IBH_NETLINK_ERROR, EMSGSIZE, "the route has too many next hops for one message");
    else if (ibh_netlink_talk(netlink, message, NULL, NULL, &local))
        return TRUE;
    if (g_error_matches(local, IBH_NETLINK_ERROR, as_wanted))
        return TRUE;
    g_propagate_error(error, g_steal_pointer(&local));
    return FALSE;
}

/* ---- rules ---- */

/* Adds or deletes a rule of ours. Sends every attribute of the rule, even to delete the rule: the kernel takes a
 * missing attribute for a wildcard. FRA_TABLE overrides the 8-bit table in the header. */
static gboolean change_rule(IbhNetlink *netlink, const IbhRule *rule, gboolean add, GError **error)
{
    const struct fib_rule_hdr fixed = {.family = (guint8)rule->family,
                                       .src_len = (guint8)rule->from.length,
                                       .dst_len = (guint8)rule->to.length,
                                       .action = rule->action};
    /* Without NLM_F_EXCL, the kernel adds a second rule beside an equal one. */
    Change change = {.message = ibh_message_new(add ? RTM_NEWRULE : RTM_DELRULE, add ? NLM_F_CREATE | NLM_F_EXCL : 0,
                                                &fixed, sizeof fixed)};

    put_u32(&change, FRA_PRIORITY, rule->priority);
    put_prefix(&change, FRA_SRC, &rule->from);
    put_prefix(&change, FRA_DST, &rule->to);
    put_u32(&change, FRA_TABLE, rule->table);
    put(&change, FRA_PROTOCOL, &rule->protocol, sizeof rule->protocol);
    if (rule->suppress_prefixlength >= 0)
        put_u32(&change, FRA_SUPPRESS_PREFIXLEN, (guint32)rule->suppress_prefixlength);
    if (rule->suppress_ifgroup >= 0)
        put_u32(&change, FRA_SUPPRESS_IFGROUP, (guint32)rule->suppress_ifgroup);
    return send_change(netlink, &change, add ? EEXIST : ENOENT, error);
}

/* ---- routes ---- */

/* Sends only the device of each nexthop: all nexthops of our multipath routes (main=spread) are on link and have the
 * same weight. */
static void put_hops(Change *change, const IbhRoute *route)
{
    struct nlattr *list = nla_nest_start(change->message, RTA_MULTIPATH);

    IBH_EACH_HOP (hop, route) {
        struct rtnexthop entry = {.rtnh_len = sizeof entry, .rtnh_ifindex = hop->ifindex};

        change->too_long |= nlmsg_append(change->message, &entry, sizeof entry, NLMSG_ALIGNTO) < 0;
    }
    change->too_long |= !list || nla_nest_end(change->message, list) < 0;
}

static gboolean change_route(IbhNetlink *netlink, const IbhRoute *route, IbhOpType type, GError **error)
{
    const gboolean del = type == IBH_OP_ROUTE_DEL;
    const int create_flags = NLM_F_CREATE | (type == IBH_OP_ROUTE_ADD ? NLM_F_EXCL : NLM_F_REPLACE);
    const struct rtmsg fixed = {.rtm_family = (guint8)route->family,
                                .rtm_dst_len = (guint8)route->dst.length,
                                .rtm_protocol = route->protocol,
                                .rtm_scope = route->scope,
                                .rtm_type = route->type,
                                .rtm_flags = route->onlink ? RTNH_F_ONLINK : 0};
    Change change = {
        .message = ibh_message_new(del ? RTM_DELROUTE : RTM_NEWROUTE, del ? 0 : create_flags, &fixed, sizeof fixed)};
    const sa_family_t gateway_family = (sa_family_t)route->gateway.family;

    put_prefix(&change, RTA_DST, &route->dst);
    put_u32(&change, RTA_TABLE, route->table);
    put_u32(&change, RTA_PRIORITY, route->metric);
    put_ip_attribute(&change, RTA_PREFSRC, &route->src);
    if (gateway_family == AF_UNSPEC || gateway_family == route->family) {
        put_ip_attribute(&change, RTA_GATEWAY, &route->gateway);
    } else {
        guint8 via[sizeof gateway_family + 16]; /* struct rtvia */

        memcpy(via, &gateway_family, sizeof gateway_family);
        memcpy(via + sizeof gateway_family, route->gateway.bytes, 16);
        put(&change, RTA_VIA, via, sizeof via);
    }
    if (route->hops)
        put_hops(&change, route);
    else if (route->ifindex)
        put_u32(&change, RTA_OIF, (guint32)route->ifindex);
    if (route->metrics_size)
        put(&change, RTA_METRICS, route->metrics, route->metrics_size);
    return send_change(netlink, &change, del ? ESRCH : 0, error);
}

/* ---- neighbours ---- */

/* With NTF_USE, the kernel makes an entry and resolves it at once. We ask for NUD_PERMANENT, because such an entry does
 * not count towards the limits of the neighbour table (since Linux 5.0); with NTF_USE, the kernel uses the state for
 * nothing else. */
gboolean ibh_netlink_change_neighbour(IbhNetlink *netlink, gboolean add, int ifindex, const IbhIp *ip, GError **error)
{
    const struct ndmsg fixed = {.ndm_family = (guint8)ip->family,
                                .ndm_ifindex = ifindex,
                                .ndm_state = NUD_PERMANENT,
                                .ndm_flags = add ? NTF_USE : 0};
    Change change = {.message = ibh_message_new(add ? RTM_NEWNEIGH : RTM_DELNEIGH, add ? NLM_F_CREATE | NLM_F_EXCL : 0,
                                                &fixed, sizeof fixed)};

    put_ip_attribute(&change, NDA_DST, ip);
    return send_change(netlink, &change, add ? 0 : ENOENT, error);
}

/* Deletes the IPv4 neighbour entries of a NIC, except those that ARP would not restore (IbhNeighbour.fixed). */
static gboolean flush_neighbours(IbhNetlink *netlink, int ifindex, GError **error)
{
    g_autoptr(GArray) neighbours = IBH_NEW_ARRAY(IbhNeighbour);

    if (!ibh_netlink_read_neighbours(netlink, AF_INET, FALSE, neighbours, error))
        return FALSE;
    IBH_EACH (const IbhNeighbour, neighbour, neighbours) {
        if (neighbour->ifindex == ifindex && !neighbour->fixed &&
            !ibh_netlink_change_neighbour(netlink, FALSE, ifindex, &neighbour->ip, error))
            return FALSE;
    }
    return TRUE;
}

gboolean ibh_netlink_execute(IbhNetlink *netlink, const IbhOp *op, GError **error)
{
    switch (op->type) {
    case IBH_OP_RULE_ADD:
    case IBH_OP_RULE_DEL:
        return change_rule(netlink, &op->rule, op->type == IBH_OP_RULE_ADD, error);
    case IBH_OP_NEIGH_DEL:
        return flush_neighbours(netlink, op->ifindex, error);
    case IBH_OP_ANNOUNCE:
        /* A new entry for the NIC's own address makes the kernel send an ARP request at once: "who has ADDR, tell
         * ADDR". No host answers, so delete the entry before the kernel asks again. Fails if there is an entry for the
         * address already, such as an administrator's. */
        return ibh_netlink_change_neighbour(netlink, TRUE, op->ifindex, &op->ip, error) &&
               ibh_netlink_change_neighbour(netlink, FALSE, op->ifindex, &op->ip, error);
    case IBH_OP_ROUTE_ADD:
    case IBH_OP_ROUTE_REPLACE:
    case IBH_OP_ROUTE_DEL:
        return change_route(netlink, &op->route, op->type, error);
    default: /* ibh_sysctl_write() sets sysctls */
        g_assert_not_reached();
    }
}
