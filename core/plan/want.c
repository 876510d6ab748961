/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/want.h"

#include "plan/scope.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

/* ---- on-link routes of T ---- */

gboolean ibh_copy_from_main(const IbhRails *rails, const IbhNic *nic, const IbhAddress *address, IbhRoute *route)
{
    const IbhSnapshot *snapshot = rails->snapshot;
    const IbhRoute *own = ibh_routes_find_best(snapshot->main_by_nic, nic->link->ifindex, &address->subnet);
    const IbhRoute *best_other = ibh_routes_find_best(snapshot->main_to_subnets, 0, &address->subnet);

    /* While the NIC is down, main has no route through the NIC to copy. The rules need the prefix even then. */
    if (!(nic->link->flags & IFF_UP))
        return TRUE;
    /* If main reaches the subnet only through other NICs, and the best of these routes has a gateway, packets on a
     * direct route through this NIC would not arrive. */
    if (!own && best_other && (best_other->hops ? best_other->hops->gateway : best_other->gateway).family != AF_UNSPEC)
        return FALSE;
    if (!own) /* the prefix of a dynamic or noprefixroute IPv6 address is on link only if a route of main says so */
        return route->family == AF_INET || (!address->dynamic && !address->noprefixroute);
    if (!ibh_route_is_simple(own) || ibh_rails_is_own_gateway(rails, nic, &own->gateway))
        return FALSE;
    ibh_route_set_gateway(route, &own->gateway);
    ibh_route_set_metrics(route, own);
    return TRUE;
}

/* Adds routes to the subnets of the NIC's addresses, until `routes` has `most` routes or more. With `advertised`, adds
 * only subnets of advertised addresses; without, only subnets of other addresses. An IPv4 route names the source that
 * the kernel prefers: the subnet's first primary address. An IPv6 route names none, so the kernel picks a source that
 * is not deprecated. A subnet with the prefix length 0 is a mistake, and gets no route. */
static void add_subnets(const IbhRails *rails, const IbhNic *nic, int family, gboolean advertised, guint most,
                        GArray *routes)
{
    for (guint i = 0; i < nic->served->len; i++) {
        /* The kernel lists IPv6 addresses newest first. Add the oldest first: if there is not room for all, a prefix
         * that a router announces later must not take the place of an older one. */
        const guint at = family == AF_INET6 ? nic->served->len - 1 - i : i;
        const IbhAddress *address = g_ptr_array_index(nic->served, at);
        IbhRoute route = ibh_route_of_ours(nic->table, &address->subnet, nic->link->ifindex);

        if (route.family != family || (family == AF_INET && address->secondary) || ibh_address_is_host(address) ||
            !route.dst.length)
            continue;
        if (routes->len >= most || ibh_rails_is_advertised(rails, address) != advertised ||
            ibh_routes_have_prefix(routes, &route.dst))
            continue;
        if (family == AF_INET)
            route.src = address->local;
        if (ibh_copy_from_main(rails, nic, address, &route))
            g_array_append_val(routes, route);
    }
}

/* TRUE if main's route lies inside a subnet of the NIC, or contains one of the NIC's addresses that have no subnet.
 * FALSE for routes to the subnets themselves, which add_subnets() decides about. */
static gboolean is_near_address(const IbhNic *nic, const IbhRoute *route)
{
    gboolean is_near = FALSE;

    IBH_EACH_POINTER (const IbhAddress, address, nic->served) {
        if (ibh_address_is_host(address))
            is_near |= ibh_prefix_contains(&route->dst, &address->local);
        else if (ibh_prefix_equal(&route->dst, &address->subnet))
            return FALSE;
        else
            is_near |= ibh_prefix_is_inside(&route->dst, &address->subnet);
    }
    return is_near;
}

/* Adds main's on-link routes through the NIC that are near the NIC's addresses (is_near_address()), for example a
 * router's /64 beside a DHCPv6 lease of /128, a /32 to a DNS server, or a prefix that a router announces inside a
 * subnet of the NIC. Stops when `routes` has `most` routes or more. With `learned`, adds only routes that DHCP or a
 * router made; without, only routes that neither made. Never adds a router's prefix that is shorter than /64. */
