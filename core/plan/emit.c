/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/want.h"
#include "plan/work.h"

#include <linux/rtnetlink.h>
#include <sys/socket.h>

static IbhUnit unit_of(const IbhNic *nic, int family)
{
    return (IbhUnit){IBH_UNIT_NIC, family, nic->link->ifindex};
}

/* To that of moves. */
static void move_unit(const IbhWork *work, const IbhNic *nic, int family)
{
    const IbhUnit unit = unit_of(nic, family);

    IBH_EACH_POINTER (IbhOp, op, work->plan) {
        if (ibh_unit_is_same(&op->unit, &unit))
            op->unit = (IbhUnit){IBH_UNIT_MOVES, family, 0};
    }
}

void ibh_work_join_units(const IbhWork *work)
{
    IBH_EACH (const IbhStale, stale, work->stales) {
        const IbhTodo *todo = ibh_work_todo_of_rail(work, ibh_rails_nic_by_table(work->rails, stale->table));

        if (!todo || !todo->changed || !stale->owner || stale->owner == todo->nic)
            continue;
        move_unit(work, todo->nic, stale->family);
        move_unit(work, stale->owner, stale->family);
    }
}

IbhOp *ibh_work_emit(const IbhWork *work, IbhOpType type, const IbhNic *nic, int family, char *why)
{
    IbhOp *op = g_new0(IbhOp, 1);

    op->type = type;
    op->why = why;
    op->unit.family = family;
    if (nic) {
        op->unit = unit_of(nic, family);
        op->ifindex = nic->link->ifindex;
        g_strlcpy(op->iface, nic->link->name, sizeof op->iface);
    }
    g_ptr_array_add(work->plan, op);
    return op;
}

static void emit_rule(const IbhWork *work, IbhOpType type, const IbhNic *nic, const IbhRule *rule, char *why)
{
    IbhOp *op = ibh_work_emit(work, type, nic, rule->family, why);

    op->rule = *rule;
    if (ibh_rule_is_spread(rule))
        op->unit.kind = IBH_UNIT_SPREAD;
}

/* "nexthop dev ib0 nexthop dev ib1"; of one device only, which we never program, just that. */
static char *describe_hops(const IbhSnapshot *snapshot, const IbhRoute *route)
{
    GString *text = g_string_new(NULL);

    for (guint i = 0; i < route->nexthops; i++) {
        const IbhLink *link = ibh_snapshot_link(snapshot, route->hops ? route->hops[i].ifindex : route->ifindex);
        g_autofree char *name = ibh_text_shell_word(link ? link->name : "?");

        g_string_append_printf(text, "%s%sdev %s", text->len ? " " : "", route->hops ? "nexthop " : "", name);
    }
    return g_string_free(text, FALSE);
}

/* The kernel keeps such a route, but does not take it again. No command can bring a dead nexthop back to life. */
static gboolean goes_for_good(const IbhRails *rails, const IbhRoute *route)
{
    IBH_EACH_HOP (hop, route) {
        if (hop->dead)
            return TRUE;
    }
    return (route->src.family != AF_UNSPEC && !ibh_rails_have_address(rails, &route->src)) ||
           (route->gateway.family != AF_UNSPEC &&
            ibh_rails_have_gateway(rails, ibh_rails_nic(rails, route->ifindex), &route->gateway));
}

static IbhOp *emit_route(const IbhWork *work, IbhOpType type, const IbhNic *nic, const IbhRoute *route, char *why)
{
    IbhOp *op = ibh_work_emit(work, type, nic, route->family, why);

    op->route = *route;
    if (ibh_route_is_spread(route)) {
        op->unit.kind = IBH_UNIT_SPREAD;
        op->hops = route->nexthops ? describe_hops(work->rails->snapshot, route) : NULL;
    }
    return op;
}

void ibh_work_emit_sysctl(const IbhWork *work, const IbhNic *nic, IbhSysctl key, int from, int to, const char *why)
{
    IbhOp *op;

    if (from == to || !ibh_iface_name_has_sysctls(nic->link->name))
        return;
    op = ibh_work_emit(work, IBH_OP_SYSCTL_SET, nic, AF_INET, g_strdup(why));
    op->key = key;
    op->from = from;
    op->to = to;
}

