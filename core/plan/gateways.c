/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Routes of a rail via gateways: remote= in T, the default in D. Their gateways depend on the rail alone: on its
 * addresses, its default in main and its settings. We copy no other routes of main via gateways, except routes to the
 * rail's own subnets (want.c). Our rules look main up first for longer prefixes, so packets still follow the longer
 * routes of main that we do not copy.
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

IbhRoute ibh_route_of_ours(guint32 table, const IbhPrefix *dst, int ifindex)
{
    return (IbhRoute){.family = dst->ip.family,
                      .table = table,
                      .dst = *dst,
                      .type = RTN_UNICAST,
                      .protocol = RTPROT_KERNEL,
                      .scope = dst->ip.family == AF_INET ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE,
                      .metric = IBH_MARK,
                      .ifindex = ifindex,
                      .nexthops = 1};
}

/* ---- routes via a gateway, as the kernel takes them ---- */

/* Without onlink, the kernel refuses an IPv4 gateway that neither the route's own table nor main reaches through the
 * route's NIC. */
void ibh_route_set_gateway(IbhRoute *route, const IbhIp *gateway)
{
    route->gateway = *gateway;
    route->scope = route->family == AF_INET && gateway->family == AF_UNSPEC ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE;
    route->onlink = gateway->family == AF_INET;
}

/* In IPv6, onlink does not help: the kernel refuses a gateway that main reaches through another NIC. Without onlink,
 * the kernel looks the gateway up in the route's own table, then in main. So if the table does not reach the gateway, a
 * host route to the gateway comes first. Every link reaches fe80::/10. */
void ibh_routes_add_via(const IbhRoute *route, GArray *routes)
{
    const IbhPrefix host = ibh_prefix_of_host(&route->gateway);
    const IbhRoute to_gateway = ibh_route_of_ours(route->table, &host, route->ifindex);
    gboolean is_reached = route->gateway.family != AF_INET6 || ibh_ip_is_fe80(&route->gateway);

    IBH_EACH (const IbhRoute, other, routes)
        is_reached |= other->table == route->table && other->gateway.family == AF_UNSPEC &&
                      ibh_prefix_contains(&other->dst, &route->gateway);
    if (!is_reached)
        g_array_append_val(routes, to_gateway);
    g_array_append_vals(routes, route, 1);
}

/* ---- the default of main ---- */

gboolean ibh_route_is_simple(const IbhRoute *route)
{
    return route->nexthops == 1 && !route->special && !route->encapsulated;
}

/* Sets the gateway and the metrics of `route`:
 * - With a `gateway`, sets this gateway. If main has simple defaults (ibh_route_is_simple()) through this NIC via this
 *   gateway, copies the metrics of the best of these defaults.
 * - If `gateway` is NULL, copies gateway and metrics of main's only default through this NIC. If that default is on
 *   link, `route` is on link, too.
 * A default that a router advertised does not count beside a configured default, because any host can send
 * advertisements. Returns FALSE if the gateway is an address of this host. If `gateway` is NULL, also returns FALSE in
 * three cases: main has no default through this NIC; main has several, and only main knows which of them works; or the
 * only default is not simple. */
static gboolean set_gateway_and_metrics(const IbhRails *rails, const IbhNic *nic, const IbhIp *gateway, IbhRoute *route)
{
    const IbhRoute *best = NULL;
    gboolean has_configured = FALSE;
    guint count = 0;

    IBH_EACH (const IbhRoute, of_main, rails->snapshot->main_by_nic) {
        const gboolean configured = !ibh_route_is_advertised(of_main);

        /* `configured < has_configured`: an advertised default, after a configured one was found */
        if (of_main->ifindex != nic->link->ifindex || of_main->family != route->family || of_main->dst.length ||
            configured < has_configured)
            continue;
        if (configured > has_configured) { /* the first configured default: forget the advertised ones */
            has_configured = TRUE;
            count = 0;
            best = NULL;
        }
        count++;
        if (ibh_route_is_simple(of_main) && (!gateway || ibh_ip_equal(&of_main->gateway, gateway)) &&
            (!best || of_main->metric < best->metric))
            best = of_main;
    }
    if (!gateway && count == 1 && best)
        gateway = &best->gateway;
    if (!gateway || ibh_rails_is_own_gateway(rails, nic, gateway))
        return FALSE;
    ibh_route_set_gateway(route, gateway);
    if (best)
        ibh_route_set_metrics(route, best);
    return TRUE;
}

