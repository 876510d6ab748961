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

/* ---- sysctls ---- */

/* Of the NICs that main uses, and of those that it does not. */
static void restore(const IbhWork *work, IbhSysctl key, gboolean used, gboolean unused)
{
    IBH_EACH (const IbhTodo, todo, work->todos) {
        int now = todo->nic->link->sysctl[key], old = ibh_work_value_left(work, todo->nic, key);

        if (todo->undone && (todo->is_used_by_main ? used : unused) && now != old)
            ibh_work_emit_sysctl(work, todo->nic, key, now, old, g_strdup("as it was before"));
    }
}

/* ---- rules and routes ---- */

static void delete_rules_and_routes(IbhWork *work)
{
    gboolean orphans = work->undo && !work->only;

    IBH_EACH (IbhStale, stale, work->stales) {
        if (!stale->done && !stale->spread && (stale->owner ? ibh_work_todo(work, stale->owner)->undone : orphans))
            ibh_work_drop(work, stale, ibh_stale_reason(work, stale));
    }
}

/* ---- neighbours and announcements ---- */

/* A NIC that main does not use would go on asking its peers from its own hardware address, and they would learn that
 * again. */
void ibh_work_forget_neighbours(const IbhWork *work, const IbhNic *nic)
{
    const GArray *neighbours = work->rails->snapshot->neighbours;

    ibh_snapshot_needs_neighbours(work->rails->snapshot);
    IBH_EACH (const IbhNeighbour, neighbour, neighbours) {
        if (neighbour->ifindex == nic->link->ifindex)
            ibh_work_emit(work, IBH_OP_NEIGH_DEL, nic, g_strdup_printf("nothing leaves by %s now", nic->link->name))
                ->ip = neighbour->ip;
    }
}

/* A NIC that stays a rail answers for others' addresses only where these would be cut off without it. To announce a
 * link-local address from another hardware address than its owner's is to claim it (RFC 3927). */
static gboolean will_answer(const IbhWork *work, const IbhNic *from, const IbhNic *nic, const IbhIp *ip)
{
    return from == nic ||
           (!ibh_ip_is_link_local(ip) && (ibh_work_todo(work, from)->undone || ibh_nic_is_strict(work->rails, nic)));
}

/* It had a rule of ours, and no rail that stays has the same address. */
static gboolean needs_announcement(const IbhWork *work, const IbhIp *ip)
{
    const IbhNic *owner = ibh_rails_owner(work->rails, ip);

    if (owner && !ibh_work_todo(work, owner)->undone)
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
            ibh_nic_has_first(nic, address) && (from = ibh_main_find_nic(work->rails, address)) &&
            will_answer(work, from, nic, &address->local))
            ibh_work_emit_announce(work, nic, from, &address->local,
                                   g_strdup_printf("main uses %s for its subnet", from->link->name));
    }
}

/* The rails that stay must look as if the others had never been rails: they may have to answer for them again. */
static void adapt_rails_that_stay(const IbhWork *work, const IbhRails *after)
{
    IBH_EACH_POINTER (const IbhNic, nic, after->nics) {
        if (ibh_nic_is_programmed(after, nic))
            ibh_work_emit_arp(work, after, nic, "answer for the NIC that is no rail any more, too");
    }
}

void ibh_work_emit_undo(IbhWork *work)
{
    restore(work, IBH_SYSCTL_ARP_ANNOUNCE, TRUE, TRUE);
    delete_rules_and_routes(work);
    /* First the NIC that main uses answers again; when no peer needs them any more, the others change. */
    restore(work, IBH_SYSCTL_ARP_IGNORE, TRUE, FALSE);
    restore(work, IBH_SYSCTL_ARP_FILTER, TRUE, FALSE);
    IBH_EACH (const IbhTodo, todo, work->todos) {
        if (todo->undone && !todo->is_used_by_main)
            ibh_work_forget_neighbours(work, todo->nic);
    }
    IBH_EACH (const IbhTodo, todo, work->todos) {
        if (todo->undone)
            announce(work, todo->nic);
    }
    ibh_work_emit_rp_filters(work, FALSE);
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
        ibh_work_emit_spread(&work);
    ibh_work_emit_rp_filters(&work, TRUE);
    ibh_work_emit_undo(&work);
    ibh_work_clear(&work);
    return work.plan;
}
