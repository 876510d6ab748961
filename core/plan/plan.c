/*
 * The plan to apply: desired − actual, in an order in which what worked keeps working.
 *
 *   1. rp_filter loosened, of former rails, too: a strict one would drop what still arrives on the wrong NIC
 *   2. rail by rail: routes, rules that lead to them, then the rules that these replace; with main=remove no more,
 *      connected routes of main come back, where they may be better than those that a new rail had until then
 *   3. ARP sysctls
 *   4. announcements: peers switch to the right NIC; unbound traffic is spread (spread.c)
 *   5. rp_filter tightened
 *   6. with main=remove, connected routes of main go: before a former rail's rp_filter is strict towards main again
 *   7. NICs that are no rail any more are undone (undo.c)
 *   8. deletions: rules before their routes
 */
#include "plan/plan.h"

#include "plan/emit.h"
#include "plan/remove.h"
#include "plan/spread.h"
#include "plan/want.h"

#include <linux/rtnetlink.h>
#include <sys/socket.h>

/* What is wanted of one rail and not there. */
typedef struct {
    const IbhNic *nic;
    GArray *rules;        /* IbhRule, of each address in ascending order */
    GArray *routes;       /* IbhRoute, in the order they must be added */
    gboolean has_default; /* a rule of ours leads to D already */
    gboolean changed;
    gboolean done;
} Todo;

/* Something of ours that is not wanted. */
typedef struct {
    const IbhNic *owner; /* NULL: its NIC is gone */
    const IbhRule *rule; /* or */
    const IbhRoute *route;
    gboolean done;
} Stale;

typedef struct {
    const IbhRails *rails;
    const char *const *only;
    GPtrArray *makes_room;      /* const IbhNic *: rails not asked for, whose table a selected rail needs */
    GArray *todos;              /* Todo, one per selected rail, by rank */
    GArray *stales;             /* Stale, in an order in which they can go and, if that fails, come back */
    GHashTable *led;            /* IbhIp: addresses that a rule of ours leads to T already */
    GHashTable *led_to_default; /* to D */
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
    IBH_EACH_POINTER (const IbhNic, nic, work->rails->nics) {
        Todo todo = {.nic = nic};

        if (nic->status != IBH_NIC_RAIL)
            continue;
        todo.routes = ibh_want_routes(work->rails, nic);
        todo.rules = ibh_want_rules(work->rails, nic, todo.routes);
        g_array_append_val(work->todos, todo);
    }
}

/* Candidates come first, by rank, and so do the todos. */
static Todo *find_todo(const Work *work, const IbhNic *nic)
{
    guint low = 0, high = nic ? work->todos->len : 0;

    while (low < high) {
        guint middle = low + (high - low) / 2;
        Todo *todo = &g_array_index(work->todos, Todo, middle);

        if (todo->nic == nic)
            return todo;
        if (todo->nic->position < nic->position)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* An IPv6 address of this NIC that is being checked for duplicates: the address itself, or one of that prefix. */
static gboolean is_tentative(const IbhNic *nic, const IbhPrefix *prefix)
{
    IBH_EACH_POINTER (const IbhAddress, address, &nic->addresses) {
        if (address->tentative &&
            (!prefix || ibh_prefix_equal(&address->subnet, prefix) || ibh_ip_equal(&address->local, &prefix->ip)))
            return TRUE;
    }
    return FALSE;
}

/* What belongs to such an address is not taken away: it will be there in a moment, unless another rail has it. */
static gboolean is_undecided_rule(const Work *work, const IbhNic *owner, const IbhRule *rule)
{
    return rule->family == AF_INET6 && (ibh_nic_has_table(owner, rule->table) || rule->table == IBH_TABLE_MAIN) &&
           is_tentative(owner, &rule->from) && !ibh_rails_owner(work->rails, &rule->from.ip);
}

static gboolean is_place_wanted(const Todo *todo, const IbhRoute *route)
{
    for (guint i = 0; i < todo->routes->len; i++) {
        if (ibh_route_same_place(&g_array_index(todo->routes, IbhRoute, i), route))
            return TRUE;
    }
    return FALSE;
}

/* What is reached by a gateway belongs to all of a NIC's addresses: it waits only where each of them is being checked.
 */
static gboolean is_undecided_route(const Todo *todo, const IbhRoute *route)
{
    const IbhNic *owner = todo->nic;

    if (route->family != AF_INET6 || !ibh_nic_has_table(owner, route->table) || is_place_wanted(todo, route))
        return FALSE;
    if (ibh_route_kind(route) == IBH_ROUTE_SUBNET)
        return is_tentative(owner, &route->dst);
    return owner->settings.gateway != IBH_GATEWAY_NONE && is_tentative(owner, NULL) &&
           !ibh_serves_family(owner, AF_INET6);
}

static void note_led(const Work *work, Todo *todo, IbhRule *rule)
{
    gboolean to_default = rule->table != todo->nic->table;

    if (ibh_rails_owner(work->rails, &rule->from.ip) == todo->nic)
        g_hash_table_add(to_default ? work->led_to_default : work->led, &rule->from.ip);
    todo->has_default |= to_default;
}

/* Takes from the wanted what is there; what is ours and not wanted is stale. A second copy is stale, too. */
static void subtract_rules(Work *work)
{
    g_autoptr(GPtrArray) rules = ibh_rules_to_delete(work->rails->snapshot, FALSE);

    for (guint i = 0; i < rules->len; i++) {
        Stale stale = {.rule = g_ptr_array_index(rules, i)};
        Todo *todo;

        stale.owner = ibh_rule_owner(work->rails, stale.rule);
        todo = find_todo(work, stale.owner);
        if (todo && ibh_nic_has_table(todo->nic, stale.rule->table))
            note_led(work, todo, g_ptr_array_index(rules, i));
        if (!todo || (!take_rule(todo->rules, stale.rule) && !is_undecided_rule(work, stale.owner, stale.rule)))
            g_array_append_val(work->stales, stale);
    }
}

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
        if (!todo || (!take_route(todo->routes, stale.route) && !is_undecided_route(todo, stale.route)))
            g_array_append_val(work->stales, stale);
    }
}