/* ---- the configured gateway ---- */

/* Returns the first or the last host address of this subnet. */
static IbhIp host_at_edge(const IbhPrefix *subnet, gboolean at_end)
{
    IbhIp ip = subnet->ip;
    const guint bits = ibh_ip_bits(&ip);

    if (at_end) {
        for (guint bit = subnet->length; bit < bits; bit++)
            ip.bytes[bit / 8] |= (guint8)(0x80u >> (bit % 8));
    }
    if (bits - subnet->length > 1) /* flip the last bit: skip the network or the broadcast address; a /31 lacks both */
        ip.bytes[bits / 8 - 1] ^= 1;
    return ip;
}

gboolean ibh_prefix_has_one_peer(const IbhPrefix *subnet)
{
    guint host_bits = ibh_ip_bits(&subnet->ip) - subnet->length;

    return host_bits == 1 || (host_bits == 2 && subnet->ip.family == AF_INET);
}

/* TRUE if the gateway is in one of the NIC's subnets, or is an fe80:: address and the NIC serves an IPv6 address. */
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
    const IbhGateway setting = nic->settings.gateway;

    if (setting == IBH_GATEWAY_ADDRESS) {
        *ret_gateway = nic->settings.gateway_ip;
        return ret_gateway->family == family && is_reachable(nic, ret_gateway);
    }
    if (setting == IBH_GATEWAY_NONE || setting == IBH_GATEWAY_AUTO)
        return FALSE;
    IBH_EACH_POINTER (const IbhAddress, address, nic->served) {
        const IbhPrefix *subnet = &address->subnet;
        const gboolean has_gateway =
            setting == IBH_GATEWAY_PEER ? ibh_prefix_has_one_peer(subnet) : family == AF_INET && subnet->length < 32;

        if (address->local.family != family || !has_gateway)
            continue;
        *ret_gateway = host_at_edge(subnet, setting == IBH_GATEWAY_LAST);
        /* The peer has the host address that this NIC does not have. */
        if (setting == IBH_GATEWAY_PEER && ibh_ip_equal(ret_gateway, &address->local))
            *ret_gateway = host_at_edge(subnet, TRUE);
        return TRUE;
    }
    return FALSE;
}

/* ---- the default ---- */

gboolean ibh_want_default(const IbhRails *rails, const IbhNic *nic, int family, IbhRoute *ret_route)
{
    const IbhPrefix world = {.ip.family = family};
    const gboolean is_auto = nic->settings.gateway == IBH_GATEWAY_AUTO;
    IbhIp gateway;

    *ret_route = ibh_route_of_ours(ibh_nic_defaults(nic), &world, nic->link->ifindex);
    return ibh_nic_serves_family(nic, family) && (is_auto || ibh_nic_find_gateway(nic, family, &gateway)) &&
           set_gateway_and_metrics(rails, nic, is_auto ? NULL : &gateway, ret_route);
}

/* ---- remote= ---- */

/* Adds a route to `dst` via the gateway that this remote= names. If the remote= names no gateway, the route has the
 * gateway and metrics of the rail's default route. Adds nothing if `routes` have the prefix already, or if there is no
 * gateway that the NIC can use. */
