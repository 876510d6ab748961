/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/back.h"

#include "plan/known.h"
#include "plan/want.h"

#include <sys/socket.h>

/* ---- the NICs of a trial ---- */

/* This NIC as the trial saw it; NULL: it is another netdev. A driver that restarts makes a new netdev, with only what
 * hooks did since: that stays. An index may be given again, so the name or the hardware has to be the same. */
static const IbhLink *find_then(const IbhTrial *trial, const IbhLink *link)
{
    const IbhLink *then = ibh_snapshot_link(trial->then, link->ifindex);
    char hardware[IBH_HARDWARE_LEN];

    if (!then)
        return NULL;
    ibh_link_name_hardware(then, hardware);
    return g_str_equal(then->name, link->name) || ibh_link_has_hardware(link, hardware) ? then : NULL;
}

/* The trial decides about this NIC. An --apply ends the holds of its NICs, so a NIC whose hold differs now has had a
 * decision since: by --undo, or after a first try by --apply. */
static gboolean has_say(const IbhTrial *trial, const IbhSnapshot *now, const IbhLink *link)
{
    const IbhLink *then = find_then(trial, link);
    gboolean was_held;

    if (!then || (trial->only && !g_strv_contains(trial->only, then->name)))
        return FALSE;
    was_held = ibh_names_have(trial->then->state->holds, then->name);
    if (ibh_names_have(now->state->holds, link->name))
        return trial->tried && was_held;
    return !trial->tried || ibh_names_have(now->state->kept, link->name);
}

/* ---- what stood before ---- */

static gboolean has_address(const IbhSnapshot *snapshot, const IbhIp *ip)
{
    IBH_EACH (const IbhAddress, address, snapshot->addresses) {
        if (ibh_ip_equal(&address->local, ip))
            return TRUE;
    }
    return FALSE;
}

/* The kernel finds the gateway by a subnet of the NIC, or by a route of the same table. */
static gboolean has_gateway(const IbhTrial *trial, const IbhNic *nic, const IbhRoute *route)
{
    if (route->gateway.family == AF_UNSPEC || route->onlink || ibh_ip_is_fe80(&route->gateway))
        return TRUE;
    IBH_EACH_POINTER (const IbhAddress, address, nic->addresses) {
        if (ibh_prefix_contains(&address->subnet, &route->gateway))
            return TRUE;
    }
    IBH_EACH (const IbhRoute, way, trial->then->routes) {
        if (ibh_route_is_ours(way) && way->table == route->table && way->ifindex == route->ifindex &&
            way->gateway.family == AF_UNSPEC && ibh_prefix_contains(&way->dst, &route->gateway))
            return TRUE;
    }
    return FALSE;
}

/* The kernel takes the route again: its NIC is up, and has the source, and the gateway is a neighbour, not this host.
 */
static gboolean is_possible(const IbhTrial *trial, const IbhWanted *wanted, const IbhRoute *route)
{
    const IbhNic *nic = ibh_rails_nic(wanted->rails, route->ifindex);

    if (route->gateway.family != AF_UNSPEC && ibh_rails_have_gateway(wanted->rails, nic, &route->gateway))
        return FALSE;
    return nic && nic->link->flags & IFF_UP && has_gateway(trial, nic, route) &&
           (route->src.family == AF_UNSPEC || has_address(wanted->rails->snapshot, &route->src));
}

/* Rules and routes of main=spread belong to all rails of a subnet: they come back where the trial decides about each.
 */
static gboolean may_spread(const IbhTrial *trial, const IbhWanted *wanted)
{
    const GArray *const lists[] = {trial->then->routes, wanted->rails->snapshot->routes};

    for (guint i = 0; i < G_N_ELEMENTS(lists); i++) {
        IBH_EACH (const IbhRoute, route, lists[i]) {
            const IbhWantedNic *one = ibh_wanted_nic(wanted, ibh_rails_nic(wanted->rails, route->ifindex));

            if (!ibh_route_is_spread(route))
                continue;
            if (!route->hops && (!one || !one->selected))
                return FALSE;
            IBH_EACH_HOP (hop, route) {
                one = ibh_wanted_nic(wanted, ibh_rails_nic(wanted->rails, hop->ifindex));
                if (!one || !one->selected || hop->dead)
                    return FALSE;
            }
        }
    }
    return TRUE;
}

