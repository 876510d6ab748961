/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/rails.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>

void ibh_rails_free(IbhRails *rails)
{
    if (!rails)
        return;
    g_ptr_array_unref(rails->nics);
    g_hash_table_unref(rails->pool);
    g_hash_table_unref(rails->by.nics);
    g_hash_table_unref(rails->by.holders);
    g_hash_table_unref(rails->by.tables);
    g_hash_table_unref(rails->by.advertised);
    g_free(rails);
}

/* ---- look-ups ---- */

guint32 ibh_nic_defaults(const IbhNic *nic)
{
    return nic->table + IBH_TABLE_DEFAULTS;
}

gboolean ibh_nic_has_table(const IbhNic *nic, guint32 table)
{
    return nic->table && (table == nic->table || table == ibh_nic_defaults(nic));
}

const IbhNic *ibh_rails_nic(const IbhRails *rails, int ifindex)
{
    return g_hash_table_lookup(rails->by.nics, GINT_TO_POINTER(ifindex));
}

const IbhNic *ibh_rails_nic_by_table(const IbhRails *rails, guint32 table)
{
    return g_hash_table_lookup(rails->by.tables, GUINT_TO_POINTER(table));
}

const GPtrArray *ibh_rails_holders(const IbhRails *rails, const IbhIp *ip)
{
    static const GPtrArray none = {.len = 0};
    const GPtrArray *holders = g_hash_table_lookup(rails->by.holders, ip);

    return holders ? holders : &none;
}

const IbhNic *ibh_rails_owner(const IbhRails *rails, const IbhIp *ip)
{
    const GPtrArray *holders = ibh_rails_holders(rails, ip);

    IBH_EACH_POINTER (const IbhAddress, address, holders) {
        const IbhNic *nic = ibh_rails_nic(rails, address->ifindex);

        if (nic->status == IBH_NIC_RAIL && ibh_address_counts(address))
            return nic;
    }
    return NULL;
}

gboolean ibh_rails_is_claimed(const IbhRails *rails, const IbhIp *ip)
{
    const GPtrArray *holders = ibh_rails_holders(rails, ip);

    IBH_EACH_POINTER (const IbhAddress, address, holders) {
        if (ibh_rails_nic(rails, address->ifindex)->is_engaged && ibh_address_counts(address))
            return TRUE;
    }
    return FALSE;
}

gboolean ibh_rails_is_advertised(const IbhRails *rails, const IbhAddress *address)
{
    return g_hash_table_contains(rails->by.advertised, address);
}

const IbhRule *ibh_nic_foreign_rule(const IbhNic *nic, const IbhAddress *address)
{
    const IbhRule *theirs = NULL;

    IBH_EACH (const IbhPair, pair, nic->pairs) {
        if (pair->address != address)
            continue;
        if (!pair->theirs)
            return NULL;
        theirs = theirs ? theirs : pair->theirs;
    }
    return theirs;
}

const IbhNic *ibh_rails_holder(const IbhRails *rails, const IbhIp *ip)
{
    const GPtrArray *holders = ibh_rails_holders(rails, ip);
    const IbhAddress *first = holders->len ? g_ptr_array_index(holders, 0) : NULL;

    return first ? ibh_rails_nic(rails, first->ifindex) : NULL;
}

gboolean ibh_rails_is_own_gateway(const IbhRails *rails, const IbhNic *nic, const IbhIp *gateway)
{
    if (ibh_ip_is_fe80(gateway))
        return nic && ibh_rails_address(rails, nic, gateway);
    return ibh_rails_holder(rails, gateway) != NULL;
}

gboolean ibh_nic_has_first(const IbhNic *nic, const IbhAddress *address)
{
    IBH_EACH_POINTER (const IbhAddress, other, nic->served) {
        if (ibh_ip_equal(&other->local, &address->local))
            return other == address;
    }
    return FALSE;
}

gboolean ibh_nic_is_selected(const IbhNic *nic, const char *const *only)
{
    return !only || (nic && g_strv_contains(only, nic->link->name));
}

const IbhAddress *ibh_rails_address(const IbhRails *rails, const IbhNic *nic, const IbhIp *ip)
{
    const GPtrArray *holders = ibh_rails_holders(rails, ip);

    IBH_EACH_POINTER (const IbhAddress, address, holders) {
        if (address->ifindex == nic->link->ifindex)
            return address;
    }
    return NULL;
}

const IbhNic *ibh_rule_owner(const IbhRails *rails, const IbhRule *rule)
{
    const IbhNic *holder = ibh_rails_holder(rails, &rule->from.ip);
    const IbhNic *owner = ibh_rails_owner(rails, &rule->from.ip), *by_table;

    if (ibh_rails_holders(rails, &rule->from.ip)->len == 1)
        return holder;
    /* No NIC has the address, or several have it: then the table tells which NIC the rule is for. Instead of a "lookup
     * main" rule, ask our rule to T or D with the same source and destination. */
    if (rule->table == IBH_TABLE_MAIN) {
        IBH_EACH (const IbhRule, other, rails->snapshot->rules) {
            if (other->table != IBH_TABLE_MAIN && ibh_rule_is_ours(other) &&
                ibh_prefix_equal(&other->from, &rule->from) && ibh_prefix_equal(&other->to, &rule->to))
                return ibh_rule_owner(rails, other);
        }
    }
    by_table = ibh_rails_nic_by_table(rails, rule->table);
    if (by_table && (!holder || ibh_rails_address(rails, by_table, &rule->from.ip)))
        return by_table;
    return owner ? owner : holder;
}

const IbhNic *ibh_route_owner(const IbhRails *rails, const IbhRoute *route)
{
    const IbhNic *by_device = ibh_rails_nic(rails, route->ifindex);

    return by_device ? by_device : ibh_rails_nic_by_table(rails, route->table);
}

gboolean ibh_nic_serves_family(const IbhNic *nic, int family)
{
    IBH_EACH_POINTER (const IbhAddress, address, nic->served) {
        if (address->local.family == family)
            return TRUE;
    }
    return FALSE;
}

gboolean ibh_nic_is_usable(const IbhNic *nic)
{
    return nic->link->flags & IFF_UP && nic->link->carrier;
}

gboolean ibh_rule_is_for_us(const IbhRule *rule)
{
    /* for the kernel, this host's packets come in through lo */
    return !(rule->selectors & IBH_SELECT_IIF) || g_str_equal(rule->by.iif, "lo");
}

gboolean ibh_rule_is_of_a_source(const IbhRule *rule)
{
    if (ibh_rule_is_ours(rule) || rule->action != FR_ACT_TO_TBL || rule->l3mdev)
        return FALSE;
    if (rule->table == IBH_TABLE_MAIN || rule->table == IBH_TABLE_LOCAL || rule->table == RT_TABLE_DEFAULT)
        return FALSE;
    return rule->from.length && !(rule->selectors & ~(guint)IBH_SELECT_TO);
}

const IbhRemote *ibh_nic_find_remote(const IbhNic *nic, const IbhPrefix *prefix)
{
    const IbhRemote *best = NULL;

    IBH_EACH (const IbhRemote, remote, nic->settings.remote) {
        if (ibh_prefix_covers(&remote->prefix, prefix) && (!best || remote->prefix.length > best->prefix.length))
            best = remote;
    }
    return best;
}
