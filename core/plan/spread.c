/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * main=spread: unbound traffic over all rails of a subnet, by multipath routes in a table of their own, as one unit.
 */
#include "plan/work.h"

/* One route serves all rails of a subnet: where one of them stays as it is, that does, too. Where the last of them are
 * undone by name, other runs decide. */
static gboolean may_spread(const IbhWork *work)
{
    if (work->undo)
        return work->spread || !work->rails->only;
    IBH_EACH_POINTER (const IbhNic, nic, work->rails->nics) {
        if (nic->kept)
            return FALSE;
    }
    return !work->rails->only;
}

/* Rules that ask main come first, then routes, then the rules that lead to them; deletions the other way round. */
void ibh_work_spread(const IbhWork *work)
{
    if (!may_spread(work))
        return;
    ibh_work_add_rules(work, &work->of_spread, IBH_PRIORITY_SPREAD - 1, FALSE);
    ibh_work_add_routes(work, &work->of_spread, IBH_TABLE_SPREAD);
    ibh_work_add_rules(work, &work->of_spread, IBH_PRIORITY_SPREAD, FALSE);
    IBH_EACH (IbhStale, stale, work->stales) {
        if (stale->spread)
            ibh_work_drop(work, stale,
                          stale->rule ? "unbound traffic follows the main table again"
                                      : "this subnet is not spread (any more)");
    }
}
