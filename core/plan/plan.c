/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plan to apply: desired − actual, in an order in which what worked keeps working.
 *
 *   1. rp_filter loosened, of former rails, too: a strict one would drop what still arrives on the wrong NIC
 *   2. rail by rail: routes, rules that lead to them, then the rules that these replace
 *   3. ARP sysctls
 *   4. announcements: peers switch to the right NIC; unbound traffic is spread (spread.c)
 *   5. NICs that are no rail any more are undone, rp_filter of all is tightened (undo.c)
 *   6. deletions: rules before their routes
 */
#include "plan/plan.h"

#include "plan/want.h"
#include "plan/work.h"

/* ---- sysctls and announcements ---- */

static void set_arp_sysctls(IbhWork *work)
{
    IBH_EACH (IbhTodo, todo, work->todos) {
        if (todo->rules && ibh_work_emit_arp(work, work->rails, todo->nic, NULL))
            todo->changed = TRUE;
    }
}

static void silence_others(const IbhWork *work)
{
    IBH_EACH_POINTER (const IbhNic, nic, work->rails->no_rails) {
        int now = nic->link->sysctl[IBH_SYSCTL_ARP_IGNORE];

        if (ibh_work_may_touch(work, nic) && now != 1 && ibh_nic_must_be_silent(work->rails, nic))
            ibh_work_emit_sysctl(work, nic, IBH_SYSCTL_ARP_IGNORE, now, 1,
                                 g_strdup("it has no IPv4 address, and does not answer ARP for the rails"));
    }
}

static void announce_changed(const IbhWork *work)
{
    char ip[IBH_IP_STRLEN];

    IBH_EACH (const IbhTodo, todo, work->todos) {
        IBH_EACH_POINTER (const IbhAddress, address, &todo->nic->served) {
            if (todo->changed && ibh_rails_owner(work->rails, &address->local) == todo->nic &&
                ibh_nic_has_first(todo->nic, address))
                ibh_work_emit_announce(work, todo->nic, todo->nic, &address->local,
                                       g_strdup_printf("peers that learned another NIC for %s switch at once",
                                                       ibh_ip_format(&address->local, ip)));
        }
    }
}

/* ---- deletions ---- */

/* Leftovers of rails, and of NICs that have disappeared. NICs that are no longer rails are undone (undo.c). */
static void collect_garbage(IbhWork *work)
{
    IBH_EACH (IbhStale, stale, work->stales) {
        if (!stale->done && !stale->spread && ibh_work_may_touch(work, stale->owner) &&
            (!stale->owner || stale->owner->status == IBH_NIC_RAIL))
            ibh_work_drop(work, stale, ibh_stale_reason(work, stale));
    }
}

/* ---- the whole ---- */

/* One route serves all rails of a subnet: where one of them stays as it is, that does, too. */
static gboolean may_spread(const IbhWork *work)
{
    IBH_EACH_POINTER (const IbhNic, nic, work->rails->nics) {
        if (nic->kept)
            return FALSE;
    }
    return !work->only;
}

GPtrArray *ibh_plan_apply(const IbhRails *rails, const char *const *only)
{
    IbhWork work = {.rails = rails, .only = only, .spread = rails};

    ibh_work_init(&work);
    ibh_work_emit_rp_filters(&work, TRUE);
    ibh_work_program_rails(&work);
    set_arp_sysctls(&work);
    silence_others(&work);
    announce_changed(&work);
    if (may_spread(&work))
        ibh_work_emit_spread(&work);
    ibh_work_emit_undo(&work);
    collect_garbage(&work);
    ibh_work_join_units(&work);
    ibh_work_clear(&work);
    return work.plan;
}
