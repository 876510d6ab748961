/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watch/focus.h"

static gboolean leads_a_candidate(const IbhRule *rule, const IbhRails *rails)
{
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        IBH_EACH_POINTER (const IbhAddress, address, nic->addresses) {
            if (nic->rank && ibh_prefix_contains(&rule->from, &address->local))
                return TRUE;
        }
    }
    return FALSE;
}

static gboolean decides(const IbhRoute *route, const IbhFocus *focus)
{
    if (route->table != IBH_TABLE_MAIN)
        return ibh_numbers_have(focus->tables, (int)route->table);
    IBH_EACH (const IbhPrefix, subnet, focus->subnets) {
        if (ibh_prefix_covers(subnet, &route->dst))
            return TRUE;
    }
    return !route->dst.length;
}

static void focus_on_nic(IbhFocus *focus, const IbhNic *nic)
{
    const int tables[] = {(int)nic->table, (int)ibh_nic_defaults(nic)};

    g_array_append_val(focus->candidates, nic->link->ifindex);
    IBH_EACH_POINTER (const IbhAddress, address, nic->addresses) {
        if (ibh_address_counts(address) && !ibh_prefixes_have(focus->subnets, &address->subnet))
            g_array_append_val(focus->subnets, address->subnet);
    }
    /* In a rail's own tables, a route of another protocol can take the place of ours. */
    if (nic->status == IBH_NIC_RAIL)
        g_array_append_vals(focus->tables, tables, G_N_ELEMENTS(tables));
}

void ibh_focus_find(IbhFocus *focus, const IbhRails *rails)
{
    focus->candidates = IBH_NEW_ARRAY(int);
    focus->subnets = IBH_NEW_ARRAY(IbhPrefix);
    focus->tables = IBH_NEW_ARRAY(int);
    focus->objects = FALSE;
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        if (nic->rank)
            focus_on_nic(focus, nic);
    }
    IBH_EACH (const IbhRule, rule, rails->snapshot->rules) {
        if (ibh_rule_is_of_a_source(rule) && !ibh_numbers_have(focus->tables, (int)rule->table) &&
            leads_a_candidate(rule, rails))
            g_array_append_val(focus->tables, rule->table);
    }
    IBH_EACH (const IbhRoute, route, rails->snapshot->routes)
        focus->objects |= route->object && decides(route, focus);
    IBH_EACH (const IbhRoute, route, rails->snapshot->main_by_nic)
        focus->objects |= route->object != 0;
}

void ibh_focus_clear(IbhFocus *focus)
{
    g_clear_pointer(&focus->candidates, g_array_unref);
    g_clear_pointer(&focus->subnets, g_array_unref);
    g_clear_pointer(&focus->tables, g_array_unref);
}
