/*
 * The plan to apply: desired − actual, in an order in which what worked keeps working.
 *
 *   1. rp_filter loosened, of former rails, too: a strict one would drop what still arrives on the wrong NIC; with
 *      main=remove no more, connected routes come back
 *   2. rail by rail: routes, rules that lead to them, a default route; then what leads to another table than the rail's
 *   3. ARP sysctls
 *   4. announcements: peers switch to the right NIC; unbound traffic is spread (spread.c)
 *   5. rp_filter tightened
 *   6. NICs that are no rail any more are undone (undo.c)
 *   7. deletions: rules before their routes; with main=remove, connected routes of main
 */
#include "plan/plan.h"

#include "plan/emit.h"
#include "plan/remove.h"
#include "plan/spread.h"
#include "plan/want.h"

#include <linux/rtnetlink.h>
#include <sys/socket.h>

/* What is wanted of one NIC and not there. */
typedef struct {
    const IbhNic *nic;
    GArray *rules;  /* IbhRule */
    GArray *routes; /* IbhRoute */
    gboolean changed;
    gboolean done;
} Todo;

/* Something of ours that nobody wants. */
typedef struct {
    const IbhNic *owner; /* NULL: its NIC is gone */
    const IbhRule *rule;
    const IbhRoute *route;
    gboolean done;
} Stale;

typedef struct {
    const IbhRails *rails;
    const char *const *only;
    GPtrArray *makes_room; /* const IbhNic *: rails not asked for, whose place a selected rail needs */
    GArray *todos;         /* Todo, one per selected rail, by rank */
    GArray *rules;         /* Stale */
    GArray *routes;        /* Stale */
    gboolean rules_change;
    IbhPlan *plan;
} Work;

/* ---- the difference ---- */

static gboolean take_rule(GArray *rules, const IbhRule *rule)
{
    for (guint i = 0; i < rules->len; i++) {
        if (ibh_rule_compare(&g_array_index(rules, IbhRule, i), rule) == 0) {
            g_array_remove_index(rules, i);
            return TRUE;
        }
    }
    return FALSE;
}

static gboolean take_route(GArray *routes, const IbhRoute *route)
{
    for (guint i = 0; i < routes->len; i++) {
        if (ibh_route_compare(&g_array_index(routes, IbhRoute, i), route) == 0) {
            g_array_remove_index(routes, i);
            return TRUE;
        }
    }
    return FALSE;
}

static void want_all(Work *work)
{
    for (guint i = 0; i < work->rails->nics->len; i++) {
        const IbhNic *nic = g_ptr_array_index(work->rails->nics, i);
        Todo todo = {.nic = nic};

        if (nic->status != IBH_NIC_RAIL)
            continue;
        todo.routes = ibh_want_routes(work->rails, nic);
        todo.rules = ibh_want_rules(work->rails, nic, todo.routes);
        g_array_append_val(work->todos, todo);
    }
}

static Todo *find_todo(const Work *work, const IbhNic *nic)
{
    for (guint i = 0; i < work->todos->len; i++) {
        Todo *todo = &g_array_index(work->todos, Todo, i);

        if (todo->nic == nic)
            return todo;
    }
    return NULL;
}

/* An IPv6 address of this NIC that is being checked for duplicates: the address itself, or one of that prefix. */
static gboolean is_tentative(const Work *work, const IbhNic *nic, const IbhPrefix *prefix)
{
    const GArray *addresses = work->rails->snapshot->addresses;

    for (guint i = 0; i < addresses->len; i++) {
        const IbhAddress *address = &g_array_index(addresses, IbhAddress, i);

        if (address->tentative && address->ifindex == nic->link->ifindex &&
            (!prefix || ibh_prefix_equal(&address->subnet, prefix) || ibh_ip_equal(&address->local, &prefix->ip)))
            return TRUE;
    }
    return FALSE;
}

/* What belongs to such an address is not taken away: it will be there in a moment, unless another rail has it. */
static gboolean is_undecided_rule(const Work *work, const IbhNic *owner, const IbhRule *rule)
{
    return owner && rule->family == AF_INET6 && (rule->table == owner->table || rule->table == IBH_TABLE_MAIN) &&
           is_tentative(work, owner, &rule->from) && !ibh_rails_owner(work->rails, &rule->from.ip);
}

/* What is reached by a gateway belongs to all of a NIC's addresses: it waits only where each of them is being checked.
 */
