/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What APPLY in order.c does for rails: rules and routes rail by rail, ARP values, announcements, leftovers. */
#include "plan/want.h"
#include "plan/work.h"

/* ---- rail by rail ---- */

/* Where only D's rules stand. */
static gboolean is_in_place_of_defaults(const IbhRule *rule)
{
    return rule->priority >= IBH_PRIORITY_DEFAULTS - 1;
}

/* It leads to T before the new rules ask main, being of a lower priority or of another length; or where nothing asks
 * main for T's sake; or it leads an address there that others route. */
static gboolean leads_unasked(const IbhStale *stale)
{
    return stale->rule->priority < IBH_PRIORITY_BASE || is_in_place_of_defaults(stale->rule) ||
           !ibh_stale_is_programmed(stale);
}

/* An old rule would find the new routes: these wait until it is deleted. */
static gboolean has_unasked_rule(const IbhWork *work, const IbhTodo *todo)
{
    IBH_EACH (const IbhStale, stale, work->stales) {
        if (!stale->done && stale->rule && stale->owner && stale->table == todo->nic->table && leads_unasked(stale) &&
            ibh_rails_owner(work->rails, &stale->rule->from.ip) == todo->nic)
            return TRUE;
    }
    return FALSE;
}

/* Routes of T that are no longer wanted. */
static void drop_stale_routes(const IbhWork *work, const IbhTodo *todo, guint32 kind)
{
    IBH_EACH (IbhStale, stale, work->stales) {
        if (!stale->route || stale->owner != todo->nic || stale->table != todo->nic->table)
            continue;
        if (ibh_route_kind(stale->route) == (IbhRouteKind)kind && !ibh_routes_find_place(todo->routes, stale->route) &&
            ibh_nic_programs_family(todo->nic, stale->family))
            ibh_work_drop(work, stale, NULL);
    }
}

/* Their address has the rail's new rules, or others route it, or it needs none for a default any more. */
static gboolean is_rule_superseded(const IbhWork *work, const IbhTodo *todo, const IbhStale *stale)
{
    return stale->rule && ibh_work_may_touch(work, stale->owner) &&
           ibh_rails_owner(work->rails, &stale->rule->from.ip) == todo->nic;
}

/* New routes of T would be its as well, before main is asked. */
static gboolean is_unasked_rule(const IbhWork *work, const IbhTodo *todo, const IbhRule *rule)
{
    if (is_in_place_of_defaults(rule))
        return rule->table == todo->nic->table;
    return g_hash_table_contains(work->led_to_table, &rule->from.ip);
}

enum { SUPERSEDED, UNASKED };

static void drop_rules(const IbhWork *work, const IbhTodo *todo, guint32 which)
{
    IBH_EACH (IbhStale, stale, work->stales) {
        if (is_rule_superseded(work, todo, stale) && (which == SUPERSEDED || is_unasked_rule(work, todo, stale->rule)))
            ibh_work_drop(work, stale, NULL);
    }
}

/* ---- the steps for one rail, and their order ---- */

static void add_rules_of_led(const IbhWork *work, const IbhTodo *todo, guint32 priority)
{
    ibh_work_add_rules(work, todo, priority, TRUE);
}

static void add_all_rules(const IbhWork *work, const IbhTodo *todo, guint32 priority)
{
    ibh_work_add_rules(work, todo, priority, FALSE);
}

static void add_routes(const IbhWork *work, const IbhTodo *todo, guint32 above_t)
{
    ibh_work_add_routes(work, todo, todo->nic->table + above_t);
}

/* "Led": an address that a rule of ours leads to T already. It must not lose its routes, so its new rules come before
 * the routes that need them. An address that is not led yet gets its routes first. */
