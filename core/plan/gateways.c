/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The prefixes that a rail reaches by gateways. In T: main's routes by a gateway on the rail's subnet, and remote=. In
 * D: its default route.
 */
#include "plan/want.h"

#include <linux/rtnetlink.h>
#include <sys/socket.h>

gboolean ibh_have_prefix(const GArray *routes, const IbhPrefix *prefix)
{
    IBH_EACH (const IbhRoute, route, routes) {
        if (ibh_prefix_equal(&route->dst, prefix))
            return TRUE;
    }
    return FALSE;
}

IbhRoute ibh_own_route(const IbhNic *nic, const IbhPrefix *dst)
{
    return (IbhRoute){.family = dst->ip.family,
                      .table = nic->table,
                      .dst = *dst,
                      .type = RTN_UNICAST,
                      .protocol = RTPROT_KERNEL,
                      .scope = RT_SCOPE_UNIVERSE,
                      .metric = IBH_MARK,
                      .ifindex = nic->link->ifindex,
                      .nexthops = 1};
}

/* ---- main's routes ---- */

static gboolean is_on_subnet(const GArray *subnets, const IbhIp *gateway)
{
    IBH_EACH (const IbhRoute, subnet, subnets) {
        if (subnet->gateway.family == AF_UNSPEC && ibh_prefix_contains(&subnet->dst, gateway))
            return TRUE;
    }
    return FALSE;
}

/* Main prefers another NIC's route to the same prefix. Whose default main prefers does not matter: defaults of other
 * NICs are not read, and what a rail's address sends beyond goes by a gateway of the rail's. */
static gboolean is_anothers_in_main(const IbhRails *rails, const IbhRoute *route)
{
    IBH_EACH (const IbhRoute, other, rails->snapshot->routes) {
        const IbhNic *nic = other->ifindex ? ibh_rails_nic(rails, other->ifindex) : NULL;

        if (route->dst.length && other->table == IBH_TABLE_MAIN && other->type == RTN_UNICAST && other->ifindex &&
            (!nic || nic->status != IBH_NIC_RAIL) && other->metric < route->metric && !other->special &&
            ibh_prefix_equal(&other->dst, &route->dst))
            return TRUE;
    }
    return FALSE;
}

static gboolean can_reach_gateway(const IbhRails *rails, const IbhNic *nic, const GArray *subnets,
                                  const IbhRoute *route)
{
    if (nic->settings.gateway == IBH_GATEWAY_NONE || ibh_rails_holder(rails, &route->gateway))
        return FALSE; /* also one that has become our own address */
    return ibh_ip_is_fe80(&route->gateway) ? route->ifindex == nic->link->ifindex
                                           : is_on_subnet(subnets, &route->gateway);
}

/* A prefix that an IPv6 router can announce. */
static gboolean is_announced(const IbhPrefix *dst)
{
    return dst->ip.family == AF_INET6 && !ibh_ip_is_link_local(&dst->ip) && dst->ip.bytes[0] != 0xff; /* multicast */
}

GPtrArray *ibh_find_copied_routes(const IbhSnapshot *snapshot)
{
    GPtrArray *copied = g_ptr_array_new();

    IBH_EACH (IbhRoute, route, snapshot->routes) {
        if (route->table == IBH_TABLE_MAIN && route->type == RTN_UNICAST && route->nexthops == 1 && !route->special &&
            (route->gateway.family == route->family ||
             (route->gateway.family == AF_UNSPEC && is_announced(&route->dst))) &&
            !ibh_route_is_ours(route))
            g_ptr_array_add(copied, route);
    }
    return copied;
}

/* TRUE for a route of main that this rail can use, too: by a gateway in its own subnet, or (IPv6, where a router
 * announces prefixes) on the link. */
static gboolean is_ours_to_copy(const IbhRails *rails, const IbhNic *nic, const GArray *subnets, const IbhRoute *route)
{
    const IbhNic *other;

    if (route->gateway.family == AF_UNSPEC && route->ifindex != nic->link->ifindex)
        return FALSE;
    other = ibh_rails_nic(rails, route->ifindex);
    if (!other || other->status != IBH_NIC_RAIL || !ibh_programs_family(nic, route->family))
        return FALSE;
    if (route->gateway.family != AF_UNSPEC)
        return can_reach_gateway(rails, nic, subnets, route) && !is_anothers_in_main(rails, route);
    return other == nic && !(route->dst.length == 128 && ibh_rails_holder(rails, &route->dst.ip));
}

/* More than these come from a routing protocol: only defaults are copied for each rail then. */
#define COPIES_MAX 512

static void drop_all_but_defaults(GArray *copies)
{
    IBH_EACH_BACK (const IbhRoute, copy, copies) {
        if (!ibh_route_is_default(copy))
            IBH_REMOVE(IbhRoute, copy, copies);
    }
}

