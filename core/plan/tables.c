/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/tables.h"

#include "plan/others.h"

#include <linux/fib_rules.h>

#define KEY(table) GUINT_TO_POINTER(table)

typedef struct {
    IbhRails *rails;
    GHashTable *used;   /* table numbers that hold a route, or that a rule of ours leads to */
    GHashTable *needed; /* those of them that a present NIC uses */
    GHashTable *ruled;  /* numbers that rules of others lead to → the NIC of ours whose addresses they lead there, if
                         * it is one; `several` if it is more; else NULL */
    GHashTable *by_route; /* IbhNic → its table, by a route of ours */
    GHashTable *by_rule;  /* IbhNic → its table, by a rule of ours */
    GHashTable *by_d;     /* IbhNic → its table, by routes that remain in D */
} Assignment;

static gboolean is_automatic(const IbhNic *nic)
{
    return nic->rank && nic->settings.table == IBH_TABLE_AUTO;
}

static gboolean is_explicit(const IbhNic *nic)
{
    return nic->rank && nic->settings.table != IBH_TABLE_AUTO && nic->settings.manage != IBH_MANAGE_NO;
}

static gboolean is_given(const Assignment *all, guint32 table)
{
    return g_hash_table_contains(all->rails->by.tables, KEY(table));
}

/* ---- evidence ---- */

static gboolean was_explicit(const Assignment *all, guint32 table)
{
    const GArray *last = all->rails->snapshot->state->rails;

    IBH_EACH (const IbhSavedRail, saved, last) {
        if (saved->is_explicit && saved->table == table)
            return TRUE;
    }
    return FALSE;
}

static const IbhNic several;

/* Before ours, such a rule wins with any number of ours: --check names it. */
static gboolean may_be_last(const IbhRule *rule)
{
    return ibh_rule_is_of_a_source(rule) && rule->priority > IBH_PRIORITY_BASE;
}

static void note_led(const Assignment *all, const IbhRule *rule)
{
    const IbhNic *led = g_hash_table_lookup(all->ruled, KEY(rule->table));

    for (guint i = 0; may_be_last(rule) && i < all->rails->candidates; i++) {
        const IbhNic *nic = g_ptr_array_index(all->rails->nics, i);

        for (guint j = 0; nic->settings.manage != IBH_MANAGE_NO && j < nic->served.len; j++) {
            const IbhAddress *address = g_ptr_array_index(&nic->served, j);

            if (ibh_prefix_contains(&rule->from, &address->local))
                led = led && led != nic ? &several : nic;
        }
    }
    g_hash_table_insert(all->ruled, KEY(rule->table), (gpointer)(guintptr)led);
}

/* Rules of others lead to tables of their own, whether anything is in them yet or not: routes of ours there would
 * change the way of what they match. */
static void note_rules_of_others(Assignment *all)
{
    const GArray *rules = all->rails->snapshot->rules;

    IBH_EACH (const IbhRule, rule, rules) {
        if (!ibh_rule_is_ours(rule) && rule->action == FR_ACT_TO_TBL && rule->table)
            note_led(all, rule);
    }
}

/* Where others lead an address of another NIC of ours after us, our routes would mislead it. */
static gboolean is_led_from_none_but(const Assignment *all, const IbhNic *nic, guint32 table)
{
    const IbhNic *led = g_hash_table_lookup(all->ruled, KEY(table));

    return !led || led == nic;
}

/* Numbers that the configuration gives now, or gave in the last run, do not stick. */
static gboolean can_stick(const Assignment *all, const IbhNic *nic, guint32 table)
{
    return is_automatic(nic) && table > IBH_TABLE_BASE && table <= G_MAXUINT32 - IBH_TABLE_DEFAULTS &&
           !is_given(all, table) && (table == IBH_TABLE_BASE + nic->rank || !was_explicit(all, table)) &&
           is_led_from_none_but(all, nic, table);
}

