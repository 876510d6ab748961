/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The second step of a run: look, and find the rails. */
#include "run/run.h"

gboolean ibh_run_look(IbhRun *run, IbhScope scope, GError **error)
{
    g_clear_pointer(&run->rails, ibh_rails_free);
    g_clear_pointer(&run->snapshot, ibh_snapshot_free);
    run->snapshot = ibh_snapshot_take(run->netlink, run->config, run->sysfs, scope, ibh_state_copy(run->state), error);
    if (!run->snapshot)
        return FALSE;
    ibh_state_match_links(run->snapshot->state, run->snapshot);
    return !run->undo || ibh_snapshot_read_neighbours(run->snapshot, run->netlink, error);
}

/* ---- rails ---- */

static gboolean find(IbhRun *run, GError **error)
{
    g_autoptr(GError) problem = NULL;

    g_clear_pointer(&run->rails, ibh_rails_free);
    run->rails = ibh_rails_find(run->config, run->snapshot, run->respects_holds, &problem);
    if (!run->rails && !run->undo) {
        g_propagate_error(error, g_steal_pointer(&problem));
        return FALSE;
    }
    if (!run->rails) { /* two NICs with one table */
        ibh_run_forget_config(run, problem);
        run->rails = ibh_rails_find(run->config, run->snapshot, run->respects_holds, error);
    }
    if (run->rails)
        run->rails->only = run->only;
    return run->rails != NULL;
}

/* A number that others have routes in is not free: with our rules these routes would count. Usually there are none. */
gboolean ibh_run_find_rails(IbhRun *run, GError **error)
{
    guint before;

    do {
        before = run->snapshot->routes->len;
        if (!find(run, error) || (!run->undo && !ibh_snapshot_read_tables(run->snapshot, run->netlink, error)))
            return FALSE;
    } while (run->snapshot->routes->len != before);
    return TRUE;
}
