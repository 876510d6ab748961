/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The middle steps of a run: look and decide. */
#include "run/run.h"

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

GPtrArray *ibh_run_decide(IbhRun *run, GError **error)
{
    /* A run that takes back an unconfirmed --apply sets run->undo, too, but has a plan of its own. */
    const gboolean is_undo = run->undo && !run->plan;
    /* --undo respects the holds of an earlier --undo: a held NIC has nothing of ours. */
    IbhRequest request = {
        .only = run->only, .undo = is_undo, .respects_holds = run->respects_holds || is_undo, .blind = run->bad_config};
    g_autoptr(GError) problem = NULL;

    g_clear_pointer(&run->rails, ibh_rails_free);
    run->rails = ibh_rails_find(run->config, run->snapshot, &request, run->undo ? &problem : error);
    /* --undo, and a run that takes back an unconfirmed --apply, must work even if the table= settings of two NICs
     * conflict. Then both use the default configuration, which sets no table=. */
    if (problem) {
        ibh_run_forget_config(run, problem);
        request.blind = TRUE;
        run->rails = ibh_rails_find(run->config, run->snapshot, &request, error);
    }
    if (!run->rails)
        return NULL;
    return run->plan ? run->plan(run) : ibh_plan(run->rails);
}
