/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/emit.h"

#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

IbhPlan *ibh_plan_new(void)
{
    IbhPlan *plan = g_new0(IbhPlan, 1);

    plan->ops = g_ptr_array_new_with_free_func((GDestroyNotify)ibh_op_free);
    return plan;
}

void ibh_plan_free(IbhPlan *plan)
{
    if (!plan)
        return;
    g_ptr_array_unref(plan->ops);
    g_free(plan);
}

#define UNIT_OF_SPREAD G_MAXINT

/* A unit is one family of one NIC. */
static int unit_of(const IbhNic *nic, int family)
{
    return family == AF_INET6 ? -nic->link->ifindex : nic->link->ifindex;
}

static int find_unit(const IbhPlan *plan, const IbhNic *nic, int family)
{
    IBH_EACH_POINTER (const IbhOp, op, plan->ops) {
        if (op->ifindex == nic->link->ifindex && op->type != IBH_OP_ANNOUNCE && ibh_op_family(op) == family)
            return op->unit;
    }
    return 0;
}

void ibh_plan_join(IbhPlan *plan, const IbhNic *a, const IbhNic *b, int family)
{
    int unit = find_unit(plan, a, family), other = find_unit(plan, b, family);

    for (guint i = 0; unit && other && unit != other && i < plan->ops->len; i++) {
        IbhOp *op = g_ptr_array_index(plan->ops, i);

        if (op->unit == other)
            op->unit = unit;
    }
}

IbhOp *ibh_emit(IbhPlan *plan, IbhOpType type, const IbhNic *nic, char *why)
{
    IbhOp *op = g_new0(IbhOp, 1);

    op->type = type;
    op->why = why;
    if (nic) {
        op->unit = op->ifindex = nic->link->ifindex;
        g_strlcpy(op->iface, nic->link->name, sizeof op->iface);
    }
    g_ptr_array_add(plan->ops, op);
    return op;
}

void ibh_emit_rule(IbhPlan *plan, IbhOpType type, const IbhNic *nic, const IbhRule *rule, char *why)
{
    IbhOp *op = ibh_emit(plan, type, nic, why);

    op->rule = *rule;
    op->unit = nic ? unit_of(nic, rule->family) : ibh_rule_is_spread(rule) ? UNIT_OF_SPREAD : 0;
}

/* "nexthop dev ib0 nexthop dev ib1"; of one device only, which we never program, just that. */
static char *describe_hops(const IbhSnapshot *snapshot, const IbhRoute *route)
{
    g_autofree char *one = g_strdup_printf("%d", route->ifindex);
    g_auto(GStrv) words = g_strsplit(route->hops ? route->hops : one, " ", -1);
    GString *text = g_string_new(NULL);

    for (char **word = words; *word; word++) {
        const IbhLink *link = ibh_snapshot_link(snapshot, atoi(*word));
        g_autofree char *name = ibh_shell_word(link ? link->name : "?");

        g_string_append_printf(text, "%s%sdev %s", text->len ? " " : "", route->hops ? "nexthop " : "", name);
    }
    return g_string_free(text, FALSE);
}

/* The kernel keeps such a route, but does not take it again. No command can bring a dead nexthop back to life. */
static gboolean goes_for_good(const IbhRails *rails, const IbhRoute *route)
{
    return (route->src.family != AF_UNSPEC && !ibh_rails_holder(rails, &route->src)) ||
           (route->gateway.family == AF_INET6 && ibh_rails_holder(rails, &route->gateway)) ||
           (route->hops && strchr(route->hops, '!'));
}

void ibh_emit_route(IbhPlan *plan, const IbhRails *rails, IbhOpType type, const IbhNic *nic, const IbhRoute *route,
                    const IbhRoute *replaced, char *why)
{
    IbhOp *op = ibh_emit(plan, type, nic, why);
    const IbhRoute *goes = type == IBH_OP_ROUTE_DEL ? route : replaced;

    op->route = *route;
    op->unit = nic ? unit_of(nic, route->family) : 0;
    if (replaced)
        op->replaced = *replaced;
    op->for_good = goes && goes_for_good(rails, goes);
    if (!ibh_route_is_spread(route))
        return;
    op->unit = UNIT_OF_SPREAD;
    op->hops = route->hops || route->ifindex ? describe_hops(rails->snapshot, route) : NULL;
}