gboolean ibh_work_emit_arp(const IbhWork *work, const IbhRails *rails, const IbhNic *nic, const char *why)
{
    static const char *const does[IBH_N_SYSCTLS] = {
        [IBH_SYSCTL_ARP_FILTER] = "answer ARP only on the NIC that the reply leaves through",
        [IBH_SYSCTL_ARP_ANNOUNCE] = "ask peers with an address of",
        [IBH_SYSCTL_ARP_IGNORE] = "answer ARP only for addresses of",
    };
    gboolean changes = FALSE;

    for (IbhSysctl key = IBH_SYSCTL_ARP_FILTER; key <= IBH_SYSCTL_ARP_IGNORE; key++) {
        const int now = nic->link->sysctl[key], want = ibh_want_sysctl(rails, nic, key);
        g_autofree char *effect = NULL;

        if (now == want)
            continue;
        effect = why ? NULL : g_strdup_printf("%s %s", does[key], nic->link->name);
        ibh_work_emit_sysctl(work, nic, key, now, want, why ? why : effect);
        changes = TRUE;
    }
    return changes;
}

/* The source the kernel gives an ARP request for `ip` on this link: the first primary address whose subnet has it. */
static gboolean is_kernels_choice(const IbhNic *nic, const IbhIp *ip)
{
    IBH_EACH_POINTER (const IbhAddress, address, nic->addresses) {
        if (!address->secondary && address->scope <= RT_SCOPE_LINK && ibh_prefix_contains(&address->subnet, ip))
            return ibh_ip_equal(&address->local, ip);
    }
    return FALSE;
}

void ibh_work_emit_announce(const IbhWork *work, const IbhNic *nic, const IbhNic *from, const IbhIp *ip, char *why)
{
    IbhOp *op;

    if (!from->link->carrier || !(from->link->flags & IFF_UP) || (from->link->flags & IFF_NOARP)) {
        g_free(why);
        return;
    }
    op = ibh_work_emit(work, IBH_OP_ANNOUNCE, from, ip->family, why);
    op->unit = unit_of(nic, ip->family);
    op->ip = *ip;
    op->by_kernel = ip->family == AF_INET && is_kernels_choice(from, ip);
}

/* ---- rp_filter ---- */

static void emit_rp_filter(const IbhWork *work, const IbhTodo *todo, gboolean loosens)
{
    const IbhNic *nic = todo->nic;
    const int all = work->rails->snapshot->all[IBH_SYSCTL_RP_FILTER], now = nic->link->sysctl[IBH_SYSCTL_RP_FILTER];
    const int want =
        todo->undone ? nic->base[IBH_SYSCTL_RP_FILTER] : ibh_want_sysctl(work->rails, nic, IBH_SYSCTL_RP_FILTER);
    const gboolean is_strict = ibh_sysctl_effective(IBH_SYSCTL_RP_FILTER, now, all) == 1;
    const gboolean be_strict = ibh_sysctl_effective(IBH_SYSCTL_RP_FILTER, want, all) == 1;
    /* One that the administrator keeps is not loosened for a moment either. */
    const gboolean loosen = nic->settings.arp != IBH_ARP_KEEP && (work->rules_change || todo->undone);
    const int between = !be_strict ? want : is_strict && loosen ? 2 : now;

    if (loosens)
        ibh_work_emit_sysctl(work, nic, IBH_SYSCTL_RP_FILTER, now, between,
                             "a packet that still comes in through another NIC is not dropped");
    else
        ibh_work_emit_sysctl(work, nic, IBH_SYSCTL_RP_FILTER, between, want, "strict again: peers were told");
}

static void set_rp_filters(const IbhWork *work, gboolean loosens)
{
    IBH_EACH (const IbhTodo, todo, work->todos) {
        if (todo->undone || todo->rules)
            emit_rp_filter(work, todo, loosens);
    }
}

void ibh_work_loosen_rp_filters(const IbhWork *work)
{
    set_rp_filters(work, TRUE);
}

void ibh_work_tighten_rp_filters(const IbhWork *work)
{
    set_rp_filters(work, FALSE);
}

/* Others do not route it. */
gboolean ibh_stale_is_programmed(const IbhStale *stale)
{
    const IbhNic *nic = stale->owner;

    if (nic->programmed->len == nic->served->len)
        return TRUE;
    if (stale->route)
        return ibh_nic_programs_family(nic, stale->route->family);
    IBH_EACH_POINTER (const IbhAddress, address, nic->programmed) {
        if (ibh_ip_equal(&address->local, &stale->rule->from.ip))
            return TRUE;
    }
    return FALSE;
}

