/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What FORMER_RAILS and UNDO in order.c do: all that is ours on these interfaces goes, sysctls get the
 * administrator's values back. */
#include "plan/want.h"
#include "plan/work.h"

#include <sys/socket.h>

/* ---- sysctls ---- */

static void restore(const IbhWork *work, const IbhTodo *todo, IbhSysctl key)
{
    ibh_work_emit_sysctl(work, todo->nic, key, todo->nic->link->sysctl[key], ibh_work_value_left(work, todo->nic, key),
                         "as it was before");
}

void ibh_work_restore_announce(const IbhWork *work)
{
    IBH_EACH (const IbhTodo, todo, work->todos) {
        if (todo->undone)
            restore(work, todo, IBH_SYSCTL_ARP_ANNOUNCE);
    }
}

static void restore_answers(const IbhWork *work, gboolean is_used_by_main)
{
    static const IbhSysctl keys[] = {IBH_SYSCTL_ARP_IGNORE, IBH_SYSCTL_ARP_FILTER};

    IBH_EACH_ROW (const IbhSysctl, key, keys) {
        IBH_EACH (const IbhTodo, todo, work->todos) {
            if (todo->undone && todo->is_used_by_main == is_used_by_main)
                restore(work, todo, *key);
        }
    }
}

void ibh_work_restore_answers_in_use(const IbhWork *work)
{
    restore_answers(work, TRUE);
}

void ibh_work_restore_other_answers(const IbhWork *work)
{
    restore_answers(work, FALSE);
}

/* ---- rules and routes ---- */

void ibh_work_delete_former(const IbhWork *work)
{
    gboolean orphans = work->undo && !work->rails->only;

    IBH_EACH (IbhStale, stale, work->stales) {
        if (!stale->spread && (stale->owner ? ibh_work_todo(work, stale->owner)->undone : orphans))
            ibh_work_drop(work, stale, NULL);
    }
}

/* ---- neighbours and announcements ---- */

/* A NIC that main does not use would go on asking its peers from its own hardware address, and they would learn that
 * again. */
void ibh_work_forget_neighbours(const IbhWork *work, const IbhNic *nic)
{
    if (nic->link->flags & IFF_UP && nic->link->carrier) /* else the kernel has forgotten them */
        ibh_work_emit(work, IBH_OP_NEIGH_DEL, nic, AF_INET,
                      g_strdup_printf("nothing leaves through %s now", nic->link->name));
}

void ibh_work_forget_peers(const IbhWork *work)
{
    IBH_EACH (const IbhTodo, todo, work->todos) {
        if (todo->undone && !todo->is_used_by_main)
            ibh_work_forget_neighbours(work, todo->nic);
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
void ibh_work_announce_former(const IbhWork *work)
{
    IBH_EACH (const IbhTodo, todo, work->todos) {
        IBH_EACH_POINTER (const IbhAddress, address, todo->nic->served) {
            const IbhNic *from;

            if (todo->undone && address->local.family == AF_INET && needs_announcement(work, &address->local) &&
                ibh_nic_has_first(todo->nic, address) && (from = ibh_main_find_nic(work->rails, address)) &&
                will_answer(work, from, todo->nic, &address->local))
                ibh_work_emit_announce(work, todo->nic, from, &address->local,
                                       g_strdup_printf("main uses %s for its subnet", from->link->name));
        }
    }
}

/* The rails that stay must look as if the others had never been rails: they may have to answer for them again. */
void ibh_work_adapt_rails_that_stay(const IbhWork *work)
{
    const IbhRails *after = work->spread;

    if (!after)
        return;
    IBH_EACH_POINTER (const IbhNic, nic, after->nics) {
        if (!nic->kept && ibh_nic_is_programmed(after, nic))
            ibh_work_emit_arp(work, after, nic, "answer for the NIC that is no rail any more, too");
    }
}
