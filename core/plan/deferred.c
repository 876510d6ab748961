/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/deferred.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>

static gboolean is_builtin_table(guint32 table)
{
    return table == IBH_TABLE_MAIN || table == IBH_TABLE_LOCAL || table == RT_TABLE_DEFAULT || table == RT_TABLE_UNSPEC;
}

static gboolean table_routes_subnet(const IbhSnapshot *snapshot, guint32 table, int ifindex, const IbhPrefix *subnet)
{
    IBH_EACH (const IbhRoute, route, snapshot->routes) {
        if (!ibh_route_is_ours(route) && route->table == table && route->ifindex == ifindex &&
            route->type == RTN_UNICAST && route->dst.length <= subnet->length &&
            ibh_prefix_contains(&route->dst, &subnet->ip))
            return TRUE;
    }
    return FALSE;
}

/* TRUE if this is a foreign rule that leads some source to a table of its own. A rule behind main's is never asked
 * about a subnet that main has. */
static gboolean may_route(const IbhRule *rule)
{
    return !ibh_rule_is_ours(rule) && rule->action == FR_ACT_TO_TBL && !rule->l3mdev && !rule->selectors &&
           rule->from.length && rule->priority < IBH_PRIORITY_MAIN && !is_builtin_table(rule->table);
}

GPtrArray *ibh_find_routing_rules(const IbhSnapshot *snapshot)
{
    GPtrArray *rules = g_ptr_array_new();

    IBH_EACH (IbhRule, rule, snapshot->rules) {
        if (may_route(rule))
            g_ptr_array_add(rules, rule);
    }
    return rules;
}

/* TRUE if the rule leads this address to a table that routes the subnet by this NIC. */
static gboolean routes_it(const IbhSnapshot *snapshot, const IbhNic *nic, const IbhAddress *address,
                          const IbhRule *rule)
{
    return ibh_prefix_contains(&rule->from, &address->local) &&
           table_routes_subnet(snapshot, rule->table, nic->link->ifindex, &address->subnet);
}

gboolean ibh_is_routed_by(const IbhSnapshot *snapshot, const IbhNic *nic, const IbhRule *rule)
{
    IBH_EACH_POINTER (const IbhAddress, address, &nic->served) {
        if (!ibh_address_is_host(address) && routes_it(snapshot, nic, address, rule))
            return TRUE;
    }
    return FALSE;
}

gboolean ibh_is_documents_table(const IbhRails *rails, guint32 table)
{
    return table > IBH_TABLE_BASE && table <= IBH_TABLE_BASE + rails->candidates;
}

/* TRUE if the documents' script put this NIC's connected route there. */
static gboolean is_by_documents(const IbhRails *rails, const IbhNic *nic, guint32 table)
{
    if (!ibh_is_documents_table(rails, table))
        return FALSE;
    IBH_EACH_POINTER (const IbhRule, rule, rails->routing) {
        if (rule->table == table && ibh_is_routed_by(rails->snapshot, nic, rule))
            return TRUE;
    }
    return FALSE;
}

/* Its connected route lies only in a table that is neither main nor T (NetworkManager's route-table). */
static char *why_routed_elsewhere(const IbhRails *rails, const IbhNic *nic, const IbhAddress *address)
{
    const IbhSnapshot *snapshot = rails->snapshot;
    char subnet[IBH_PREFIX_STRLEN];
    guint32 elsewhere = 0;

    IBH_EACH (const IbhRoute, route, snapshot->routes) {
        if (route->ifindex != nic->link->ifindex || route->type != RTN_UNICAST || route->protocol != RTPROT_KERNEL ||
            ibh_route_is_ours(route) || !ibh_prefix_equal(&route->dst, &address->subnet))
            continue;
        if (route->table == IBH_TABLE_MAIN || route->table == nic->table)
            return NULL;
        elsewhere = route->table;
    }
    if (!elsewhere || is_builtin_table(elsewhere) || is_by_documents(rails, nic, elsewhere))
        return NULL;
    return g_strdup_printf("its connected route to %s is in table %u", ibh_prefix_format(&address->subnet, subnet),
                           elsewhere);
}

/* … except T, and the tables of the documents' script. */
static char *why_ruled_elsewhere(const IbhRails *rails, const IbhNic *nic, const IbhAddress *address)
{
    const IbhSnapshot *snapshot = rails->snapshot;
    char from[IBH_PREFIX_STRLEN];

    IBH_EACH_POINTER (const IbhRule, rule, rails->routing) {
        if (rule->table != nic->table && !ibh_is_documents_table(rails, rule->table) &&
            routes_it(snapshot, nic, address, rule))
            return g_strdup_printf("the rule %u: from %s lookup %u routes it already", rule->priority,
                                   ibh_prefix_format(&rule->from, from), rule->table);
    }
    return NULL;
}

char *ibh_why_deferred(const IbhRails *rails, const IbhNic *nic)
{
    IBH_EACH_POINTER (const IbhAddress, address, &nic->served) {
        char *why;

        if (ibh_address_is_host(address))
            continue;
        if ((why = why_routed_elsewhere(rails, nic, address)) || (why = why_ruled_elsewhere(rails, nic, address)))
            return why;
    }
    return NULL;
}
