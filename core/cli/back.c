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

#include "plan/known.h"
#include "plan/work.h"

#include <sys/socket.h>

typedef struct {
    IbhWork work;
    const IbhTrial *trial;
    gboolean *stands; /* of each operation of the trial: its object is as the last one on it left it */
} Back;

/* ---- its NICs ---- */

/* A NIC of the trial, which may have another name now; NULL: it is gone. What stands or falls together is the
 * operations of a netdev, and a driver that restarts makes a new one, with another index, on which there is only what
 * hooks did since. That stays, as all that they do; so do its rules, which nothing but their address ties to a NIC: to
 * take these alone back would leave values without the rules that they need. */
static const IbhLink *find_now(const IbhTrial *trial, const IbhSnapshot *now, int ifindex)
{
    const IbhLink *then = ibh_snapshot_link(trial->then, ifindex), *link = ibh_snapshot_link(now, ifindex);
    char hardware[IBH_HARDWARE_LEN];

    if (!then || !link)
        return NULL;
    ibh_link_name_hardware(then, hardware); /* an index may be given again */
    return g_str_equal(then->name, link->name) || ibh_link_has_hardware(link, hardware) ? link : NULL;
}

static gboolean was_held(const IbhTrial *trial, int ifindex)
{
    const IbhLink *then = ibh_snapshot_link(trial->then, ifindex);

    return then && ibh_names_have(trial->then->state->holds, then->name);
}

/* An --apply ends the holds of its NICs. So a NIC whose hold differs now has had a decision since. */
static gboolean has_left(const IbhTrial *trial, const IbhSnapshot *now, int ifindex)
{
    const IbhLink *link = find_now(trial, now, ifindex);

    if (!link)
        return TRUE;
    if (ibh_names_have(now->state->holds, link->name))
        return !trial->tried || !was_held(trial, ifindex);
    return trial->tried && !ibh_names_have(now->state->kept, link->name);
}

static gboolean have_hops_left(const IbhTrial *trial, const IbhSnapshot *now, const IbhRoute *route)
{
    IBH_EACH_HOP (hop, route) {
        if (has_left(trial, now, hop->ifindex))
            return TRUE;
    }
    return FALSE;
}

static const IbhPrefix *spread_subnet(const IbhOp *op)
{
    return ibh_op_what(op) == IBH_RULE ? &op->rule.to : &op->route.dst;
}

/* Of main=spread, each subnet has its own NICs, and of subnets inside each other only the outermost is spread. */
static gboolean are_of_one_unit(const IbhOp *a, const IbhOp *b)
{
    if (a->unit.kind == IBH_UNIT_SPREAD && b->unit.kind == IBH_UNIT_SPREAD)
        return ibh_prefix_overlaps(spread_subnet(a), spread_subnet(b));
    return a == b || ibh_unit_is_same(&a->unit, &b->unit);
}

/* One of the NICs of this operation is none of the trial's any more: those of main=spread are its next hops. */
static gboolean lacks_nic(const IbhTrial *trial, const IbhSnapshot *now, const IbhOp *op)
{
    if (op->unit.kind == IBH_UNIT_SPREAD)
        return have_hops_left(trial, now, &op->route) || have_hops_left(trial, now, &op->replaced);
    return has_left(trial, now, op->ifindex);
}

/* Nothing of its unit is given back. */
static gboolean is_over(const IbhTrial *trial, const IbhSnapshot *now, const IbhOp *op)
{
    IBH_EACH_POINTER (const IbhOp, other, trial->made) {
        IbhOp inverse;

        if (are_of_one_unit(other, op) && ibh_op_inverse(other, &inverse) && lacks_nic(trial, now, other))
            return TRUE;
    }
    return FALSE;
}

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

/* The rules of an address, and all by which main=spread spreads a subnet, make sense only together. */
static gboolean belong_together(const IbhOp *a, const IbhOp *b)
{
    if (a->unit.kind == IBH_UNIT_SPREAD)
        return are_of_one_unit(a, b);
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
            !is_over(back->trial, back->work.rails->snapshot, op) && is_possible(back, &inverse))
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

static gboolean was_changed(const IbhTrial *trial, int ifindex)
{
    IBH_EACH_POINTER (const IbhOp, op, trial->made) {
        if (ibh_op_what(op) != IBH_PEERS && op->ifindex == ifindex)
            return TRUE;
    }
    return FALSE;
}

