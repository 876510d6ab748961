/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Gives each candidate its table.
 *
 * A NIC keeps the table that it has, so a change of one rail touches no other rail. There are two exceptions: table=
 * of this NIC or of another decides otherwise, or the number does not stick (give_again()). Only table= promises a
 * number. An automatic number is 940 + the rank that the NIC has when it gets the number: ib0 and ib1 get 941 and 942.
 * If 940 + this rank is not free, the NIC gets a number above those of all ranks.
 */
#include "plan/rails.h"

/* ---- giving ---- */

/* Returns the NIC that has this number, or this number + 2000, as its T or D; NULL if there is no such NIC. */
static const IbhNic *find_table_owner(const IbhRails *rails, guint32 table)
{
    const IbhNic *same = ibh_rails_nic_by_table(rails, table);

    return same ? same : ibh_rails_nic_by_table(rails, table + IBH_TABLE_DEFAULTS);
}

/* Gives the table and its D to the NIC. Returns FALSE if another NIC has one of them. */
static gboolean give_table(const IbhRails *rails, IbhNic *nic, guint32 table)
{
    if (find_table_owner(rails, table))
        return FALSE;
    nic->table = table;
    g_hash_table_insert(rails->by.tables, GUINT_TO_POINTER(table), nic);
    g_hash_table_insert(rails->by.tables, GUINT_TO_POINTER(table + IBH_TABLE_DEFAULTS), nic);
    return TRUE;
}

/* Gives NICs the tables of table=. Fails if table= gave an earlier NIC the same number, or one that is 2000 apart.
 * If a kept NIC has such a number, the NIC with table= gets an automatic number as long as the other NIC is kept. */
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

/* Gives a candidate the table that it had, if the NIC has no table yet, no other NIC has this table, and the number
 * sticks. A kept NIC keeps any number N for which N + 2000 fits into 32 bits. For other NICs, these numbers do not
 * stick:
 * - numbers up to IBH_TABLE_BASE, which only table= gives;
 * - a number that table= gave in the last run, unless the number is 940 + the NIC's rank;
 * - a table to which a foreign source rule (ibh_rule_is_of_a_source()) leads an address of another candidate, because
 *   our routes would mislead packets from that address. */
static void give_again(const IbhRails *rails, IbhNic *nic, guint32 table)
{
    if (!nic->rank || nic->table || table > G_MAXUINT32 - IBH_TABLE_DEFAULTS || (!nic->kept && table <= IBH_TABLE_BASE))
        return;
    IBH_EACH (const IbhSavedRail, saved, rails->snapshot->state->rails) {
        if (saved->is_explicit && saved->table == table && !nic->kept && table != IBH_TABLE_BASE + nic->rank)
            return;
    }
    IBH_EACH (const IbhRule, rule, rails->snapshot->rules) {
        if (nic->kept || rule->table != table || !ibh_rule_is_of_a_source(rule))
            continue;
        IBH_EACH_POINTER (const IbhNic, other, rails->nics) {
            IBH_EACH_POINTER (const IbhAddress, address, other->served) {
                if (other != nic && other->rank && ibh_prefix_contains(&rule->from, &address->local))
                    return;
            }
        }
    }
    (void)give_table(rails, nic, table);
}

/* Gives NICs (with `kept`, kept ones; without, the others) the tables to which our rules lead their addresses. Only
 * rules with a destination count: a rule to T names a destination, a rule to D does not. With `shared`, looks only at
 * addresses that several NICs have (or one NIC several times): if one of these NICs is engaged, only engaged ones get
 * the table. Without `shared`, looks only at addresses that a single NIC has. */
static void give_by_rules(const IbhRails *rails, gboolean kept, gboolean shared)
{
    IBH_EACH_POINTER (IbhNic, nic, rails->nics) {
        if (!nic->rank || nic->table || nic->kept != kept)
            continue;
        IBH_EACH (const IbhRule, rule, rails->snapshot->rules) {
            const IbhIp *from = &rule->from.ip;
            const IbhAddress *address;

            if (rule->table == IBH_TABLE_MAIN || !rule->to.length || !ibh_rule_is_ours(rule) ||
                ibh_rule_is_spread(rule))
                continue;
            address = ibh_rails_address(rails, nic, from);
            if (address && ibh_address_counts(address) && (ibh_rails_holders(rails, from)->len > 1) == shared &&
                (nic->is_engaged || !ibh_rails_is_claimed(rails, from)))
                give_again(rails, nic, rule->table);
        }
    }
}

