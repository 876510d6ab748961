/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/back.h"

#include "plan/known.h"
#include "plan/want.h"

#include <sys/socket.h>

/* ---- the NICs of a trial ---- */

/* Returns the NIC as it was when the trial began; NULL if this netdev did not exist then. A driver that restarts makes
 * a new netdev. The rules and routes of the new netdev come from hooks that ran since, so the plan leaves the netdev
 * alone. The kernel may reuse an index, so the name or the hardware must match, too. */
static const IbhLink *find_before(const IbhTrial *trial, const IbhLink *link)
{
    const IbhLink *then = ibh_snapshot_link(trial->then, link->ifindex);
    char hardware[IBH_HARDWARE_LEN];

    if (!then)
        return NULL;
    ibh_link_name_hardware(then, hardware);
    return g_str_equal(then->name, link->name) || ibh_link_has_hardware(link, hardware) ? then : NULL;
}

/* TRUE if the NIC is in the state in which the trial has left it. The --apply of the trial ended the NIC's hold. The
 * first attempt to go back then held each NIC that it covered (`is_covered` in ibh_trial_remember()) and that was held
 * before the trial, and kept the other NICs that it covered. So a NIC in another state was not covered, or a later
 * --undo or --apply has decided about it. `then` is the NIC as it was when the trial began. */
static gboolean is_as_left(const IbhTrial *trial, const IbhState *now, const IbhLink *link, const IbhLink *then)
{
    const gboolean is_held = ibh_names_have(now->holds, link->name);

    if (!trial->tried)
        return !is_held;
    if (is_held)
        return ibh_names_have(trial->then->state->holds, then->name);
    return ibh_names_have(now->kept, link->name);
}

/* Returns the NIC as it was when the trial began; NULL if the trial does not decide about the NIC, because this netdev
 * is new, the NIC is not one of the trial's interfaces, or the NIC is not as the trial left it (is_as_left()). */
static const IbhLink *find_trial_link(const IbhTrial *trial, const IbhSnapshot *now, const IbhLink *link)
{
    const IbhLink *then = find_before(trial, link);

    if (!then)
        return NULL;
    if (trial->only && !g_strv_contains(trial->only, then->name))
        return NULL;
    return is_as_left(trial, now->state, link, then) ? then : NULL;
}

/* ---- what stood before ---- */

/* TRUE if the plan that takes the trial back may change the NIC's rules and routes. FALSE if `nic` is NULL. */
static gboolean decides_about(const IbhWanted *wanted, const IbhNic *nic)
{
    const IbhWantedNic *one = ibh_wanted_nic(wanted, nic);

    return one && one->selected;
}

/* TRUE if the NIC that holds the address now did not have the address when the trial began. The rules that hooks gave
 * to such an address stay: older rules of the address, if there are any, lead through the NIC that had the address
 * then. */
static gboolean came_since(const IbhTrial *trial, const IbhRails *rails, const IbhIp *ip)
{
    const IbhNic *holder = ibh_rails_holder(rails, ip);

    IBH_EACH (const IbhAddress, address, trial->then->addresses) {
        if (ibh_ip_equal(&address->local, ip) && holder && holder->link->ifindex == address->ifindex)
            return FALSE;
    }
    return TRUE;
}

/* TRUE if the plan that takes the trial back may change the rules and routes of main=spread. Two things must then be
 * true of each route of main=spread, from before the trial or present:
 * - The trial decides about each NIC of the route, because the route belongs to all rails of a subnet.
 * - If the route is from before the trial, no hop is marked dead, and the NIC of each hop is up: the kernel refuses to
 *   add a multipath route with a dead hop, or with a hop through a NIC that is down. */
static gboolean may_spread(const IbhTrial *trial, const IbhWanted *wanted)
{
    const GArray *const lists[] = {trial->then->routes, wanted->rails->snapshot->routes};

    for (guint i = 0; i < G_N_ELEMENTS(lists); i++) {
        IBH_EACH (const IbhRoute, route, lists[i]) {
            if (!ibh_route_is_spread(route))
                continue;
            if (!route->hops && !decides_about(wanted, ibh_rails_nic(wanted->rails, route->ifindex)))
                return FALSE;
            IBH_EACH_HOP (hop, route) {
                const IbhNic *nic = ibh_rails_nic(wanted->rails, hop->ifindex);

                if (!decides_about(wanted, nic) || (!i && (hop->dead || !(nic->link->flags & IFF_UP))))
                    return FALSE;
            }
        }
    }
    return TRUE;
}

/* TRUE if the kernel would accept this route from before the trial. The kernel refuses a route if the NIC is gone or
 * down, if this host lacks the source address of the route, or if the gateway is an address of this host or is not on
 * link. A gateway is on link in four cases:
 * - The route has the flag onlink.
 * - The gateway is an fe80:: address.
 * - A subnet of the NIC contains the gateway.
 * - Before the trial, the same table had an on-link route of ours through the NIC, to a prefix that contains the
 *   gateway. */
