/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pairs that other programs route. A script, a network manager or a cloud agent may have given an address a rule and a
 * table of its own. Our rules would hide the more specific routes of that table, so we leave a pair to the foreign rule
 * if that rule routes the pair correctly.
 */
#include "plan/rails.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>

/* TRUE if the rule is foreign, and can match a packet from this source to some address in the prefix:
 * - A rule for VRFs (l3mdev) cannot match, because a rail is in no VRF.
 * - A rule that leads to table local does not count, because that table has no routes to other hosts.
 * - A rule with "not" matches all packets but those that it selects.
 * - The firewall mark of RDMA packets is 0, so a rule for another mark cannot match.
 * - A rule for packets that come in through a NIC (iif) cannot match, because this host sends the packets.
 * - For other selectors, such as ports, we assume that a packet can match. */
static gboolean can_match(const IbhRule *rule, const IbhIp *source, const IbhPrefix *to)
{
    const gboolean from_matches = ibh_prefix_contains(&rule->from, source);

    if (ibh_rule_is_ours(rule) || rule->family != source->family || rule->l3mdev || rule->table == IBH_TABLE_LOCAL)
        return FALSE;
    if (rule->selectors & IBH_SELECT_NOT)
        return !from_matches || (rule->selectors & ~(guint)(IBH_SELECT_NOT | IBH_SELECT_TO)) != 0 ||
               (rule->to.length && !ibh_prefix_covers(&rule->to, to));
    return ibh_rule_is_for_us(rule) && from_matches && !(rule->by.mark & rule->by.mask) &&
           (!rule->to.length || ibh_prefix_overlaps(&rule->to, to));
}

/* TRUE if the route is foreign, and the rule finds the route in the rule's table. A rule finds no throw route, and no
 * route that its suppress_prefixlength suppresses; but the kernel never suppresses an error route. Ignores
 * suppress_ifgroup. */
static gboolean is_looked_up(const IbhRoute *route, const IbhRule *rule)
{
    return route->table == rule->table && route->family == rule->family && route->type != RTN_THROW &&
           !ibh_route_is_ours(route) &&
           ((gint64)route->dst.length > rule->suppress_prefixlength || ibh_route_is_error(route));
}

static gboolean is_another_rail(const IbhRails *rails, const IbhNic *nic, int ifindex)
{
    const IbhNic *other = ibh_rails_nic(rails, ifindex);

    return other && other != nic && other->status == IBH_NIC_RAIL;
}

/* TRUE if the table's best route to the prefix leaves through this NIC alone, and is meant for this prefix; or if the
 * best route is an error route, which somebody added on purpose. Whatever the best route is: FALSE if a more specific
 * route, inside the prefix, leaves through another rail. */
static gboolean routes_correctly(const IbhRails *rails, const IbhNic *nic, const IbhRule *rule, const IbhPrefix *to)
{
    const IbhRoute *best = NULL;

    IBH_EACH (const IbhRoute, route, rails->snapshot->routes) {
        gboolean by_another = is_another_rail(rails, nic, route->ifindex);

        if (!is_looked_up(route, rule))
            continue;
        IBH_EACH_HOP (hop, route)
            by_another |= is_another_rail(rails, nic, hop->ifindex);
        if (by_another && ibh_prefix_is_inside(&route->dst, to))
            return FALSE;
        if (ibh_prefix_covers(&route->dst, to) && ibh_route_is_better(route, best))
            best = route;
    }
    if (!best)
        return FALSE;
    if (ibh_route_is_error(best))
        return TRUE;
    if (best->type != RTN_UNICAST || best->nexthops != 1 || best->ifindex != nic->link->ifindex)
        return FALSE;
    /* A route with a gateway, or with a nexthop group, must be to exactly this prefix: then somebody meant this prefix.
     * A shorter route, such as a default route, may catch peers on the NIC's own link by accident, and on InfiniBand
     * the kernel cannot resolve the RDMA address of such a peer through a gateway. */
    return (best->gateway.family == AF_UNSPEC && !best->hops) || best->dst.length == to->length;
}

const IbhRule *ibh_others_route(const IbhRails *rails, const IbhNic *nic, const IbhAddress *address,
                                const IbhPrefix *to)
{
    IBH_EACH (const IbhRule, rule, rails->snapshot->rules) {
        const GArray *const lists[] = {rails->snapshot->routes, rails->snapshot->main_by_nic};
        gboolean decides = FALSE;

        if (!can_match(rule, &address->local, to) || rule->action == FR_ACT_NOP)
            continue;
        if (rule->action != FR_ACT_TO_TBL) /* a refusal, or a goto past the rules that follow */
            return NULL;
        /* Skip a rule that finds only routes of main that are longer than `to`: the first rule of our pair finds these
         * routes, too. */
        if (rule->table == IBH_TABLE_MAIN && rule->suppress_prefixlength >= (gint64)to->length)
            continue;
        /* The first rule that finds a foreign route to a prefix that overlaps `to` decides. */
        for (guint i = 0; i < G_N_ELEMENTS(lists); i++) {
            IBH_EACH (const IbhRoute, route, lists[i])
                decides |= is_looked_up(route, rule) && ibh_prefix_overlaps(&route->dst, to);
        }
        if (!decides)
            continue;
        /* This rule decides. It routes the pair only if it is a source rule that suppresses nothing and is for the
         * whole prefix. */
        if (!ibh_rule_is_of_a_source(rule) || rule->suppress_prefixlength >= 0 || rule->suppress_ifgroup >= 0)
            return NULL;
        if (rule->to.length && !ibh_prefix_covers(&rule->to, to))
            return NULL;
        return routes_correctly(rails, nic, rule, to) ? rule : NULL;
    }
    return NULL;
}

gboolean ibh_others_lead_out(const IbhRails *rails, const IbhAddress *address)
{
    IBH_EACH (const IbhRule, rule, rails->snapshot->rules) {
        if (!ibh_rule_is_of_a_source(rule) || rule->to.length || !ibh_prefix_contains(&rule->from, &address->local))
            continue;
        IBH_EACH (const IbhRoute, route, rails->snapshot->routes) {
            if (is_looked_up(route, rule))
                return TRUE;
        }
    }
    return FALSE;
}
