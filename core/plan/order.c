/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The order in which a plan changes a host, and the reason for each place in it. What worked before keeps working while
 * the steps are done, one after the other; a step that has nothing to do adds no operation.
 *
 * The order inside a rail (routes, the rules that lead to them) stands in program.c: program(). Of several rules that
 * go in one step, difference.c says which goes first.
 */
#include "plan/plan.h"
#include "plan/work.h"

/* --undo, and NICs that are no rails any more. Without rules, their traffic leaves through the NIC that main uses. */
static void undo_former_rails(IbhWork *work)
{
    /* No other step depends on it. */
    ibh_work_restore_announce(work);
    /* From here on main decides. Rules go before the routes that they lead to. */
    ibh_work_delete_former(work);
    /* The NIC through which traffic now leaves answers for all addresses, before peers are told that it does. */
    ibh_work_restore_answers(work, TRUE);
    /* With old entries, the other NICs would ask peers from their own hardware address, and peers would learn that. */
    ibh_work_forget_peers(work);
    /* Peers send to the NIC that answers now. */
    ibh_work_announce_former(work);
    /* Only now does no peer send to another NIC, where a strict rp_filter would drop it. */
    ibh_work_set_rp_filters(work, IBH_TIGHTEN);
    /* No peer depends any more on these NICs' answers, so it is safe that they answer for others again. */
    ibh_work_restore_answers(work, FALSE);
}

GPtrArray *ibh_plan_apply(const IbhRails *rails)
{
    IbhWork work = {.rails = rails, .spread = rails};

    ibh_work_init(&work);
    /* While rules change, packets still arrive on the wrong NIC, where a strict rp_filter would drop them. */
    ibh_work_set_rp_filters(&work, IBH_LOOSEN);
    /* First every rail can send through its own NIC ... */
    ibh_work_program_rails(&work);
    /* ... then it alone answers for its addresses: earlier, it would answer where its traffic cannot leave. */
    ibh_work_set_arp(&work);
    /* A NIC without an address must not answer for the rails when the announcements come. */
    ibh_work_silence_others(&work);
    /* Peers switch to the NIC that now sends and answers. */
    ibh_work_announce_changed(&work);
    /* Unbound traffic takes a rail's source address, so it needs rails that work. */
    ibh_work_spread(&work);
    /* After the rails, because a table has to be taken over before its old owner is undone. It ends with rp_filter, of
     * the rails, too: peers were told. */
    undo_former_rails(&work);
    /* Last what serves no traffic: leftovers of addresses and NICs that have gone, rules before their routes. */
    ibh_work_collect_garbage(&work);
    /* Two rails that take each other's table stand or fall together. This changes no order. */
    ibh_work_join_units(&work);
    ibh_work_clear(&work);
    return work.plan;
}

GPtrArray *ibh_plan_undo(const IbhRails *rails, const IbhRails *after)
{
    IbhWork work = {.rails = rails, .spread = after, .undo = TRUE};

    ibh_work_init(&work);
    /* Rails that stay may have to answer for the others again, before these fall silent. */
    ibh_work_adapt_rails_that_stay(&work);
    /* Unbound traffic leaves the rails before these lose their rules. */
    ibh_work_spread(&work);
    /* As in ibh_plan_apply. */
    ibh_work_set_rp_filters(&work, IBH_LOOSEN);
    /* All that depended on them has another way now. */
    undo_former_rails(&work);
    ibh_work_clear(&work);
    return work.plan;
}