static const struct {
    void (*step)(const IbhWork *work, const IbhTodo *todo, guint32 what);
    guint32 what;             /* a kind of routes, how far above T their table is, a priority of rules, … */
    gboolean only_if_unasked; /* only where an old rule would lead to T's new routes, and main is not asked before */
} RAIL[] = {
    /* The new rules must not lead to an old route via a gateway. */
    {drop_stale_routes, IBH_ROUTE_BY_GATEWAY, FALSE},
    /* Led addresses ask main for longer prefixes before T gets shorter ones. */
    {add_rules_of_led, IBH_PRIORITY_BASE, FALSE},
    /* An old rule without such a question before it must find neither old routes that would now be wrong ... */
    {drop_stale_routes, IBH_ROUTE_SUBNET, TRUE},
    /* ... nor the new ones. */
    {drop_rules, UNASKED, TRUE},
    /* A rule never leads to an empty table. */
    {add_routes, 0, FALSE},
    /* A subnet has its new way before its old one goes. */
    {drop_stale_routes, IBH_ROUTE_SUBNET, FALSE},
    /* T is as it shall be: now the other addresses are led there. */
    {add_all_rules, IBH_PRIORITY_BASE, FALSE},
    /* Main is asked for its longer routes before there is a default. */
    {add_all_rules, IBH_PRIORITY_DEFAULTS - 1, FALSE},
    /* D, as T, has its route before a rule leads to it. */
    {add_routes, IBH_TABLE_DEFAULTS, FALSE},
    {add_all_rules, IBH_PRIORITY_DEFAULTS, FALSE},
    /* The new rules decide now. */
    {drop_rules, SUPERSEDED, FALSE},
};

static void program(const IbhWork *work, const IbhTodo *todo)
{
    const gboolean is_unasked = has_unasked_rule(work, todo);

    for (guint i = 0; i < G_N_ELEMENTS(RAIL); i++) {
        if (is_unasked || !RAIL[i].only_if_unasked)
            RAIL[i].step(work, todo, RAIL[i].what);
    }
}

/* Who takes a table waits until its holder has left. Where table= swaps tables, one is undone before it has its new
 * table.
 */
static void program_rail(const IbhWork *work, IbhTodo *todo)
{
    if (todo->done)
        return;
    todo->done = TRUE;
    IBH_EACH (IbhStale, stale, work->stales) {
        g_autofree char *why = NULL;
        IbhTodo *holder;

        if (!ibh_stale_is_in_the_way(stale, todo))
            continue;
        why = g_strdup_printf("table %u is of %s now", todo->nic->table, todo->nic->link->name);
        holder = ibh_work_todo_of_rail(work, stale->owner);
        if (holder)
            program_rail(work, holder);
        if (ibh_work_may_touch(work, stale->owner))
            ibh_work_drop(work, stale, why);
    }
    program(work, todo);
}

void ibh_work_program_rails(const IbhWork *work)
{
    IBH_EACH (IbhTodo, todo, work->todos) {
        if (todo->rules)
            program_rail(work, todo);
    }
}

/* ---- sysctls and announcements ---- */

void ibh_work_set_arp(const IbhWork *work)
{
    IBH_EACH (IbhTodo, todo, work->todos) {
        if (todo->rules)
            todo->changed |= ibh_work_emit_arp(work, work->rails, todo->nic, NULL);
    }
}

void ibh_work_silence_others(const IbhWork *work)
{
    IBH_EACH_POINTER (const IbhNic, nic, work->rails->no_rails) {
        int now = nic->link->sysctl[IBH_SYSCTL_ARP_IGNORE];

        if (ibh_work_may_touch(work, nic) && now != 1 && ibh_nic_must_be_silent(work->rails, nic))
            ibh_work_emit_sysctl(work, nic, IBH_SYSCTL_ARP_IGNORE, now, 1,
                                 "it has no IPv4 address, and does not answer ARP for the rails");
    }
}

void ibh_work_announce_changed(const IbhWork *work)
{
    char ip[IBH_IP_STRLEN];

    IBH_EACH (const IbhTodo, todo, work->todos) {
        IBH_EACH_POINTER (const IbhAddress, address, todo->nic->served) {
            if (todo->changed && ibh_rails_owner(work->rails, &address->local) == todo->nic &&
                ibh_nic_has_first(todo->nic, address))
                ibh_work_emit_announce(work, todo->nic, todo->nic, &address->local,
                                       g_strdup_printf("peers that learned another NIC for %s switch at once",
                                                       ibh_ip_format(&address->local, ip)));
        }
    }
}

/* ---- deletions ---- */

/* Leftovers of rails, and of NICs that have disappeared. NICs that are no longer rails are undone (undo.c). */
void ibh_work_collect_garbage(const IbhWork *work)
{
    IBH_EACH (IbhStale, stale, work->stales) {
        if (!stale->spread && ibh_work_may_touch(work, stale->owner) &&
            (!stale->owner || stale->owner->status == IBH_NIC_RAIL))
            ibh_work_drop(work, stale, NULL);
    }
}
