/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/netlink.h"

#include "kernel/dump.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>

#define MAIN_MAX 256 /* upper limit of routes of main that are read to find those by a rail */
#define FEW 4   /* up to so many devices, one question for each costs less than to find out whether main is small */
#define MANY 16 /* from so many on, reading all of main costs less than having the kernel go through it for each */

/* ---- routes ---- */

/* Of a route over several gateways, takes the one by the device that was asked for (`wanted`). */
static gboolean take_hop(const struct rtnexthop *hop, int wanted, IbhRoute *route)
{
    const int head = (int)sizeof *hop;
    struct nlattr *gateway = nla_find((const void *)(hop + 1), hop->rtnh_len - head, RTA_GATEWAY);

    if (hop->rtnh_ifindex != wanted || !gateway || hop->rtnh_flags & RTNH_F_DEAD)
        return FALSE;
    route->ifindex = wanted;
    route->gateway = get_ip(gateway, route->family);
    route->nexthops = 1;
    return TRUE;
}

/* A multipath route over devices alone counts as it is. */
static void get_nexthops(struct nlattr *multipath, int wanted, IbhRoute *route)
{
    const struct rtnexthop *hop = nla_data(multipath);
    g_autoptr(GArray) hops = g_array_new(FALSE, FALSE, sizeof(IbhHop));
    int left = nla_len(multipath);

    while (left >= (int)sizeof *hop && hop->rtnh_len >= sizeof *hop && hop->rtnh_len <= left) {
        const IbhHop one = {hop->rtnh_ifindex, hop->rtnh_hops, (hop->rtnh_flags & RTNH_F_DEAD) != 0};
        int step = (int)RTNH_ALIGN(hop->rtnh_len);

        if (wanted && take_hop(hop, wanted, route))
            return;
        g_array_append_val(hops, one);
        left -= step;
        hop = (const void *)((const char *)hop + step);
    }
    route->hops = ibh_intern_hops(hops);
    route->nexthops = hops->len;
    route->ifindex = hops->len ? route->hops->ifindex : 0;
}

/* An IPv6 gateway of an IPv4 route: BGP unnumbered has no others. */
static IbhIp get_via(struct nlattr *attribute)
{
    const struct rtvia *via = nla_data(attribute);
    IbhIp ip = {.family = AF_UNSPEC};

    if ((gsize)nla_len(attribute) < sizeof *via + 16 || via->rtvia_family != AF_INET6)
        return ip;
    ip.family = AF_INET6;
    memcpy(ip.bytes, via->rtvia_addr, 16);
    return ip;
}

static gboolean read_route(struct nlmsghdr *header, int wanted, IbhRoute *ret_route)
{
    struct nlattr *attributes[RTA_MAX + 1];
    const struct rtmsg *info = nlmsg_data(header);
    IbhRoute route = {.nexthops = 0};

    if (!parse(header, sizeof *info, attributes, RTA_MAX))
        return FALSE;
    route.family = info->rtm_family;
    route.table = get_u32(attributes[RTA_TABLE], info->rtm_table);
    route.dst = get_prefix(attributes[RTA_DST], info->rtm_family, info->rtm_dst_len);
    route.type = info->rtm_type;
    route.protocol = info->rtm_protocol;
    route.scope = info->rtm_scope;
    route.metric = get_u32(attributes[RTA_PRIORITY], 0);
    route.ifindex = (int)get_u32(attributes[RTA_OIF], 0);
    route.gateway =
        attributes[RTA_VIA] ? get_via(attributes[RTA_VIA]) : get_ip(attributes[RTA_GATEWAY], info->rtm_family);
    route.src = get_ip(attributes[RTA_PREFSRC], info->rtm_family);
    route.nexthops = route.ifindex ? 1 : 0;
    route.onlink = (info->rtm_flags & RTNH_F_ONLINK) != 0;
    if (attributes[RTA_MULTIPATH])
        get_nexthops(attributes[RTA_MULTIPATH], route.table == IBH_TABLE_MAIN ? wanted : 0, &route);
    route.object = get_u32(attributes[RTA_NH_ID], 0);
    route.special = info->rtm_tos || info->rtm_src_len;
    if (route.type != RTN_UNICAST) { /* IPv6 reads a throw back as one of lo */
        route.ifindex = 0;
        route.nexthops = 0;
        route.hops = NULL;
    }
    *ret_route = route;
    return TRUE;
}

/* A kernel without strict dumps sends everything. */
static gboolean passes(const IbhRoute *route, const IbhRouteFilter *filter)
{
    return (!filter->table || filter->table == route->table) &&
           (!filter->protocol || filter->protocol == route->protocol) &&
           (!filter->type || filter->type == route->type) && (!filter->ifindex || filter->ifindex == route->ifindex);
}

typedef struct {
    const IbhRouteFilter *filter;
    const GArray *ifindexes; /* of main: routes by one of these; NULL: all that pass the filter */
    guint count;
    GArray *routes;
} RouteDump;

static gboolean is_cut(const RouteDump *dump)
{
    return dump->filter->limit && dump->count > dump->filter->limit;
}

static gboolean add_route(const RouteDump *dump, struct nlmsghdr *header, const IbhRouteFilter *filter)
{
    IbhRoute route;

    if (!read_route(header, filter->ifindex, &route))
        return FALSE;
    if ((route.family == AF_INET || route.family == AF_INET6) && passes(&route, filter)) /* no MPLS, no multicast */
        g_array_append_val(dump->routes, route);
    return TRUE;
}

