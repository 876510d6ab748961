/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/work.h"

void ibh_work_join_units(const IbhWork *work)
{
    IBH_EACH (const IbhStale, stale, work->stales) {
        const IbhTodo *todo = ibh_work_todo_of_rail(work, ibh_rails_nic_by_table(work->rails, stale->table));

        if (!todo || !todo->changed || !stale->owner || stale->owner == todo->nic)
            continue;
        ibh_work_move_unit(work, todo->nic, stale->family);
        ibh_work_move_unit(work, stale->owner, stale->family);
    }
}

/* ---- rail by rail ---- */

/* An old rule, of a lower priority or of another length, leads to T before the new rules ask main: new routes wait
 * until it is deleted. */
static gboolean is_led_too_soon(const IbhWork *work, const IbhTodo *todo)
{
    IBH_EACH (const IbhStale, stale, work->stales) {
        if (!stale->done && stale->rule && stale->table == todo->nic->table &&
            stale->rule->priority < IBH_PRIORITY_BASE &&
            ibh_rails_owner(work->rails, &stale->rule->from.ip) == todo->nic)
            return TRUE;
    }
    return FALSE;
}

static gboolean is_route_in_own_table(const IbhStale *stale, const IbhTodo *todo)
{
    return stale->route && stale->owner == todo->nic && stale->table == todo->nic->table;
}

/* Routes of T that are no longer wanted. */
static void drop_stale_routes(IbhWork *work, const IbhTodo *todo, IbhRouteKind kind)
{
    IBH_EACH (IbhStale, stale, work->stales) {
        if (stale->done || !is_route_in_own_table(stale, todo) || ibh_route_kind(stale->route) != kind)
            continue;
        if (!ibh_todo_wants_place(todo, stale->route) && ibh_nic_programs_family(todo->nic, stale->family))
            ibh_work_drop(work, stale, ibh_stale_reason(work, stale));
    }
}

static char *why_rule(const IbhTodo *todo, const IbhRule *rule)
{
    char from[IBH_IP_STRLEN], to[IBH_PREFIX_STRLEN];

    ibh_ip_format(&rule->from.ip, from);
    if (rule->to.length)
        return g_strdup_printf("what main has more exactly inside %s stays so", ibh_prefix_format(&rule->to, to));
    if (ibh_rule_asks_main(rule) && rule->priority < IBH_PRIORITY_BASE)
        return g_strdup_printf("what main has more exactly than %s stays so", todo->nic->link->name);
    if (ibh_rule_asks_main(rule))
        return g_strdup_printf("main is asked before the default of %s", todo->nic->link->name);
    if (rule->table != todo->nic->table)
        return g_strdup_printf("what else %s sends goes by a gateway of %s", from, todo->nic->link->name);
    return g_strdup_printf("what %s sends leaves by %s", from, todo->nic->link->name);
}

/* Those of this priority, in T's turn all that come before; `only_led`: only of addresses that a rule leads to T
 * already. */
static void add_rules(IbhWork *work, const IbhTodo *todo, guint32 priority, gboolean only_led)
{
    for (guint i = 0; i < todo->rules->len;) {
        const IbhRule *rule = &g_array_index(todo->rules, IbhRule, i);

        if (MAX(rule->priority, IBH_PRIORITY_BASE) != priority ||
            (only_led && !g_hash_table_contains(work->led_to_table, &rule->from.ip))) {
            i++;
            continue;
        }
        ibh_work_emit_rule(work, IBH_OP_RULE_ADD, todo->nic, rule, why_rule(todo, rule));
        g_array_remove_index(todo->rules, i);
    }
}

/* Their address has the rail's new rules, or needs none for a default any more. */
static gboolean is_rule_superseded(const IbhWork *work, const IbhTodo *todo, const IbhStale *stale)
{
    if (stale->done || !stale->rule || !ibh_work_may_touch(work, stale->owner))
        return FALSE;
    return ibh_rails_owner(work->rails, &stale->rule->from.ip) == todo->nic &&
           (stale->owner != todo->nic || ibh_stale_is_programmed(stale));
}

/* Routes that come would belong to it too soon. */
static gboolean leads_too_soon(const IbhWork *work, const IbhRule *rule)
{
    return rule->priority < IBH_PRIORITY_DEFAULTS - 1 && g_hash_table_contains(work->led_to_table, &rule->from.ip);
}

static void drop_rules(IbhWork *work, const IbhTodo *todo, gboolean for_routes)
{
    IBH_EACH (IbhStale, stale, work->stales) {
        if (is_rule_superseded(work, todo, stale) && (!for_routes || leads_too_soon(work, stale->rule)))
            ibh_work_drop(work, stale, ibh_stale_reason(work, stale));
    }
}

/* An address that is led to T already must not lose its routes: so its rules come before the routes that need them. An
 * address that is not led to T yet gets its routes first. The new rules must not lead to an old route by a gateway: it
 * goes before them. What a subnet reaches has another way before its route goes, unless an old rule would lead to that
 * too soon. */
static void program(IbhWork *work, IbhTodo *todo)
{
    gboolean too_soon = is_led_too_soon(work, todo);

    drop_stale_routes(work, todo, IBH_ROUTE_BY_GATEWAY);
    add_rules(work, todo, IBH_PRIORITY_BASE, TRUE);
    if (too_soon) {
        drop_stale_routes(work, todo, IBH_ROUTE_SUBNET);
        drop_rules(work, todo, TRUE);
    }
    ibh_work_add_routes(work, todo, todo->nic->table);
    drop_stale_routes(work, todo, IBH_ROUTE_SUBNET);
    add_rules(work, todo, IBH_PRIORITY_BASE, FALSE);
    add_rules(work, todo, IBH_PRIORITY_DEFAULTS - 1, FALSE); /* main is asked before there is a default */
    ibh_work_add_routes(work, todo, ibh_nic_defaults(todo->nic));
    add_rules(work, todo, IBH_PRIORITY_DEFAULTS, FALSE);
    drop_rules(work, todo, FALSE);
}

/* Who takes a table waits until its holder has left. Where table= swaps tables, one is undone before it has its new
 * table.
 */
static void program_rail(IbhWork *work, IbhTodo *todo)
{
    todo->done = TRUE;
    IBH_EACH (IbhStale, stale, work->stales) {
        IbhTodo *holder = ibh_stale_is_in_the_way(stale, todo) ? ibh_work_todo_of_rail(work, stale->owner) : NULL;

        if (holder && !holder->done)
            program_rail(work, holder);
        if (ibh_stale_is_in_the_way(stale, todo) && ibh_work_may_touch(work, stale->owner))
            ibh_work_drop(work, stale,
                          g_strdup_printf("table %u is of %s now", todo->nic->table, todo->nic->link->name));
    }
    program(work, todo);
}

void ibh_work_program_rails(IbhWork *work)
{
    IBH_EACH (IbhTodo, todo, work->todos) {
        if (todo->rules && !todo->done)
            program_rail(work, todo);
    }
}