/* Returns the NIC with the saved index and name; NULL if there is none. The index alone proves nothing, because the
 * kernel may have given it to another NIC. */
static IbhNic *find_saved_nic(const IbhRails *rails, const IbhSavedRail *saved)
{
    IbhNic *nic = g_hash_table_lookup(rails->by.nics, GINT_TO_POINTER(saved->ifindex));

    return nic && g_str_equal(nic->link->name, saved->iface) ? nic : NULL;
}

/* Gives NICs (with `kept`, kept ones; without, the others) the tables that they had. The best evidence comes first. */
static void give_by_evidence(const IbhRails *rails, gboolean kept)
{
    /* Our routes. D holds a default, and perhaps the host route to an IPv6 gateway: neither is evidence of T. If two
     * NICs have routes in one table, the NIC that comes first (IbhNic.rank) keeps the table. */
    IBH_EACH_POINTER (IbhNic, nic, rails->nics) {
        IBH_EACH (const IbhRoute, route, rails->snapshot->routes) {
            if (nic->kept != kept || route->ifindex != nic->link->ifindex || !ibh_route_is_ours(route))
                continue;
            if (!ibh_route_is_spread(route) && route->dst.length && route->dst.length < 128)
                give_again(rails, nic, route->table);
        }
    }
    /* Our rules for addresses that a single NIC has. */
    give_by_rules(rails, kept, FALSE);
    /* The state: while a NIC's addresses are away for a moment, only the state remembers its table. */
    IBH_EACH (const IbhSavedRail, saved, rails->snapshot->state->rails) {
        IbhNic *nic = find_saved_nic(rails, saved);

        if (nic && nic->kept == kept)
            give_again(rails, nic, saved->table);
    }
    /* Our rules for addresses that several NICs have. */
    give_by_rules(rails, kept, TRUE);
}

/* ---- new numbers ---- */

/* TRUE if no route, rule or VRF uses this table (as T) or its D. Our own routes and rules of this NIC do not count in
 * D, but count in T: they were evidence, and if the number stuck, the NIC would have the table already. */
static gboolean is_free(const IbhRails *rails, const IbhNic *nic, guint32 table)
{
    const guint32 defaults = table + IBH_TABLE_DEFAULTS;

    IBH_EACH (const IbhRoute, route, rails->snapshot->routes) {
        if (route->table == table ||
            (route->table == defaults && (!ibh_route_is_ours(route) || route->ifindex != nic->link->ifindex)))
            return FALSE;
    }
    IBH_EACH (const IbhRule, rule, rails->snapshot->rules) {
        if (rule->table == table ||
            (rule->table == defaults && (!ibh_rule_is_ours(rule) || ibh_rails_holder(rails, &rule->from.ip) != nic)))
            return FALSE;
    }
    IBH_EACH (const IbhLink, link, rails->snapshot->links) {
        if (link->vrf == table || link->vrf == defaults)
            return FALSE;
    }
    return TRUE;
}

gboolean ibh_rails_assign_tables(IbhRails *rails, GError **error)
{
    /* Kept NICs come first, because table= must not take their numbers; then table=; then the other NICs. */
    give_by_evidence(rails, TRUE);
    if (!give_explicit(rails, error))
        return FALSE;
    give_by_evidence(rails, FALSE);
    /* Take 940 + the rank, or, if that number is taken, the lowest free number above those of all ranks. */
    IBH_EACH_POINTER (IbhNic, nic, rails->nics) {
        guint32 table = IBH_TABLE_BASE + nic->rank, next = IBH_TABLE_BASE + rails->candidates + 1;

        if (!nic->rank || nic->table)
            continue;
        while (!is_free(rails, nic, table) || !give_table(rails, nic, table))
            table = next++;
    }
    return TRUE;
}

/* ---- the saved state ---- */

GArray *ibh_rails_to_remember(const IbhRails *rails, const GArray *spared)
{
    GArray *remembered = IBH_NEW_ARRAY(IbhSavedRail);

    IBH_EACH (const IbhSavedRail, last, rails->snapshot->state->rails) {
        const IbhNic *nic = find_saved_nic(rails, last);

        /* For a rail, even a spared one, the second loop adds the present table. */
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
