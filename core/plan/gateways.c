/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a rail reaches via gateways: remote= in its table T, its default in D. Both follow from this NIC alone: from its
 * own addresses, its own default in main, its settings. (In remote= its siblings' subnets go the same way.) Main's
 * other routes via gateways are copied nowhere: main is asked for them.
 */
#include "plan/want.h"

#include <linux/rtnetlink.h>
#include <sys/socket.h>

gboolean ibh_routes_have_prefix(const GArray *routes, const IbhPrefix *prefix)
{
    IBH_EACH (const IbhRoute, route, routes) {
        if (ibh_prefix_equal(&route->dst, prefix))
            return TRUE;
    }
    return FALSE;
}

IbhRoute ibh_route_of_ours(guint32 table, const IbhPrefix *dst)
{
    return (IbhRoute){.family = dst->ip.family,
                      .table = table,
                      .dst = *dst,
                      .type = RTN_UNICAST,
                      .protocol = RTPROT_KERNEL,
                      .scope = RT_SCOPE_UNIVERSE,
                      .metric = IBH_MARK};
}

IbhRoute ibh_route_for_nic(const IbhNic *nic, const IbhPrefix *dst)
{
    IbhRoute route = ibh_route_of_ours(nic->table, dst);

    route.ifindex = nic->link->ifindex;
    route.nexthops = 1;
    return route;
}

/* ---- routes via a gateway, as the kernel takes them ---- */

/* Main may lack the gateway's subnet, or reach it through another NIC: onlink makes IPv4 take it all the same. */
void ibh_route_set_gateway(IbhRoute *route, const IbhIp *gateway)
{
    route->gateway = *gateway;
    route->scope = route->family == AF_INET && gateway->family == AF_UNSPEC ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE;
    route->onlink = gateway->family == AF_INET;
}

static gboolean is_on_link(const GArray *routes, const IbhRoute *route)
{
    IBH_EACH (const IbhRoute, other, routes) {
        if (other->table == route->table && other->gateway.family == AF_UNSPEC &&
            ibh_prefix_contains(&other->dst, &route->gateway))
            return TRUE;
    }
    return FALSE;
}

/* IPv6 knows no onlink: it looks the gateway up in the route's own table, then in main. So a gateway that the table
 * does not reach gets a route of its own before. One of fe80::/10 is of the link. */
void ibh_routes_add_via(const IbhNic *nic, const IbhRoute *route, GArray *routes)
{
    if (route->gateway.family == AF_INET6 && !ibh_ip_is_fe80(&route->gateway) && !is_on_link(routes, route)) {
        const IbhPrefix host = ibh_prefix_of_host(&route->gateway);
        IbhRoute way = ibh_route_for_nic(nic, &host);

        way.table = route->table;
        g_array_append_val(routes, way);
    }
    g_array_append_vals(routes, route, 1);
}

/* ---- what main says of this NIC ---- */

gboolean ibh_route_is_simple(const IbhRoute *route)
{
    return route->nexthops == 1 && !route->special && !route->encapsulated;
}

/* The default through this NIC that main prefers to its others via this gateway. `gateway` NULL: its only one, of every
 * kind: of two routers, or preferences, main alone knows which of them works. */
static const IbhRoute *find_in_main(const IbhRails *rails, const IbhNic *nic, int family, const IbhIp *gateway)
{
    const IbhRoute *best = NULL;
    guint count = 0;

    IBH_EACH (const IbhRoute, route, rails->snapshot->main_by_nic) {
        if (route->ifindex != nic->link->ifindex || route->family != family || route->dst.length)
            continue;
        count++;
        if (ibh_route_is_simple(route) && (!gateway || ibh_ip_equal(&route->gateway, gateway)) &&
            (!best || route->metric < best->metric))
            best = route;
    }
    return gateway || count == 1 ? best : NULL;
}

/* ---- the configured gateway ---- */

/* The first host of this subnet, or the last one. */
static IbhIp host_at_edge(const IbhPrefix *subnet, gboolean at_end)
{
    IbhIp ip = subnet->ip;
    const guint bits = ibh_ip_bits(&ip);

    for (guint bit = subnet->length; at_end && bit < bits; bit++)
        ip.bytes[bit / 8] |= (guint8)(0x80u >> (bit % 8));
    if (bits - subnet->length > 1) /* a /31 has no network and no broadcast address */
        ip.bytes[bits / 8 - 1] ^= 1;
    return ip;
}

gboolean ibh_prefix_has_one_peer(const IbhPrefix *subnet)
{
    guint left = ibh_ip_bits(&subnet->ip) - subnet->length;

    return left == 1 || (left == 2 && subnet->ip.family == AF_INET);
}

/* The gateway that gateway=peer, first or last names, in the subnet of this address. */
static gboolean find_by_place(IbhGateway place, const IbhAddress *address, IbhIp *ret_gateway)
{
    const IbhPrefix *subnet = &address->subnet;
    const gboolean is_peer = place == IBH_GATEWAY_PEER;

    if (is_peer ? !ibh_prefix_has_one_peer(subnet) : subnet->ip.family != AF_INET || subnet->length >= 32)
        return FALSE;
    *ret_gateway = host_at_edge(subnet, place == IBH_GATEWAY_LAST);
    if (is_peer && ibh_ip_equal(ret_gateway, &address->local))
        *ret_gateway = host_at_edge(subnet, TRUE);
    return TRUE;
}

/* It is of the link, or in a subnet of the NIC. */
static gboolean is_reachable(const IbhNic *nic, const IbhIp *gateway)
{
    IBH_EACH_POINTER (const IbhAddress, address, nic->served) {
        if (ibh_ip_is_fe80(gateway) ? address->local.family == AF_INET6
                                    : !ibh_address_is_host(address) && ibh_prefix_contains(&address->subnet, gateway))
            return TRUE;
    }
    return FALSE;
}

gboolean ibh_nic_find_gateway(const IbhNic *nic, int family, IbhIp *ret_gateway)
{
    const IbhSettings *settings = &nic->settings;

    if (settings->gateway == IBH_GATEWAY_ADDRESS) {
        *ret_gateway = settings->gateway_ip;
        return ret_gateway->family == family && is_reachable(nic, ret_gateway);
    }
    IBH_EACH_POINTER (const IbhAddress, address, nic->served) {
        if (settings->gateway >= IBH_GATEWAY_PEER && address->local.family == family &&
            find_by_place(settings->gateway, address, ret_gateway))
            return TRUE;
    }
    return FALSE;
}

/* ---- the default ---- */

/* Of gateway=, auto too. */
static gboolean find_own_gateway(const IbhRails *rails, const IbhNic *nic, int family, IbhIp *ret_gateway)
{
    const IbhRoute *of_main;

    if (nic->settings.gateway != IBH_GATEWAY_AUTO)
        return ibh_nic_find_gateway(nic, family, ret_gateway);
    of_main = find_in_main(rails, nic, family, NULL);
    if (of_main)
        *ret_gateway = of_main->gateway;
    return of_main != NULL;
}

/* Where main's default through this NIC has the same gateway, its metrics hold for this route as well. */
static gboolean lead_via(const IbhRails *rails, const IbhNic *nic, const IbhIp *gateway, IbhRoute *route)
{
    const IbhRoute *of_main = find_in_main(rails, nic, route->family, gateway);

    if (ibh_rails_have_gateway(rails, nic, gateway))
        return FALSE;
    ibh_route_set_gateway(route, gateway);
    if (of_main)
        ibh_route_set_metrics(route, of_main);
    return TRUE;
}

gboolean ibh_want_default(const IbhRails *rails, const IbhNic *nic, int family, IbhRoute *ret_route)
{
    const IbhPrefix world = ibh_prefix_of_world(family);
    IbhIp gateway;

    *ret_route = ibh_route_for_nic(nic, &world);
    ret_route->table = ibh_nic_defaults(nic);
    return ibh_nic_serves_family(nic, family) && find_own_gateway(rails, nic, family, &gateway) &&
           lead_via(rails, nic, &gateway, ret_route);
}

gboolean ibh_nic_has_default(const IbhRails *rails, const IbhNic *nic, int family)
{
    IbhRoute route;

    return ibh_want_default(rails, nic, family, &route);
}

/* ---- remote= ---- */

static gboolean find_way(const IbhRails *rails, const IbhNic *nic, const IbhRemote *remote, IbhRoute *route)
{
    IbhRoute own;

    if (remote->via.family == AF_UNSPEC) {
        if (!ibh_want_default(rails, nic, route->family, &own))
            return FALSE;
        ibh_route_set_gateway(route, &own.gateway);
        ibh_route_set_metrics(route, &own);
        return TRUE;
    }
    return ibh_nic_serves_family(nic, route->family) && is_reachable(nic, &remote->via) &&
           lead_via(rails, nic, &remote->via, route);
}

static void add_remote(const IbhRails *rails, const IbhNic *nic, const IbhRemote *remote, const IbhPrefix *dst,
                       GArray *routes)
{
    IbhRoute route = ibh_route_for_nic(nic, dst);

    if (!ibh_routes_have_prefix(routes, dst) && find_way(rails, nic, remote, &route))
        ibh_routes_add_via(nic, &route, routes);
}

/* Main has the siblings' subnets as longer prefixes than remote=: they need routes of their own, whether the sibling is
 * a rail now or held. Main has none of a sibling that is down. */
void ibh_want_remote(const IbhRails *rails, const IbhNic *nic, int family, GArray *routes)
{
    if (!nic->settings.remote->len)
        return;
    IBH_EACH (const IbhRemote, remote, nic->settings.remote) {
        if (remote->prefix.ip.family == family)
            add_remote(rails, nic, remote, &remote->prefix, routes);
    }
    IBH_EACH_POINTER (const IbhNic, other, rails->nics) {
        const gboolean is_sibling = other != nic && (other->status == IBH_NIC_RAIL || other->status == IBH_NIC_HELD);

        if (!is_sibling || !(other->link->flags & IFF_UP))
            continue;
        IBH_EACH_POINTER (const IbhAddress, address, other->served) {
            const IbhRemote *remote = ibh_address_is_host(address) ? NULL : ibh_nic_find_remote(nic, &address->subnet);

            if (remote && remote->prefix.ip.family == family)
                add_remote(rails, nic, remote, &address->subnet, routes);
        }
    }
}

/* A NIC without an address of that family may get one yet. */
static char *why_no_gateway(const IbhNic *nic, const IbhRemote *remote)
{
    char via[IBH_IP_STRLEN];

    if (!ibh_nic_serves_family(nic, remote->prefix.ip.family))
        return NULL;
    if (remote->via.family == AF_UNSPEC)
        return nic->settings.gateway == IBH_GATEWAY_NONE
                   ? g_strdup("gateway=none leaves it no gateway; write \"via GATEWAY\" behind the prefix")
                   : NULL;
    return is_reachable(nic, &remote->via)
               ? NULL
               : g_strdup_printf("the gateway %s is in no subnet of %s; use one that is, or one of fe80::/10",
                                 ibh_ip_format(&remote->via, via), nic->link->name);
}

gboolean ibh_rails_check_remote(const IbhRails *rails, GError **error)
{
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        IBH_EACH (const IbhRemote, remote, nic->settings.remote) {
            g_autofree char *why = nic->status == IBH_NIC_RAIL ? why_no_gateway(nic, remote) : NULL;
            char prefix[IBH_PREFIX_STRLEN];

            if (!why)
                continue;
            g_set_error(error, IBH_CONFIG_ERROR, 0, "%s: remote=%s: %s", nic->settings.remote_origin,
                        ibh_prefix_format(&remote->prefix, prefix), why);
            return FALSE;
        }
    }
    return TRUE;
}