static gboolean is_possible(const IbhTrial *trial, const IbhWanted *wanted, const IbhRoute *route)
{
    const IbhNic *nic = ibh_rails_nic(wanted->rails, route->ifindex);
    gboolean is_on_link = route->gateway.family == AF_UNSPEC || route->onlink || ibh_ip_is_fe80(&route->gateway);

    if (!nic || !(nic->link->flags & IFF_UP) ||
        (route->src.family != AF_UNSPEC && !ibh_rails_holder(wanted->rails, &route->src)) ||
        (route->gateway.family != AF_UNSPEC && ibh_rails_is_own_gateway(wanted->rails, nic, &route->gateway)))
        return FALSE;
    IBH_EACH_POINTER (const IbhAddress, address, nic->addresses)
        is_on_link |= ibh_prefix_contains(&address->subnet, &route->gateway);
    IBH_EACH (const IbhRoute, other, trial->then->routes)
        is_on_link |= ibh_route_is_ours(other) && other->table == route->table && other->ifindex == route->ifindex &&
                      other->gateway.family == AF_UNSPEC && ibh_prefix_contains(&other->dst, &route->gateway);
    return is_on_link;
}

/* TRUE if no wanted route would take the place of this route (ibh_route_same_place()), and if the route is used by a
 * wanted rule whose address came since the trial began. */
static gboolean is_still_used(const IbhTrial *trial, const IbhWanted *wanted, const IbhRoute *route)
{
    gboolean is_used = FALSE;

    IBH_EACH (const IbhRoute, other, wanted->routes) {
        if (ibh_route_same_place(other, route))
            return FALSE;
    }
    IBH_EACH (const IbhRule, rule, wanted->rules)
        is_used |= rule->table == route->table && rule->family == route->family &&
                   (!rule->to.length || ibh_prefix_overlaps(&rule->to, &route->dst)) &&
                   came_since(trial, wanted->rails, &rule->from.ip);
    return is_used;
}

/* Adds to `wanted` our rules and routes from before the trial: those of NICs about which the trial decides and, if
 * wanted->spread is set, those of main=spread. Leaves out rules for an address that is gone or on another NIC now, and
 * routes that the kernel would refuse. */
static void want_what_was(const IbhTrial *trial, IbhWanted *wanted)
{
    const IbhRails *rails = wanted->rails;

    IBH_EACH (const IbhRule, rule, trial->then->rules) {
        const IbhIp *from = &rule->from.ip;
        const gboolean decides = ibh_rule_is_spread(rule) ? wanted->spread
                                                          : decides_about(wanted, ibh_rails_holder(rails, from)) &&
                                                                !came_since(trial, rails, from);

        if (ibh_rule_is_ours(rule) && decides)
            g_array_append_vals(wanted->rules, rule, 1);
    }
    IBH_EACH (const IbhRoute, route, trial->then->routes) {
        const gboolean decides =
            ibh_route_is_spread(route) ? wanted->spread : decides_about(wanted, ibh_rails_nic(rails, route->ifindex));

        if (ibh_route_is_ours(route) && decides && is_possible(trial, wanted, route))
            g_array_append_vals(wanted->routes, route, 1);
    }
}

/* Adds to `wanted` our present rules of addresses that came during the trial, and the present routes that these rules
 * use, so that the plan does not delete them. Rules and routes of main=spread belong to no address, so skip them. */
static void want_what_came(const IbhTrial *trial, IbhWanted *wanted)
{
    const IbhRails *rails = wanted->rails;

    IBH_EACH (const IbhRule, rule, rails->snapshot->rules) {
        if (ibh_rule_is_ours(rule) && !ibh_rule_is_spread(rule) && came_since(trial, rails, &rule->from.ip) &&
            decides_about(wanted, ibh_rails_holder(rails, &rule->from.ip)))
            g_array_append_vals(wanted->rules, rule, 1);
    }
    IBH_EACH (const IbhRoute, route, rails->snapshot->routes) {
        if (ibh_route_is_ours(route) && !ibh_route_is_spread(route) &&
            decides_about(wanted, ibh_rails_nic(rails, route->ifindex)) && is_still_used(trial, wanted, route))
            g_array_append_vals(wanted->routes, route, 1);
    }
}

/* Wants the value that each sysctl of the NIC had before the trial, but only if the present value comes from us. A
 * value that the administrator has set since then stays. The present value comes from us in three cases:
 * - We set it, and saved the administrator's value (IbhNic.base).
 * - The --apply that began the trial set it.
 * - The state from before the trial has the present value as IbhSavedSysctl.old. Either `old` is the administrator's
 *   value, and a run has restored it since; or the administrator's value was lost before the trial, and `old` is our
 *   own value. */
