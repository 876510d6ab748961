/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What others route already. A script, a network manager or a cloud's agent may have given an address a rule and a
 * table of its own. Rules of ours beside theirs would hide their more exact routes, so a pair that they route rightly
 * is left to them.
 */
#include "plan/rails.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>

/* A packet from this source to the prefix may meet the rule: RDMA sends without a mark. The local table has this host's
 * addresses. A rule with "not" meets all but what it names. */
static gboolean may_meet(const IbhRule *rule, const IbhIp *source, const IbhPrefix *to)
{
    const gboolean from = !rule->from.length || ibh_prefix_contains(&rule->from, source);

    if (ibh_rule_is_ours(rule) || rule->family != source->family || rule->l3mdev || rule->table == IBH_TABLE_LOCAL)
        return FALSE;
    if (rule->selectors & IBH_SELECT_NOT)
        return !from || (rule->selectors & ~(guint)(IBH_SELECT_NOT | IBH_SELECT_TO)) != 0 ||
               (rule->to.length && !ibh_prefix_covers(&rule->to, to));
    return from && !(rule->selectors & IBH_SELECT_FWMARK) && (!rule->to.length || ibh_prefix_overlaps(&rule->to, to));
}

/* A route of theirs in the rule's table that the rule does not suppress. */
static gboolean is_of_table(const IbhRoute *route, const IbhRule *rule)
{
    return route->table == rule->table && route->family == rule->family && route->type != RTN_THROW &&
           !ibh_route_is_ours(route) && (gint64)route->dst.length > rule->suppress_prefixlength;
}

static gboolean has_route_in(const IbhSnapshot *snapshot, const IbhRule *rule, const IbhPrefix *to)
{
    const GArray *const lists[] = {snapshot->routes, snapshot->main_by_nic};

    for (guint i = 0; i < G_N_ELEMENTS(lists); i++) {
        IBH_EACH (const IbhRoute, route, lists[i]) {
            if (is_of_table(route, rule) && ibh_prefix_overlaps(&route->dst, to))
                return TRUE;
        }
    }
    return FALSE;
}

/* Another rail has a more exact route of that table inside the prefix: a packet for it would leave by that rail. */
static gboolean leads_inside_by_another_rail(const IbhRails *rails, const IbhNic *nic, const IbhRoute *route,
                                             const IbhPrefix *to)
{
    const IbhNic *by = ibh_rails_nic(rails, route->ifindex);

    if (!ibh_prefix_is_inside(&route->dst, to))
        return FALSE;
    IBH_EACH_HOP (hop, route) {
        const IbhNic *one = ibh_rails_nic(rails, hop->ifindex);

        if (one && one != nic && one->status == IBH_NIC_RAIL)
            return TRUE;
    }
    return by && by != nic && by->status == IBH_NIC_RAIL;
}

/* The table's own answer for the prefix is this NIC alone, or an error, which is meant. A route by a gateway is one to
 * the prefix only where it is as long: IPoIB cannot resolve an address of its own wire by a gateway. */
static gboolean routes_rightly(const IbhRails *rails, const IbhNic *nic, const IbhRule *rule, const IbhPrefix *to)
{
    const IbhRoute *best = NULL;

    IBH_EACH (const IbhRoute, route, rails->snapshot->routes) {
        if (!is_of_table(route, rule))
            continue;
        if (leads_inside_by_another_rail(rails, nic, route, to))
            return FALSE;
        if (ibh_prefix_covers(&route->dst, to) && ibh_route_is_better(route, best))
            best = route;
    }
    if (!best || ibh_route_is_error(best))
        return best != NULL;
    return best->type == RTN_UNICAST && best->nexthops == 1 && best->ifindex == nic->link->ifindex &&
           (best->gateway.family == AF_UNSPEC || best->dst.length >= to->length);
}

const IbhRule *ibh_others_route(const IbhRails *rails, const IbhNic *nic, const IbhAddress *address,
                                const IbhPrefix *to)
{
    IBH_EACH (const IbhRule, rule, rails->snapshot->rules) {
        const gboolean is_table = rule->action == FR_ACT_TO_TBL;

        if (!may_meet(rule, &address->local, to))
            continue;
        if (!is_table && rule->action != FR_ACT_GOTO && rule->action != FR_ACT_NOP)
            return NULL;
        /* Main's longer prefixes: a pair of ours asks main for them, too. */
        if (rule->table == IBH_TABLE_MAIN && rule->suppress_prefixlength >= (gint64)to->length)
            continue;
        if (!is_table || !has_route_in(rails->snapshot, rule, to))
            continue;
        /* The first rule whose table has a part in the prefix decides. */
        return ibh_rule_is_of_a_source(rule) && rule->suppress_prefixlength < 0 &&
                       (!rule->to.length || ibh_prefix_covers(&rule->to, to)) && routes_rightly(rails, nic, rule, to)
                   ? rule
                   : NULL;
    }
    return NULL;
}

gboolean ibh_others_lead_out(const IbhRails *rails, const IbhAddress *address)
{
    IBH_EACH (const IbhRule, rule, rails->snapshot->rules) {
        if (!ibh_rule_is_of_a_source(rule) || rule->to.length || !ibh_prefix_contains(&rule->from, &address->local))
            continue;
        IBH_EACH (const IbhRoute, route, rails->snapshot->routes) {
            if (is_of_table(route, rule))
                return TRUE;
        }
    }
    return FALSE;
}
