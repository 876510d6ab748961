/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The third step of a run: plan. */
#include "run/run.h"

/* Neighbours, of which a fabric has thousands, are read only where some of them have to go. */
static GPtrArray *plan_apply(IbhRun *run)
{
    const IbhAsked *asked = run->snapshot->asked;
    GPtrArray *plan = ibh_plan_apply(run->rails);

    if (asked->everything || !asked->neighbours ||
        !ibh_snapshot_read_neighbours(run->snapshot, run->netlink, NULL)) /* they age out */
        return plan;
    g_ptr_array_unref(plan);
    return ibh_plan_apply(run->rails);
}

GPtrArray *ibh_run_plan(IbhRun *run)
{
    g_autoptr(IbhRails) after = NULL;

    if (!run->undo)
        return plan_apply(run);
    if (run->only && !run->bad_config) /* else the others stay as they are: their settings are not known */
        after = ibh_rails_without(run->config, run->snapshot, run->only);
    return ibh_plan_undo(run->rails, after);
}
