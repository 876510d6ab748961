/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/netlink.h"

#include "kernel/private.h"

#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <netlink/route/neighbour.h>
#include <netlink/route/nexthop.h>
#include <netlink/route/route.h>
#include <stdlib.h>
#include <sys/socket.h>

typedef struct nl_addr NlAddr;
typedef struct rtnl_route NlRoute;
typedef struct rtnl_neigh NlNeigh;
G_DEFINE_AUTOPTR_CLEANUP_FUNC(NlAddr, nl_addr_put)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(NlRoute, rtnl_route_put)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(NlNeigh, rtnl_neigh_put)

static gboolean out_of_memory(GError **error)
{
    g_set_error_literal(error, IBH_NETLINK_ERROR, ENOMEM, "out of memory");
    return FALSE;
}

/* Sends a change and waits for the kernel's answer; `as_wanted`: the errno which means that nothing had to change. */
static gboolean change(IbhNetlink *netlink, struct nl_msg *message, int as_wanted, GError **error)
{
    g_autoptr(GError) local = NULL;
    gboolean done;

    nlmsg_hdr(message)->nlmsg_flags |= NLM_F_ACK;
    done = ibh_netlink_talk(netlink, message, NULL, NULL, &local);
    nlmsg_free(message);
    if (done || (as_wanted && local->domain == IBH_NETLINK_ERROR && local->code == as_wanted))
        return TRUE;
    g_propagate_error(error, g_steal_pointer(&local));
    return FALSE;
}

/* ---- rules: by hand, because libnl's rule objects have no suppressors ---- */

/* Every attribute is given, in a delete as well: to the kernel, an absent attribute matches anything. */
static gboolean put_rule(struct nl_msg *message, const IbhRule *rule)
{
    struct fib_rule_hdr fixed = {.family = (guint8)rule->family,
                                 .src_len = (guint8)rule->from.length,
                                 .dst_len = (guint8)rule->to.length,
                                 .table = rule->table < 256 ? (guint8)rule->table : RT_TABLE_UNSPEC,
                                 .action = rule->action};

    return nlmsg_append(message, &fixed, sizeof fixed, NLMSG_ALIGNTO) >= 0 &&
           nla_put_u32(message, FRA_PRIORITY, rule->priority) >= 0 &&
           nla_put(message, FRA_SRC, (int)ibh_ip_bits(&rule->from.ip) / 8, rule->from.ip.bytes) >= 0 &&
           (!rule->to.length ||
            nla_put(message, FRA_DST, (int)ibh_ip_bits(&rule->to.ip) / 8, rule->to.ip.bytes) >= 0) &&
           nla_put_u32(message, FRA_TABLE, rule->table) >= 0 &&
           nla_put_u8(message, FRA_PROTOCOL, rule->protocol) >= 0 &&
           (rule->suppress_prefixlength < 0 ||
            nla_put_u32(message, FRA_SUPPRESS_PREFIXLEN, (guint32)rule->suppress_prefixlength) >= 0) &&
           (rule->suppress_ifgroup < 0 ||
            nla_put_u32(message, FRA_SUPPRESS_IFGROUP, (guint32)rule->suppress_ifgroup) >= 0);
}

static gboolean change_rule(IbhNetlink *netlink, const IbhRule *rule, gboolean add, GError **error)
{
    /* Without EXCL the kernel doubles a rule that is there. */
    struct nl_msg *message =
        nlmsg_alloc_simple(add ? RTM_NEWRULE : RTM_DELRULE, NLM_F_REQUEST | (add ? NLM_F_CREATE | NLM_F_EXCL : 0));

    if (!message || !put_rule(message, rule)) {
        nlmsg_free(message);
        return out_of_memory(error);
    }
    return change(netlink, message, add ? EEXIST : ENOENT, error);
}

/* ---- routes ---- */

static NlAddr *nl_address(const IbhIp *ip, guint length)
{
    NlAddr *address = nl_addr_build(ip->family, ip->bytes, ibh_ip_bits(ip) / 8);

    if (address)
        nl_addr_set_prefixlen(address, (int)length);
    return address;
}

static gboolean put_nexthop(NlRoute *object, int ifindex, const IbhRoute *route)
{
    struct rtnl_nexthop *hop = rtnl_route_nh_alloc();

    if (!hop)
        return FALSE;
    rtnl_route_nh_set_ifindex(hop, ifindex);
    if (route->onlink)
        rtnl_route_nh_set_flags(hop, RTNH_F_ONLINK);
    if (route->gateway.family != AF_UNSPEC) {
        g_autoptr(NlAddr) address = nl_address(&route->gateway, ibh_ip_bits(&route->gateway));

        rtnl_route_nh_set_gateway(hop, address);
    }
    rtnl_route_add_nexthop(object, hop);
    return TRUE;
}

