/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plan that gives back the state before an --apply that was not confirmed: the inverses of its operations, in
 * reverse order, as far as all is still as it left it. So the host goes back through states that it has been in.
 *
 *   1. the inverses; rp_filter is loosened in its turn
 *   2. NICs that nothing leaves through any more forget their neighbours   3. addresses whose way changed are announced
 *   4. rp_filter tightened
 */
#include "cli/back.h"

#include "plan/work.h"

#include <sys/socket.h>

typedef struct {
    IbhWork work;
    const IbhTrial *trial;
    gboolean *stands; /* of each operation of the trial: its object is as the last one on it left it */
} Back;

/* ---- is it still as --apply left it? ---- */

static gboolean has_rule(const IbhSnapshot *snapshot, const IbhRule *rule)
{
    IBH_EACH (const IbhRule, one, snapshot->rules) {
        if (ibh_rule_compare(one, rule) == 0)
            return TRUE;
    }
    return FALSE;
}

static gboolean is_as_left(const IbhRails *rails, const IbhOp *op)
{
    const IbhNic *nic = ibh_rails_nic(rails, op->ifindex);
    const IbhRoute *route;

    switch (ibh_op_what(op)) {
    case IBH_RULE:
        return has_rule(rails->snapshot, &op->rule) != ibh_op_removes(op->type);
    case IBH_ROUTE:
        route = ibh_routes_find_place(rails->snapshot->routes, &op->route);
        return ibh_op_removes(op->type) ? !route : route && ibh_route_compare(route, &op->route) == 0;
    default:
        return nic && nic->link->sysctl[op->key] == op->to;
    }
}

static gboolean are_on_same(const IbhOp *a, const IbhOp *b)
{
    if (ibh_op_what(a) != ibh_op_what(b))
        return FALSE;
    switch (ibh_op_what(a)) {
    case IBH_RULE:
        return ibh_rule_compare(&a->rule, &b->rule) == 0;
    case IBH_ROUTE:
        return ibh_route_same_place(&a->route, &b->route);
    case IBH_SYSCTL:
        return a->ifindex == b->ifindex && a->key == b->key;
    case IBH_PEERS:
        break;
    }
    return a->ifindex == b->ifindex && ibh_ip_equal(&a->ip, &b->ip);
}

static void find_standing(const Back *back)
{
    const GPtrArray *made = back->trial->made;

    for (guint i = 0; i < made->len; i++) {
        guint last = made->len - 1;

        while (!are_on_same(g_ptr_array_index(made, i), g_ptr_array_index(made, last)))
            last--;
        back->stands[i] = is_as_left(back->work.rails, g_ptr_array_index(made, last));
    }
}

/* The rules of an address, and all of main=spread, make sense only together. */
static gboolean belong_together(const IbhOp *a, const IbhOp *b)
{
    if (a->unit.kind == IBH_UNIT_SPREAD)
        return b->unit.kind == IBH_UNIT_SPREAD;
    return ibh_op_what(a) == IBH_RULE && ibh_op_what(b) == IBH_RULE && ibh_prefix_equal(&a->rule.from, &b->rule.from);
}

static gboolean is_untouched(const Back *back, guint index)
{
    const GPtrArray *made = back->trial->made;

    for (guint i = 0; i < made->len; i++) {
        if (!back->stands[i] && belong_together(g_ptr_array_index(made, i), g_ptr_array_index(made, index)))
            return FALSE;
    }
    return back->stands[index];
}

/* ---- the inverses ---- */

/* An --apply ends the holds of its NICs. So a NIC whose hold differs now has had a decision since. */
static gboolean is_over(const IbhTrial *trial, const IbhState *now, const char *iface)
{
    if (!iface[0]) /* of main=spread, or of a NIC that had disappeared */
        return trial->tried ? !now->kept->len : now->holds->len > 0;
    if (ibh_state_is_held(now, iface))
        return !trial->tried || !ibh_state_is_held(trial->before, iface);
    return trial->tried && !ibh_state_is_kept(now, iface);
}

static gboolean is_way_to(const IbhRoute *way, const IbhRoute *route)
{
    return way->table == route->table && way->ifindex == route->ifindex && way->gateway.family == AF_UNSPEC &&
           ibh_prefix_contains(&way->dst, &route->gateway);
}