static gboolean is_undecided_route(const Work *work, const IbhNic *owner, const IbhRoute *route)
{
    if (!owner || route->family != AF_INET6 || route->table != owner->table)
        return FALSE;
    if (ibh_route_kind(route) == IBH_ROUTE_SUBNET)
        return is_tentative(work, owner, &route->dst);
    return owner->settings.gateway != IBH_GATEWAY_NONE && is_tentative(work, owner, NULL) &&
           !ibh_serves_family(work->rails, owner, AF_INET6);
}

static gboolean is_place_wanted(const Todo *todo, const IbhRoute *route)
{
    for (guint i = 0; i < todo->routes->len; i++) {
        if (ibh_route_same_place(&g_array_index(todo->routes, IbhRoute, i), route))
            return TRUE;
    }
    return FALSE;
}

/* Takes from the wanted what is there; what is ours and not wanted is stale. A second copy is stale, too. */
static void subtract_rules(Work *work)
{
    const GArray *rules = work->rails->snapshot->rules;

    for (guint i = 0; i < rules->len; i++) {
        Stale stale = {.rule = &g_array_index(rules, IbhRule, i)};
        const Todo *todo;

        if (!ibh_rule_is_ours(stale.rule) || ibh_rule_is_spread(stale.rule))
            continue;
        stale.owner = ibh_rule_owner(work->rails, stale.rule);
        todo = find_todo(work, stale.owner);
        if (!(todo && (take_rule(todo->rules, stale.rule) || is_undecided_rule(work, stale.owner, stale.rule))))
            g_array_append_val(work->rules, stale);
    }
}

/* Stale routes in an order in which they can go and, if that fails, come back: what is reached by a gateway before the
 * subnet of the gateway, a throw after the subnet it makes a hole in. */
static void subtract_routes(Work *work, IbhRouteKind kind)
{
    const GArray *routes = work->rails->snapshot->routes;

    for (guint i = 0; i < routes->len; i++) {
        Stale stale = {.route = &g_array_index(routes, IbhRoute, i)};
        const Todo *todo;

        if (!ibh_route_is_ours(stale.route) || ibh_route_is_spread(stale.route) || ibh_route_kind(stale.route) != kind)
            continue;
        stale.owner = ibh_route_owner(work->rails, stale.route);
        todo = find_todo(work, stale.owner);
        if (!(todo && (take_route(todo->routes, stale.route) ||
                       (is_undecided_route(work, stale.owner, stale.route) && !is_place_wanted(todo, stale.route)))))
            g_array_append_val(work->routes, stale);
    }
}

static gboolean may_touch(const Work *work, const IbhNic *nic)
{
    return ibh_is_selected(nic, work->only) || (nic && g_ptr_array_find(work->makes_room, nic, NULL));
}

static const Stale *find_in_place(const Work *work, const IbhRoute *route)
{
    for (guint i = 0; i < work->routes->len; i++) {
        const Stale *stale = &g_array_index(work->routes, Stale, i);

        if (!stale->done && ibh_route_same_place(stale->route, route))
            return stale;
    }
    return NULL;
}

/* When tables move, a rail that was asked for can only go where another one has left: that one moves along. */
static gboolean make_room(Work *work)
{
    for (guint i = 0; i < work->todos->len; i++) {
        const Todo *todo = &g_array_index(work->todos, Todo, i);

        for (guint j = 0; may_touch(work, todo->nic) && j < todo->routes->len; j++) {
            const Stale *stale = find_in_place(work, &g_array_index(todo->routes, IbhRoute, j));

            if (!stale || !stale->owner || stale->owner->status != IBH_NIC_RAIL || may_touch(work, stale->owner))
                continue;
            g_ptr_array_add(work->makes_room, (IbhNic *)(guintptr)stale->owner);
            return TRUE;
        }
    }
    return FALSE;
}

/* Leaves only what this run may touch. */
static void select_work(Work *work)
{
    while (make_room(work))
        ;
    for (guint i = work->todos->len; i-- > 0;) {
        Todo *todo = &g_array_index(work->todos, Todo, i);

        if (!may_touch(work, todo->nic)) {
            g_array_remove_index(work->todos, i);
            continue;
        }
        todo->changed = todo->rules->len || todo->routes->len;
        work->rules_change |= todo->changed;
        todo->changed |= ibh_want_sysctl(work->rails, todo->nic, IBH_SYSCTL_RP_FILTER) !=
                         todo->nic->link->sysctl[IBH_SYSCTL_RP_FILTER];
    }
}

/* ---- rail by rail ---- */