static gboolean put_nexthops(NlRoute *object, const IbhRoute *route)
{
    g_auto(GStrv) hops = NULL;

    if (!route->hops)
        return !route->ifindex || put_nexthop(object, route->ifindex, route);
    hops = g_strsplit(route->hops, " ", -1);
    for (char **hop = hops; *hop; hop++) {
        if (!put_nexthop(object, atoi(*hop), route))
            return FALSE;
    }
    return TRUE;
}

static NlRoute *route_object(const IbhRoute *route)
{
    g_autoptr(NlRoute) object = rtnl_route_alloc();
    g_autoptr(NlAddr) dst = nl_address(&route->dst.ip, route->dst.length);

    if (!object || !dst || rtnl_route_set_dst(object, dst) < 0 || rtnl_route_set_type(object, route->type) < 0)
        return NULL;
    rtnl_route_set_table(object, route->table);
    rtnl_route_set_scope(object, route->scope);
    rtnl_route_set_protocol(object, route->protocol);
    rtnl_route_set_priority(object, route->metric);
    if (route->onlink)
        rtnl_route_set_flags(object, RTNH_F_ONLINK);
    if (route->src.family != AF_UNSPEC) {
        g_autoptr(NlAddr) src = nl_address(&route->src, ibh_ip_bits(&route->src));

        if (!src || rtnl_route_set_pref_src(object, src) < 0)
            return NULL;
    }
    if (!put_nexthops(object, route))
        return NULL;
    return g_steal_pointer(&object);
}

/* Main has the connected routes of several NICs side by side. */
static int add_flag(const IbhRoute *route, IbhOpType type)
{
    if (type == IBH_OP_ROUTE_REPLACE)
        return NLM_F_REPLACE;
    return route->table == IBH_TABLE_MAIN ? NLM_F_APPEND : NLM_F_EXCL;
}

static gboolean change_route(IbhNetlink *netlink, const IbhRoute *route, IbhOpType type, GError **error)
{
    g_autoptr(NlRoute) object = route_object(route);
    struct nl_msg *message = NULL;
    int result = -1;

    if (object && type == IBH_OP_ROUTE_DEL)
        result = rtnl_route_build_del_request(object, 0, &message);
    else if (object)
        result = rtnl_route_build_add_request(object, NLM_F_CREATE | add_flag(route, type), &message);
    if (result < 0)
        return out_of_memory(error);
    return change(netlink, message,
                  type == IBH_OP_ROUTE_DEL         ? ESRCH
                  : route->table == IBH_TABLE_MAIN ? EEXIST
                                                   : 0,
                  error);
}

/* ---- neighbours ---- */

static NlNeigh *neighbour_object(int ifindex, const IbhIp *ip)
{
    g_autoptr(NlNeigh) object = rtnl_neigh_alloc();
    g_autoptr(NlAddr) dst = nl_address(ip, ibh_ip_bits(ip));

    if (!object || !dst || rtnl_neigh_set_dst(object, dst) < 0)
        return NULL;
    rtnl_neigh_set_ifindex(object, ifindex);
    rtnl_neigh_set_family(object, ip->family);
    return g_steal_pointer(&object);
}

static gboolean delete_neighbour(IbhNetlink *netlink, int ifindex, const IbhIp *ip, GError **error)
{
    g_autoptr(NlNeigh) object = neighbour_object(ifindex, ip);
    struct nl_msg *message = NULL;

    if (!object || rtnl_neigh_build_delete_request(object, 0, &message) < 0)
        return out_of_memory(error);
    return change(netlink, message, ENOENT, error);
}

gboolean ibh_netlink_announce(IbhNetlink *netlink, int ifindex, const IbhIp *ip, GError **error)
{
    g_autoptr(NlNeigh) object = neighbour_object(ifindex, ip);
    struct nl_msg *message = NULL;

    if (object)
        rtnl_neigh_set_flags(object, NTF_USE);
    if (!object || rtnl_neigh_build_add_request(object, NLM_F_CREATE, &message) < 0)
        return out_of_memory(error);
    /* "Use" makes the kernel ask for the address at once: who has ADDR, tell ADDR. No host answers, so the entry is
     * deleted before the kernel asks again. */
    return change(netlink, message, 0, error) && delete_neighbour(netlink, ifindex, ip, error);
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
        return delete_neighbour(netlink, op->ifindex, &op->ip, error);
    case IBH_OP_SYSCTL_SET:
    case IBH_OP_ANNOUNCE:
        break;
    }
    g_assert_not_reached();
}
