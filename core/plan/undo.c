/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plan to undo: all that is ours on these interfaces goes, sysctls get the administrator's values back.
 *
 * The order cuts no connection. Without rules, everything leaves by the NIC that main uses, and a strict rp_filter
 * drops what peers still send to the other NICs: so rp_filter is tightened last, and peers are told before.
 *
 *   1. rp_filter loosened   2. arp_announce   3. rules, routes   4. the NIC that main uses answers for all again
 *   5. stale neighbour entries go   6. that NIC announces every address   7. rp_filter tightened   8. what is left
 */
#include "plan/plan.h"
#include "plan/want.h"
#include "plan/work.h"

#include <linux/rtnetlink.h>

/* The administrator's value; but a NIC that must be silent beside rails keeps ours. */
static int value_left(const IbhWork *work, const IbhNic *nic, IbhSysctl key)
{
    return !work->undo && key == IBH_SYSCTL_ARP_IGNORE && ibh_must_be_silent(work->rails, nic) ? nic->link->sysctl[key]
                                                                                               : nic->base[key];
}

static gboolean has_our_sysctls(const IbhWork *work, const IbhNic *nic)
{
    for (int key = 0; key < IBH_N_SYSCTLS; key++) {
        if (value_left(work, nic, (IbhSysctl)key) != nic->link->sysctl[key])
            return TRUE;
    }
    return FALSE;
}

static gboolean leads_to_subnet_of(const IbhRoute *route, const IbhAddress *address)
{
    return route->table == IBH_TABLE_MAIN && route->type == RTN_UNICAST && route->ifindex && route->dst.length > 0 &&
           ibh_prefix_contains(&route->dst, &address->local);
}

/* Longest prefix, lowest metric, first. */
const IbhNic *ibh_find_mains_nic(const IbhRails *rails, const IbhAddress *address)
{
    const IbhSnapshot *snapshot = rails->snapshot;
    const GArray *lists[] = {snapshot->routes, snapshot->main_by_nic};
    const IbhRoute *best = NULL;

    if (ibh_rails_theirs(rails, address)) /* its own */
        return ibh_rails_nic(rails, address->ifindex);
    for (guint i = 0; i < G_N_ELEMENTS(lists); i++) {
        IBH_EACH (const IbhRoute, route, lists[i]) {
            if (leads_to_subnet_of(route, address) &&
                (!best || route->dst.length > best->dst.length ||
                 (route->dst.length == best->dst.length && route->metric < best->metric)))
                best = route;
        }
    }
    return best ? ibh_rails_nic(rails, best->ifindex) : NULL;
}

static void note_undone(const IbhWork *work, IbhTodo *todo)
{
    if ((!work->undo && todo->nic->status == IBH_NIC_RAIL) || !todo->selected || todo->undone)
        return;
    todo->undone = TRUE;
    IBH_EACH_POINTER (const IbhAddress, address, &todo->nic->addresses) {
        const IbhNic *by = address->local.family == AF_INET ? ibh_find_mains_nic(work->rails, address) : NULL;

        if (by)
            ibh_todo(work, by)->is_mains = TRUE;
    }
}

void ibh_find_undone(IbhWork *work)
{
    IBH_EACH (const IbhStale, stale, work->stales) {
        if (stale->owner)
            note_undone(work, ibh_todo(work, stale->owner));
    }
    IBH_EACH (IbhTodo, todo, work->todos) {
        if (has_our_sysctls(work, todo->nic))
            note_undone(work, todo);
    }
}

/* ---- sysctls ---- */

/* Of the NICs that main uses, and of those that it does not. */
static void restore(const IbhWork *work, IbhSysctl key, gboolean used, gboolean unused)
{
    IBH_EACH (const IbhTodo, todo, work->todos) {
        int now = todo->nic->link->sysctl[key], old = value_left(work, todo->nic, key);

        if (todo->undone && (todo->is_mains ? used : unused) && now != old)
            ibh_emit_sysctl(work, todo->nic, key, now, old, g_strdup("as it was before"));
    }
}

/* ---- rules and routes ---- */

static void delete_rules_and_routes(IbhWork *work)
{
    gboolean orphans = work->undo && !work->only;

    IBH_EACH (IbhStale, stale, work->stales) {
        if (!stale->done && !stale->spread && (stale->owner ? ibh_todo(work, stale->owner)->undone : orphans))
            ibh_drop(work, stale, ibh_why_stale(work, stale));
    }
}

