/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Gives each candidate its table.
 *
 * A NIC keeps the table that it is programmed with, so a change of one rail touches no other rail. Only table= promises
 * a number. An automatic number is 940 + the rank when a NIC is first programmed: ib0 and ib1 get 941 and 942.
 */
#include "plan/rails.h"

#include <linux/fib_rules.h>

#define KEY(table) GUINT_TO_POINTER(table)

/* ---- which numbers stick ---- */

/* TRUE if a foreign rule leads an address of another candidate to this table, where our routes would mislead it. */
static gboolean leads_another_nic(const IbhRails *rails, const IbhNic *nic, guint32 table)
{
    IBH_EACH (const IbhRule, rule, rails->snapshot->rules) {
        if (rule->table != table || !ibh_rule_is_of_a_source(rule))
            continue;
        IBH_EACH_POINTER (const IbhNic, other, rails->nics) {
            IBH_EACH_POINTER (const IbhAddress, address, other->served) {
                if (other != nic && other->rank && ibh_prefix_contains(&rule->from, &address->local))
                    return TRUE;
            }
        }
    }
    return FALSE;
}

/* Numbers that the configuration gives, or gave in the last run, do not stick. A kept NIC keeps any number. */
static gboolean can_stick(const IbhRails *rails, const IbhNic *nic, guint32 table)
{
    if (!nic->rank || nic->table || table > G_MAXUINT32 - IBH_TABLE_DEFAULTS || (!nic->kept && table <= IBH_TABLE_BASE))
        return FALSE;
    IBH_EACH (const IbhSavedRail, saved, rails->snapshot->state->rails) {
        if (saved->is_explicit && saved->table == table && !nic->kept && table != IBH_TABLE_BASE + nic->rank)
            return FALSE;
    }
    return nic->kept || !leads_another_nic(rails, nic, table);
}

/* ---- giving ---- */

/* Returns the NIC that has this table as T or D, or the D of this table; NULL if none has. */
static const IbhNic *find_table_owner(const IbhRails *rails, guint32 table)
{
    const IbhNic *same = ibh_rails_nic_by_table(rails, table);

    return same ? same : ibh_rails_nic_by_table(rails, table + IBH_TABLE_DEFAULTS);
}

/* Gives the table and its D to the NIC. FALSE if another NIC has one of them. */
static gboolean give_table(const IbhRails *rails, IbhNic *nic, guint32 table)
{
    if (find_table_owner(rails, table))
        return FALSE;
    nic->table = table;
    g_hash_table_insert(rails->by.tables, KEY(table), nic);
    g_hash_table_insert(rails->by.tables, KEY(table + IBH_TABLE_DEFAULTS), nic);
    return TRUE;
}

/* Fails if a NIC of lower rank has the table or its D. If a kept NIC has them, use an automatic number until that NIC
 * lets go. */
static gboolean give_explicit(const IbhRails *rails, GError **error)
{
    IBH_EACH_POINTER (IbhNic, nic, rails->nics) {
        const guint32 table = nic->settings.table;
        const IbhNic *other;

        if (!nic->rank || nic->table || table == IBH_TABLE_AUTO || nic->settings.manage == IBH_MANAGE_NO)
            continue;
        other = find_table_owner(rails, table);
        if (!other)
            (void)give_table(rails, nic, table);
        else if (other->kept)
            nic->settings.table = IBH_TABLE_AUTO;
        else {
            g_set_error(error, IBH_CONFIG_ERROR, 0,
                        "%s: table=%u of %s, and %s has table=%u: each NIC needs two of its own, N and N + %u",
                        nic->settings.table_origin, table, nic->link->name, other->link->name, other->table,
                        IBH_TABLE_DEFAULTS);
            return FALSE;
        }
    }
    return TRUE;
}

/* ---- evidence ---- */

/* D holds a default, and perhaps the host route to an IPv6 gateway: neither is evidence of T. If two NICs have routes
 * in one table, the NIC of lower rank keeps the table. */
static void give_by_routes(const IbhRails *rails, gboolean kept)
{
    IBH_EACH_POINTER (IbhNic, nic, rails->nics) {
        IBH_EACH (const IbhRoute, route, rails->snapshot->routes) {
            if (nic->kept != kept || route->ifindex != nic->link->ifindex || !ibh_route_is_ours(route))
                continue;
            if (!ibh_route_is_spread(route) && route->dst.length && route->dst.length < 128 &&
                can_stick(rails, nic, route->table))
                (void)give_table(rails, nic, route->table);
        }
    }
}

/* `shared` selects the rules of addresses that several NICs have: engaged NICs have precedence. */
static void give_by_rules(const IbhRails *rails, const GPtrArray *rules, gboolean kept, gboolean shared)
{
    IBH_EACH_POINTER (IbhNic, nic, rails->nics) {
        IBH_EACH_POINTER (const IbhRule, rule, rules) {
            const IbhIp *from = &rule->from.ip;
            const IbhAddress *address = ibh_rails_address(rails, nic, from);

            if (nic->kept != kept || !address || !ibh_address_counts(address))
                continue;
            if ((ibh_rails_holders(rails, from)->len > 1) == shared &&
                (nic->is_engaged || !ibh_rails_is_claimed(rails, from)) && can_stick(rails, nic, rule->table))
                (void)give_table(rails, nic, rule->table);
        }
    }
}