void ibh_emit_sysctl(IbhPlan *plan, const IbhNic *nic, IbhSysctl key, int from, int to, char *why)
{
    IbhOp *op;

    if (!ibh_has_sysctls(nic->link->name)) {
        g_free(why);
        return;
    }
    op = ibh_emit(plan, IBH_OP_SYSCTL_SET, nic, why);
    op->key = key;
    op->from = from;
    op->to = to;
}

/* The source the kernel gives an ARP request for `ip` on this link: the first primary address whose subnet has it. */
static gboolean is_kernels_choice(const IbhNic *nic, const IbhIp *ip)
{
    IBH_EACH_POINTER (const IbhAddress, address, &nic->addresses) {
        if (!address->secondary && address->scope <= RT_SCOPE_LINK && ibh_prefix_contains(&address->subnet, ip))
            return ibh_ip_equal(&address->local, ip);
    }
    return FALSE;
}

void ibh_emit_announce(IbhPlan *plan, const IbhNic *nic, const IbhNic *from, const IbhIp *ip, char *why)
{
    IbhOp *op;

    if (!from->link->carrier || !(from->link->flags & IFF_UP) || (from->link->flags & IFF_NOARP)) {
        g_free(why);
        return;
    }
    op = ibh_emit(plan, IBH_OP_ANNOUNCE, from, why);
    op->unit = unit_of(nic, ip->family);
    op->ip = *ip;
    op->by_kernel = ip->family == AF_INET && is_kernels_choice(from, ip);
}

static gint descending(gconstpointer left, gconstpointer right)
{
    const IbhRule *a = *(const IbhRule *const *)left, *b = *(const IbhRule *const *)right;

    return a->priority == b->priority ? 0 : a->priority > b->priority ? -1 : 1;
}

GPtrArray *ibh_rules_to_delete(const IbhSnapshot *snapshot)
{
    GPtrArray *rules = g_ptr_array_new();

    IBH_EACH (IbhRule, rule, snapshot->rules) {
        if (ibh_rule_is_ours(rule))
            g_ptr_array_add(rules, rule);
    }
    g_ptr_array_sort(rules, descending); /* which keeps the order of equals */
    return rules;
}

gboolean ibh_is_first(const IbhNic *nic, const IbhAddress *address)
{
    IBH_EACH_POINTER (const IbhAddress, other, &nic->served) {
        if (ibh_ip_equal(&other->local, &address->local))
            return other == address;
    }
    return FALSE;
}

gboolean ibh_is_selected(const IbhNic *nic, const char *const *only)
{
    return !only || (nic && g_strv_contains(only, nic->link->name));
}

/* ---- rp_filter ---- */

void ibh_emit_rp_filter(IbhPlan *plan, const IbhRails *rails, const IbhNic *nic, int want, gboolean rules_change,
                        gboolean first)
{
    int all = rails->snapshot->all[IBH_SYSCTL_RP_FILTER], now = nic->link->sysctl[IBH_SYSCTL_RP_FILTER];
    gboolean is_strict = ibh_sysctl_effective(IBH_SYSCTL_RP_FILTER, now, all) == 1;
    gboolean be_strict = ibh_sysctl_effective(IBH_SYSCTL_RP_FILTER, want, all) == 1;
    int between = !be_strict ? want : is_strict && rules_change ? 2 : now;

    if (first && between != now)
        ibh_emit_sysctl(plan, nic, IBH_SYSCTL_RP_FILTER, now, between,
                        g_strdup("a packet that still comes in by another NIC is not dropped"));
    if (!first && want != between)
        ibh_emit_sysctl(plan, nic, IBH_SYSCTL_RP_FILTER, between, want, g_strdup("strict again: peers were told"));
}

gboolean ibh_may_loosen(const IbhNic *nic)
{
    return nic->settings.arp != IBH_ARP_KEEP;
}