/* The kernel finds the gateway by a subnet of the NIC, or by a route of the same table that is there or comes before.
 */
static gboolean has_gateway(const Back *back, const IbhNic *nic, const IbhRoute *route)
{
    if (route->gateway.family == AF_UNSPEC || route->onlink || ibh_ip_is_fe80(&route->gateway))
        return TRUE;
    IBH_EACH_POINTER (const IbhAddress, address, nic->addresses) {
        if (ibh_prefix_contains(&address->subnet, &route->gateway))
            return TRUE;
    }
    IBH_EACH (const IbhRoute, way, back->work.rails->snapshot->routes) {
        if (is_way_to(way, route))
            return TRUE;
    }
    IBH_EACH_POINTER (const IbhOp, op, back->work.plan) {
        if (op->type == IBH_OP_ROUTE_ADD && is_way_to(&op->route, route))
            return TRUE;
    }
    return FALSE;
}

/* The address or the NIC that it needs may have gone: the kernel would refuse it, and with it the whole unit. */
static gboolean is_possible(const Back *back, const IbhOp *op)
{
    const IbhRails *rails = back->work.rails;
    const IbhNic *nic = ibh_rails_nic(rails, op->route.ifindex);

    if (op->type == IBH_OP_RULE_ADD)
        return op->unit.kind == IBH_UNIT_SPREAD || ibh_rails_holder(rails, &op->rule.from.ip);
    if (ibh_op_what(op) == IBH_ROUTE && !ibh_op_removes(op->type))
        return nic && has_gateway(back, nic, &op->route) &&
               (op->route.src.family == AF_UNSPEC || ibh_rails_holder(rails, &op->route.src));
    return TRUE;
}

static gboolean makes_strict(const Back *back, const IbhOp *op)
{
    return op->type == IBH_OP_SYSCTL_SET && op->key == IBH_SYSCTL_RP_FILTER &&
           ibh_sysctl_effective(op->key, op->to, back->work.rails->snapshot->all[op->key]) == 1;
}

static void take_back(const Back *back, const IbhOp *op)
{
    const IbhLink *link = ibh_snapshot_link(back->work.rails->snapshot, op->ifindex);
    IbhOp *inverse = g_new0(IbhOp, 1);

    *inverse = *op;
    inverse->why = g_strdup("as it was before --apply");
    inverse->hops = g_strdup(op->hops);
    if (link) /* it may have another name now */
        g_strlcpy(inverse->iface, link->name, sizeof inverse->iface);
    g_ptr_array_add(back->work.plan, inverse);
}

static void take_all_back(const Back *back, gboolean strict)
{
    const GPtrArray *made = back->trial->made;

    for (guint i = made->len; i-- > 0;) {
        const IbhOp *op = g_ptr_array_index(made, i);
        IbhOp inverse;

        if (ibh_op_inverse(op, &inverse) && makes_strict(back, &inverse) == strict && is_untouched(back, i) &&
            !is_over(back->trial, back->work.rails->snapshot->state, op->iface) && is_possible(back, &inverse))
            take_back(back, &inverse);
    }
}

/* ---- neighbours and announcements ---- */

/* The plan so far has such an operation on a rule that leads what this address sends to its NIC's table. */
static gboolean has_lead(const Back *back, IbhOpType type, const IbhAddress *address)
{
    IBH_EACH_POINTER (const IbhOp, op, back->work.plan) {
        if (op->type == type && !ibh_rule_is_spread(&op->rule) && op->rule.table != IBH_TABLE_MAIN &&
            op->rule.priority < IBH_PRIORITY_DEFAULTS - 1 && ibh_ip_equal(&op->rule.from.ip, &address->local))
            return TRUE;
    }
    return FALSE;
}

static gboolean will_answer(const Back *back, const IbhNic *from, const IbhIp *ip)
{
    int arp_ignore = from->link->sysctl[IBH_SYSCTL_ARP_IGNORE];

    IBH_EACH_POINTER (const IbhOp, op, back->work.plan) {
        if (op->type == IBH_OP_SYSCTL_SET && op->key == IBH_SYSCTL_ARP_IGNORE && op->ifindex == from->link->ifindex)
            arp_ignore = op->to;
    }
    return !arp_ignore && !ibh_ip_is_link_local(ip);
}

