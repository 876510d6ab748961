/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that were rendered earlier, and whose rules and routes the host has now. New files are about to replace these
 * files, so --render writes what the host would need without these rules and routes. The rules of the old files
 * have no mark, and the numbers of their tables depend on what the host had then. So only the form of a rule shows
 * whether the rule comes from an old file. D' is the table that rendered files use in place of D (formats.c).
 */
#include "render/render.h"

#include <linux/fib_rules.h>

/* TRUE if all foreign routes of the table lead through the same candidate, or if the table has no foreign routes. FALSE
 * if one of these routes is a multipath route, or leads through no NIC, like an error route. */
static gboolean is_of_one_candidate(const IbhRails *rails, guint32 table)
{
    const IbhNic *one = NULL;

    IBH_EACH (const IbhRoute, route, rails->snapshot->routes) {
        const IbhNic *nic = route->hops ? NULL : ibh_rails_nic(rails, route->ifindex);

        if (route->table != table || ibh_route_is_ours(route))
            continue;
        if (!nic || !nic->rank || (one && one != nic))
            return FALSE;
        one = nic;
    }
    return TRUE;
}

/* `rule` has the priority of the rules that lead to D'. TRUE if `rule` has a partner, that is, a rule for the same
 * address, with the next lower priority number, that looks main up with suppress_prefixlength. In all rendered files, a
 * rule to D' has such a partner. */
static gboolean has_partner(const IbhSnapshot *snapshot, const IbhRule *rule)
{
    IBH_EACH (const IbhRule, other, snapshot->rules) {
        if (other->priority == IBH_PRIORITY_DEFAULTS - 1 && other->table == IBH_TABLE_MAIN &&
            other->suppress_prefixlength >= 0 && ibh_prefix_equal(&other->from, &rule->from))
            return TRUE;
    }
    return FALSE;
}

/* TRUE if the rule has the priority of a rendered rule. Rendered rules that lead to main have even numbers, the others
 * odd ones. For a rule to D', the number alone is no proof. If a script adds a rule without a priority, the kernel
 * gives the rule the number before that of the second rule in the list, which may be main's. So a rule to D' also needs
 * its partner. */
static gboolean has_our_priority(const IbhSnapshot *snapshot, const IbhRule *rule)
{
    if ((rule->priority % 2 == 0) != (rule->table == IBH_TABLE_MAIN))
        return FALSE;
    if (rule->priority > IBH_PRIORITY_BASE - IBH_PRIORITY_SPAN && rule->priority <= IBH_PRIORITY_BASE)
        return TRUE;
    return rule->priority == IBH_PRIORITY_DEFAULTS - 1 ||
           (rule->priority == IBH_PRIORITY_DEFAULTS && has_partner(snapshot, rule));
}

/* TRUE if --render may have written the rule, as far as its form shows. The address that the rule is for may be gone
 * since, or be on another candidate; but if only NICs that are not candidates have the address, FALSE. If a candidate
 * has the address, `holder` is a candidate, because candidates come first in IbhRails.nics. */
static gboolean is_rule_of_files(const IbhRails *rails, const IbhSnapshot *snapshot, const IbhRule *rule)
{
    const IbhNic *holder = ibh_rails_holder(rails, &rule->from.ip);

    if (ibh_rule_is_ours(rule) || rule->action != FR_ACT_TO_TBL || !has_our_priority(snapshot, rule) ||
        rule->from.length != ibh_ip_bits(&rule->from.ip) || (holder && !holder->rank))
        return FALSE;
    if (rule->table == IBH_TABLE_MAIN)
        return rule->suppress_prefixlength >= 0 && !(rule->selectors & ~(guint)IBH_SELECT_TO);
    return ibh_rule_is_of_a_source(rule) && is_of_one_candidate(rails, rule->table);
}

gboolean ibh_render_is_led_to(const IbhSnapshot *snapshot, guint32 table)
{
    IBH_EACH (const IbhRule, rule, snapshot->rules) {
        if (rule->table == table && rule->action == FR_ACT_TO_TBL && !ibh_rule_is_ours(rule))
            return TRUE;
    }
    return FALSE;
}

void ibh_render_forget_former(const IbhRails *rails, IbhSnapshot *snapshot)
{
    g_autoptr(GArray) tables = IBH_NEW_ARRAY(int);

    /* In the kernel's order, a rule to D' comes after its partner (has_partner()). We go backwards, so the
     * partner is still there when we judge the rule. */
    IBH_EACH_BACK (const IbhRule, rule, snapshot->rules) {
        const int table = (int)rule->table;

        if (!is_rule_of_files(rails, snapshot, rule))
            continue;
        if (rule->table != IBH_TABLE_MAIN && !ibh_numbers_have(tables, table))
            g_array_append_val(tables, table);
        IBH_REMOVE(IbhRule, rule, snapshot->rules);
    }
    /* Remove the foreign routes of the tables, except main, to which the removed rules led. But if the snapshot still
     * has a foreign rule that leads to such a table, the rule is another program's, and so are the table's routes. */
    IBH_EACH_BACK (const IbhRoute, route, snapshot->routes) {
        if (ibh_numbers_have(tables, (int)route->table) && !ibh_route_is_ours(route) &&
            !ibh_render_is_led_to(snapshot, route->table))
            IBH_REMOVE(IbhRoute, route, snapshot->routes);
    }
}
