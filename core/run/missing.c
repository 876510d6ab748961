/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Updates the known rails after a run. */
#include "run/run.h"

#include "plan/known.h"

void ibh_run_know(const IbhRun *run, GArray *known, gboolean refused)
{
    IBH_EACH_POINTER (const IbhNic, nic, run->rails->nics) {
        /* --apply --iface NAME: the rail needs the addresses that it has now, and no others. */
        const gboolean all = run->only && g_strv_contains(run->only, nic->link->name);
        IbhKnownRail now;

        /* Look the hardware up in sysfs once, when it is new. */
        if (!run->undo && !refused && ibh_known_of(run->rails, nic, known, all, &now) &&
            (now.slot[0] || ibh_hardware_find(run->sysfs, &now)))
            ibh_known_put(known, &now);
    }
    IBH_EACH_BACK (IbhKnownRail, one, known) {
        const gboolean is_undone =
            run->undo && !run->remember && (!run->only || g_strv_contains(run->only, one->iface));

        ibh_known_look(one, run->rails, run->config);
        if (one->why == IBH_FORGOTTEN || is_undone)
            IBH_REMOVE(IbhKnownRail, one, known);
        else if (one->why == IBH_IS_THERE)
            one->since = 0;
        else if (!one->since)
            one->since = g_get_real_time() / G_USEC_PER_SEC;
    }
}