static void add_main_on_link(const IbhRails *rails, const IbhNic *nic, int family, gboolean learned, guint most,
                             GArray *routes)
{
    IBH_EACH (const IbhRoute, of_main, rails->snapshot->main_by_nic) {
        const gboolean advertised = ibh_route_is_advertised(of_main);
        IbhRoute route = ibh_route_of_ours(nic->table, &of_main->dst, nic->link->ifindex);

        if (of_main->ifindex != nic->link->ifindex || of_main->family != family ||
            of_main->gateway.family != AF_UNSPEC || !of_main->dst.length || !ibh_route_is_simple(of_main))
            continue;
        if ((advertised || of_main->protocol == RTPROT_DHCP) != learned || (advertised && of_main->dst.length < 64))
            continue;
        if (routes->len >= most || ibh_routes_have_prefix(routes, &route.dst) || !is_near_address(nic, of_main))
            continue;
        if (route.dst.length == ibh_ip_bits(&route.dst.ip) && ibh_rails_holder(rails, &route.dst.ip))
            continue; /* the kernel's own route to an address of this host */
        ibh_route_set_metrics(&route, of_main);
        g_array_append_val(routes, route);
    }
}

/* ---- pairs ---- */

/* TRUE if a NIC that is not a rail has an address in the prefix. */
static gboolean is_of_another_nic(const IbhRails *rails, const IbhPrefix *prefix)
{
    IBH_EACH (const IbhAddress, address, rails->snapshot->addresses) {
        const IbhNic *nic = ibh_rails_nic(rails, address->ifindex);

        if (nic && nic->status != IBH_NIC_RAIL && ibh_prefix_contains(prefix, &address->local))
            return TRUE;
    }
    return FALSE;
}

/* Adds the pairs of an address: one for the prefix of each route, except for some learned prefixes and for prefixes
 * that are nested too deeply (IBH_LEVELS_MAX). The routes with the indexes `learned_begin` to `learned_end` - 1 are
 * learned: hosts on the wire may have made them (DHCP, router advertisements). A learned prefix that does not contain
 * the address gets no pair in two cases:
 * - The address is advertised: these hosts must not be able to add many rules.
 * - The prefix lies inside the prefix of no other route, and contains an address of a NIC that is no rail: the traffic
 *   of that NIC's network must not change to the rail. */
static void add_pairs(const IbhRails *rails, const IbhNic *nic, const IbhAddress *address, const GArray *routes,
                      guint learned_begin, guint learned_end)
{
    const gboolean advertised = ibh_rails_is_advertised(rails, address);
    const guint first = nic->pairs->len;

    for (guint i = 0; i < routes->len; i++) {
        IbhPair pair = {.address = address, .to = g_array_index(routes, IbhRoute, i).dst};

        IBH_EACH (const IbhRoute, outer, routes)
            pair.level += ibh_prefix_is_inside(&pair.to, &outer->dst) ? 1 : 0;
        if (i >= learned_begin && i < learned_end && !ibh_prefix_contains(&pair.to, &address->local) &&
            (advertised || (!pair.level && is_of_another_nic(rails, &pair.to))))
            continue;
        if (pair.level >= IBH_LEVELS_MAX)
            continue;
        pair.theirs = ibh_others_route(rails, nic, address, &pair.to);
        g_array_append_val(nic->pairs, pair);
    }
    /* If an outer pair of the address is ours, its rules match packets to the prefixes inside, too. So a foreign rule
     * after the outer pair's rule to T (priority IBH_PRIORITY_BASE - 2 * level) does not decide about an inner pair:
     * then the inner pair is ours, too. */
    for (guint i = first; i < nic->pairs->len; i++) {
        IbhPair *pair = &g_array_index(nic->pairs, IbhPair, i);

        for (guint j = first; pair->theirs && j < nic->pairs->len; j++) {
            const IbhPair *outer = &g_array_index(nic->pairs, IbhPair, j);

            if (!outer->theirs && pair->theirs->priority > IBH_PRIORITY_BASE - 2 * outer->level &&
                ibh_prefix_is_inside(&pair->to, &outer->to))
                pair->theirs = NULL;
        }
    }
}

/* ---- rules ---- */

IbhRule ibh_rule_of_ours(const IbhIp *from, const IbhPrefix *to, guint32 table, gint64 suppress_prefixlength,
                         guint32 priority)
{
    IbhRule rule = {
        .family = from->family,
        .priority = priority,
        .from = ibh_prefix_of_host(from),
        .action = FR_ACT_TO_TBL,
        .table = table,
        .protocol = RTPROT_KERNEL, /* systemd-networkd may delete rules of any other protocol */
        .suppress_prefixlength = suppress_prefixlength,
        .suppress_ifgroup = IBH_MARK,
    };

    if (to && to->length) {
        rule.to = *to;
        rule.selectors = IBH_SELECT_TO;
    }
    return rule;
}

