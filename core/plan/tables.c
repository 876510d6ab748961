/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which table each candidate has.
 *
 * A NIC keeps the table that it is programmed with, so a change of one rail touches no other. Only table= promises a
 * number; an automatic one is 940 + the rank when a NIC is first programmed, so ib0 and ib1 have 941 and 942.
 */
#include "plan/rails.h"

#include <linux/fib_rules.h>

#define KEY(table) GUINT_TO_POINTER(table)

/* What tells which table a NIC has, the strongest first. */
typedef enum { BY_ROUTE, BY_MEMORY, BY_RULE, BY_LONE_ROUTE, BY_DEFAULT } Strength;

typedef struct {
    Strength strength;
    IbhNic *nic;
    guint32 table;
} Evidence;

typedef struct {
    IbhRails *rails;
    GHashTable *used;   /* table numbers that hold a route, or that a rule of ours leads to */
    GHashTable *needed; /* those of them that a present NIC uses */
    GArray *evidence;   /* Evidence, in order */
} Assignment;

static gboolean is_explicit(const IbhNic *nic)
{
    return nic->rank && nic->settings.table != IBH_TABLE_AUTO && nic->settings.manage != IBH_MANAGE_NO;
}

/* ---- evidence ---- */

static gboolean was_explicit(const Assignment *all, guint32 table)
{
    IBH_EACH (const IbhSavedRail, saved, all->rails->snapshot->state->rails) {
        if (saved->is_explicit && saved->table == table)
            return TRUE;
    }
    return FALSE;
}

static gboolean leads_another(const IbhRails *rails, const IbhNic *nic, const IbhRule *rule)
{
    IBH_EACH_POINTER (const IbhNic, other, rails->nics) {
        IBH_EACH_POINTER (const IbhAddress, address, other->served) {
            if (other != nic && other->rank && other->settings.manage != IBH_MANAGE_NO &&
                ibh_prefix_contains(&rule->from, &address->local))
                return TRUE;
        }
    }
    return FALSE;
}

/* Rules of others lead to tables of their own, whether anything is in them yet or not: routes of ours there would
 * change the way of what they match. A NIC that `has` the number keeps it, unless they lead an address of another one
 * there, after us: a rule before ours wins with any number of ours, and --check names it. */
static gboolean is_ruled(const Assignment *all, guint32 table, const IbhNic *has)
{
    IBH_EACH (const IbhRule, rule, all->rails->snapshot->rules) {
        const gboolean comes_later = ibh_rule_is_of_a_source(rule) && rule->priority > IBH_PRIORITY_BASE;

        if (rule->table != table || rule->action != FR_ACT_TO_TBL || ibh_rule_is_ours(rule))
            continue;
        if (!has || (comes_later && leads_another(all->rails, has, rule)))
            return TRUE;
    }
    return FALSE;
}

/* Numbers that the configuration gives now, or gave in the last run, do not stick. */
static gboolean can_stick(const Assignment *all, const IbhNic *nic, guint32 table)
{
    if (!nic->rank || !table || table > G_MAXUINT32 - IBH_TABLE_DEFAULTS)
        return FALSE;
    if (nic->kept)
        return TRUE;
    return table > IBH_TABLE_BASE && (table == IBH_TABLE_BASE + nic->rank || !was_explicit(all, table)) &&
           !is_ruled(all, table, nic);
}

/* Those that lead to D come later. */
static gboolean leads_to_t(const IbhRule *rule)
{
    return !ibh_rule_is_spread(rule) && rule->table != IBH_TABLE_MAIN && rule->priority < IBH_PRIORITY_DEFAULTS - 1;
}

static void note(const Assignment *all, Strength strength, const IbhNic *nic, guint32 table)
{
    const Evidence evidence = {strength, (IbhNic *)(guintptr)nic, table};

    g_array_append_val(all->evidence, evidence);
}

/* Of one address on several NICs, any that may be a rail can have the rule. */
static void note_rule(const Assignment *all, const IbhRule *rule)
{
    const GPtrArray *holders = ibh_rails_holders(all->rails, &rule->from.ip);

    IBH_EACH_POINTER (const IbhAddress, address, holders) {
        const IbhNic *nic = ibh_rails_nic(all->rails, address->ifindex);

        if (holders->len == 1 || (!nic->held && nic->settings.manage != IBH_MANAGE_NO))
            note(all, BY_RULE, nic, rule->table);
    }
}

