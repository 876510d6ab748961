/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/netlink.h"

#include "kernel/dump.h"

#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <sys/socket.h>

/* Sends a change that was `built` (FALSE: too many next hops), and waits for the kernel's answer. `as_wanted`: the
 * errno which means that nothing had to change. */
static gboolean change(IbhNetlink *netlink, struct nl_msg *message, gboolean built, int as_wanted, GError **error)
{
    g_autoptr(GError) local = NULL;
    gboolean done;

    nlmsg_hdr(message)->nlmsg_flags |= NLM_F_ACK;
    done = built && ibh_netlink_talk(netlink, message, NULL, NULL, &local);
    nlmsg_free(message);
    if (!built)
        g_set_error_literal(&local, IBH_NETLINK_ERROR, EMSGSIZE, "too long for a message");
    if (done || (as_wanted && g_error_matches(local, IBH_NETLINK_ERROR, as_wanted)))
        return TRUE;
    g_propagate_error(error, g_steal_pointer(&local));
    return FALSE;
}

static gboolean put_ip(struct nl_msg *message, int type, const IbhIp *ip)
{
    return nla_put(message, type, (int)ibh_ip_bits(ip) / 8, ip->bytes) >= 0;
}

/* ---- rules ---- */

/* Every attribute is given, in a delete as well: to the kernel, an absent attribute matches anything. */
static gboolean put_rule(struct nl_msg *message, const IbhRule *rule)
{
    return nla_put_u32(message, FRA_PRIORITY, rule->priority) >= 0 && put_ip(message, FRA_SRC, &rule->from.ip) &&
           (!rule->to.length || put_ip(message, FRA_DST, &rule->to.ip)) &&
           nla_put_u32(message, FRA_TABLE, rule->table) >= 0 &&
           nla_put_u8(message, FRA_PROTOCOL, rule->protocol) >= 0 &&
           (rule->suppress_prefixlength < 0 ||
            nla_put_u32(message, FRA_SUPPRESS_PREFIXLEN, (guint32)rule->suppress_prefixlength) >= 0) &&
           (rule->suppress_ifgroup < 0 ||
            nla_put_u32(message, FRA_SUPPRESS_IFGROUP, (guint32)rule->suppress_ifgroup) >= 0);
}

static gboolean change_rule(IbhNetlink *netlink, const IbhRule *rule, gboolean add, GError **error)
{
    const struct fib_rule_hdr fixed = {.family = (guint8)rule->family,
                                       .src_len = (guint8)rule->from.length,
                                       .dst_len = (guint8)rule->to.length,
                                       .table = rule->table < 256 ? (guint8)rule->table : RT_TABLE_UNSPEC,
                                       .action = rule->action};
    /* Without EXCL the kernel doubles a rule that is there. */
    struct nl_msg *message =
        ibh_request(add ? RTM_NEWRULE : RTM_DELRULE, add ? NLM_F_CREATE | NLM_F_EXCL : 0, &fixed, sizeof fixed);

    return change(netlink, message, put_rule(message, rule), add ? EEXIST : ENOENT, error);
}

/* ---- routes ---- */

static gboolean put_nexthops(struct nl_msg *message, const IbhRoute *route)
{
    struct nlattr *list;

    if (!route->hops)
        return !route->ifindex || nla_put_u32(message, RTA_OIF, (guint32)route->ifindex) >= 0;
    if (!(list = nla_nest_start(message, RTA_MULTIPATH)))
        return FALSE;
    IBH_EACH_HOP (hop, route) {
        struct rtnexthop one = {.rtnh_len = sizeof one, .rtnh_ifindex = hop->ifindex};

        if (nlmsg_append(message, &one, sizeof one, NLMSG_ALIGNTO) < 0)
            return FALSE;
    }
    nla_nest_end(message, list);
    return TRUE;
}

static gboolean put_gateway(struct nl_msg *message, const IbhRoute *route)
{
    const IbhIp *ip = &route->gateway;
    const sa_family_t family = (sa_family_t)ip->family;
    guint8 via[sizeof family + 16]; /* struct rtvia */

    if (ip->family == AF_UNSPEC || ip->family == route->family)
        return ip->family == AF_UNSPEC || put_ip(message, RTA_GATEWAY, ip);
    memcpy(via, &family, sizeof family);
    memcpy(via + sizeof family, ip->bytes, 16);
    return nla_put(message, RTA_VIA, sizeof via, via) >= 0;
}