/* The trial still decides about this NIC. */
static gboolean has_say(const IbhTrial *trial, const IbhSnapshot *now, int ifindex)
{
    IBH_EACH_POINTER (const IbhOp, op, trial->made) {
        if (ibh_op_what(op) != IBH_PEERS && op->ifindex == ifindex && is_over(trial, now, op))
            return FALSE;
    }
    return !has_left(trial, now, ifindex);
}

/* The NIC is as it was before. */
static gboolean is_back(const IbhTrial *trial, const IbhSnapshot *now, int ifindex)
{
    return was_changed(trial, ifindex) && has_say(trial, now, ifindex);
}

static void recall_rails(const IbhTrial *trial, const IbhSnapshot *now, GArray *rails)
{
    IBH_EACH_BACK (const IbhSavedRail, rail, rails) {
        if (is_back(trial, now, rail->ifindex))
            IBH_REMOVE(IbhSavedRail, rail, rails);
    }
    IBH_EACH (const IbhSavedRail, rail, trial->then->state->rails) {
        const IbhLink *link = is_back(trial, now, rail->ifindex) ? find_now(trial, now, rail->ifindex) : NULL;
        IbhSavedRail again = *rail;

        if (!link)
            continue;
        g_strlcpy(again.iface, link->name, sizeof again.iface);
        g_array_append_val(rails, again);
    }
}

/* The NIC of this hardware, if it is as it was before; NULL: it is not. */
static const IbhLink *find_back(const IbhTrial *trial, const IbhSnapshot *now, const IbhKnownRail *known)
{
    const IbhLink *link = ibh_known_link(now, known);

    return link && is_back(trial, now, link->ifindex) ? link : NULL;
}

static void recall_known(const IbhTrial *trial, const IbhSnapshot *now, GArray *known)
{
    IBH_EACH_BACK (const IbhKnownRail, one, known) {
        if (find_back(trial, now, one))
            IBH_REMOVE(IbhKnownRail, one, known);
    }
    IBH_EACH (const IbhKnownRail, one, trial->then->state->known) {
        const IbhLink *link = find_back(trial, now, one);
        IbhKnownRail again = *one;

        if (!link)
            continue;
        g_strlcpy(again.iface, link->name, sizeof again.iface);
        g_array_append_val(known, again);
    }
}

static gboolean is_asked_for(const IbhRails *rails, const char *iface)
{
    return !rails->only || g_strv_contains(rails->only, iface);
}

/* The hold of a netdev that is gone is the name's, as that of --undo is: hooks take from a new one what they gave it.
 */
static void hold_names(const IbhTrial *trial, const IbhRails *rails, IbhState *state)
{
    IBH_EACH_POINTER (const char, iface, trial->then->state->holds) {
        const IbhLink *then = ibh_snapshot_link_by_name(trial->then, iface);
        const gboolean is_there = then && find_now(trial, rails->snapshot, then->ifindex);

        if (!trial->tried && !is_there && is_asked_for(rails, iface))
            ibh_state_hold(state, iface);
    }
}

/* Else the next hook would do the same again, to main=spread and to NICs that the trial did not change, too. */
static gboolean needs_keeping(const IbhTrial *trial, const IbhRails *rails, const IbhNic *nic)
{
    const IbhLink *then = ibh_snapshot_link(trial->then, nic->link->ifindex);
    const gboolean was_tried = then && nic->rank && nic->status != IBH_NIC_UNMANAGED && is_asked_for(rails, then->name);

    return (was_tried || was_changed(trial, nic->link->ifindex)) && has_say(trial, rails->snapshot, nic->link->ifindex);
}

void ibh_trial_remember(const IbhTrial *trial, const IbhRails *rails, IbhState *state)
{
    recall_rails(trial, rails->snapshot, state->rails);
    recall_known(trial, rails->snapshot, state->known);
    hold_names(trial, rails, state);
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        if (!needs_keeping(trial, rails, nic))
            continue;
        if (was_held(trial, nic->link->ifindex))
            ibh_state_hold(state, nic->link->name);
        else
            ibh_state_keep(state, nic->link->name);
    }
}
