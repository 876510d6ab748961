/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which NICs are no rails any more, with something of ours on them, and which NIC main uses for their subnets. */
#include "plan/want.h"
#include "plan/work.h"

#include <linux/rtnetlink.h>
#include <sys/socket.h>

/* The administrator's value; but a NIC that must be silent beside rails keeps ours. */
int ibh_work_value_left(const IbhWork *work, const IbhNic *nic, IbhSysctl key)
{
    return !work->undo && key == IBH_SYSCTL_ARP_IGNORE && ibh_nic_must_be_silent(work->rails, nic)
               ? nic->link->sysctl[key]
               : nic->base[key];
}

static gboolean has_our_sysctls(const IbhWork *work, const IbhNic *nic)
{
    for (IbhSysctl key = 0; key < IBH_N_SYSCTLS; key++) {
        if (ibh_work_value_left(work, nic, key) != nic->link->sysctl[key])
            return TRUE;
    }
    return FALSE;
}

static gboolean leads_to_subnet_of(const IbhRoute *route, const IbhAddress *address)
{
    return route->table == IBH_TABLE_MAIN && route->type == RTN_UNICAST && route->ifindex && route->dst.length > 0 &&
           ibh_prefix_contains(&route->dst, &address->local);
}

const IbhNic *ibh_main_find_nic(const IbhRails *rails, const IbhAddress *address)
{
    const IbhSnapshot *snapshot = rails->snapshot;
    const GArray *lists[] = {snapshot->routes, snapshot->main_by_nic};
    const IbhRoute *best = NULL;

    if (ibh_rails_foreign_rule(rails, address)) /* its own */
        return ibh_rails_nic(rails, address->ifindex);
    for (guint i = 0; i < G_N_ELEMENTS(lists); i++) {
        IBH_EACH (const IbhRoute, route, lists[i]) {
            if (leads_to_subnet_of(route, address) && ibh_route_is_better(route, best))
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
    IBH_EACH_POINTER (const IbhAddress, address, todo->nic->addresses) {
        const IbhNic *by = address->local.family == AF_INET ? ibh_main_find_nic(work->rails, address) : NULL;

        if (by)
            ibh_work_todo(work, by)->is_used_by_main = TRUE;
    }
}

void ibh_work_find_undone(IbhWork *work)
{
    IBH_EACH (const IbhStale, stale, work->stales) {
        if (stale->owner)
            note_undone(work, ibh_work_todo(work, stale->owner));
    }
    IBH_EACH (IbhTodo, todo, work->todos) {
        if (has_our_sysctls(work, todo->nic))
            note_undone(work, todo);
    }
}