static void want_rules(const IbhTrial *trial, IbhWanted *wanted)
{
    const IbhSnapshot *now = wanted->rails->snapshot;

    IBH_EACH (const IbhRule, rule, trial->then->rules) {
        const gboolean is_spread = ibh_rule_is_spread(rule);
        const IbhWantedNic *one =
            is_spread ? NULL : ibh_wanted_nic(wanted, ibh_rails_holder(wanted->rails, &rule->from.ip));

        if (ibh_rule_is_ours(rule) && (is_spread ? wanted->spread : one && one->selected))
            g_array_append_vals(wanted->rules, rule, 1);
    }
    IBH_EACH (const IbhRule, rule, now->rules) {
        const IbhWantedNic *one = ibh_wanted_nic(wanted, ibh_rails_holder(wanted->rails, &rule->from.ip));

        if (ibh_rule_is_ours(rule) && !ibh_rule_is_spread(rule) && one && one->selected &&
            !has_address(trial->then, &rule->from.ip)) /* it came since */
            g_array_append_vals(wanted->rules, rule, 1);
    }
}

/* The rule of an address that came since leads to this route. */
static gboolean is_led_to(const IbhTrial *trial, const IbhWanted *wanted, const IbhRoute *route)
{
    IBH_EACH (const IbhRule, rule, wanted->rules) {
        if (rule->table == route->table && rule->family == route->family &&
            (!rule->to.length || ibh_prefix_overlaps(&rule->to, &route->dst)) &&
            !has_address(trial->then, &rule->from.ip))
            return TRUE;
    }
    return FALSE;
}

static gboolean has_route_in_place(const GArray *routes, const IbhRoute *route)
{
    IBH_EACH (const IbhRoute, other, routes) {
        if (ibh_route_same_place(other, route))
            return TRUE;
    }
    return FALSE;
}

static void want_routes(const IbhTrial *trial, IbhWanted *wanted)
{
    IBH_EACH (const IbhRoute, route, trial->then->routes) {
        const IbhWantedNic *one = ibh_wanted_nic(wanted, ibh_rails_nic(wanted->rails, route->ifindex));
        const gboolean may = ibh_route_is_spread(route) ? wanted->spread : one && one->selected;

        if (ibh_route_is_ours(route) && may && is_possible(trial, wanted, route))
            g_array_append_vals(wanted->routes, route, 1);
    }
    IBH_EACH (const IbhRoute, route, wanted->rails->snapshot->routes) {
        const IbhWantedNic *one = ibh_wanted_nic(wanted, ibh_rails_nic(wanted->rails, route->ifindex));

        if (ibh_route_is_ours(route) && !ibh_route_is_spread(route) && one && one->selected &&
            !has_route_in_place(wanted->routes, route) && is_led_to(trial, wanted, route))
            g_array_append_vals(wanted->routes, route, 1);
    }
}

/* A value comes back where the trial set the present one: to what a rail has, or to the administrator's. */
static void want_values(const IbhTrial *trial, IbhWantedNic *one)
{
    const IbhLink *then = find_then(trial, one->nic->link);

    IBH_EACH_POINTER (const IbhOp, op, trial->made) {
        if (op->type == IBH_OP_SYSCTL_SET && op->ifindex == then->ifindex && op->to == one->nic->link->sysctl[op->key])
            one->value[op->key] = then->sysctl[op->key];
    }
    IBH_EACH (const IbhSavedSysctl, saved, trial->then->state->sysctls) {
        if (saved->ifindex == then->ifindex && saved->old == one->nic->link->sysctl[saved->key])
            one->value[saved->key] = then->sysctl[saved->key];
    }
    for (IbhSysctl key = 0; key < IBH_N_SYSCTLS; key++) {
        if (one->nic->base[key] != one->nic->link->sysctl[key])
            one->value[key] = then->sysctl[key];
    }
}