static void subtract(Work *work)
{
    subtract_rules(work);
    for (int kind = IBH_ROUTE_BY_GATEWAY; kind < IBH_N_ROUTE_KINDS; kind++)
        subtract_routes(work, (IbhRouteKind)kind);
}

/* ---- who needs another one's table ---- */

/* Something of another NIC in the tables of this rail: a route, or a rule that leads there. Tables stick to their NIC,
 * so this is what table= brings about, and what NICs that are gone left. */
static gboolean is_in_the_way(const Stale *stale, const Todo *todo)
{
    guint32 table = stale->rule ? stale->rule->table : stale->route->table;

    return !stale->done && stale->owner != todo->nic && ibh_nic_has_table(todo->nic, table);
}

static gboolean may_touch(const Work *work, const IbhNic *nic)
{
    return ibh_is_selected(nic, work->only) || (nic && g_ptr_array_find(work->makes_room, nic, NULL));
}

/* A rail that was asked for can only go where another one has left: that one moves along. */
static gboolean make_room(Work *work)
{
    IBH_EACH (const Todo, todo, work->todos) {
        for (guint j = 0; may_touch(work, todo->nic) && j < work->stales->len; j++) {
            const Stale *stale = &g_array_index(work->stales, Stale, j);

            if (!is_in_the_way(stale, todo) || !find_todo(work, stale->owner) || may_touch(work, stale->owner))
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
    while (work->only && make_room(work))
        ;
    IBH_EACH_BACK (Todo, todo, work->todos) {
        if (!may_touch(work, todo->nic)) {
            IBH_REMOVE(Todo, todo, work->todos);
            continue;
        }
        todo->changed = todo->rules->len || todo->routes->len;
        work->rules_change |= todo->changed;
        todo->changed |= ibh_want_sysctl(work->rails, todo->nic, IBH_SYSCTL_RP_FILTER) !=
                         todo->nic->link->sysctl[IBH_SYSCTL_RP_FILTER];
    }
}

/* A rail waits for another one that has yet to leave its table. */
static gboolean must_wait(const Work *work, const Todo *todo)
{
    IBH_EACH (const Stale, stale, work->stales) {
        const Todo *other = is_in_the_way(stale, todo) ? find_todo(work, stale->owner) : NULL;

        if (other && !other->done)
            return TRUE;
    }
    return FALSE;
}

/* The next rail to work on: the first that need not wait. Where table= swaps tables all wait: then one is undone before
 * it has its new table. */
static Todo *next_todo(const Work *work)
{
    Todo *first = NULL;

    IBH_EACH (Todo, todo, work->todos) {
        if (todo->done)
            continue;
        if (!must_wait(work, todo))
            return todo;
        if (!first)
            first = todo;
    }
    return first;
}

/* The other rail in whose tables this stands; NULL: none. */
static Todo *find_hindered(const Work *work, const Stale *stale)
{
    guint32 table = stale->rule ? stale->rule->table : stale->route->table;
    Todo *todo = find_todo(work, ibh_rails_nic_by_table(work->rails, table));

    return todo && todo->nic != stale->owner ? todo : NULL;
}

/* NICs that need each other's tables stand or fall together. */
static void join_units(const Work *work)
{
    IBH_EACH (const Stale, stale, work->stales) {
        const Todo *todo = stale->owner ? find_hindered(work, stale) : NULL;

        if (todo)
            ibh_plan_join(work->plan, todo->nic, stale->owner,
                          stale->rule ? stale->rule->family : stale->route->family);
    }
}

/* ---- rail by rail ---- */

static char *why_stale(const Work *work, const Stale *stale)
{
    char text[IBH_PREFIX_STRLEN];

    if (!stale->owner)
        return g_strdup("its interface or address is gone");
    if (stale->rule && ibh_rails_owner(work->rails, &stale->rule->from.ip) == stale->owner)
        return g_strdup_printf("%s has other rules now", stale->owner->link->name);
    if (stale->rule)
        return g_strdup_printf("%s is no address of %s", ibh_ip_format(&stale->rule->from.ip, text),
                               stale->owner->link->name);
    if (stale->route->type == RTN_THROW)
        return g_strdup_printf("a rule asks main for %s", ibh_prefix_format(&stale->route->dst, text));
    return g_strdup_printf("no address of %s needs it", stale->owner->link->name);
}

static void drop(Work *work, Stale *stale, char *why)
{
    if (stale->rule)
        ibh_emit_rule(work->plan, IBH_OP_RULE_DEL, stale->owner, stale->rule, why);
    else
        ibh_emit_route(work->plan, work->rails, IBH_OP_ROUTE_DEL, stale->owner, stale->route, NULL, why);
    stale->done = TRUE;
}

static void clear_the_way(Work *work, const Todo *todo)
{
    IBH_EACH (Stale, stale, work->stales) {
        if (is_in_the_way(stale, todo) && may_touch(work, stale->owner))
            drop(work, stale, g_strdup_printf("table %u is of %s now", todo->nic->table, todo->nic->link->name));
    }
}

static Stale *find_in_place(const Work *work, const IbhRoute *route)
{
    IBH_EACH (Stale, stale, work->stales) {
        if (!stale->done && stale->route && ibh_route_same_place(stale->route, route))
            return stale;
    }
    return NULL;
}

static void add_routes(Work *work, const Todo *todo, guint32 table, gboolean only_in_place)
{
    char dst[IBH_PREFIX_STRLEN];

    for (guint i = 0; i < todo->routes->len;) {
        const IbhRoute *route = &g_array_index(todo->routes, IbhRoute, i);
        Stale *stale = find_in_place(work, route);

        if (route->table != table || (only_in_place && !stale)) {
            i++;
            continue;
        }
        ibh_emit_route(work->plan, work->rails, stale ? IBH_OP_ROUTE_REPLACE : IBH_OP_ROUTE_ADD, todo->nic, route,
                       stale ? stale->route : NULL,
                       g_strdup_printf("table %u reaches %s by %s", route->table, ibh_prefix_format(&route->dst, dst),
                                       todo->nic->link->name));
        if (stale)
            stale->done = TRUE;
        g_array_remove_index(todo->routes, i);
    }
}

/* An old rule, of a lower priority or of another length, leads to T before the new ones ask main: new routes wait until
 * it is gone. */
static gboolean is_led_too_soon(const Work *work, const Todo *todo)
{
    IBH_EACH (const Stale, stale, work->stales) {
        if (!stale->done && stale->rule && stale->rule->table == todo->nic->table &&
            stale->rule->priority < work->rails->priority &&
            ibh_rails_owner(work->rails, &stale->rule->from.ip) == todo->nic)
            return TRUE;
    }
    return FALSE;
}

/* A route of T that the rail has no more: the rules that come now must not lead there, and those that asked main first
 * go after it. Throws, of earlier versions, do no harm, and keep bridges as long as rules of earlier versions stand. */
static void drop_stale_routes(Work *work, const Todo *todo, IbhRouteKind kind)
{
    IBH_EACH (Stale, stale, work->stales) {
        if (!stale->done && stale->route && stale->owner == todo->nic && stale->route->table == todo->nic->table &&
            ibh_route_kind(stale->route) == kind && !is_place_wanted(todo, stale->route) &&
            ibh_serves_family(todo->nic, stale->route->family))
            drop(work, stale, why_stale(work, stale));
    }
}

static char *why_rule(const Todo *todo, const IbhRule *rule)
{
    char from[IBH_IP_STRLEN], to[IBH_PREFIX_STRLEN];

    ibh_ip_format(&rule->from.ip, from);
    if (rule->to.length)
        return g_strdup_printf("what main has more exactly inside %s stays so", ibh_prefix_format(&rule->to, to));
    if (ibh_rule_asks_main(rule))
        return g_strdup_printf("main is asked before the default of %s", todo->nic->link->name);
    if (rule->table != todo->nic->table)
        return g_strdup_printf("what else %s sends goes by a gateway of %s", from, todo->nic->link->name);
    return g_strdup_printf("what %s sends leaves by %s", from, todo->nic->link->name);
}

/* An address that is led to T keeps what T does for it: the rules of its default come first, then those before the
 * routes that need them. The rule that leads to all of T comes last, instead of the old one: earlier versions had
 * default routes there. What is not led to T yet has its routes first. */
typedef enum { FOR_DEFAULT, BEFORE_ROUTES, INSTEAD, AFTER_ROUTES } Phase;

static Phase phase_of(const Work *work, const Todo *todo, const IbhRule *rule)
{
    gboolean led = g_hash_table_contains(work->led, &rule->from.ip);

    if (rule->priority >= IBH_PRIORITY_DEFAULTS - 1)
        return led || g_hash_table_contains(work->led_to_default, &rule->from.ip) ? FOR_DEFAULT : AFTER_ROUTES;
    if (!led)
        return AFTER_ROUTES;
    return rule->table != todo->nic->table || rule->suppress_prefixlength >= 0 ? BEFORE_ROUTES : INSTEAD;
}

/* To the kernel, a delete without suppress_prefixlength means this one, too. */
static Stale *find_alike(const Work *work, const IbhRule *rule)
{
    for (guint i = 0; rule->suppress_prefixlength < 0 && i < work->stales->len; i++) {
        Stale *stale = &g_array_index(work->stales, Stale, i);

        if (!stale->done && stale->rule && stale->rule->priority == rule->priority &&
            stale->rule->table == rule->table && !stale->rule->to.length &&
            ibh_prefix_equal(&stale->rule->from, &rule->from))
            return stale;
    }
    return NULL;
}

/* Not beside one that cannot be told from it: rolled back, the other one would go. */
static void add_rule(Work *work, const Todo *todo, const IbhRule *rule)
{
    Stale *alike = find_alike(work, rule);
    IbhRule meanwhile = *rule;

    meanwhile.priority--;
    if (alike) {
        ibh_emit_rule(work->plan, IBH_OP_RULE_ADD, todo->nic, &meanwhile, g_strdup("until its own place is free"));
        drop(work, alike, g_strdup("it is in the place of the next one"));
    }
    ibh_emit_rule(work->plan, IBH_OP_RULE_ADD, todo->nic, rule, why_rule(todo, rule));
    if (alike)
        ibh_emit_rule(work->plan, IBH_OP_RULE_DEL, todo->nic, &meanwhile, g_strdup("its own place is free"));
}

static void add_rules(Work *work, const Todo *todo, Phase phase)
{
    IBH_EACH (const IbhRule, rule, todo->rules) {
        if (phase_of(work, todo, rule) == phase)
            add_rule(work, todo, rule);
    }
}

/* Its address has the rail's new rules. Those of a default that is lost have nothing in their place: they go last. */
static void drop_superseded(Work *work, const Todo *todo, gboolean only_led)
{
    IBH_EACH (Stale, stale, work->stales) {
        if (!stale->done && stale->rule && stale->rule->priority < IBH_PRIORITY_DEFAULTS - 1 &&
            may_touch(work, stale->owner) && ibh_rails_owner(work->rails, &stale->rule->from.ip) == todo->nic &&
            (!only_led || g_hash_table_contains(work->led, &stale->rule->from.ip)))
            drop(work, stale,
                 g_strdup_printf("superseded: %s has table %u at priority %u", todo->nic->link->name, todo->nic->table,
                                 work->rails->priority));
    }
}

/* What it left in a table that another rail waits for. */
static void leave_tables(Work *work, const Todo *todo)
{
    IBH_EACH (Stale, stale, work->stales) {
        const Todo *other = !stale->done && stale->owner == todo->nic ? find_hindered(work, stale) : NULL;

        if (other && !other->done)
            drop(work, stale, g_strdup_printf("table %u is of %s now", other->nic->table, other->nic->link->name));
    }
}

static void program(Work *work, Todo *todo)
{
    guint32 table = todo->nic->table, defaults = ibh_nic_defaults(todo->nic);
    gboolean too_soon = is_led_too_soon(work, todo);

    add_routes(work, todo, defaults, todo->has_default);
    add_rules(work, todo, FOR_DEFAULT);
    add_routes(work, todo, defaults, FALSE);
    drop_stale_routes(work, todo, IBH_ROUTE_BY_GATEWAY);
    add_rules(work, todo, BEFORE_ROUTES);
    add_routes(work, todo, table, too_soon);
    drop_stale_routes(work, todo, IBH_ROUTE_SUBNET);
    add_rules(work, todo, INSTEAD);
    if (too_soon)
        drop_superseded(work, todo, TRUE);
    add_routes(work, todo, table, FALSE);
    add_rules(work, todo, AFTER_ROUTES);
    drop_superseded(work, todo, FALSE);
}

static void program_rails(Work *work)
{
    Todo *todo;

    while ((todo = next_todo(work))) {
        clear_the_way(work, todo);
        program(work, todo);
        todo->done = TRUE;
        leave_tables(work, todo);
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
    IBH_EACH (Todo, todo, work->todos) {
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

static void silence_others(const Work *work)
{
    IBH_EACH_POINTER (const IbhNic, nic, work->rails->no_rails) {
        int now = nic->link->sysctl[IBH_SYSCTL_ARP_IGNORE];

        if (may_touch(work, nic) && now == 0 && ibh_must_be_silent(work->rails, nic))
            ibh_emit_sysctl(work->plan, nic, IBH_SYSCTL_ARP_IGNORE, now, 1,
                            g_strdup("it has no IPv4 address, and does not answer ARP for the rails"));
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

static void announce(Work *work, const IbhNic *nic)
{
    char ip[IBH_IP_STRLEN];

    IBH_EACH_POINTER (const IbhAddress, address, &nic->served) {
        if (ibh_rails_owner(work->rails, &address->local) == nic && ibh_is_first(nic, address))
            ibh_emit_announce(work->plan, nic, nic, &address->local,
                              g_strdup_printf("peers that learned another NIC for %s switch at once",
                                              ibh_ip_format(&address->local, ip)));
    }
}

static void announce_changed(Work *work)
{
    IBH_EACH (const Todo, todo, work->todos) {
        if (todo->changed && todo->nic->settings.announce)
            announce(work, todo->nic);
    }
}

/* ---- deletions ---- */

/* What is left of rails, and of NICs that are gone. NICs that are no rail any more are undone (undo.c). */
static void collect_garbage(Work *work)
{
    IBH_EACH (Stale, stale, work->stales) {
        if (!stale->done && may_touch(work, stale->owner) && (!stale->owner || stale->owner->status == IBH_NIC_RAIL))
            drop(work, stale, why_stale(work, stale));
    }
}

/* ---- main=remove ---- */

/* Of rails, and of former ones. */
static void return_to_main(const Work *work)
{
    const GArray *saved = work->rails->snapshot->state->routes;

    IBH_EACH (const IbhSavedRoute, one, saved) {
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

static void todo_clear(gpointer data)
{
    Todo *todo = data;

    g_array_unref(todo->rules);
    g_array_unref(todo->routes);
}

static void work_init(Work *work)
{
    work->plan = ibh_plan_new();
    work->makes_room = g_ptr_array_new();
    work->todos = g_array_new(FALSE, TRUE, sizeof(Todo));
    g_array_set_clear_func(work->todos, todo_clear);
    work->stales = g_array_new(FALSE, TRUE, sizeof(Stale));
    work->led = g_hash_table_new(ibh_ip_hash, ibh_ip_equals);
    work->led_to_default = g_hash_table_new(ibh_ip_hash, ibh_ip_equals);
    want_all(work);
    subtract(work);
    select_work(work);
}

static void work_clear(Work *work)
{
    g_ptr_array_unref(work->makes_room);
    g_array_unref(work->todos);
    g_array_unref(work->stales);
    g_hash_table_unref(work->led);
    g_hash_table_unref(work->led_to_default);
}

IbhPlan *ibh_plan_apply(const IbhRails *rails, const char *const *only)
{
    Work work = {.rails = rails, .only = only};

    work_init(&work);
    ibh_emit_rp_first_of_former_rails(work.plan, rails, only);
    set_rp_filters(&work, TRUE);
    program_rails(&work);
    return_to_main(&work);
    set_arp_sysctls(&work);
    silence_others(&work);
    announce_changed(&work);
    if (!only)
        ibh_emit_spread(work.plan, rails->snapshot, rails);
    set_rp_filters(&work, FALSE);
    remove_from_main(&work);
    ibh_emit_undo_of_former_rails(work.plan, rails, only);
    collect_garbage(&work);
    join_units(&work);
    work_clear(&work);
    return work.plan;
}
