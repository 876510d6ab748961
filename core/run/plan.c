/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The third step of a run: plan. */
#include "run/run.h"

static GPtrArray *plan_once(IbhRun *run)
{
    g_autoptr(IbhRails) after = NULL;

    if (run->trial)
        return ibh_plan_back(run->rails, run->trial);
    if (!run->undo)
        return ibh_plan_apply(run->rails, run->only);
    if (run->only && !run->bad_config) /* else the others stay as they are: their settings are not known */
        after = ibh_rails_without(run->config, run->snapshot, run->only);
    return ibh_plan_undo(run->rails, after, run->only);
}

/* Neighbours, of which a fabric has thousands, are read only where some of them have to go. */
GPtrArray *ibh_run_plan(IbhRun *run)
{
    const IbhAsked *asked = run->snapshot->asked;
    GPtrArray *plan = plan_once(run);

    if (asked->everything || !asked->neighbours ||
        !ibh_snapshot_add_neighbours(run->snapshot, run->netlink, NULL)) /* they age out */
        return plan;
    g_ptr_array_unref(plan);
    return plan_once(run);
}
