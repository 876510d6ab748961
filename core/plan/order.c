/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The order in which a plan changes a host, and the reason for each place in it. What worked before keeps working while
 * the rows are done, one after the other; a row that has nothing to do adds no operation.
 *
 * The order inside a rail (routes, the rules that lead to them) is a table of its own: RAIL in program.c.
 */
#include "plan/plan.h"
#include "plan/work.h"

typedef struct {
    IbhStep *step;
    IbhWhich which; /* of the NICs that the step is about */
} Row;

/* --undo, and NICs that are no rails any more. Without rules, their traffic leaves through the NIC that main uses. */
static const Row FORMER_RAILS[] = {
    /* No other step depends on it. */
    {ibh_work_restore_announce, IBH_NICS_ALL},
    /* From here on main decides. Rules go before the routes that they lead to. */
    {ibh_work_delete_former, IBH_NICS_ALL},
    /* The NIC through which traffic now leaves answers for all addresses, before peers are told that it does. */
    {ibh_work_restore_answers, IBH_NICS_USED_BY_MAIN},
    /* With old entries, the other NICs would ask peers from their own hardware address, and peers would learn that. */
    {ibh_work_forget_peers, IBH_NICS_NOT_USED_BY_MAIN},
    /* Peers send to the NIC that answers now. */
    {ibh_work_announce_former, IBH_NICS_ALL},
    /* Only now does no peer send to another NIC, where a strict rp_filter would drop it. */
    {ibh_work_tighten_rp_filters, IBH_NICS_ALL},
    /* No peer depends any more on these NICs' answers, so it is safe that they answer for others again. */
    {ibh_work_restore_answers, IBH_NICS_NOT_USED_BY_MAIN},
};

static IbhStep undo_former_rails;

static const Row APPLY[] = {
    /* While rules change, packets still arrive on the wrong NIC, where a strict rp_filter would drop them. */
    {ibh_work_loosen_rp_filters, IBH_NICS_ALL},
    /* First every rail can send through its own NIC ... */
    {ibh_work_program_rails, IBH_NICS_ALL},
    /* ... then it alone answers for its addresses: earlier, it would answer where its traffic cannot leave. */
    {ibh_work_set_arp, IBH_NICS_ALL},
    /* A NIC without an address must not answer for the rails when the announcements come. */
    {ibh_work_silence_others, IBH_NICS_ALL},
    /* Peers switch to the NIC that now sends and answers. */
    {ibh_work_announce_changed, IBH_NICS_ALL},
    /* Unbound traffic takes a rail's source address, so it needs rails that work. */
    {ibh_work_spread, IBH_NICS_ALL},
    /* After the rails, because a table has to be taken over before its old owner is undone. It ends with rp_filter, of
     * the rails, too: peers were told. */
    {undo_former_rails, IBH_NICS_ALL},
    /* Last what serves no traffic: leftovers of addresses and NICs that have gone, rules before their routes. */
    {ibh_work_collect_garbage, IBH_NICS_ALL},
    /* Two rails that take each other's table stand or fall together. This changes no order. */
    {ibh_work_join_units, IBH_NICS_ALL},
};

static const Row UNDO[] = {
    /* Rails that stay may have to answer for the others again, before these fall silent. */
    {ibh_work_adapt_rails_that_stay, IBH_NICS_ALL},
    /* Unbound traffic leaves the rails before these lose their rules. */
    {ibh_work_spread, IBH_NICS_ALL},
    /* As in APPLY. */
    {ibh_work_loosen_rp_filters, IBH_NICS_ALL},
    {undo_former_rails, IBH_NICS_ALL},
};

static void do_rows(IbhWork *work, const Row *rows, gsize count)
{
    for (gsize i = 0; i < count; i++)
        rows[i].step(work, rows[i].which);
}

static void undo_former_rails(IbhWork *work, G_GNUC_UNUSED IbhWhich which)
{
    do_rows(work, FORMER_RAILS, G_N_ELEMENTS(FORMER_RAILS));
}

GPtrArray *ibh_plan_apply(const IbhRails *rails, const char *const *only)
{
    IbhWork work = {.rails = rails, .only = only, .spread = rails};

    ibh_work_init(&work);
    do_rows(&work, APPLY, G_N_ELEMENTS(APPLY));
    ibh_work_clear(&work);
    return work.plan;
}

GPtrArray *ibh_plan_undo(const IbhRails *rails, const IbhRails *after, const char *const *only)
{
    IbhWork work = {.rails = rails, .only = only, .spread = after, .undo = TRUE};

    ibh_work_init(&work);
    do_rows(&work, UNDO, G_N_ELEMENTS(UNDO));
    ibh_work_clear(&work);
    return work.plan;
}