static char *why_stale(const Work *work, const Stale *stale)
{
    char ip[IBH_IP_STRLEN];

    if (!stale->owner)
        return g_strdup("its interface or address is gone");
    if (stale->rule && ibh_rails_owner(work->rails, &stale->rule->from.ip) == stale->owner)
        return g_strdup_printf("table %u has no default route", stale->owner->table);
    if (stale->rule)
        return g_strdup_printf("%s is no address of %s", ibh_ip_format(&stale->rule->from.ip, ip),
                               stale->owner->link->name);
    return g_strdup_printf("no address of %s needs it", stale->owner->link->name);
}

static void del_rule(Work *work, Stale *stale, char *why)
{
    ibh_emit_rule(work->plan, IBH_OP_RULE_DEL, stale->owner, stale->rule, why);
    stale->done = TRUE;
}

static void del_route(Work *work, Stale *stale, char *why)
{
    ibh_emit_route(work->plan, work->rails, IBH_OP_ROUTE_DEL, stale->owner, stale->route, NULL, why);
    stale->done = TRUE;
}

static void add_routes(Work *work, const Todo *todo, gboolean defaults)
{
    char dst[IBH_PREFIX_STRLEN];

    for (guint i = 0; i < todo->routes->len; i++) {
        const IbhRoute *route = &g_array_index(todo->routes, IbhRoute, i);
        Stale *stale = (Stale *)(guintptr)find_in_place(work, route);
        char *why;

        if (ibh_route_is_default(route) != defaults)
            continue;
        why = route->type == RTN_THROW
                  ? g_strdup_printf("%s belongs to another interface", ibh_prefix_format(&route->dst, dst))
                  : g_strdup_printf("table %u reaches %s by %s", route->table, ibh_prefix_format(&route->dst, dst),
                                    todo->nic->link->name);

        ibh_emit_route(work->plan, work->rails, stale ? IBH_OP_ROUTE_REPLACE : IBH_OP_ROUTE_ADD, todo->nic, route,
                       stale ? stale->route : NULL, why);
        if (stale)
            stale->done = TRUE;
    }
}

/* A default where there was none. */
static gboolean gains_default(const Work *work, const Todo *todo, int family)
{
    for (guint i = 0; i < todo->routes->len; i++) {
        const IbhRoute *route = &g_array_index(todo->routes, IbhRoute, i);

        if (route->family == family && ibh_route_is_default(route) && !find_in_place(work, route))
            return TRUE;
    }
    return FALSE;
}

static gboolean gains_rule(const Todo *todo, int family)
{
    for (guint i = 0; i < todo->rules->len; i++) {
        if (g_array_index(todo->rules, IbhRule, i).family == family)
            return TRUE;
    }
    return FALSE;
}

/* An address of the rail is led to this route of its table already. */
static gboolean is_in_use(const Work *work, const Todo *todo, const IbhRoute *route)
{
    for (guint i = 0; i < work->rails->snapshot->rules->len; i++) {
        const IbhRule *rule = &g_array_index(work->rails->snapshot->rules, IbhRule, i);

        if (rule->table == todo->nic->table && rule->family == route->family &&
            rule->suppress_prefixlength < (gint64)route->dst.length && ibh_rule_is_ours(rule) &&
            ibh_rails_owner(work->rails, &rule->from.ip) == todo->nic)
            return TRUE;
    }
    return FALSE;
}

/* Who is led to this route goes on by it until the default is there, or until the rules have gone; and a throw outlasts
 * what it is a hole in. */
static gboolean is_still_needed(const Work *work, const Todo *todo, const IbhRoute *route)
{
    IbhRouteKind kind = ibh_route_kind(route);

    return kind == IBH_ROUTE_DEFAULT ||
           (kind != IBH_ROUTE_SUBNET && is_in_use(work, todo, route) && gains_default(work, todo, route->family));
}

/* A route of the rail's own that nothing needs: a new rule must not lead into it. */
static void drop_unneeded_routes(Work *work, const Todo *todo)
{
    for (guint i = 0; i < work->routes->len; i++) {
        Stale *stale = &g_array_index(work->routes, Stale, i);

        if (!stale->done && stale->owner == todo->nic && stale->route->table == todo->nic->table &&
            gains_rule(todo, stale->route->family) && !is_still_needed(work, todo, stale->route))
            del_route(work, stale, why_stale(work, stale));
    }
}