static char *why_stale(const IbhWork *work, const IbhStale *stale)
{
    const IbhNic *owner = stale->owner;
    const char *name = owner ? owner->link->name : NULL;
    char text[IBH_PREFIX_STRLEN];

    if (!owner)
        return g_strdup("its interface or address is gone");
    if (owner->status != IBH_NIC_RAIL) {
        g_autofree char *why = ibh_nic_why(work->rails, owner);

        return g_strdup_printf("%s is no rail: %s", name, why);
    }
    if (work->undo)
        return g_strdup("undone");
    if (!ibh_stale_is_programmed(stale))
        return g_strdup_printf("rules of others route %s", name);
    if (stale->route)
        return g_strdup_printf("no address of %s needs it", name);
    if (ibh_rails_owner(work->rails, &stale->rule->from.ip) == owner)
        return g_strdup_printf("%s has other rules now", name);
    return g_strdup_printf("%s is no address of %s", ibh_ip_format(&stale->rule->from.ip, text), name);
}

void ibh_work_drop(const IbhWork *work, IbhStale *stale, const char *why)
{
    char *text;

    if (stale->done)
        return;
    text = why ? g_strdup(why) : why_stale(work, stale);
    if (stale->rule)
        emit_rule(work, IBH_OP_RULE_DEL, stale->owner, stale->rule, text);
    else
        emit_route(work, IBH_OP_ROUTE_DEL, stale->owner, stale->route, text)->for_good =
            goes_for_good(work->rails, stale->route);
    stale->done = TRUE;
}

static char *why_rule(const IbhTodo *todo, const IbhRule *rule)
{
    const char *name = todo->nic ? todo->nic->link->name : NULL;
    char from[IBH_IP_STRLEN], to[IBH_PREFIX_STRLEN];

    ibh_ip_format(&rule->from.ip, from);
    ibh_prefix_format(&rule->to, to);
    if (!name && !ibh_rule_asks_main(rule))
        return g_strdup_printf("unbound traffic to %s is spread", to);
    if (!name || rule->to.length)
        return g_strdup_printf("what main has more exactly inside %s stays so", to);
    if (ibh_rule_asks_main(rule) && rule->priority < IBH_PRIORITY_BASE)
        return g_strdup_printf("what main has more exactly than %s stays so", name);
    if (ibh_rule_asks_main(rule))
        return g_strdup_printf("main is asked before the default of %s", name);
    if (rule->table != todo->nic->table)
        return g_strdup_printf("what else %s sends goes via a gateway of %s", from, name);
    return g_strdup_printf("what %s sends leaves through %s", from, name);
}

void ibh_work_add_rules(const IbhWork *work, const IbhTodo *todo, guint32 priority, gboolean only_led)
{
    for (guint i = 0; i < todo->rules->len;) {
        const IbhRule *rule = &g_array_index(todo->rules, IbhRule, i);

        if (MAX(rule->priority, IBH_PRIORITY_BASE) != priority ||
            (only_led && !g_hash_table_contains(work->led_to_table, &rule->from.ip))) {
            i++;
            continue;
        }
        emit_rule(work, IBH_OP_RULE_ADD, todo->nic, rule, why_rule(todo, rule));
        g_array_remove_index(todo->rules, i);
    }
}

static IbhStale *find_in_place(const IbhWork *work, const IbhRoute *route)
{
    IBH_EACH (IbhStale, stale, work->stales) {
        if (!stale->done && stale->route && ibh_route_same_place(stale->route, route))
            return stale;
    }
    return NULL;
}

static char *why_route(const IbhTodo *todo, const IbhRoute *route)
{
    char dst[IBH_PREFIX_STRLEN];

    ibh_prefix_format(&route->dst, dst);
    return todo->nic ? g_strdup_printf("table %u reaches %s by %s", route->table, dst, todo->nic->link->name)
                     : g_strdup_printf("unbound traffic to %s uses every rail", dst);
}

void ibh_work_add_routes(const IbhWork *work, const IbhTodo *todo, guint32 table)
{
    for (guint i = 0; i < todo->routes->len;) {
        const IbhRoute *route = &g_array_index(todo->routes, IbhRoute, i);
        IbhStale *stale = find_in_place(work, route);
        IbhOp *op;

        if (route->table != table) {
            i++;
            continue;
        }
        op =
            emit_route(work, stale ? IBH_OP_ROUTE_REPLACE : IBH_OP_ROUTE_ADD, todo->nic, route, why_route(todo, route));
        if (stale) {
            op->replaced = *stale->route;
            op->for_good = goes_for_good(work->rails, stale->route);
            stale->done = TRUE;
        }
        g_array_remove_index(todo->routes, i);
    }
}