/* Those that lead to D come later. */
static gboolean leads_to_t(const IbhRule *rule)
{
    return !ibh_rule_is_spread(rule) && rule->table != IBH_TABLE_MAIN && rule->priority < IBH_PRIORITY_DEFAULTS - 1;
}

/* The first evidence about a NIC counts. */
static void note(const Assignment *all, GHashTable *evidence, const IbhNic *nic, guint32 table)
{
    if (nic && can_stick(all, nic, table) && !g_hash_table_contains(evidence, nic))
        g_hash_table_insert(evidence, (gpointer)(guintptr)nic, KEY(table));
}

/* The NIC that has the address. If several have it: one that may be a rail and whose rank fits the number, or else the
 * one of lower rank. */
static const IbhNic *find_holder(const Assignment *all, const IbhRule *rule)
{
    const IbhNic *found = NULL;

    if (!g_hash_table_contains(all->rails->by.shared, &rule->from.ip))
        return ibh_rails_holder(all->rails, &rule->from.ip);
    IBH_EACH_POINTER (const IbhNic, nic, all->rails->nics) {
        if (can_stick(all, nic, rule->table) && !nic->held && nic->settings.manage != IBH_MANAGE_NO &&
            ibh_rails_has_address(all->rails, nic, &rule->from.ip) &&
            (!found || rule->table == IBH_TABLE_BASE + nic->rank))
            found = nic;
    }
    return found ? found : ibh_rails_holder(all->rails, &rule->from.ip);
}

