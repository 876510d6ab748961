/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/netlink.h"

#include "kernel/dump.h"

#include <linux/rtnetlink.h>

/* RTA_VIA is a gateway whose family is not the route's: BGP unnumbered has IPv6 gateways for IPv4 prefixes. If an
 * RTA_VIA is not IPv6, we read no gateway. */
static IbhIp get_gateway(struct nlattr *gateway, struct nlattr *via, int family)
{
    const struct rtvia *other = via ? nla_data(via) : NULL;

    if (!other)
        return get_ip(gateway, family);
    if ((gsize)nla_len(via) < sizeof *other + 16 || other->rtvia_family != AF_INET6)
        return (IbhIp){.family = AF_UNSPEC};
    return ibh_ip_from_bytes(AF_INET6, other->rtvia_addr);
}

/* Reads the nexthops of a multipath route. */
static void get_hops(struct nlattr *multipath, GHashTable *pool, IbhRoute *route)
{
    const struct rtnexthop *hop = nla_data(multipath);
    g_autoptr(GArray) hops = IBH_NEW_ARRAY(IbhHop);
    int left = nla_len(multipath);

    while (left >= (int)sizeof *hop && hop->rtnh_len >= sizeof *hop && hop->rtnh_len <= left) {
        const struct nlattr *head = (const void *)(hop + 1);
        const int size = hop->rtnh_len - (int)sizeof *hop, step = (int)RTNH_ALIGN(hop->rtnh_len);
        const IbhHop read = {
            .ifindex = hop->rtnh_ifindex,
            .weight = hop->rtnh_hops,
            .dead = (hop->rtnh_flags & RTNH_F_DEAD) != 0,
            .encapsulated = nla_find(head, size, RTA_ENCAP_TYPE) != NULL,
            .gateway = get_gateway(nla_find(head, size, RTA_GATEWAY), nla_find(head, size, RTA_VIA), route->family)};

        g_array_append_val(hops, read);
        left -= step;
        hop = (const void *)((const char *)hop + step);
    }
    ibh_route_set_hops(route, hops, pool);
}

gboolean ibh_route_read(struct nlmsghdr *header, GHashTable *pool, IbhRoute *ret_route)
{
    struct nlattr *attributes[RTA_MAX + 1];
    const struct rtmsg *info = nlmsg_data(header);
    struct nlattr *cacheinfo;
    IbhRoute route;

    if (!parse(header, sizeof *info, attributes, RTA_MAX))
        return FALSE;
    cacheinfo = attributes[RTA_CACHEINFO];
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
        .expires = cacheinfo && (gsize)nla_len(cacheinfo) >= sizeof(struct rta_cacheinfo)
                       ? ((const struct rta_cacheinfo *)nla_data(cacheinfo))->rta_expires
                       : 0,
    };
    route.nexthops = route.ifindex != 0;
    if (attributes[RTA_MULTIPATH])
        get_hops(attributes[RTA_MULTIPATH], pool, &route);
    if (attributes[RTA_METRICS]) {
        route.metrics_size = (guint)nla_len(attributes[RTA_METRICS]);
        route.metrics = ibh_pool_keep(pool, nla_data(attributes[RTA_METRICS]), route.metrics_size);
    }
    /* Drop the device of a route that is neither unicast nor broadcast: an IPv6 throw route, for example, leads through
     * no device, but the kernel reports lo. A broadcast route keeps its device, because a socket that is bound to a NIC
     * finds only the broadcast routes of this NIC. */
    if (route.type != RTN_UNICAST && route.type != RTN_BROADCAST) {
        route.ifindex = 0;
        route.nexthops = 0;
        route.hops = NULL;
    }
    *ret_route = route;
    return TRUE;
}

typedef struct {
    const IbhRouteFilter *filter;
    GHashTable *pool;
    GArray *routes;
} RouteDump;

/* Filters again: kernels without strict dumps filter by family only. And if we ask for both families, a kernel may also
 * send routes of MPLS and multicast. Two members of the filter need no check here:
 * - `ifindex`: only ibh_netlink_read_main() sets it, only for kernels with strict dumps, and these apply it;
 * - `family`: every kernel applies it. (A kernel without IPv6 answers AF_INET6 with all families, but we ask for
 *   AF_INET6 alone only if a rail has an IPv6 address.) */