static void add_rules(Work *work, const Todo *todo)
{
    char from[IBH_IP_STRLEN];

    for (guint i = 0; i < todo->rules->len; i++) {
        const IbhRule *rule = &g_array_index(todo->rules, IbhRule, i);

        ibh_emit_rule(
            work->plan, IBH_OP_RULE_ADD, todo->nic, rule,
            g_strdup_printf("what %s sends leaves by %s", ibh_ip_format(&rule->from.ip, from), todo->nic->link->name));
    }
}

static char *why_superseded(const Work *work, const Todo *todo)
{
    return g_strdup_printf("superseded: %s has table %u at priority %u", todo->nic->link->name, todo->nic->table,
                           work->rails->priority);
}

/* A last tier of another priority: a default that comes would be asked before main's longer prefixes. */
static void drop_old_last_tier(Work *work, const Todo *todo)
{
    for (guint i = work->rules->len; i-- > 0;) {
        Stale *stale = &g_array_index(work->rules, Stale, i);

        if (!stale->done && stale->owner == todo->nic && stale->rule->table == todo->nic->table &&
            stale->rule->suppress_prefixlength < 0 && gains_default(work, todo, stale->rule->family))
            del_rule(work, stale, why_superseded(work, todo));
    }
}

/* The second or the third, which are there where T has a default route. */
static gboolean is_tier(const Work *work, guint32 priority)
{
    guint32 first = work->rails->priority;

    return priority == first + IBH_PRIORITY_STEP || priority == first + 2 * IBH_PRIORITY_STEP;
}

/* Its new rules do what this one did. A tier of T's default route that is lost has nothing in its place: it goes last.
 */
static gboolean is_superseded(const Work *work, const Stale *stale, const Todo *todo)
{
    const IbhRule *rule = stale->rule;
    gboolean elsewhere = rule->table != todo->nic->table && rule->table != IBH_TABLE_MAIN;

    if (stale->done || !may_touch(work, stale->owner))
        return FALSE;
    if (ibh_rails_owner(work->rails, &rule->from.ip) == todo->nic)
        return elsewhere || !is_tier(work, rule->priority);
    return elsewhere && stale->owner == todo->nic;
}

/* The rail's table or priority changed: its old rules make room for the rail that follows it. */
static void drop_superseded(Work *work, const Todo *todo)
{
    for (guint i = work->rules->len; i-- > 0;) { /* the tier of T's default route first */
        Stale *stale = &g_array_index(work->rules, Stale, i);

        if (is_superseded(work, stale, todo))
            del_rule(work, stale, why_superseded(work, todo));
    }
}

static gboolean is_pending(const Work *work, const IbhNic *nic)
{
    const Todo *todo = find_todo(work, nic);

    return todo && !todo->done;
}

/* Something of another NIC that still uses the table this rail moves into: a route, or a rule that leads there. */
static gboolean is_in_the_way(const Stale *stale, const Todo *todo)
{
    guint32 table = stale->rule ? stale->rule->table : stale->route->table;

    return !stale->done && table == todo->nic->table && stale->owner && stale->owner != todo->nic;
}

static gboolean is_waited_for(const Work *work, const GArray *stales, const Todo *todo)
{
    for (guint i = 0; i < stales->len; i++) {
        const Stale *stale = &g_array_index(stales, Stale, i);

        if (is_in_the_way(stale, todo) && is_pending(work, stale->owner))
            return TRUE;
    }
    return FALSE;
}

/* A rail that moves into a table waits for the rail that moves out of it. */
static gboolean must_wait(const Work *work, const Todo *todo)
{
    return is_waited_for(work, work->rules, todo) || is_waited_for(work, work->routes, todo);
}

static gboolean must_clear(const Work *work, const Stale *stale, const Todo *todo)
{
    return is_in_the_way(stale, todo) && !is_pending(work, stale->owner) && may_touch(work, stale->owner);
}

/* In one step; but a default only where the rail's addresses are led to it already: it comes after new rules. */
static gboolean is_replaced(const Work *work, const Todo *todo, const IbhRoute *route)
{
    return is_place_wanted(todo, route) && (!ibh_route_is_default(route) || is_in_use(work, todo, route));
}

/* What a NIC that is no rail (any more) or moved on left in this rail's table, or leads there, goes before the rail
 * uses it. */