/* The rules stand in ascending order: of several for one address, the first leads to T. */
static void note_rules(Assignment *all)
{
    const GArray *rules = all->rails->snapshot->rules;

    IBH_EACH (const IbhRule, rule, rules) {
        const IbhNic *nic;

        if (!ibh_rule_is_ours(rule))
            continue;
        g_hash_table_add(all->used, KEY(rule->table));
        if (ibh_rails_holder(all->rails, &rule->from.ip))
            g_hash_table_add(all->needed, KEY(rule->table));
        nic = leads_to_t(rule) ? find_holder(all, rule) : NULL;
        note(all, all->by_rule, nic, rule->table);
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

/* A lone default route is in D. If there are several such tables, the one that a rule of its own address leads to. */
static void note_routes(Assignment *all)
{
    const GArray *routes = all->rails->snapshot->routes;

    IBH_EACH (const IbhRoute, route, routes) {
        const IbhNic *nic =
            ibh_route_is_ours(route) && route->ifindex ? ibh_rails_nic(all->rails, route->ifindex) : NULL;
        gboolean is_ruled; /* its own rule leads there */

        g_hash_table_add(all->used, KEY(route->table));
        g_hash_table_add(all->needed, KEY(route->table));
        if (nic && is_of_d(route))
            note(all, all->by_d, nic, route->table - IBH_TABLE_DEFAULTS);
        if (!nic || !can_stick(all, nic, route->table))
            continue;
        is_ruled = g_hash_table_lookup(all->by_rule, nic) == KEY(route->table);
        if (is_ruled ? !ibh_route_is_default(route) : !may_be_of_d(route) && !g_hash_table_contains(all->by_route, nic))
            g_hash_table_insert(all->by_route, (gpointer)(guintptr)nic, KEY(route->table));
    }
}

/* ---- giving ---- */

static gboolean give(Assignment *all, IbhNic *nic, guint32 table)
{
    if (!table || is_given(all, table) || is_given(all, table + IBH_TABLE_DEFAULTS))
        return FALSE;
    nic->table = table;
    g_hash_table_insert(all->rails->by.tables, KEY(table), nic);
    g_hash_table_insert(all->rails->by.tables, KEY(table + IBH_TABLE_DEFAULTS), nic);
    return TRUE;
}

static void give_explicit(Assignment *all)
{
    IBH_EACH_POINTER (IbhNic, nic, all->rails->nics) {
        if (is_explicit(nic))
            give(all, nic, nic->table);
    }
}

static void give_by_evidence(Assignment *all, GHashTable *evidence)
{
    IBH_EACH_POINTER (IbhNic, nic, all->rails->nics) {
        if (is_automatic(nic) && !nic->table)
            give(all, nic, GPOINTER_TO_UINT(g_hash_table_lookup(evidence, nic)));
    }
}

static gboolean is_free(GHashTable *taken, guint32 table)
{
    return !g_hash_table_contains(taken, KEY(table)) && !g_hash_table_contains(taken, KEY(table + IBH_TABLE_DEFAULTS));
}

/* Its addresses are away and come back in a moment, or it has new ones: only its rules remain. */
static void give_remembered(Assignment *all)
{
    const GArray *last = all->rails->snapshot->state->rails;

    IBH_EACH (const IbhSavedRail, saved, last) {
        IbhNic *nic = g_hash_table_lookup(all->rails->by.nics, GINT_TO_POINTER(saved->ifindex));

        if (nic && !nic->table && g_str_equal(nic->link->name, saved->iface) && can_stick(all, nic, saved->table) &&
            g_hash_table_contains(all->used, KEY(saved->table)))
            give(all, nic, saved->table);
    }
}

/* 940 + the rank, unless another NIC uses that number: rules for absent addresses are its own, or leftovers. If it is
 * taken, the lowest free number above all ranks. */
static void give_new(Assignment *all, IbhNic *nic)
{
    guint32 table = IBH_TABLE_BASE + nic->rank;

    if (is_free(all->needed, table) && is_free(all->ruled, table) && give(all, nic, table))
        return;
    for (table = IBH_TABLE_BASE + all->rails->candidates + 1;
         !is_free(all->used, table) || !is_free(all->ruled, table) || !give(all, nic, table);)
        table++;
}

void ibh_assign_tables(IbhRails *rails)
{
    g_autoptr(GHashTable) used = g_hash_table_new(NULL, NULL), by_route = g_hash_table_new(NULL, NULL),
                          by_rule = g_hash_table_new(NULL, NULL), needed = g_hash_table_new(NULL, NULL),
                          by_d = g_hash_table_new(NULL, NULL), ruled = g_hash_table_new(NULL, NULL);
    Assignment all = {.rails = rails,
                      .used = used,
                      .needed = needed,
                      .ruled = ruled,
                      .by_route = by_route,
                      .by_rule = by_rule,
                      .by_d = by_d};

    note_rules_of_others(&all);
    give_explicit(&all);
    note_rules(&all);
    note_routes(&all);
    give_by_evidence(&all, by_route);
    give_remembered(&all);
    g_hash_table_remove_all(by_rule);
    note_rules(&all); /* without those that have been given */
    give_by_evidence(&all, by_rule);
    give_by_evidence(&all, by_d);
    for (guint i = 0; i < rails->candidates; i++) {
        IbhNic *nic = g_ptr_array_index(rails->nics, i);

        if (!nic->table) {
            nic->is_table_new = TRUE;
            give_new(&all, nic);
        }
    }
}

/* ---- the saved state ---- */

GArray *ibh_rails_to_remember(const IbhRails *rails, const char *const *undone, gboolean all)
{
    GArray *remembered = g_array_new(FALSE, TRUE, sizeof(IbhSavedRail));

    for (guint i = 0; !all && i < rails->nics->len; i++) {
        const IbhNic *nic = g_ptr_array_index(rails->nics, i);
        IbhSavedRail saved = {
            .ifindex = nic->link->ifindex, .table = nic->table, .is_explicit = nic->settings.table != IBH_TABLE_AUTO};

        g_strlcpy(saved.iface, nic->link->name, sizeof saved.iface);
        if (nic->status == IBH_NIC_RAIL && !nic->link->vf && /* virtual functions come and go */
            !(undone && g_strv_contains(undone, nic->link->name)))
            g_array_append_val(remembered, saved);
    }
    return remembered;
}
