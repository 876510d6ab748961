/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/netlink.h"

#include "kernel/dump.h"
#include "kernel/questions.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>

/* ---- routes ---- */

/* A gateway of the other family: BGP unnumbered has IPv6 gateways for IPv4 prefixes. */
static IbhIp get_via(struct nlattr *attribute)
{
    const struct rtvia *via = nla_data(attribute);
    if ((gsize)nla_len(attribute) < sizeof *via + 16 || via->rtvia_family != AF_INET6)
        return (IbhIp){.family = AF_UNSPEC};
    return ibh_ip_from_bytes(AF_INET6, via->rtvia_addr);
}

static IbhIp get_gateway(struct nlattr *plain, struct nlattr *via, int family)
{
    return via ? get_via(via) : get_ip(plain, family);
}

static IbhHop read_hop(const struct rtnexthop *hop, int family)
{
    const struct nlattr *head = (const void *)(hop + 1);
    const int size = hop->rtnh_len - (int)sizeof *hop;

    return (IbhHop){.ifindex = hop->rtnh_ifindex,
                    .weight = hop->rtnh_hops,
                    .dead = (hop->rtnh_flags & RTNH_F_DEAD) != 0,
                    .encapsulated = nla_find(head, size, RTA_ENCAP_TYPE) != NULL,
                    .gateway = get_gateway(nla_find(head, size, RTA_GATEWAY), nla_find(head, size, RTA_VIA), family)};
}

static void get_nexthops(struct nlattr *multipath, GHashTable *pool, IbhRoute *route)
{
    const struct rtnexthop *hop = nla_data(multipath);
    g_autoptr(GArray) hops = IBH_NEW_ARRAY(IbhHop);
    int left = nla_len(multipath);

    while (left >= (int)sizeof *hop && hop->rtnh_len >= sizeof *hop && hop->rtnh_len <= left) {
        const IbhHop one = read_hop(hop, route->family);
        int step = (int)RTNH_ALIGN(hop->rtnh_len);

        g_array_append_val(hops, one);
        left -= step;
        hop = (const void *)((const char *)hop + step);
    }
    ibh_route_set_hops(route, hops, pool);
}

static guint32 get_expiry(struct nlattr *cacheinfo)
{
    return cacheinfo && (gsize)nla_len(cacheinfo) >= sizeof(struct rta_cacheinfo)
               ? (guint32)((const struct rta_cacheinfo *)nla_data(cacheinfo))->rta_expires
               : 0;
}

static gboolean read_route(struct nlmsghdr *header, GHashTable *pool, IbhRoute *ret_route)
{
    struct nlattr *attributes[RTA_MAX + 1];
    const struct rtmsg *info = nlmsg_data(header);
    IbhRoute route;

    if (!parse(header, sizeof *info, attributes, RTA_MAX))
        return FALSE;
    route = (IbhRoute){
        .family = info->rtm_family,
        .table = get_u32(attributes[RTA_TABLE], info->rtm_table),
        .dst = get_prefix(attributes[RTA_DST], info->rtm_family, info->rtm_dst_len),
        .type = info->rtm_type,
        .protocol = info->rtm_protocol,
        .scope = info->rtm_scope,
        .metric = get_u32(attributes[RTA_PRIORITY], 0),
        .ifindex = (int)get_u32(attributes[RTA_OIF], 0),
        .gateway = get_gateway(attributes[RTA_GATEWAY], attributes[RTA_VIA], info->rtm_family),
        .onlink = (info->rtm_flags & RTNH_F_ONLINK) != 0,
        .src = get_ip(attributes[RTA_PREFSRC], info->rtm_family),
        .object = get_u32(attributes[RTA_NH_ID], 0),
        .special = info->rtm_tos || info->rtm_src_len,
        .encapsulated = attributes[RTA_ENCAP_TYPE] != NULL,
        .cached = (info->rtm_flags & RTM_F_CLONED) != 0,
        .expires = get_expiry(attributes[RTA_CACHEINFO]) != 0,
    };
    route.nexthops = route.ifindex ? 1 : 0;
    if (attributes[RTA_MULTIPATH])
        get_nexthops(attributes[RTA_MULTIPATH], pool, &route);
    if (attributes[RTA_METRICS]) {
        route.metrics_size = (guint)nla_len(attributes[RTA_METRICS]);
        route.metrics = ibh_pool_keep(pool, nla_data(attributes[RTA_METRICS]), route.metrics_size);
    }
    /* IPv6 reads a throw back as one of lo. Of a broadcast the NIC counts: for a socket that is bound to one. */
    if (route.type != RTN_UNICAST && route.type != RTN_BROADCAST) {
        route.ifindex = 0;
        route.nexthops = 0;
        route.hops = NULL;
    }
    *ret_route = route;
    return TRUE;
}

