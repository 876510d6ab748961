/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The routes and rules of main=spread: multipath routes over the rails of a subnet, for IPv4 packets without a source
 * address. */
#include "plan/want.h"

#include <linux/rtnetlink.h>
#include <sys/socket.h>

static const IbhIp NO_SOURCE = {.family = AF_INET}; /* the source of a packet until the kernel selects one */

/* If a packet without a source leaves through an on-link next hop, the kernel selects the NIC's first primary address.
 * Returns this IPv4 address; NULL if the NIC has none. */
static const IbhAddress *first_primary(const IbhNic *nic)
{
    IBH_EACH_POINTER (const IbhAddress, address, nic->served) {
        if (address->local.family == AF_INET && !address->secondary)
            return address;
    }
    return NULL;
}

/* TRUE if spreading would take traffic from others: a NIC that is not a rail has the subnet, too, or our rules would
 * hide a foreign rule. Our rules hide a foreign rule that can match packets without a source address, whose destination
 * is a part of the subnet, and whose priority is that of our first rule or a higher number. */
static gboolean is_used_by_others(const IbhRails *rails, const IbhPrefix *subnet)
{
    IBH_EACH (const IbhAddress, address, rails->snapshot->addresses) {
        const IbhNic *nic = ibh_rails_nic(rails, address->ifindex);

        if (nic && nic->status != IBH_NIC_RAIL && ibh_prefix_equal(&address->subnet, subnet))
            return TRUE;
    }
    IBH_EACH (const IbhRule, rule, rails->snapshot->rules) {
        if (ibh_rule_is_for_us(rule) && !ibh_rule_is_ours(rule) && rule->priority >= IBH_PRIORITY_SPREAD - 1 &&
            ibh_prefix_contains(&rule->from, &NO_SOURCE) && !(rule->selectors & IBH_SELECT_NOT) &&
            ibh_prefix_is_inside(&rule->to, subnet))
            return TRUE;
    }
    return FALSE;
}

static void add_spread_route(const IbhRails *rails, const IbhPrefix *subnet, GArray *routes)
{
    g_autoptr(GArray) hops = IBH_NEW_ARRAY(IbhHop);
    IbhRoute route = ibh_route_of_ours(IBH_TABLE_SPREAD, subnet, 0);

    /* Use a NIC only if the source that the kernel selects there (first_primary()) is in this subnet, and the NIC is
     * the owner of the source: once the socket has the source, the owner's rules lead its packets through the owner. */
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) { /* by rank */
        const IbhAddress *address = first_primary(nic);
        IbhRoute as_main = route; /* with the gateway and the metrics that main has for this NIC */

        if (!address || !ibh_prefix_equal(&address->subnet, subnet) || !ibh_nic_is_programmed(rails, nic) ||
            !ibh_nic_is_usable(nic) || ibh_rails_owner(rails, &address->local) != nic)
            continue;
        /* Main may have the subnet via a gateway (through this NIC or another), or with metrics such as an MTU. Our
         * next hops have no gateways, and metrics apply to all next hops of a route. So then the subnet stays with
         * main. */
        if (!ibh_copy_from_main(rails, nic, address, &as_main) || as_main.gateway.family || as_main.metrics_size)
            return;
        g_array_append_val(hops, (IbhHop){.ifindex = nic->link->ifindex});
    }
    if (!hops->len || is_used_by_others(rails, subnet))
        return;
    route.ifindex = g_array_index(hops, IbhHop, 0).ifindex;
    route.nexthops = hops->len;
    if (hops->len > 1) /* the kernel shows a route with a single hop as a plain route through the device */
        route.hops = ibh_pool_keep(rails->pool, hops->data, hops->len * sizeof(IbhHop));
    g_array_append_val(routes, route);
}

/* Adds the routes and rules. Packets without a source address follow main's routes to longer prefixes inside a subnet
 * (bridges, hosts, other networks) if there are any, else the rails. */
void ibh_want_spread(const IbhRails *rails, GArray *routes, GArray *rules)
{
    g_autoptr(GArray) spread = IBH_NEW_ARRAY(IbhRoute);

    if (rails->main != IBH_MAIN_SPREAD)
        return;
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        const IbhAddress *address = first_primary(nic);

        if (address && !ibh_routes_have_prefix(spread, &address->subnet))
            add_spread_route(rails, &address->subnet, spread);
    }
    IBH_EACH (const IbhRoute, route, spread) {
        const IbhPrefix *dst = &route->dst;
        const IbhRule pair[] = {
            ibh_rule_of_ours(&NO_SOURCE, dst, IBH_TABLE_MAIN, dst->length, IBH_PRIORITY_SPREAD - 1),
            ibh_rule_of_ours(&NO_SOURCE, dst, IBH_TABLE_SPREAD, -1, IBH_PRIORITY_SPREAD),
        };
        gboolean is_nested = FALSE;

        IBH_EACH (const IbhRoute, outer, spread)
            is_nested |= ibh_prefix_is_inside(dst, &outer->dst);
        /* If the subnet lies inside another of these subnets, the first rule of the outer subnet finds main's route to
         * the inner subnet. So main decides about the inner subnet, which needs no rule and no route here. */
        if (is_nested)
            continue;
        g_array_append_vals(rules, pair, G_N_ELEMENTS(pair));
        g_array_append_vals(routes, route, 1);
    }
}
