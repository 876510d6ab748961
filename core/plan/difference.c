/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/work.h"

#include "plan/want.h"

#include <sys/socket.h>

static gboolean take(GArray *wanted, gconstpointer object, GCompareFunc compare)
{
    for (guint i = 0; i < wanted->len; i++) {
        if (compare(wanted->data + (gsize)i * g_array_get_element_size(wanted), object) == 0) {
            g_array_remove_index(wanted, i);
            return TRUE;
        }
    }
    return FALSE;
}

/* TRUE if an address of this NIC is being checked for duplicates (IPv6): this address itself, or one of that prefix. */
static gboolean is_tentative(const IbhNic *nic, const IbhPrefix *prefix)
{
    IBH_EACH_POINTER (const IbhAddress, address, nic->addresses) {
        if (address->tentative &&
            (!prefix || ibh_prefix_equal(&address->subnet, prefix) || ibh_ip_equal(&address->local, &prefix->ip)))
            return TRUE;
    }
    return FALSE;
}

/* Rules and routes of such an address are not deleted: it will be there in a moment, unless another rail has it. */
static gboolean is_undecided_rule(const IbhWork *work, const IbhNic *owner, const IbhRule *rule)
{
    return owner && rule->family == AF_INET6 &&
           (ibh_nic_has_table(owner, rule->table) || rule->table == IBH_TABLE_MAIN) &&
           is_tentative(owner, &rule->from) && !ibh_rails_owner(work->rails, &rule->from.ip);
}

/* Routes by a gateway belong to all addresses of a NIC: they wait only if each of these is being checked. */
static gboolean is_undecided_route(const IbhNic *owner, const GArray *wanted, const IbhRoute *route)
{
    if (!owner || route->family != AF_INET6 || !ibh_nic_has_table(owner, route->table) ||
        ibh_routes_find_place(wanted, route))
        return FALSE;
    if (ibh_route_kind(route) == IBH_ROUTE_SUBNET)
        return is_tentative(owner, &route->dst);
    if (ibh_route_is_default(route) && owner->settings.gateway == IBH_GATEWAY_NONE)
        return FALSE;
    return is_tentative(owner, NULL) && !ibh_nic_serves_family(owner, AF_INET6);
}

/* What T leads to from now on: what is wanted, and what waits there for an address that is being checked. */
static GArray *find_led(const IbhRails *rails, const IbhNic *nic, const GArray *wanted)
{
    GArray *led = IBH_NEW_ARRAY(IbhRoute);

    g_array_append_vals(led, wanted->data, wanted->len);
    if (!is_tentative(nic, NULL))
        return led;
    IBH_EACH (const IbhRoute, route, rails->snapshot->routes) {
        if (ibh_route_is_ours(route) && route->table == nic->table && is_undecided_route(nic, wanted, route))
            g_array_append_vals(led, route, 1);
    }
    return led;
}

static void add_todo(IbhWork *work, const IbhNic *nic)
{
    IbhTodo todo = {.nic = nic, .selected = !nic->kept && ibh_nic_is_selected(nic, work->rails->only)};

    if (!work->undo && nic->status == IBH_NIC_RAIL) {
        g_autoptr(GArray) led = NULL;

        todo.routes = ibh_want_routes(work->rails, nic);
        led = find_led(work->rails, nic, todo.routes);
        todo.rules = ibh_want_rules(work->rails, nic, led);
    }
    g_array_append_val(work->todos, todo);
}

/* Takes one that exists out of what is wanted. Ours that are not wanted are stale; so is a second copy. */
static void subtract(IbhWork *work, IbhStale one)
{
    IbhTodo *todo = one.spread ? &work->of_spread : ibh_work_todo_of_rail(work, one.owner);
    gboolean stays = FALSE;

    if (todo && one.rule)
        stays =
            take(todo->rules, one.rule, (GCompareFunc)ibh_rule_compare) || is_undecided_rule(work, one.owner, one.rule);
    else if (todo)
        stays = take(todo->routes, one.route, (GCompareFunc)ibh_route_compare) ||
                is_undecided_route(one.owner, todo->routes, one.route);
    if (!stays)
        g_array_append_val(work->stales, one);
}