/* Main may lack the subnet of a default's gateway, or reach it by another NIC. IPv4 accepts the gateway with onlink;
 * IPv6 looks it up in main nevertheless, unless D itself has a route to it. */
static gboolean needs_way(const IbhRoute *copy)
{
    return ibh_route_is_default(copy) && copy->gateway.family == AF_INET6 && !ibh_ip_is_fe80(&copy->gateway);
}

static void add_copy(const IbhNic *nic, IbhRoute *copy, GArray *routes)
{
    if (needs_way(copy)) {
        const IbhPrefix host = ibh_prefix(&copy->gateway, ibh_ip_bits(&copy->gateway));
        IbhRoute way = ibh_own_route(nic, &host);

        way.table = copy->table;
        g_array_append_val(routes, way);
    }
    copy->metric = IBH_MARK;
    g_array_append_val(routes, *copy);
}

/* The kernel prefers the route of lowest metric, and of two equal ones the first: a copy has main's metric until all
 * are compared. */
static void copy_route(const IbhNic *nic, const IbhRoute *route, GArray *copies)
{
    IbhRoute copy = ibh_own_route(nic, &route->dst);

    copy.gateway = route->gateway;
    copy.metric = route->metric;
    if (ibh_route_is_default(route)) {
        copy.table = ibh_nic_defaults(nic);
        copy.onlink = route->gateway.family != AF_UNSPEC && !needs_way(&copy);
    }
    IBH_EACH (IbhRoute, other, copies) {
        if (!ibh_prefix_equal(&other->dst, &copy.dst))
            continue;
        if (copy.metric < other->metric)
            *other = copy;
        return;
    }
    g_array_append_val(copies, copy);
}

/* ---- the configured gateway ---- */

/* The n-th host of this subnet from its start, or (negative) from its end. */
static IbhIp nth_host(const IbhPrefix *subnet, int n)
{
    IbhIp ip = subnet->ip;
    guint bits = ibh_ip_bits(&ip), last = bits / 8 - 1;

    for (guint bit = subnet->length; n < 0 && bit < bits; bit++)
        ip.bytes[bit / 8] |= (guint8)(0x80u >> (bit % 8));
    ip.bytes[last] = (guint8)(ip.bytes[last] + n + (n < 0 ? 1 : 0)); /* no carry: the last bits are all 0 or all 1 */
    return ip;
}

gboolean ibh_has_one_peer(const IbhPrefix *subnet)
{
    guint left = ibh_ip_bits(&subnet->ip) - subnet->length;

    return left == 1 || (left == 2 && subnet->ip.family == AF_INET);
}

/* The gateway that gateway=peer, first or last names, in the subnet of this address. */
static gboolean find_by_place(IbhGateway place, const IbhAddress *address, IbhIp *ret_gateway)
{
    const IbhPrefix *subnet = &address->subnet;
    guint left = ibh_ip_bits(&subnet->ip) - subnet->length;
    guint outer = left > 1 ? 1 : 0; /* a /31 has no network and no broadcast address */

    if (place == IBH_GATEWAY_PEER && ibh_has_one_peer(subnet)) {
        *ret_gateway = nth_host(subnet, (int)outer);
        if (ibh_ip_equal(ret_gateway, &address->local))
            *ret_gateway = nth_host(subnet, -1 - (int)outer);
        return TRUE;
    }
    if (place == IBH_GATEWAY_PEER || subnet->ip.family != AF_INET || !left)
        return FALSE;
    *ret_gateway = nth_host(subnet, place == IBH_GATEWAY_FIRST ? (int)outer : -1 - (int)outer);
    return TRUE;
}

gboolean ibh_find_gateway(const IbhNic *nic, int family, IbhIp *ret_gateway)
{
    const IbhIp *configured = &nic->settings.gateway_ip;

    IBH_EACH_POINTER (const IbhAddress, address, &nic->served) {
        if (address->local.family != family)
            continue;
        if (nic->settings.gateway == IBH_GATEWAY_ADDRESS && configured->family == family &&
            (ibh_ip_is_fe80(configured) ||
             (!ibh_address_is_host(address) && ibh_prefix_contains(&address->subnet, configured)))) {
            *ret_gateway = *configured;
            return TRUE;
        }
        if (nic->settings.gateway >= IBH_GATEWAY_PEER && find_by_place(nic->settings.gateway, address, ret_gateway))
            return TRUE;
    }
    return FALSE;
}

static void add_configured_gateway(const IbhRails *rails, const IbhNic *nic, int family, GArray *copies)
{
    const IbhIp any = {.family = family};
    IbhRoute route = {.family = family, .dst = ibh_prefix(&any, 0), .type = RTN_UNICAST};

    if (nic->settings.gateway > IBH_GATEWAY_AUTO && ibh_programs_family(nic, family) &&
        ibh_find_gateway(nic, family, &route.gateway) && !ibh_rails_holder(rails, &route.gateway))
        copy_route(nic, &route, copies);
}