/* The NIC by which the address is reached from now on; NULL: by the same as until now. */
static const IbhNic *find_new_way(const Back *back, const IbhNic *nic, const IbhAddress *address)
{
    const gboolean comes = has_lead(back, IBH_OP_RULE_ADD, address), goes = has_lead(back, IBH_OP_RULE_DEL, address);
    const IbhNic *main_nic = comes == goes ? NULL : ibh_main_find_nic(back->work.rails, address);

    return comes && !goes ? nic : main_nic;
}

static void move(const Back *back, const IbhNic *nic)
{
    gboolean leaves = FALSE;

    IBH_EACH_POINTER (const IbhAddress, address, nic->served) {
        const IbhNic *by = address->local.family == AF_INET ? find_new_way(back, nic, address) : NULL;

        leaves |= by && by != nic;
    }
    if (leaves)
        ibh_work_forget_neighbours(&back->work, nic);
    IBH_EACH_POINTER (const IbhAddress, address, nic->served) {
        const IbhNic *by = address->local.family == AF_INET ? find_new_way(back, nic, address) : NULL;

        if (by && ibh_nic_has_first(nic, address) && (by == nic || will_answer(back, by, &address->local)))
            ibh_work_emit_announce(&back->work, nic, by, &address->local,
                                   g_strdup_printf("%s has it again", by->link->name));
    }
}

/* ---- the whole ---- */

GPtrArray *ibh_trial_plan_back(const IbhRails *rails, const IbhTrial *trial)
{
    g_autofree gboolean *stands = g_new0(gboolean, trial->made->len + 1);
    const Back back = {.work = {.rails = rails, .plan = g_ptr_array_new_with_free_func((GDestroyNotify)ibh_op_free)},
                       .trial = trial,
                       .stands = stands};

    find_standing(&back);
    take_all_back(&back, FALSE);
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics)
        move(&back, nic);
    take_all_back(&back, TRUE);
    return back.work.plan;
}

/* ---- what is remembered ---- */

/* The NIC is as it was before. */
static gboolean is_back(const IbhTrial *trial, const IbhState *now, const char *iface)
{
    gboolean tried = FALSE;

    IBH_EACH_POINTER (const IbhOp, op, trial->made)
        tried |= g_str_equal(op->iface, iface);
    return tried && !is_over(trial, now, iface);
}

/* What that --apply knew of these NICs is forgotten; what was known before it is known again. Of hardware that came
 * meanwhile, the next event knows. */
static void recall(const IbhTrial *trial, const IbhState *now, IbhState *state)
{
    IBH_EACH_BACK (const IbhSavedRail, rail, state->rails) {
        if (is_back(trial, now, rail->iface))
            IBH_REMOVE(IbhSavedRail, rail, state->rails);
    }
    IBH_EACH (const IbhSavedRail, rail, trial->before->rails) {
        if (is_back(trial, now, rail->iface))
            g_array_append_vals(state->rails, rail, 1);
    }
    g_array_set_size(state->known, 0);
    g_array_append_vals(state->known, trial->before->known->data, trial->before->known->len);
}

static void keep(const IbhTrial *trial, const IbhState *now, const char *iface, IbhState *state)
{
    if (!iface[0] || is_over(trial, now, iface))
        return;
    if (ibh_state_is_held(trial->before, iface))
        ibh_state_hold(state, iface);
    else
        ibh_state_keep(state, iface);
}

/* Else the next hook would do the same again, to main=spread and to NICs that the trial did not change, too. */
void ibh_trial_remember(const IbhTrial *trial, const IbhRails *rails, IbhState *state)
{
    const IbhState *now = rails->snapshot->state;

    recall(trial, now, state);
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        if (nic->rank && nic->status != IBH_NIC_UNMANAGED && ibh_nic_is_selected(nic, rails->only))
            keep(trial, now, nic->link->name, state);
    }
    IBH_EACH_POINTER (const IbhOp, op, trial->made)
        keep(trial, now, op->iface, state);
}
