/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The second and the third step of a run: look, and decide. */
#include "run/run.h"

/* ---- look ---- */

gboolean ibh_run_look(IbhRun *run, GError **error)
{
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
    /* Who asks for --undo is not held back by an earlier one: what is held stays so, and has nothing of ours. */
    const IbhRequest request = {.only = run->only,
                                .undo = run->undo && !run->plan,
                                .respects_holds = run->respects_holds || (run->undo && !run->plan),
                                .blind = run->bad_config};
    g_autoptr(GError) problem = NULL;

    g_clear_pointer(&run->rails, ibh_rails_free);
    run->rails = ibh_rails_find(run->config, run->snapshot, &request, run->undo ? &problem : error);
    if (problem) { /* two NICs with one table: the defaults name none */
        ibh_run_forget_config(run, problem);
        return find_rails(run, error);
    }
    return run->rails != NULL;
}

GPtrArray *ibh_run_decide(IbhRun *run, GError **error)
{
    if (!find_rails(run, error))
        return NULL;
    return run->plan ? run->plan(run) : ibh_plan(run->rails);
}