static gboolean is_wanted(guint32 value, guint32 wanted)
{
    return !wanted || value == wanted;
}

/* A kernel without strict dumps sends everything. MPLS and multicast are none of ours. Only strict ones are asked for a
 * device, and of what they send its part is taken (ibh_netlink_read_main). */
static gboolean passes(const IbhRoute *route, const IbhRouteFilter *filter)
{
    if (route->cached != filter->cached || (route->family != AF_INET && route->family != AF_INET6))
        return FALSE;
    return is_wanted(route->table, filter->table) && is_wanted(route->protocol, filter->protocol) &&
           is_wanted(route->type, filter->type);
}

typedef struct {
    const IbhRouteFilter *filter;
    GHashTable *pool;
    GArray *routes;
    guint before;    /* so many of them were there already */
    gboolean is_cut; /* more came than the limit allows */
} RouteDump;

static gboolean on_route(struct nlmsghdr *header, gpointer data)
{
    RouteDump *dump = data;
    const IbhRouteFilter *filter = dump->filter;
    IbhRoute route;

    if (!read_route(header, dump->pool, &route))
        return FALSE;
    if (!passes(&route, filter) || (filter->keep && !filter->keep(filter->of, &route)))
        return TRUE;
    dump->is_cut = filter->limit && dump->routes->len - dump->before == filter->limit;
    if (!dump->is_cut)
        g_array_append_val(dump->routes, route);
    return !dump->is_cut;
}

static struct nl_msg *route_request(const IbhRouteFilter *filter)
{
    struct rtmsg fixed = {.rtm_family = (guint8)filter->family,
                          .rtm_table = filter->table < 256 ? (guint8)filter->table : RT_TABLE_UNSPEC,
                          .rtm_protocol = filter->protocol,
                          .rtm_type = filter->type,
                          .rtm_flags = filter->cached ? RTM_F_CLONED : 0};
    struct nl_msg *message = ibh_message_new(RTM_GETROUTE, NLM_F_DUMP, &fixed, sizeof fixed);

    if (filter->table)
        nla_put_u32(message, RTA_TABLE, filter->table);
    if (filter->ifindex)
        nla_put_u32(message, RTA_OIF, (guint32)filter->ifindex);
    return message;
}

/* None, if more came than the limit allows. */
gboolean ibh_netlink_read_routes(IbhNetlink *netlink, const IbhRouteFilter *filter, GArray *routes, GError **error)
{
    const guint before = routes->len;
    RouteDump dump = {.filter = filter, .pool = ibh_netlink_pool(netlink), .routes = routes, .before = before};

    if (!ibh_netlink_dump(netlink, route_request(filter), on_route, &dump, routes, "the routes", error)) {
        if (!dump.is_cut)
            return FALSE;
        g_clear_error(error);
    }
    for (guint i = before; i < routes->len; i++)
        ibh_route_resolve_nexthop(netlink, &g_array_index(routes, IbhRoute, i));
    return TRUE;
}

/* ---- main, as each of some devices has it ---- */

static void add_parts(const GArray *whole, int ifindex, GArray *parts)
{
    IBH_EACH (const IbhRoute, route, whole) {
        IbhRoute part;

        if (ibh_route_part(route, ifindex, &part))
            g_array_append_val(parts, part);
    }
}

