/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The second and the third step of a run: look, and decide. */
#include "run/run.h"

/* ---- look ---- */

gboolean ibh_run_look(IbhRun *run, GError **error)
{
    g_clear_pointer(&run->after, ibh_rails_free);
    g_clear_pointer(&run->rails, ibh_rails_free);
    g_clear_pointer(&run->snapshot, ibh_snapshot_free);
    run->snapshot = ibh_snapshot_take(run->netlink, run->config, run->sysfs, ibh_state_copy(run->state), error);
    if (!run->snapshot)
        return FALSE;
    ibh_state_match_links(run->snapshot->state, run->snapshot);
    return TRUE;
}

/* ---- decide ---- */

static gboolean find_rails(IbhRun *run, GError **error)
{
    g_autoptr(GError) problem = NULL;

    g_clear_pointer(&run->rails, ibh_rails_free);
    run->rails = ibh_rails_find(run->config, run->snapshot, run->respects_holds, run->undo ? &problem : error);
    if (problem) { /* two NICs with one table: the defaults name none */
        ibh_run_forget_config(run, problem);
        return find_rails(run, error);
    }
    if (run->rails)
        run->rails->only = run->only;
    return run->rails != NULL;
}

static GPtrArray *plan_undo(IbhRun *run)
{
    g_clear_pointer(&run->after, ibh_rails_free);
    if (run->only && !run->bad_config) /* else the others stay as they are: their settings are not known */
        run->after = ibh_rails_without(run->config, run->snapshot, run->only);
    return ibh_plan_undo(run->rails, run->after);
}

static GPtrArray *make_plan(IbhRun *run)
{
    if (run->plan)
        return run->plan(run);
    return run->undo ? plan_undo(run) : ibh_plan_apply(run->rails);
}

GPtrArray *ibh_run_decide(IbhRun *run, GError **error)
{
    return find_rails(run, error) ? make_plan(run) : NULL;
}