/* ---- neighbours and announcements ---- */

/* A NIC that main does not use would go on asking its peers from its own hardware address, and they would learn that
 * again. */
void ibh_forget_neighbours(const IbhWork *work, const IbhNic *nic)
{
    const GArray *neighbours = work->rails->snapshot->neighbours;

    IBH_EACH (const IbhNeighbour, neighbour, neighbours) {
        if (neighbour->ifindex == nic->link->ifindex)
            ibh_emit(work, IBH_OP_NEIGH_DEL, nic, g_strdup_printf("nothing leaves by %s now", nic->link->name))->ip =
                neighbour->ip;
    }
}

/* A NIC that stays a rail answers for others' addresses only where these would be cut off without it. To announce a
 * link-local address from another hardware address than its owner's is to claim it (RFC 3927). */
static gboolean will_answer(const IbhWork *work, const IbhNic *from, const IbhNic *nic, const IbhIp *ip)
{
    return from == nic ||
           (!ibh_ip_is_link_local(ip) && (ibh_todo(work, from)->undone || ibh_is_strict(work->rails, nic)));
}

/* It had a rule of ours, and no rail that stays has the same address. */
static gboolean needs_announcement(const IbhWork *work, const IbhIp *ip)
{
    const IbhNic *owner = ibh_rails_owner(work->rails, ip);

    if (owner && !ibh_todo(work, owner)->undone)
        return FALSE;
    IBH_EACH (const IbhRule, rule, work->rails->snapshot->rules) {
        if (ibh_rule_is_ours(rule) && ibh_ip_equal(&rule->from.ip, ip))
            return TRUE;
    }
    return FALSE;
}

/* In IPv6 the NIC that has the address answers neighbour discovery: nothing moves, other than with ARP. */
static void announce(const IbhWork *work, const IbhNic *nic)
{
    IBH_EACH_POINTER (const IbhAddress, address, &nic->served) {
        const IbhNic *from;

        if (address->local.family == AF_INET && needs_announcement(work, &address->local) &&
            ibh_is_first(nic, address) && (from = ibh_find_mains_nic(work->rails, address)) &&
            will_answer(work, from, nic, &address->local))
            ibh_emit_announce(work, nic, from, &address->local,
                              g_strdup_printf("main uses %s for its subnet", from->link->name));
    }
}

/* The rails that stay must look as if the others had never been rails: they may have to answer for them again. */
static void adapt_rails_that_stay(const IbhWork *work, const IbhRails *after)
{
    IBH_EACH_POINTER (const IbhNic, nic, after->nics) {
        if (ibh_is_programmed(after, nic))
            ibh_emit_arp(work, after, nic, "answer for the NIC that is no rail any more, too");
    }
}

void ibh_emit_undo(IbhWork *work)
{
    restore(work, IBH_SYSCTL_ARP_ANNOUNCE, TRUE, TRUE);
    delete_rules_and_routes(work);
    /* First the NIC that main uses answers again; when no peer needs them any more, the others change. */
    restore(work, IBH_SYSCTL_ARP_IGNORE, TRUE, FALSE);
    restore(work, IBH_SYSCTL_ARP_FILTER, TRUE, FALSE);
    IBH_EACH (const IbhTodo, todo, work->todos) {
        if (todo->undone && !todo->is_mains)
            ibh_forget_neighbours(work, todo->nic);
    }
    IBH_EACH (const IbhTodo, todo, work->todos) {
        if (todo->undone)
            announce(work, todo->nic);
    }
    ibh_emit_rp_filters(work, FALSE);
    restore(work, IBH_SYSCTL_ARP_IGNORE, FALSE, TRUE);
    restore(work, IBH_SYSCTL_ARP_FILTER, FALSE, TRUE);
}

GPtrArray *ibh_plan_undo(const IbhRails *rails, const IbhRails *after, const char *const *only)
{
    IbhWork work = {.rails = rails, .only = only, .spread = after, .undo = TRUE};

    ibh_work_init(&work);
    if (after)
        adapt_rails_that_stay(&work, after);
    if (after || !only) /* unbound traffic leaves these rails first */
        ibh_emit_spread(&work);
    ibh_emit_rp_filters(&work, TRUE);
    ibh_emit_undo(&work);
    ibh_work_clear(&work);
    return work.plan;
}