/* The rules stand in ascending order: of several for one address, the first leads to T. */
static void note_rules(const Assignment *all)
{
    IBH_EACH (const IbhRule, rule, all->rails->snapshot->rules) {
        if (!ibh_rule_is_ours(rule))
            continue;
        g_hash_table_add(all->used, KEY(rule->table));
        if (ibh_rails_holder(all->rails, &rule->from.ip))
            g_hash_table_add(all->needed, KEY(rule->table));
        if (leads_to_t(rule))
            note_rule(all, rule);
    }
}

/* The route to a gateway lies in D, so a single host is no evidence of T. */
static gboolean may_be_of_d(const IbhRoute *route)
{
    return ibh_route_is_default(route) || (route->family == AF_INET6 && route->dst.length == 128);
}

/* After an --apply that was killed, D may hold the route to the gateway alone, and nothing else of ours uses that
 * number. */
static gboolean is_of_d(const IbhRoute *route)
{
    return ibh_route_is_default(route) || (may_be_of_d(route) && route->table > IBH_TABLE_DEFAULTS + IBH_TABLE_BASE);
}

/* A lone default route is in D. What a killed run left in a table that no rule leads to is weak: it goes, and the
 * number that a rule leads to would be another one then. */
static void note_routes(const Assignment *all)
{
    IBH_EACH (const IbhRoute, route, all->rails->snapshot->routes) {
        const IbhNic *nic = ibh_rails_nic(all->rails, route->ifindex);

        if (!nic || !ibh_route_is_ours(route))
            continue;
        if (is_of_d(route))
            note(all, BY_DEFAULT, nic, route->table - IBH_TABLE_DEFAULTS);
        if (!may_be_of_d(route))
            note(all, g_hash_table_contains(all->used, KEY(route->table)) ? BY_ROUTE : BY_LONE_ROUTE, nic,
                 route->table);
    }
    IBH_EACH (const IbhRoute, route, all->rails->snapshot->routes) {
        g_hash_table_add(all->used, KEY(route->table));
        g_hash_table_add(all->needed, KEY(route->table));
    }
}

/* NULL: it has gone, or its index is another one's now. */
static const IbhNic *find_saved(const IbhRails *rails, const IbhSavedRail *saved)
{
    const IbhNic *nic = ibh_rails_nic(rails, saved->ifindex);

    return nic && g_str_equal(nic->link->name, saved->iface) ? nic : NULL;
}

/* Its addresses are away and come back in a moment, or it has new ones: only its rules remain. */
static void note_memory(const Assignment *all)
{
    IBH_EACH (const IbhSavedRail, saved, all->rails->snapshot->state->rails) {
        const IbhNic *nic = find_saved(all->rails, saved);

        if (nic && g_hash_table_contains(all->used, KEY(saved->table)))
            note(all, BY_MEMORY, nic, saved->table);
    }
}

/* ---- giving ---- */

/* The NIC that has been given one of the two numbers; NULL: none. */
static const IbhNic *find_holder(const Assignment *all, guint32 table)
{
    const IbhNic *same = ibh_rails_nic_by_table(all->rails, table);

    return same ? same : ibh_rails_nic_by_table(all->rails, table + IBH_TABLE_DEFAULTS);
}

static gboolean give(Assignment *all, IbhNic *nic, guint32 table)
{
    if (find_holder(all, table))
        return FALSE;
    nic->table = table;
    g_hash_table_insert(all->rails->by.tables, KEY(table), nic);
    g_hash_table_insert(all->rails->by.tables, KEY(table + IBH_TABLE_DEFAULTS), nic);
    return TRUE;
}

/* Fails where a NIC of lower rank has one of its two tables. That of a NIC that is kept as it is becomes free later:
 * until then, an automatic one serves. */
