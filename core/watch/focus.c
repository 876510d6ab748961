/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watch/focus.h"

void ibh_focus_find(IbhFocus *focus, const IbhRails *rails)
{
    gboolean source_follows = FALSE;

    focus->candidates = IBH_NEW_ARRAY(int);
    focus->subnets = IBH_NEW_ARRAY(IbhPrefix);
    focus->tables = IBH_NEW_ARRAY(int);
    focus->objects = FALSE;
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        const int tables[] = {(int)nic->table, (int)ibh_nic_defaults(nic)};

        if (!nic->rank)
            continue;
        g_array_append_val(focus->candidates, nic->link->ifindex);
        IBH_EACH_POINTER (const IbhAddress, address, nic->addresses) {
            if (ibh_address_counts(address) && !ibh_prefixes_have(focus->subnets, &address->subnet))
                g_array_append_val(focus->subnets, address->subnet);
        }
        /* In a rail's tables, a foreign route can replace ours, so all routes of these tables matter. */
        if (nic->status == IBH_NIC_RAIL)
            g_array_append_vals(focus->tables, tables, G_N_ELEMENTS(tables));
    }
    /* A foreign source rule that matches a candidate's address may decide whether we leave a pair to another program.
     * So may a rule before it that also matches. This loop goes from the last rule to the first, so `source_follows` is
     * TRUE for rules before such a source rule. */
    IBH_EACH_BACK (const IbhRule, rule, rails->snapshot->rules) {
        gboolean matches = FALSE; /* the rule's source matches an address of a candidate */

        if (!source_follows && !ibh_rule_is_of_a_source(rule))
            continue;
        IBH_EACH (const IbhAddress, address, rails->snapshot->addresses)
            matches |= ibh_prefix_contains(&rule->from, &address->local) &&
                       ibh_numbers_have(focus->candidates, address->ifindex);
        source_follows |= matches;
        /* The filter passes all routes of focus->tables. For routes of main and of the local table, the filter has
         * conditions of its own. */
        if (matches && rule->table && rule->table != IBH_TABLE_MAIN && rule->table != IBH_TABLE_LOCAL &&
            !ibh_numbers_have(focus->tables, (int)rule->table))
            g_array_append_val(focus->tables, rule->table);
    }
    /* Does a route that can change a decision use a nexthop object? */
    IBH_EACH (const IbhRoute, route, rails->snapshot->routes) {
        if (!route->object)
            continue;
        if (route->table != IBH_TABLE_MAIN) {
            focus->objects |= ibh_numbers_have(focus->tables, (int)route->table);
            continue;
        }
        focus->objects |= !route->dst.length; /* a default route */
        IBH_EACH (const IbhPrefix, subnet, focus->subnets)
            focus->objects |= ibh_prefix_covers(subnet, &route->dst);
    }
    IBH_EACH (const IbhRoute, route, rails->snapshot->main_by_nic)
        focus->objects |= route->object != 0;
    IBH_EACH (const IbhRoute, route, rails->snapshot->main_to_subnets)
        focus->objects |= route->object != 0;
}

void ibh_focus_clear(IbhFocus *focus)
{
    g_clear_pointer(&focus->candidates, g_array_unref);
    g_clear_pointer(&focus->subnets, g_array_unref);
    g_clear_pointer(&focus->tables, g_array_unref);
}