static void clear_table(Work *work, const Todo *todo)
{
    for (guint i = 0; i < work->routes->len; i++) {
        Stale *stale = &g_array_index(work->routes, Stale, i);

        if (must_clear(work, stale, todo) && ibh_route_is_default(stale->route) &&
            !is_replaced(work, todo, stale->route))
            del_route(work, stale, g_strdup_printf("table %u is of %s now", todo->nic->table, todo->nic->link->name));
    }
    for (guint i = work->rules->len; i-- > 0;) {
        Stale *stale = &g_array_index(work->rules, Stale, i);

        if (must_clear(work, stale, todo))
            del_rule(work, stale, g_strdup_printf("table %u is of %s now", todo->nic->table, todo->nic->link->name));
    }
    for (guint i = 0; i < work->routes->len; i++) {
        Stale *stale = &g_array_index(work->routes, Stale, i);

        if (must_clear(work, stale, todo) && !is_replaced(work, todo, stale->route))
            del_route(work, stale, g_strdup_printf("table %u is of %s now", todo->nic->table, todo->nic->link->name));
    }
}

/* The next rail to work on: the first that need not wait. Where rails swapped tables all wait; then one of them
 * replaces the other's route, which has its own again two operations later. */
static Todo *next_todo(const Work *work)
{
    Todo *first = NULL;

    for (guint i = 0; i < work->todos->len; i++) {
        Todo *todo = &g_array_index(work->todos, Todo, i);

        if (todo->done)
            continue;
        if (!must_wait(work, todo))
            return todo;
        if (!first)
            first = todo;
    }
    return first;
}

/* NICs that move through each other's tables stand or fall together. */
static void join_units(const Work *work, const GArray *stales)
{
    for (guint i = 0; i < work->todos->len; i++) {
        const Todo *todo = &g_array_index(work->todos, Todo, i);

        for (guint j = 0; j < stales->len; j++) {
            Stale stale = g_array_index(stales, Stale, j);

            stale.done = FALSE;
            if (is_in_the_way(&stale, todo))
                ibh_plan_join(work->plan, todo->nic, stale.owner,
                              stale.rule ? stale.rule->family : stale.route->family);
        }
    }
}

static void program_rails(Work *work)
{
    Todo *todo;

    while ((todo = next_todo(work))) {
        clear_table(work, todo);
        add_routes(work, todo, FALSE);
        drop_unneeded_routes(work, todo);
        add_rules(work, todo);
        drop_old_last_tier(work, todo);
        add_routes(work, todo, TRUE); /* when its rules are there: without them a bridge would be taken over */
        drop_superseded(work, todo);
        todo->done = TRUE;
    }
}

/* ---- sysctls and announcements ---- */

static char *why_sysctl(const IbhNic *nic, IbhSysctl key)
{
    switch (key) {
    case IBH_SYSCTL_ARP_FILTER:
        return g_strdup_printf("answer ARP only where the reply leaves by %s", nic->link->name);
    case IBH_SYSCTL_ARP_ANNOUNCE:
        return g_strdup_printf("ask peers with an address of %s", nic->link->name);
    case IBH_SYSCTL_ARP_IGNORE:
        return g_strdup_printf("answer ARP only for addresses of %s", nic->link->name);
    default:
        return g_strdup("configured");
    }
}

static void set_arp_sysctls(Work *work)
{
    for (guint i = 0; i < work->todos->len; i++) {
        Todo *todo = &g_array_index(work->todos, Todo, i);

        for (int key = IBH_SYSCTL_ARP_FILTER; key < IBH_N_SYSCTLS; key++) {
            int now = todo->nic->link->sysctl[key];
            int want = ibh_want_sysctl(work->rails, todo->nic, (IbhSysctl)key);

            if (now == want)
                continue;
            ibh_emit_sysctl(work->plan, todo->nic, (IbhSysctl)key, now, want, why_sysctl(todo->nic, (IbhSysctl)key));
            todo->changed = TRUE;
        }
    }
}

static void set_rp_filters(Work *work, gboolean first)
{
    for (guint i = 0; i < work->todos->len; i++) {
        const IbhNic *nic = g_array_index(work->todos, Todo, i).nic;

        (first ? ibh_emit_rp_first : ibh_emit_rp_last)(work->plan, work->rails, nic,
                                                       ibh_want_sysctl(work->rails, nic, IBH_SYSCTL_RP_FILTER),
                                                       work->rules_change && ibh_may_loosen(nic));
    }
}

