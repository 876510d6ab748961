/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/scope.h"

#include "plan/rails.h"

#include <sys/socket.h>

#define SPARE_NUMBERS 8 /* automatic tables above all ranks, for NICs whose number is taken */

void ibh_scope_init(IbhScope *scope, const IbhSnapshot *snapshot, const IbhConfig *config)
{
    *scope = (IbhScope){.candidates = IBH_NEW_ARRAY(int), .subnets = IBH_NEW_ARRAY(IbhPrefix)};
    IBH_EACH (const IbhLink, link, snapshot->links) {
        if (ibh_link_is_candidate(snapshot, link, ibh_config_settings(config, link->name).manage))
            g_array_append_val(scope->candidates, link->ifindex);
    }
    IBH_EACH (const IbhAddress, address, snapshot->addresses) {
        if (!ibh_address_counts(address) || !ibh_numbers_have(scope->candidates, address->ifindex))
            continue;
        g_array_append_val(scope->subnets, address->subnet);
        scope->has_ipv6 |= address->local.family == AF_INET6;
    }
}

void ibh_scope_clear(IbhScope *scope)
{
    g_array_unref(scope->candidates);
    g_array_unref(scope->subnets);
}

gboolean ibh_scope_has(gconstpointer subnets, const IbhRoute *route)
{
    return route->gateway.family == AF_UNSPEC || !route->dst.length || ibh_prefixes_have(subnets, &route->dst);
}

GArray *ibh_scope_lacks(const IbhScope *scope, const IbhSnapshot *snapshot)
{
    GArray *subnets = IBH_NEW_ARRAY(IbhPrefix);

    IBH_EACH (const IbhAddress, address, snapshot->addresses) {
        const IbhLink *link = ibh_snapshot_link(snapshot, address->ifindex);

        if (ibh_numbers_have(scope->candidates, address->ifindex) && link->flags & IFF_UP &&
            ibh_address_counts(address) && !ibh_address_is_host(address) &&
            !ibh_routes_find_best(snapshot->main_by_nic, address->ifindex, &address->subnet))
            g_array_append_val(subnets, address->subnet);
    }
    return subnets;
}

/* The snapshot reads main and the local table in other ways. */
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

/* Thousands of foreign rules may exist, and most of them select one address. */
static gboolean has_address_in(GHashTable *addresses, const IbhPrefix *prefix)
{
    GHashTableIter iter;
    gpointer ip;

    if (prefix->length == ibh_ip_bits(&prefix->ip))
        return g_hash_table_contains(addresses, &prefix->ip);
    g_hash_table_iter_init(&iter, addresses);
    while (g_hash_table_iter_next(&iter, &ip, NULL)) {
        if (ibh_prefix_contains(prefix, ip))
            return TRUE;
    }
    return FALSE;
}

GArray *ibh_scope_tables(const IbhScope *scope, const IbhSnapshot *snapshot, const IbhConfig *config)
{
    g_autoptr(GHashTable) addresses = g_hash_table_new(ibh_ip_hash, (GEqualFunc)ibh_ip_equal);
    GArray *tables = IBH_NEW_ARRAY(guint32);

    if (!scope->candidates->len)
        return tables;
    for (guint i = 1; i <= scope->candidates->len + SPARE_NUMBERS; i++)
        add_table_and_defaults(tables, IBH_TABLE_BASE + i);
    IBH_EACH (const IbhSavedRail, saved, snapshot->state->rails)
        add_table_and_defaults(tables, saved->table);
    IBH_EACH (const int, ifindex, scope->candidates)
        add_table_and_defaults(tables, ibh_config_settings(config, ibh_snapshot_link(snapshot, *ifindex)->name).table);
    IBH_EACH (const IbhRoute, route, snapshot->routes) {
        if (ibh_route_is_ours(route))
            add_table(tables, route->table);
    }
    IBH_EACH (IbhAddress, address, snapshot->addresses) {
        if (ibh_numbers_have(scope->candidates, address->ifindex))
            g_hash_table_add(addresses, &address->local);
    }
    IBH_EACH (const IbhRule, rule, snapshot->rules) {
        if (ibh_rule_is_of_a_source(rule) && !ibh_numbers_have(tables, (int)rule->table) &&
            has_address_in(addresses, &rule->from))
            add_table(tables, rule->table);
    }
    return tables;
}
