/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/scope.h"

#include "plan/rails.h"

#include <sys/socket.h>

#define SPARE_NUMBERS 8 /* how many tables to read above those of all ranks: for NICs whose number is taken */

void ibh_scope_init(IbhScope *scope, const IbhSnapshot *snapshot, const IbhConfig *config)
{
    *scope = (IbhScope){.candidates = IBH_NEW_ARRAY(int), .addresses = g_ptr_array_new()};
    IBH_EACH (const IbhLink, link, snapshot->links) {
        if (ibh_link_why(snapshot, link, ibh_config_settings(config, link->name).manage) > IBH_WHY_NOT_RDMA)
            g_array_append_val(scope->candidates, link->ifindex);
    }
    IBH_EACH (IbhAddress, address, snapshot->addresses) {
        if (!ibh_numbers_have(scope->candidates, address->ifindex))
            continue;
        g_ptr_array_add(scope->addresses, address);
        scope->has_ipv6 |= ibh_address_counts(address) && address->local.family == AF_INET6;
    }
}

void ibh_scope_clear(IbhScope *scope)
{
    g_array_unref(scope->candidates);
    g_ptr_array_unref(scope->addresses);
}

/* TRUE if the route has a next hop without a gateway. Also TRUE for a route whose nexthop object has not been read yet:
 * the caller asks about such a route again when its next hops are known. */
static gboolean is_on_link(const IbhRoute *route)
{
    if (!route->hops)
        return route->gateway.family == AF_UNSPEC;
    IBH_EACH_HOP (hop, route) {
        if (hop->gateway.family == AF_UNSPEC)
            return TRUE;
    }
    return FALSE;
}

gboolean ibh_scope_needs_route(gconstpointer data, const IbhRoute *route)
{
    const IbhScope *scope = data;

    if (is_on_link(route) || !route->dst.length)
        return TRUE;
    IBH_EACH_POINTER (const IbhAddress, address, scope->addresses) {
        if (ibh_address_counts(address) && ibh_prefix_equal(&address->subnet, &route->dst))
            return TRUE;
    }
    return FALSE;
}

GArray *ibh_scope_unreached_subnets(const IbhScope *scope, const IbhSnapshot *snapshot)
{
    GArray *subnets = IBH_NEW_ARRAY(IbhPrefix);

    IBH_EACH_POINTER (const IbhAddress, address, scope->addresses) {
        if (ibh_snapshot_link(snapshot, address->ifindex)->flags & IFF_UP && ibh_address_counts(address) &&
            !ibh_address_is_host(address) &&
            !ibh_routes_find_best(snapshot->main_by_nic, address->ifindex, &address->subnet))
            g_array_append_val(subnets, address->subnet);
    }
    return subnets;
}

/* Adds a table once. Skips main and the local table, which the snapshot reads in other ways, and 0, which stands for no
 * table. */
static void add_table(GArray *tables, guint32 table)
{
    if (table && table != IBH_TABLE_MAIN && table != IBH_TABLE_LOCAL && !ibh_numbers_have(tables, (int)table))
        g_array_append_val(tables, table);
}

static void add_table_and_defaults(GArray *tables, guint32 table)
{
    if (table == IBH_TABLE_AUTO)
        return;
    add_table(tables, table);
    add_table(tables, table + IBH_TABLE_DEFAULTS);
}

GArray *ibh_scope_tables(const IbhScope *scope, const IbhSnapshot *snapshot, const IbhConfig *config)
{
    GArray *tables = IBH_NEW_ARRAY(guint32);
    gboolean has_source = FALSE; /* the loop over rules has met a foreign source rule for a candidate's address */

    if (!scope->candidates->len)
        return tables;
    for (guint i = 1; i <= scope->candidates->len + SPARE_NUMBERS; i++)
        add_table_and_defaults(tables, IBH_TABLE_BASE + i);
    IBH_EACH (const IbhSavedRail, saved, snapshot->state->rails)
        add_table_and_defaults(tables, saved->table);
    IBH_EACH (const int, ifindex, scope->candidates)
        add_table_and_defaults(tables, ibh_config_settings(config, ibh_snapshot_link(snapshot, *ifindex)->name).table);
    /* Our routes tell which table a NIC had, even if the state was lost. */
    IBH_EACH (const IbhRoute, route, snapshot->routes) {
        if (ibh_route_is_ours(route))
            add_table(tables, route->table);
    }
    /* Backwards: a rule before a foreign source rule may decide about the address first, so the table of the earlier
     * rule counts, too. `has_source` is the same for all addresses and both families, and the selectors of the earlier
     * rule do not matter: at worst, this adds a table that no decision needs. */
    IBH_EACH_BACK (const IbhRule, rule, snapshot->rules) {
        IBH_EACH_POINTER (const IbhAddress, address, scope->addresses)
            has_source |= ibh_rule_is_of_a_source(rule) && ibh_prefix_contains(&rule->from, &address->local);
        if (has_source)
            add_table(tables, rule->table);
    }
    return tables;
}
