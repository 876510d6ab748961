/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The order in which a plan changes a host, and the reason for each place in it. What worked before keeps working while
 * the rows are done, one after the other; a row that has nothing to do adds no operation.
 *
 * The order inside a rail (routes, the rules that lead to them) is a table of its own: RAIL in program.c. Of several
 * rules that go in one step, difference.c says which goes first.
 */
#include "plan/plan.h"
#include "plan/work.h"

/* --undo, and NICs that are no rails any more. Without rules, their traffic leaves through the NIC that main uses. */
static IbhStep *const FORMER_RAILS[] = {
    /* No other step depends on it. */
    ibh_work_restore_announce,
    /* From here on main decides. Rules go before the routes that they lead to. */
    ibh_work_delete_former,
    /* The NIC through which traffic now leaves answers for all addresses, before peers are told that it does. */
    ibh_work_restore_answers_in_use,
    /* With old entries, the other NICs would ask peers from their own hardware address, and peers would learn that. */
    ibh_work_forget_peers,
    /* Peers send to the NIC that answers now. */
    ibh_work_announce_former,
    /* Only now does no peer send to another NIC, where a strict rp_filter would drop it. */
    ibh_work_tighten_rp_filters,
    /* No peer depends any more on these NICs' answers, so it is safe that they answer for others again. */
    ibh_work_restore_other_answers,
};

static void undo_former_rails(const IbhWork *work);

static IbhStep *const APPLY[] = {
    /* While rules change, packets still arrive on the wrong NIC, where a strict rp_filter would drop them. */
    ibh_work_loosen_rp_filters,
    /* First every rail can send through its own NIC ... */
    ibh_work_program_rails,
    /* ... then it alone answers for its addresses: earlier, it would answer where its traffic cannot leave. */
    ibh_work_set_arp,
    /* A NIC without an address must not answer for the rails when the announcements come. */
    ibh_work_silence_others,
    /* Peers switch to the NIC that now sends and answers. */
    ibh_work_announce_changed,
    /* Unbound traffic takes a rail's source address, so it needs rails that work. */
    ibh_work_spread,
    /* After the rails, because a table has to be taken over before its old owner is undone. It ends with rp_filter, of
     * the rails, too: peers were told. */
    undo_former_rails,
    /* Last what serves no traffic: leftovers of addresses and NICs that have gone, rules before their routes. */
    ibh_work_collect_garbage,
    /* Two rails that take each other's table stand or fall together. This changes no order. */
    ibh_work_join_units,
};

static IbhStep *const UNDO[] = {
    /* Rails that stay may have to answer for the others again, before these fall silent. */
    ibh_work_adapt_rails_that_stay,
    /* Unbound traffic leaves the rails before these lose their rules. */
    ibh_work_spread,
    /* As in APPLY. */
    ibh_work_loosen_rp_filters,
    /* All that depended on them has another way now. */
    undo_former_rails,
};

static void undo_former_rails(const IbhWork *work)
{
    IBH_EACH_ROW (IbhStep *const, step, FORMER_RAILS)
        (*step)(work);
}

GPtrArray *ibh_plan_apply(const IbhRails *rails)
{
    IbhWork work = {.rails = rails, .spread = rails};

    ibh_work_init(&work);
    IBH_EACH_ROW (IbhStep *const, step, APPLY)
        (*step)(&work);
    ibh_work_clear(&work);
    return work.plan;
}

GPtrArray *ibh_plan_undo(const IbhRails *rails, const IbhRails *after)
{
    IbhWork work = {.rails = rails, .spread = after, .undo = TRUE};

    ibh_work_init(&work);
    IBH_EACH_ROW (IbhStep *const, step, UNDO)
        (*step)(&work);
    ibh_work_clear(&work);
    return work.plan;
}