/* Returns the NIC that was saved; NULL if it is gone, also if another NIC has its index. */
static IbhNic *find_saved_nic(const IbhRails *rails, const IbhSavedRail *saved)
{
    IbhNic *nic = g_hash_table_lookup(rails->by.nics, GINT_TO_POINTER(saved->ifindex));

    return nic && g_str_equal(nic->link->name, saved->iface) ? nic : NULL;
}

static void give_by_evidence(const IbhRails *rails, gboolean kept)
{
    g_autoptr(GPtrArray) rules = g_ptr_array_new();

    /* Our rules to a T name a destination; the rule to D does not. */
    IBH_EACH (IbhRule, rule, rails->snapshot->rules) {
        if (rule->table != IBH_TABLE_MAIN && rule->to.length && ibh_rule_is_ours(rule) && !ibh_rule_is_spread(rule))
            g_ptr_array_add(rules, rule);
    }
    give_by_routes(rails, kept);
    give_by_rules(rails, rules, kept, FALSE);
    /* While a NIC's addresses are away for a moment, only the state remembers its table. */
    IBH_EACH (const IbhSavedRail, saved, rails->snapshot->state->rails) {
        IbhNic *nic = find_saved_nic(rails, saved);

        if (nic && nic->kept == kept && can_stick(rails, nic, saved->table))
            (void)give_table(rails, nic, saved->table);
    }
    give_by_rules(rails, rules, kept, TRUE); /* the weakest evidence */
}

/* ---- new numbers ---- */

/* `mixed` marks a table with foreign rules or routes, or with those of several NICs. */
static void note_user(GHashTable *users, guint32 table, const IbhNic *nic, gpointer mixed)
{
    const gpointer user = (gpointer)(guintptr)nic;
    const gboolean is_mixed =
        !user || (g_hash_table_contains(users, KEY(table)) && g_hash_table_lookup(users, KEY(table)) != user);

    g_hash_table_insert(users, KEY(table), is_mixed ? mixed : user);
}

/* Finds who uses each table: tables with routes, tables that a rule looks up, tables of VRFs. */
static GHashTable *find_users(const IbhRails *rails)
{
    const IbhSnapshot *snapshot = rails->snapshot;
    GHashTable *users = g_hash_table_new(NULL, NULL);

    IBH_EACH (const IbhRoute, route, snapshot->routes)
        note_user(users, route->table, ibh_route_is_ours(route) ? ibh_rails_nic(rails, route->ifindex) : NULL, users);
    IBH_EACH (const IbhRule, rule, snapshot->rules) {
        if (rule->action == FR_ACT_TO_TBL)
            note_user(users, rule->table, ibh_rule_is_ours(rule) ? ibh_rails_holder(rails, &rule->from.ip) : NULL,
                      users);
    }
    IBH_EACH (const IbhLink, link, snapshot->links)
        note_user(users, link->vrf, NULL, users);
    return users;
}

/* A table with anything in it is not free: our own routes would have been evidence. D may hold this NIC's own default,
 * alone while T is empty. */
static gboolean give_free(const IbhRails *rails, IbhNic *nic, guint32 table, GHashTable *users)
{
    const gpointer user = g_hash_table_lookup(users, KEY(table + IBH_TABLE_DEFAULTS));

    return !g_hash_table_contains(users, KEY(table)) && (!user || user == nic) && give_table(rails, nic, table);
}

gboolean ibh_rails_assign_tables(IbhRails *rails, GError **error)
{
    g_autoptr(GHashTable) users = find_users(rails);

    give_by_evidence(rails, TRUE);
    if (!give_explicit(rails, error))
        return FALSE;
    give_by_evidence(rails, FALSE);
    /* 940 + the rank; where that number is taken, the lowest free one above all ranks. */
    IBH_EACH_POINTER (IbhNic, nic, rails->nics) {
        guint32 table = IBH_TABLE_BASE + rails->candidates + 1;

        if (!nic->rank || nic->table || give_free(rails, nic, IBH_TABLE_BASE + nic->rank, users))
            continue;
        while (!give_free(rails, nic, table, users))
            table++;
    }
    return TRUE;
}

/* ---- the saved state ---- */

GArray *ibh_rails_to_remember(const IbhRails *rails, const GArray *spared)
{
    GArray *remembered = IBH_NEW_ARRAY(IbhSavedRail);

    IBH_EACH (const IbhSavedRail, last, rails->snapshot->state->rails) {
        const IbhNic *nic = find_saved_nic(rails, last);

        if (nic && (nic->kept || (nic->status != IBH_NIC_RAIL && ibh_numbers_have(spared, nic->link->ifindex))))
            g_array_append_vals(remembered, last, 1);
    }
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        IbhSavedRail saved = {
            .ifindex = nic->link->ifindex, .table = nic->table, .is_explicit = nic->settings.table != IBH_TABLE_AUTO};

        g_strlcpy(saved.iface, nic->link->name, sizeof saved.iface);
        if (nic->status == IBH_NIC_RAIL)
            g_array_append_val(remembered, saved);
    }
    return remembered;
}