static gint descending(gconstpointer left, gconstpointer right)
{
    const IbhStale *a = left, *b = right;

    IBH_COMPARE(b->rule->priority, a->rule->priority);
    return 0;
}

static void subtract_rule(IbhWork *work, const IbhRule *rule)
{
    const gboolean spread = ibh_rule_is_spread(rule);
    const IbhNic *owner = spread ? NULL : ibh_rule_owner(work->rails, rule);
    const IbhTodo *todo = ibh_work_todo_of_rail(work, owner);

    /* One in the place of D's rules leads to T only what main does not have: new rules would lead more. */
    if (todo && todo->nic->table == rule->table && rule->priority < IBH_PRIORITY_DEFAULTS - 1 &&
        ibh_rails_owner(work->rails, &rule->from.ip) == owner)
        g_hash_table_add(work->led_to_table, (gpointer)(guintptr)&rule->from.ip);
    subtract(work,
             (IbhStale){.rule = rule, .owner = owner, .family = rule->family, .table = rule->table, .spread = spread});
}

/* Stale ones stand in the order in which they can be deleted: descending, and of one priority as they stood, because a
 * delete hits the first that matches. */
static void subtract_rules(IbhWork *work)
{
    IBH_EACH (const IbhRule, rule, work->rails->snapshot->rules) {
        if (ibh_rule_is_ours(rule))
            subtract_rule(work, rule);
    }
    g_array_sort(work->stales, descending); /* which keeps the order of equals */
}

static void subtract_routes(IbhWork *work, IbhRouteKind kind)
{
    IBH_EACH (const IbhRoute, route, work->rails->snapshot->routes) {
        const gboolean spread = ibh_route_is_spread(route);

        if (ibh_route_is_ours(route) && ibh_route_kind(route) == kind)
            subtract(work, (IbhStale){.route = route,
                                      .owner = spread ? NULL : ibh_route_owner(work->rails, route),
                                      .family = route->family,
                                      .table = route->table,
                                      .spread = spread});
    }
}

/* ---- who needs another one's table ---- */

/* A rail that was asked for may need a table that another NIC has yet to leave: then that NIC is moved, too. */
static void make_room(const IbhWork *work, const IbhTodo *todo)
{
    IBH_EACH (const IbhStale, stale, work->stales) {
        IbhTodo *holder = ibh_stale_is_in_the_way(stale, todo) ? ibh_work_todo_of_rail(work, stale->owner) : NULL;

        if (!holder || holder->selected)
            continue;
        holder->selected = TRUE;
        make_room(work, holder);
    }
}

/* Keeps only the changes that this run may make. */
static void select_work(IbhWork *work)
{
    IBH_EACH (const IbhTodo, todo, work->todos) {
        if (todo->selected && todo->rules)
            make_room(work, todo);
    }
    IBH_EACH (IbhTodo, todo, work->todos) {
        if (!todo->selected)
            ibh_todo_clear(todo);
        if (!todo->rules)
            continue;
        todo->changed = todo->rules->len || todo->routes->len;
        work->rules_change |= todo->changed;
        todo->changed |= ibh_want_sysctl(work->rails, todo->nic, IBH_SYSCTL_RP_FILTER) !=
                         todo->nic->link->sysctl[IBH_SYSCTL_RP_FILTER];
    }
}

/* ---- the whole ---- */

void ibh_work_init(IbhWork *work)
{
    work->plan = g_ptr_array_new_with_free_func((GDestroyNotify)ibh_op_free);
    work->todos = IBH_NEW_ARRAY(IbhTodo);
    g_array_set_clear_func(work->todos, ibh_todo_clear);
    IBH_EACH_POINTER (const IbhNic, nic, work->rails->nics)
        add_todo(work, nic);
    work->stales = IBH_NEW_ARRAY(IbhStale);
    work->led_to_table = g_hash_table_new(ibh_ip_hash, (GEqualFunc)ibh_ip_equal);
    ibh_want_spread(work->spread, &work->of_spread);
    subtract_rules(work);
    subtract_routes(work, IBH_ROUTE_BY_GATEWAY);
    subtract_routes(work, IBH_ROUTE_SUBNET);
    select_work(work);
    ibh_work_find_undone(work);
}