static gboolean give_explicit(Assignment *all, GError **error)
{
    IBH_EACH_POINTER (IbhNic, nic, all->rails->nics) {
        const IbhNic *other = find_holder(all, nic->table);

        if (!is_explicit(nic) || give(all, nic, nic->table))
            continue;
        if (other->kept) {
            nic->settings.table = nic->table = IBH_TABLE_AUTO;
            continue;
        }
        g_set_error(error, IBH_CONFIG_ERROR, 0,
                    "%s: table=%u of %s, and %s has table=%u: each NIC needs two of its own, N and N + %u",
                    nic->settings.table_origin, nic->table, nic->link->name, other->link->name, other->table,
                    IBH_TABLE_DEFAULTS);
        return FALSE;
    }
    return TRUE;
}

/* Of two NICs in one table, the one of lower rank keeps it. */
static gint stronger_first(gconstpointer left, gconstpointer right)
{
    const Evidence *a = left, *b = right;

    IBH_COMPARE(a->strength, b->strength);
    IBH_COMPARE(a->nic->rank, b->nic->rank);
    return 0;
}

/* To the NICs that are kept as they are, or to all others. */
static void give_by_evidence(Assignment *all, gboolean kept)
{
    IBH_EACH (const Evidence, one, all->evidence) {
        /* With nothing but a route in D, T may be the number of others, as a new one may. */
        gboolean is_new = one->strength == BY_DEFAULT;

        if (one->nic->kept != kept || one->nic->table || !can_stick(all, one->nic, one->table))
            continue;
        if (is_new && (g_hash_table_contains(all->needed, KEY(one->table)) || is_ruled(all, one->table, NULL)))
            continue;
        if (give(all, one->nic, one->table))
            one->nic->is_table_new = is_new;
    }
}

static gboolean give_free(Assignment *all, IbhNic *nic, guint32 table, GHashTable *taken)
{
    const guint32 defaults = table + IBH_TABLE_DEFAULTS;

    return !g_hash_table_contains(taken, KEY(table)) && !g_hash_table_contains(taken, KEY(defaults)) &&
           !is_ruled(all, table, NULL) && !is_ruled(all, defaults, NULL) && give(all, nic, table);
}

/* 940 + the rank, unless another NIC uses that number: rules for absent addresses are its own, or leftovers. If it is
 * taken, the lowest free number above all ranks. */
static void give_new(Assignment *all, IbhNic *nic)
{
    guint32 table = IBH_TABLE_BASE + all->rails->candidates + 1;

    if (give_free(all, nic, IBH_TABLE_BASE + nic->rank, all->needed))
        return;
    while (!give_free(all, nic, table, all->used))
        table++;
}

gboolean ibh_rails_assign_tables(IbhRails *rails, GError **error)
{
    g_autoptr(GHashTable) used = g_hash_table_new(NULL, NULL), needed = g_hash_table_new(NULL, NULL);
    g_autoptr(GArray) evidence = IBH_NEW_ARRAY(Evidence);
    Assignment all = {.rails = rails, .used = used, .needed = needed, .evidence = evidence};

    note_rules(&all);
    note_routes(&all);
    note_memory(&all);
    g_array_sort(evidence, stronger_first);
    give_by_evidence(&all, TRUE);
    if (!give_explicit(&all, error))
        return FALSE;
    give_by_evidence(&all, FALSE);
    IBH_EACH_POINTER (IbhNic, nic, rails->nics) {
        if (!nic->rank || nic->table)
            continue;
        nic->is_table_new = TRUE;
        give_new(&all, nic);
    }
    return TRUE;
}

/* ---- the saved state ---- */

GArray *ibh_rails_to_remember(const IbhRails *rails, gboolean undo)
{
    GArray *remembered = IBH_NEW_ARRAY(IbhSavedRail);

    IBH_EACH (const IbhSavedRail, last, rails->snapshot->state->rails) {
        const IbhNic *nic = find_saved(rails, last);

        if (nic && nic->kept) /* as it is: it keeps its number, too */
            g_array_append_vals(remembered, last, 1);
    }
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        IbhSavedRail saved = {
            .ifindex = nic->link->ifindex, .table = nic->table, .is_explicit = nic->settings.table != IBH_TABLE_AUTO};

        g_strlcpy(saved.iface, nic->link->name, sizeof saved.iface);
        if (nic->status == IBH_NIC_RAIL && !(undo && ibh_nic_is_selected(nic, rails->only)))
            g_array_append_val(remembered, saved);
    }
    return remembered;
}