/* Adds two rules for each pair that is ours: the first looks main up for longer prefixes, the second looks T up; a
 * single host needs only the second. Rules for a nested prefix of T come before those for the outer prefix, so the
 * longest prefix of both tables wins. With `has_default`, also adds two rules for the default. */
static void add_address_rules(const IbhNic *nic, const IbhAddress *address, gboolean has_default, GArray *rules)
{
    const IbhIp *from = &address->local;

    /* Each level has two priorities: one for the rules that look main up, and the next for those that look T up. Level
     * 0 has the last two. `distance` counts back from the last one, IBH_PRIORITY_BASE. */
    for (guint distance = 2 * IBH_LEVELS_MAX; distance-- > 0;) {
        const guint level = distance / 2;
        const gboolean asks_main = distance % 2 != 0;

        IBH_EACH (const IbhPair, pair, nic->pairs) {
            IbhRule rule;

            if (pair->address != address || pair->theirs || pair->level != level)
                continue;
            if (asks_main && pair->to.length == ibh_ip_bits(from)) /* main cannot have a longer prefix */
                continue;
            rule = ibh_rule_of_ours(from, &pair->to, asks_main ? IBH_TABLE_MAIN : nic->table,
                                    asks_main ? (gint64)pair->to.length : -1, IBH_PRIORITY_BASE - distance);
            g_array_append_val(rules, rule);
        }
    }
    if (has_default) { /* main's routes to bridges, containers and VPNs win over the rail's default */
        const IbhRule default_rules[] = {
            ibh_rule_of_ours(from, NULL, IBH_TABLE_MAIN, 0, IBH_PRIORITY_DEFAULTS - 1),
            ibh_rule_of_ours(from, NULL, ibh_nic_defaults(nic), -1, IBH_PRIORITY_DEFAULTS),
        };

        g_array_append_vals(rules, default_rules, 2);
    }
}

/* ---- the whole ---- */

static void want_family(const IbhRails *rails, IbhNic *nic, int family)
{
    g_autoptr(GArray) possible = IBH_NEW_ARRAY(IbhRoute); /* routes that T could have */
    IbhRoute default_route;
    gboolean has_default, has_programmed = FALSE;
    guint learned_begin, learned_end;

    add_subnets(rails, nic, family, FALSE, G_MAXUINT, possible);
    add_main_on_link(rails, nic, family, FALSE, G_MAXUINT, possible);
    /* The routes from here to `learned_end` are learned, which add_pairs() has to know. */
    learned_begin = possible->len;
    add_subnets(rails, nic, family, TRUE, learned_begin + LEARNED_MAX, possible);
    add_main_on_link(rails, nic, family, TRUE, learned_begin + LEARNED_MAX, possible);
    learned_end = possible->len;
    ibh_want_remote(rails, nic, family, possible);
    has_default = ibh_want_default(rails, nic, family, &default_route);
    IBH_EACH_POINTER (IbhAddress, address, nic->served) {
        if (address->local.family != family)
            continue;
        add_pairs(rails, nic, address, possible, learned_begin, learned_end);
        if (ibh_nic_foreign_rule(nic, address))
            continue;
        g_ptr_array_add(nic->programmed, address);
        has_programmed = TRUE;
        /* If several rails have the address, the first of them by rank gets the rules; if a rail has the address
         * several times, it gets the rules once. */
        if (ibh_rails_owner(rails, &address->local) != nic || !ibh_nic_has_first(nic, address))
            continue;
        add_address_rules(nic, address, has_default && !ibh_others_lead_out(rails, address), nic->rules);
    }
    if (!(nic->link->flags & IFF_UP)) /* the kernel refuses routes through a link that is down */
        return;
    /* T gets each prefix that a pair of ours leads to, and each prefix inside such a prefix, even if the inner prefix
     * is left to foreign rules. A foreign rule may lead to T, too: without the route to the inner prefix, the route to
     * the outer prefix would catch the packets. */
    IBH_EACH (const IbhRoute, route, possible) {
        gboolean is_led_to = FALSE;

        IBH_EACH (const IbhPair, pair, nic->pairs)
            is_led_to |= !pair->theirs && ibh_prefix_covers(&pair->to, &route->dst);
        /* T may have this prefix already, as the host route to an earlier gateway (ibh_routes_add_via()). */
        if (is_led_to && !ibh_routes_have_prefix(nic->routes, &route->dst))
            ibh_routes_add_via(route, nic->routes);
    }
    if (has_default && has_programmed)
        ibh_routes_add_via(&default_route, nic->routes);
}

void ibh_want(const IbhRails *rails, IbhNic *nic)
{
    want_family(rails, nic, AF_INET);
    want_family(rails, nic, AF_INET6);
}