static gboolean put_route(struct nl_msg *message, const IbhRoute *route)
{
    return (!route->dst.length || put_ip(message, RTA_DST, &route->dst.ip)) &&
           nla_put_u32(message, RTA_TABLE, route->table) >= 0 &&
           nla_put_u32(message, RTA_PRIORITY, route->metric) >= 0 &&
           (route->src.family == AF_UNSPEC || put_ip(message, RTA_PREFSRC, &route->src)) &&
           put_gateway(message, route) && put_nexthops(message, route) &&
           (!route->metrics_size || nla_put(message, RTA_METRICS, (int)route->metrics_size, route->metrics) >= 0);
}

static gboolean change_route(IbhNetlink *netlink, const IbhRoute *route, IbhOpType type, GError **error)
{
    static const int flags[] = {[IBH_OP_ROUTE_ADD] = NLM_F_CREATE | NLM_F_EXCL,
                                [IBH_OP_ROUTE_REPLACE] = NLM_F_CREATE | NLM_F_REPLACE,
                                [IBH_OP_ROUTE_DEL] = 0};
    const gboolean del = type == IBH_OP_ROUTE_DEL;
    const struct rtmsg fixed = {.rtm_family = (guint8)route->family,
                                .rtm_dst_len = (guint8)route->dst.length,
                                .rtm_table = route->table < 256 ? (guint8)route->table : RT_TABLE_COMPAT,
                                .rtm_protocol = route->protocol,
                                .rtm_scope = route->scope,
                                .rtm_type = route->type,
                                .rtm_flags = route->onlink ? RTNH_F_ONLINK : 0};
    struct nl_msg *message = ibh_request(del ? RTM_DELROUTE : RTM_NEWROUTE, flags[type], &fixed, sizeof fixed);

    return change(netlink, message, put_route(message, route), del ? ESRCH : 0, error);
}

/* ---- neighbours ---- */

/* A permanent entry does not need room in the table of neighbours. */
static gboolean change_neighbour(IbhNetlink *netlink, gboolean add, int ifindex, const IbhIp *ip, GError **error)
{
    const struct ndmsg fixed = {.ndm_family = (guint8)ip->family,
                                .ndm_ifindex = ifindex,
                                .ndm_state = NUD_PERMANENT,
                                .ndm_flags = add ? NTF_USE : 0};
    struct nl_msg *message =
        ibh_request(add ? RTM_NEWNEIGH : RTM_DELNEIGH, add ? NLM_F_CREATE : 0, &fixed, sizeof fixed);

    return change(netlink, message, put_ip(message, NDA_DST, ip), add ? 0 : ENOENT, error);
}

/* "Use" makes the kernel ask for the address at once: who has ADDR, tell ADDR. No host answers, so the entry is deleted
 * before the kernel asks again. */
gboolean ibh_netlink_announce(IbhNetlink *netlink, int ifindex, const IbhIp *ip, GError **error)
{
    return change_neighbour(netlink, TRUE, ifindex, ip, error) && change_neighbour(netlink, FALSE, ifindex, ip, error);
}

gboolean ibh_netlink_execute(IbhNetlink *netlink, const IbhOp *op, GError **error)
{
    switch (op->type) {
    case IBH_OP_RULE_ADD:
    case IBH_OP_RULE_DEL:
        return change_rule(netlink, &op->rule, op->type == IBH_OP_RULE_ADD, error);
    case IBH_OP_ROUTE_ADD:
    case IBH_OP_ROUTE_REPLACE:
    case IBH_OP_ROUTE_DEL:
        return change_route(netlink, &op->route, op->type, error);
    case IBH_OP_NEIGH_DEL:
        return change_neighbour(netlink, FALSE, op->ifindex, &op->ip, error);
    case IBH_OP_SYSCTL_SET:
    case IBH_OP_ANNOUNCE:
        break;
    }
    g_assert_not_reached();
}