gboolean ibh_netlink_read_main(IbhNetlink *netlink, const GArray *ifindexes, int family, IbhRouteMatters keep,
                               gconstpointer of, GArray *parts, GError **error)
{
    const gboolean one_by_one = ifindexes->len <= IBH_NICS_ASKED_FOR_ROUTES && ibh_netlink_is_strict(netlink);
    IbhRouteFilter filter = {.family = family, .table = IBH_TABLE_MAIN, .type = RTN_UNICAST, .keep = keep, .of = of};
    g_autoptr(GArray) whole = IBH_NEW_ARRAY(IbhRoute);

    if (!one_by_one && !ibh_netlink_read_routes(netlink, &filter, whole, error))
        return FALSE;
    IBH_EACH (const int, ifindex, ifindexes) {
        if (one_by_one) {
            g_array_set_size(whole, 0);
            filter.ifindex = *ifindex;
            if (!ibh_netlink_read_routes(netlink, &filter, whole, error))
                return FALSE;
        }
        add_parts(whole, *ifindex, parts);
    }
    return TRUE;
}

/* ---- asking ---- */

typedef struct {
    IbhRoute route;
    GHashTable *pool;
} Answer;

static gboolean on_answer(struct nlmsghdr *header, gpointer data)
{
    Answer *answer = data;

    return read_route(header, answer->pool, &answer->route);
}

static void take_answer(IbhLookup *lookup, const IbhRoute *route)
{
    lookup->type = route->type;
    lookup->oif = route->ifindex;
    lookup->hops = route->hops;
    lookup->table = route->table;
    lookup->length = route->dst.length;
    lookup->src = route->src;
    lookup->gateway = route->gateway;
    lookup->encapsulated = route->encapsulated;
}

static struct nl_msg *lookup_request(const IbhLookup *lookup)
{
    guint bits = ibh_ip_bits(&lookup->to);
    /* IPv4 reports main for every table, unless asked not to. */
    guint match = RTM_F_FIB_MATCH | (lookup->to.family == AF_INET ? RTM_F_LOOKUP_TABLE : 0);
    struct rtmsg fixed = {.rtm_family = (guint8)lookup->to.family,
                          .rtm_dst_len = (guint8)bits,
                          .rtm_src_len = (guint8)bits,
                          .rtm_flags = lookup->match ? match : 0};
    struct nl_msg *message = ibh_message_new(RTM_GETROUTE, 0, &fixed, sizeof fixed);

    nla_put(message, RTA_DST, (int)bits / 8, lookup->to.bytes);
    nla_put(message, RTA_SRC, (int)bits / 8, lookup->from.bytes);
    if (lookup->iif)
        nla_put_u32(message, RTA_IIF, (guint32)lookup->iif);
    else
        nla_put_u32(message, RTA_UID, 0); /* as RDMA asks */
    if (lookup->bound)
        nla_put_u32(message, RTA_OIF, (guint32)lookup->bound);
    if (lookup->to.family == AF_INET) /* RDMA asks without a protocol; the kernel would take UDP, and its rules */
        nla_put_u8(message, RTA_IP_PROTO, lookup->neutral ? lookup->neutral : IPPROTO_ICMP);
    return message;
}

gboolean ibh_netlink_lookup(IbhNetlink *netlink, IbhLookup *lookup, GError **error)
{
    g_autoptr(IbhMessage) message = lookup_request(lookup);
    Answer answer = {.pool = ibh_netlink_pool(netlink)};
    g_autoptr(GError) local = NULL;

    lookup->error = lookup->oif = lookup->type = 0;
    lookup->hops = NULL;
    if (ibh_netlink_talk(netlink, message, on_answer, &answer, &local)) {
        ibh_route_resolve_nexthop(netlink, &answer.route);
        take_answer(lookup, &answer.route);
        return TRUE;
    }
    if (local->domain == IBH_ANSWER_LOST || local->code == EIO || local->code == EBADMSG) {
        g_propagate_error(error, g_steal_pointer(&local));
        return FALSE;
    }
    lookup->error = local->code; /* a refusal is an answer, too */
    return TRUE;
}