static void announce(Work *work)
{
    const GArray *addresses = work->rails->snapshot->addresses;
    char ip[IBH_IP_STRLEN];

    for (guint i = 0; i < work->todos->len; i++) {
        const Todo *todo = &g_array_index(work->todos, Todo, i);

        for (guint j = 0; todo->changed && todo->nic->settings.announce && j < addresses->len; j++) {
            const IbhAddress *address = &g_array_index(addresses, IbhAddress, j);

            if (ibh_nic_serves(todo->nic, address) && ibh_rails_owner(work->rails, &address->local) == todo->nic &&
                !ibh_is_repeated(addresses, j))
                ibh_emit_announce(work->plan, work->rails, todo->nic, todo->nic, &address->local,
                                  g_strdup_printf("peers that learned another NIC for %s switch at once",
                                                  ibh_ip_format(&address->local, ip)));
        }
    }
}

/* ---- deletions ---- */

/* What is left of rails, and of NICs that are gone; NICs that are no rail any more come last. */
static gboolean is_garbage(const Work *work, const Stale *stale)
{
    return !stale->done && may_touch(work, stale->owner) && (!stale->owner || stale->owner->status == IBH_NIC_RAIL);
}

static void collect_garbage(Work *work)
{
    for (guint i = 0; i < work->routes->len; i++) { /* a default route goes before the rules that it came after */
        Stale *stale = &g_array_index(work->routes, Stale, i);

        if (is_garbage(work, stale) && ibh_route_is_default(stale->route))
            del_route(work, stale, why_stale(work, stale));
    }
    for (guint i = work->rules->len; i-- > 0;) { /* the last tier first */
        Stale *stale = &g_array_index(work->rules, Stale, i);

        if (is_garbage(work, stale))
            del_rule(work, stale, why_stale(work, stale));
    }
    for (guint i = 0; i < work->routes->len; i++) {
        Stale *stale = &g_array_index(work->routes, Stale, i);

        if (is_garbage(work, stale))
            del_route(work, stale, why_stale(work, stale));
    }
}

/* ---- main=remove ---- */

/* Of rails, and of former ones. */
static void return_to_main(const Work *work)
{
    const GArray *saved = work->rails->snapshot->state->routes;

    for (guint i = 0; i < saved->len; i++) {
        const IbhSavedRoute *one = &g_array_index(saved, IbhSavedRoute, i);

        if (may_touch(work, ibh_rails_nic(work->rails, one->ifindex)))
            ibh_emit_return(work->plan, work->rails, one, FALSE);
    }
}

static void remove_from_main(const Work *work)
{
    for (guint i = 0; i < work->todos->len; i++)
        ibh_emit_removal(work->plan, work->rails, g_array_index(work->todos, Todo, i).nic);
}

/* ---- the whole ---- */

static void work_free(Work *work)
{
    g_ptr_array_unref(work->makes_room);
    g_array_unref(work->todos);
    g_array_unref(work->rules);
    g_array_unref(work->routes);
}

static void todo_clear(gpointer data)
{
    Todo *todo = data;

    g_array_unref(todo->rules);
    g_array_unref(todo->routes);
}

IbhPlan *ibh_plan_apply(const IbhRails *rails, const char *const *only)
{
    Work work = {.rails = rails, .only = only, .plan = ibh_plan_new()};
    gboolean spread_is_done;

    work.makes_room = g_ptr_array_new();
    work.todos = g_array_new(FALSE, TRUE, sizeof(Todo));
    g_array_set_clear_func(work.todos, todo_clear);
    work.rules = g_array_new(FALSE, TRUE, sizeof(Stale));
    work.routes = g_array_new(FALSE, TRUE, sizeof(Stale));

    want_all(&work);
    subtract_rules(&work);
    for (int kind = IBH_ROUTE_DEFAULT; kind < IBH_N_ROUTE_KINDS; kind++)
        subtract_routes(&work, (IbhRouteKind)kind);
    select_work(&work);

    ibh_emit_rp_first_of_former_rails(work.plan, rails, only);
    set_rp_filters(&work, TRUE);
    return_to_main(&work);
    spread_is_done = only || ibh_emit_spread_first(work.plan, rails);
    program_rails(&work);
    set_arp_sysctls(&work);
    announce(&work);
    if (!spread_is_done)
        ibh_emit_spread(work.plan, rails->snapshot, rails);
    set_rp_filters(&work, FALSE);
    ibh_emit_undo_of_former_rails(work.plan, rails, only);
    collect_garbage(&work);
    if (!only)
        ibh_emit_spread_last(work.plan, rails->snapshot, rails);
    remove_from_main(&work);
    join_units(&work, work.rules);
    join_units(&work, work.routes);
    work_free(&work);
    return work.plan;
}