GPtrArray *ibh_trial_plan_back(const IbhRails *rails, const IbhTrial *trial)
{
    g_autoptr(IbhWanted) wanted = ibh_wanted_empty(rails);
    GPtrArray *plan;

    IBH_EACH (IbhWantedNic, one, wanted->nics) {
        one->selected = has_say(trial, rails->snapshot, one->nic->link);
        if (one->selected)
            want_values(trial, one);
    }
    wanted->spread = !trial->only && may_spread(trial, wanted);
    want_rules(trial, wanted);
    want_routes(trial, wanted);
    plan = ibh_plan_to(wanted);
    IBH_EACH_POINTER (IbhOp, op, plan) {
        if (ibh_op_what(op) != IBH_PEERS)
            op->why = "as it was before --apply";
    }
    return plan;
}

/* ---- what is remembered ---- */

/* Takes the trial's memory of this NIC in the place of what is remembered now. */
static void recall(const IbhTrial *trial, const IbhSnapshot *now, const IbhLink *link, IbhState *state)
{
    const IbhState *before = trial->then->state;

    IBH_EACH_BACK (IbhSavedRail, rail, state->rails) {
        if (rail->ifindex == link->ifindex)
            IBH_REMOVE(IbhSavedRail, rail, state->rails);
    }
    IBH_EACH (const IbhSavedRail, rail, before->rails) {
        IbhSavedRail again = *rail;

        g_strlcpy(again.iface, link->name, sizeof again.iface);
        if (rail->ifindex == link->ifindex)
            g_array_append_val(state->rails, again);
    }
    IBH_EACH_BACK (IbhKnownRail, known, state->known) {
        if (ibh_known_link(now, known) == link)
            IBH_REMOVE(IbhKnownRail, known, state->known);
    }
    IBH_EACH (const IbhKnownRail, known, before->known) {
        IbhKnownRail again = *known;

        g_strlcpy(again.iface, link->name, sizeof again.iface);
        if (ibh_known_link(now, known) == link)
            g_array_append_val(state->known, again);
    }
}

/* The hold of a netdev that is gone is the name's, as that of --undo is: hooks take from a new netdev what they gave
 * it. */
static void hold_names_of_gone(const IbhTrial *trial, const IbhSnapshot *now, IbhState *state)
{
    IBH_EACH_POINTER (const char, iface, trial->then->state->holds) {
        const IbhLink *then = ibh_snapshot_link_by_name(trial->then, iface);
        const IbhLink *link = then ? ibh_snapshot_link(now, then->ifindex) : NULL;

        if (!trial->tried && !(link && find_then(trial, link)) && (!trial->only || g_strv_contains(trial->only, iface)))
            ibh_state_hold(state, iface);
    }
}

static gboolean was_changed(const IbhTrial *trial, int ifindex)
{
    IBH_EACH_POINTER (const IbhOp, op, trial->made) {
        if (ibh_op_what(op) != IBH_PEERS && op->ifindex == ifindex)
            return TRUE;
    }
    return FALSE;
}

/* Else the next hook would apply the same configuration again. */
void ibh_trial_remember(const IbhTrial *trial, const IbhRails *rails, IbhState *state)
{
    hold_names_of_gone(trial, rails->snapshot, state);
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        const IbhLink *link = nic->link, *then = find_then(trial, link);

        const gboolean concerns = (nic->rank && nic->status != IBH_NIC_UNMANAGED) || was_changed(trial, link->ifindex);

        if (!concerns || !has_say(trial, rails->snapshot, link))
            continue;
        recall(trial, rails->snapshot, link, state);
        if (ibh_names_have(trial->then->state->holds, then->name))
            ibh_state_hold(state, link->name);
        else
            ibh_state_keep(state, link->name);
    }
}