static gboolean on_route(struct nlmsghdr *header, gpointer data)
{
    RouteDump *dump = data;
    IbhRouteFilter filter = *dump->filter;
    int device; /* 0: none, or several */

    if (header->nlmsg_type != RTM_NEWROUTE)
        return TRUE;
    dump->count++;
    if (is_cut(dump))
        return FALSE;
    if (!dump->ifindexes)
        return add_route(dump, header, &filter);
    device = (int)get_u32(nlmsg_find_attr(header, sizeof(struct rtmsg), RTA_OIF), 0);
    IBH_EACH (const int, ifindex, dump->ifindexes) {
        filter.ifindex = *ifindex;
        if ((!device || device == filter.ifindex) && !add_route(dump, header, &filter))
            return FALSE;
        if (device == filter.ifindex)
            break;
    }
    return TRUE;
}

static struct nl_msg *route_request(const IbhRouteFilter *filter)
{
    struct rtmsg fixed = {.rtm_family = (guint8)filter->family,
                          .rtm_table = filter->table < 256 ? (guint8)filter->table : RT_TABLE_UNSPEC,
                          .rtm_protocol = filter->protocol,
                          .rtm_type = filter->type};
    struct nl_msg *message = ibh_request(RTM_GETROUTE, NLM_F_DUMP, &fixed, sizeof fixed);

    if (filter->table)
        nla_put_u32(message, RTA_TABLE, filter->table);
    if (filter->ifindex)
        nla_put_u32(message, RTA_OIF, (guint32)filter->ifindex);
    return message;
}

/* None, if more came than the limit allows. */
static gboolean read_routes(IbhNetlink *netlink, RouteDump *dump, GError **error)
{
    g_autoptr(GError) local = NULL;

    if (ibh_dump(netlink, route_request(dump->filter), on_route, dump, dump->routes, "the routes", &local) ||
        is_cut(dump))
        return TRUE;
    g_propagate_error(error, g_steal_pointer(&local));
    return FALSE;
}

gboolean ibh_netlink_read_routes(IbhNetlink *netlink, const IbhRouteFilter *filter, GArray *routes, GError **error)
{
    return read_routes(netlink, &(RouteDump){.filter = filter, .routes = routes}, error);
}

static gboolean read_main_by_each(IbhNetlink *netlink, const GArray *ifindexes, int family, GArray *routes,
                                  GError **error)
{
    IbhRouteFilter filter = {.family = family, .table = IBH_TABLE_MAIN, .type = RTN_UNICAST};

    IBH_EACH (const int, ifindex, ifindexes) {
        filter.ifindex = *ifindex;
        if (!ibh_netlink_read_routes(netlink, &filter, routes, error))
            return FALSE;
    }
    return TRUE;
}

/* One dump of all of main, as long as it is not large: then the kernel picks out what goes by each of the devices. */
gboolean ibh_netlink_read_main(IbhNetlink *netlink, const GArray *ifindexes, int family, GArray *routes, GError **error)
{
    const IbhRouteFilter filter = {
        .family = family, .table = IBH_TABLE_MAIN, .type = RTN_UNICAST, .limit = ifindexes->len < MANY ? MAIN_MAX : 0};
    RouteDump dump = {.filter = &filter, .ifindexes = ifindexes, .routes = routes};

    if (ifindexes->len <= FEW && ibh_netlink_is_strict(netlink))
        return read_main_by_each(netlink, ifindexes, family, routes, error);
    return read_routes(netlink, &dump, error) &&
           (!is_cut(&dump) || read_main_by_each(netlink, ifindexes, family, routes, error));
}

/* ---- asking ---- */

static gboolean on_answer(struct nlmsghdr *header, gpointer data)
{
    IbhLookup *lookup = data;
    IbhRoute route;

    if (header->nlmsg_type != RTM_NEWROUTE || !read_route(header, 0, &route))
        return FALSE;
    lookup->type = route.type;
    lookup->oif = route.ifindex;
    lookup->hops = route.hops;
    lookup->table = route.table;
    lookup->length = route.dst.length;
    lookup->mtu = get_u32(find_in(nlmsg_find_attr(header, sizeof(struct rtmsg), RTA_METRICS), RTAX_MTU), 0);
    lookup->src = route.src;
    lookup->gateway = route.gateway;
    return TRUE;
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
    struct nl_msg *message = ibh_request(RTM_GETROUTE, 0, &fixed, sizeof fixed);

    nla_put(message, RTA_DST, (int)bits / 8, lookup->to.bytes);
    nla_put(message, RTA_SRC, (int)bits / 8, lookup->from.bytes);
    if (lookup->iif)
        nla_put_u32(message, RTA_IIF, (guint32)lookup->iif);
    if (lookup->bound)
        nla_put_u32(message, RTA_OIF, (guint32)lookup->bound);
    if (!lookup->iif)
        nla_put_u32(message, RTA_UID, 0); /* as RDMA asks */
    if (lookup->to.family == AF_INET)     /* RDMA asks without a protocol; the kernel would take UDP, and its rules */
        nla_put_u8(message, RTA_IP_PROTO, lookup->neutral ? lookup->neutral : IPPROTO_ICMP);
    return message;
}

gboolean ibh_netlink_lookup(IbhNetlink *netlink, IbhLookup *lookup, GError **error)
{
    struct nl_msg *message = lookup_request(lookup);
    g_autoptr(GError) local = NULL;
    gboolean answered;

    lookup->error = lookup->oif = lookup->type = 0;
    lookup->hops = NULL;
    answered = ibh_netlink_talk(netlink, message, on_answer, lookup, &local);
    nlmsg_free(message);
    if (answered)
        return TRUE;
    if (local->domain == IBH_ANSWER_LOST || local->code == EIO || local->code == EBADMSG) {
        g_propagate_error(error, g_steal_pointer(&local));
        return FALSE;
    }
    lookup->error = local->code; /* a refusal is an answer, too */
    return TRUE;
}
