/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/main_scope.h"

#include "plan/rails.h"

#include <stdlib.h>
#include <sys/socket.h>

void ibh_main_scope_find(IbhMainScope *scope, const IbhSnapshot *snapshot, const IbhConfig *config)
{
    scope->candidates = IBH_NEW_ARRAY(int);
    IBH_EACH (const IbhLink, link, snapshot->links) {
        if (ibh_link_is_candidate(snapshot, link, ibh_config_settings(config, link->name).manage))
            g_array_append_val(scope->candidates, link->ifindex);
    }
}

void ibh_main_scope_add_places(IbhMainScope *scope, const IbhSnapshot *snapshot)
{
    scope->places = IBH_NEW_ARRAY(IbhIp);
    IBH_EACH (const IbhAddress, address, snapshot->addresses) {
        if (!ibh_address_counts(address) || !ibh_numbers_have(scope->candidates, address->ifindex))
            continue;
        g_array_append_val(scope->places, address->local);
        g_array_append_val(scope->places, address->subnet.ip);
        scope->has_ipv6 |= address->local.family == AF_INET6;
    }
    g_array_sort(scope->places, (GCompareFunc)ibh_ip_compare);
}

void ibh_main_scope_clear(IbhMainScope *scope)
{
    g_clear_pointer(&scope->candidates, g_array_unref);
    g_clear_pointer(&scope->places, g_array_unref);
}

/* What a prefix contains lies between the addresses before it and those behind it. */
static int compare_with_ip(const void *prefix, const void *ip)
{
    return ibh_prefix_contains(prefix, ip) ? 0 : ibh_ip_compare(&((const IbhPrefix *)prefix)->ip, ip);
}

/* One of these IbhIp, in ascending order, lies in this prefix. */
static gboolean have_one_in(const GArray *sorted, const IbhPrefix *prefix)
{
    return sorted->len && bsearch(prefix, sorted->data, sorted->len, sizeof(IbhIp), compare_with_ip);
}

gboolean ibh_main_scope_has(const IbhMainScope *scope, const IbhRoute *route)
{
    return !route->dst.length || have_one_in(scope->places, &route->dst);
}

GArray *ibh_main_scope_lacks(const IbhMainScope *scope, const IbhSnapshot *snapshot)
{
    GArray *subnets = IBH_NEW_ARRAY(IbhPrefix);

    IBH_EACH (const IbhAddress, address, snapshot->addresses) {
        if (ibh_numbers_have(scope->candidates, address->ifindex) &&
            ibh_snapshot_link(snapshot, address->ifindex)->flags & IFF_UP && ibh_address_counts(address) &&
            !ibh_address_is_host(address) && !ibh_main_find_subnet(snapshot, address->ifindex, &address->subnet))
            g_array_append_val(subnets, address->subnet);
    }
    return subnets;
}

static const IbhRoute *find_best(const GArray *routes, int ifindex, const IbhPrefix *subnet)
{
    const IbhRoute *best = NULL;

    IBH_EACH (const IbhRoute, route, routes) {
        if ((!ifindex || route->ifindex == ifindex) && !route->special && ibh_prefix_equal(&route->dst, subnet) &&
            ibh_route_is_better(route, best))
            best = route;
    }
    return best;
}

const IbhRoute *ibh_main_find_subnet(const IbhSnapshot *snapshot, int ifindex, const IbhPrefix *subnet)
{
    return find_best(snapshot->main_by_nic, ifindex, subnet);
}

gboolean ibh_main_needs_gateway(const IbhSnapshot *snapshot, const IbhPrefix *subnet)
{
    const IbhRoute *best = find_best(snapshot->main_to_subnets, 0, subnet);

    return best && (best->hops ? best->hops->gateway : best->gateway).family != AF_UNSPEC;
}