static gboolean on_route(struct nlmsghdr *header, gpointer data)
{
    RouteDump *dump = data;
    const IbhRouteFilter *filter = dump->filter;
    IbhRoute route;

    if (!ibh_route_read(header, dump->pool, &route))
        return FALSE;
    if (route.expires < 0) /* expired: the kernel lists the route until the next garbage collection, but ignores it */
        return TRUE;
    if (route.cached != filter->cached || (route.family != AF_INET && route.family != AF_INET6))
        return TRUE;
    if ((filter->table && route.table != filter->table) || (filter->protocol && route.protocol != filter->protocol))
        return TRUE;
    if ((filter->type && route.type != filter->type) || (filter->keep && !filter->keep(filter->of, &route)))
        return TRUE;
    g_array_append_val(dump->routes, route);
    return TRUE;
}

gboolean ibh_netlink_read_routes(IbhNetlink *netlink, const IbhRouteFilter *filter, GArray *routes, GError **error)
{
    const struct rtmsg fixed = {.rtm_family = (guint8)filter->family,
                                .rtm_table = filter->table < 256 ? (guint8)filter->table : RT_TABLE_UNSPEC,
                                .rtm_protocol = filter->protocol,
                                .rtm_type = filter->type,
                                .rtm_flags = filter->cached ? RTM_F_CLONED : 0};
    struct nl_msg *message = ibh_message_new(RTM_GETROUTE, NLM_F_DUMP, &fixed, sizeof fixed);
    RouteDump dump = {.filter = filter, .pool = netlink->pool, .routes = routes};
    g_autoptr(GHashTable) objects = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    guint n_kept = routes->len;

    if (filter->table)
        nla_put_u32(message, RTA_TABLE, filter->table);
    if (filter->ifindex)
        nla_put_u32(message, RTA_OIF, (guint32)filter->ifindex);
    /* Between two datagrams of a dump, the kernel remembers an address in an IPv4 table, and a position among the
     * routes whose prefixes begin at this address. So the dump can repeat or skip a route only if such a route is added
     * or deleted between the two datagrams. This is rare enough to read IPv4 routes once. */
    if (!ibh_netlink_dump(netlink, message, on_route, &dump, routes,
                          filter->family == AF_INET ? NULL : (GCompareFunc)ibh_route_compare, "the routes", error))
        return FALSE;
    /* Now that the dump is over, the socket is free for questions about nexthop objects. */
    for (guint i = n_kept; i < routes->len; i++) {
        IbhRoute *route = &g_array_index(routes, IbhRoute, i);

        ibh_route_resolve_nexthop(netlink, objects, route);
        /* Call `keep` again: on_route() called it before the nexthops of an object were known. */
        if (!filter->keep || filter->keep(filter->of, route))
            g_array_index(routes, IbhRoute, n_kept++) = *route;
    }
    g_array_set_size(routes, n_kept);
    return TRUE;
}

gboolean ibh_netlink_read_main(IbhNetlink *netlink, const GArray *ifindexes, int family, IbhRouteMatters keep,
                               gconstpointer of, GArray *parts, GError **error)
{
    /* Only a strict kernel can send the routes of one NIC alone. These routes usually fit into one datagram, and then
     * no second dump is needed (ibh_netlink_dump()). From other kernels, read the whole table, for all NICs
     * together. */
    const gboolean one_by_one = netlink->strict;
    IbhRouteFilter filter = {.family = family, .table = IBH_TABLE_MAIN, .type = RTN_UNICAST, .keep = keep, .of = of};
    g_autoptr(GArray) routes = IBH_NEW_ARRAY(IbhRoute);

    if (!one_by_one && !ibh_netlink_read_routes(netlink, &filter, routes, error))
        return FALSE;
    IBH_EACH (const int, ifindex, ifindexes) {
        if (one_by_one) {
            g_array_set_size(routes, 0);
            filter.ifindex = *ifindex;
            if (!ibh_netlink_read_routes(netlink, &filter, routes, error))
                return FALSE;
        }
        IBH_EACH (const IbhRoute, route, routes) {
            IbhRoute part;

            if (ibh_route_part(route, *ifindex, &part))
                g_array_append_val(parts, part);
        }
    }
    return TRUE;
}