/* ---- remote= ---- */

static const IbhRoute *find_default(const GArray *copies, int family)
{
    IBH_EACH (const IbhRoute, copy, copies) {
        if (copy->family == family && ibh_route_is_default(copy))
            return copy;
    }
    return NULL;
}

gboolean ibh_is_remote(const IbhNic *nic, const IbhPrefix *prefix)
{
    IBH_EACH (const IbhPrefix, remote, nic->settings.remote) {
        if (remote->length <= prefix->length && ibh_prefix_contains(remote, &prefix->ip))
            return TRUE;
    }
    return FALSE;
}

static void add_remote(const IbhNic *nic, const IbhPrefix *dst, const GArray *copies, GArray *routes)
{
    const IbhRoute *by = find_default(copies, dst->ip.family);
    IbhRoute route = ibh_own_route(nic, dst);

    if (!by || ibh_have_prefix(routes, dst))
        return;
    route.gateway = by->gateway;
    g_array_append_val(routes, route);
}

/* The siblings' subnets, and main's routes by siblings, need own routes by the own gateway: in main they are longer
 * than remote=. Main has none by a sibling that is down. */
static void want_remote(const IbhRails *rails, const IbhNic *nic, const GArray *copies, GArray *routes)
{
    guint left = COPIES_MAX;

    if (!nic->settings.remote)
        return;
    IBH_EACH (const IbhPrefix, remote, nic->settings.remote)
        add_remote(nic, remote, copies, routes);
    IBH_EACH_POINTER (const IbhNic, other, rails->nics) {
        IBH_EACH_POINTER (const IbhAddress, address, &other->served) {
            if (other != nic && other->status == IBH_NIC_RAIL && other->link->flags & IFF_UP &&
                !ibh_address_is_host(address) && ibh_is_remote(nic, &address->subnet))
                add_remote(nic, &address->subnet, copies, routes);
        }
    }
    IBH_EACH (const IbhRoute, route, rails->snapshot->routes) {
        const IbhNic *other = route->ifindex ? ibh_rails_nic(rails, route->ifindex) : NULL;

        if (other && other != nic && other->status == IBH_NIC_RAIL && route->table == IBH_TABLE_MAIN &&
            route->type == RTN_UNICAST && !route->special && route->dst.length && ibh_is_remote(nic, &route->dst) &&
            left--)
            add_remote(nic, &route->dst, copies, routes);
        if (!left)
            return;
    }
}

/* ---- the whole ---- */

gboolean ibh_has_way_in_main(const IbhRails *rails, const IbhNic *nic, const IbhPrefix *prefix)
{
    IBH_EACH (const IbhRoute, route, rails->snapshot->routes) {
        if (route->ifindex == nic->link->ifindex && route->table == IBH_TABLE_MAIN && route->type == RTN_UNICAST &&
            route->gateway.family == AF_UNSPEC && ibh_prefix_equal(&route->dst, prefix))
            return TRUE;
    }
    return FALSE;
}

/* In clouds a NIC has an address of its own alone, and main a route to the gateway by the device. */
static void want_hosts(const IbhRails *rails, const IbhNic *nic, const GPtrArray *copied, GArray *subnets)
{
    if (!ibh_programs_family(nic, AF_INET))
        return;
    IBH_EACH_POINTER (const IbhRoute, route, copied) {
        IbhPrefix host;
        IbhRoute way;

        if (route->gateway.family != AF_INET || route->ifindex != nic->link->ifindex ||
            is_on_subnet(subnets, &route->gateway))
            continue;
        host = ibh_prefix(&route->gateway, 32);
        if (!ibh_has_way_in_main(rails, nic, &host))
            continue;
        way = ibh_own_route(nic, &host);
        way.scope = RT_SCOPE_LINK;
        g_array_append_val(subnets, way);
    }
}

void ibh_want_gateways(const IbhRails *rails, const IbhNic *nic, const GPtrArray *copied, GArray *subnets)
{
    g_autoptr(GArray) copies = g_array_new(FALSE, TRUE, sizeof(IbhRoute));

    want_hosts(rails, nic, copied, subnets);
    add_configured_gateway(rails, nic, AF_INET, copies);
    add_configured_gateway(rails, nic, AF_INET6, copies);
    IBH_EACH_POINTER (const IbhRoute, route, copied) {
        if ((copies->len <= COPIES_MAX || ibh_route_is_default(route)) && is_ours_to_copy(rails, nic, subnets, route) &&
            !ibh_have_prefix(subnets, &route->dst))
            copy_route(nic, route, copies);
    }
    if (copies->len > COPIES_MAX)
        drop_all_but_defaults(copies);
    IBH_EACH (IbhRoute, copy, copies)
        add_copy(nic, copy, subnets);
    want_remote(rails, nic, copies, subnets);
}