static void want_values(const IbhTrial *trial, const IbhLink *before, IbhWantedNic *one)
{
    const IbhLink *now = one->nic->link;

    for (IbhSysctl key = 0; key < IBH_N_SYSCTLS; key++) {
        gboolean is_ours = one->nic->base[key] != now->sysctl[key];

        IBH_EACH_POINTER (const IbhOp, op, trial->made)
            is_ours |= op->type == IBH_OP_SYSCTL_SET && op->ifindex == before->ifindex && op->key == key &&
                       op->to == now->sysctl[key];
        IBH_EACH (const IbhSavedSysctl, saved, trial->then->state->sysctls)
            is_ours |= saved->ifindex == before->ifindex && saved->key == key && saved->old == now->sysctl[key];
        if (is_ours)
            one->value[key] = before->sysctl[key];
    }
}

/* TRUE if the NIC had no address that counts when the trial began, and if hooks have made the NIC a rail since: a rule
 * of ours for an address that came since stays, so the values that the rule needs have to stay, too. */
static gboolean is_new_rail(const IbhTrial *trial, const IbhRails *rails, const IbhNic *nic)
{
    gboolean has_rule = FALSE;

    IBH_EACH (const IbhAddress, address, trial->then->addresses) {
        if (address->ifindex == nic->link->ifindex && ibh_address_counts(address))
            return FALSE;
    }
    IBH_EACH (const IbhRule, rule, rails->snapshot->rules)
        has_rule |= ibh_rule_is_ours(rule) && ibh_rails_holder(rails, &rule->from.ip) == nic &&
                    came_since(trial, rails, &rule->from.ip);
    return has_rule;
}

GPtrArray *ibh_trial_plan_back(const IbhRails *rails, const IbhTrial *trial)
{
    g_autoptr(IbhWanted) wanted = ibh_wanted_empty(rails);
    GPtrArray *plan;

    IBH_EACH (IbhWantedNic, one, wanted->nics) {
        const IbhLink *then = find_trial_link(trial, rails->snapshot, one->nic->link);

        one->selected = then != NULL;
        if (then && !is_new_rail(trial, rails, one->nic))
            want_values(trial, then, one);
    }
    wanted->spread = !trial->only && may_spread(trial, wanted); /* --apply --iface leaves main=spread alone */
    want_what_was(trial, wanted);
    want_what_came(trial, wanted); /* must come second: an old route has priority over a present route in its place */
    plan = ibh_plan_to(wanted);
    IBH_EACH_POINTER (IbhOp, op, plan) {
        if (ibh_op_what(op) != IBH_PEERS) /* operations about peers have reasons of their own (check/why.c) */
            op->why = "as it was before --apply";
    }
    return plan;
}

/* ---- what is remembered ---- */

/* Replaces the table (IbhSavedRail) and the known rail that `state` has for this NIC with those that the state had
 * before the trial, under the NIC's present name. */
static void restore_memory(const IbhTrial *trial, const IbhSnapshot *now, const IbhLink *link, IbhState *state)
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

/* If the trial's NICs were neither held nor kept, the next hook would apply the same configuration again. */
void ibh_trial_remember(const IbhTrial *trial, const IbhRails *rails, IbhState *state)
{
    const IbhSnapshot *now = rails->snapshot;

    /* --watch and --check use the configuration in force for all NICs, but the trial may be for some NICs only. So put
     * the configuration from before the trial into force again. */
    if (!trial->tried)
        ibh_state_set_config(state, trial->then->state->config, trial->then->state->is_private);
    /* If a NIC that was held before the trial is gone, or has a new netdev now, hold its name nevertheless. Then hooks
     * take away what they gave to a new netdev of this name. Only the first attempt holds such a name: if the hold is
     * gone at a later attempt, an --apply has lifted it. */
    IBH_EACH_POINTER (const char, iface, trial->then->state->holds) {
        const IbhLink *then = ibh_snapshot_link_by_name(trial->then, iface);
        const IbhLink *link = then ? ibh_snapshot_link(now, then->ifindex) : NULL;

        if (!trial->tried && !(link && find_before(trial, link)) &&
            (!trial->only || g_strv_contains(trial->only, iface)))
            ibh_state_hold(state, iface);
    }
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        const IbhLink *link = nic->link, *then = find_trial_link(trial, now, link);
        gboolean is_covered = nic->rank && nic->status != IBH_NIC_UNMANAGED;

        /* A NIC that the --apply changed is covered even if it is no candidate, for instance without RDMA modules. */
        IBH_EACH_POINTER (const IbhOp, op, trial->made)
            is_covered |= ibh_op_what(op) != IBH_PEERS && op->ifindex == link->ifindex;
        if (!is_covered || !then)
            continue;
        restore_memory(trial, now, link, state);
        if (ibh_names_have(trial->then->state->holds, then->name))
            ibh_state_hold(state, link->name);
        else
            ibh_state_keep(state, link->name);
    }
}