static void add_remote(const IbhRails *rails, const IbhNic *nic, const IbhRemote *remote, const IbhPrefix *dst,
                       GArray *routes)
{
    IbhRoute route = ibh_route_of_ours(nic->table, dst, nic->link->ifindex);

    if (ibh_routes_have_prefix(routes, dst))
        return;
    if (remote->via.family == AF_UNSPEC) {
        if (!ibh_want_default(rails, nic, route.family, &route))
            return;
        route.table = nic->table;
        route.dst = *dst;
    } else if (!is_reachable(nic, &remote->via) || !set_gateway_and_metrics(rails, nic, &remote->via, &route))
        return;
    g_array_append_val(routes, route);
}

/* A sibling is another NIC that is a rail or held. Its subnet may lie inside a remote= of this NIC. Our rules for
 * remote= look main up first for longer prefixes, and would find main's route to that subnet. So T gets a route to the
 * subnet, too, and thereby a pair (want.c), whose rules come before those for the remote=. Except in two cases:
 * - The sibling is down: then main has no route to the subnet.
 * - The sibling's address is in a subnet of this NIC: then both NICs are on one wire, and main decides.
 * T takes only a sibling's oldest advertised subnets (LEARNED_MAX), so that hosts on the wire cannot add many. */
void ibh_want_remote(const IbhRails *rails, const IbhNic *nic, int family, GArray *routes)
{
    IBH_EACH (const IbhRemote, remote, nic->settings.remote) {
        if (remote->prefix.ip.family == family)
            add_remote(rails, nic, remote, &remote->prefix, routes);
    }
    IBH_EACH_POINTER (const IbhNic, other, rails->nics) {
        if (other == nic || (other->status != IBH_NIC_RAIL && other->status != IBH_NIC_HELD) ||
            !(other->link->flags & IFF_UP))
            continue;
        for (guint i = other->served->len, learned = 0; i-- > 0;) { /* the kernel lists IPv6 addresses newest first */
            const IbhAddress *address = g_ptr_array_index(other->served, i);
            const IbhRemote *remote = ibh_address_is_host(address) ? NULL : ibh_nic_find_remote(nic, &address->subnet);

            if (remote && remote->prefix.ip.family == family && !is_reachable(nic, &address->local) &&
                !(ibh_rails_is_advertised(rails, address) && learned++ >= LEARNED_MAX))
                add_remote(rails, nic, remote, &address->subnet, routes);
        }
    }
}

gboolean ibh_rails_check_remote(const IbhRails *rails, GError **error)
{
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        IBH_EACH (const IbhRemote, remote, nic->settings.remote) {
            char prefix[IBH_PREFIX_STRLEN], via[IBH_IP_STRLEN];
            g_autofree char *problem = NULL;
            guint level = 0;

            /* A rail without an address of the prefix's family may still get one. */
            if (nic->status != IBH_NIC_RAIL || !ibh_nic_serves_family(nic, remote->prefix.ip.family))
                continue;
            /* The level of this prefix is one more than the highest level of a pair whose prefix contains it. */
            IBH_EACH (const IbhPair, outer, nic->pairs) {
                if (ibh_prefix_is_inside(&remote->prefix, &outer->to))
                    level = MAX(level, outer->level + 1);
            }
            if (remote->via.family != AF_UNSPEC && !is_reachable(nic, &remote->via))
                problem =
                    g_strdup_printf("the gateway %s is in no subnet of %s; name one that is (IPv6: or is in fe80::/10)",
                                    ibh_ip_format(&remote->via, via), nic->link->name);
            else if (remote->via.family == AF_UNSPEC && nic->settings.gateway == IBH_GATEWAY_NONE)
                problem =
                    g_strdup("with gateway=none, this prefix has no gateway; write \"via GATEWAY\" after the prefix");
            else if (level >= IBH_LEVELS_MAX)
                problem = g_strdup(
                    "the prefix gets no rules, because it lies inside eight others of the rail; leave one out");
            else
                continue;
            g_set_error(error, IBH_CONFIG_ERROR, 0, "%s: remote=%s: %s", nic->settings.remote_origin,
                        ibh_prefix_format(&remote->prefix, prefix), problem);
            return FALSE;
        }
    }
    return TRUE;
}
