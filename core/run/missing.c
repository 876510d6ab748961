/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hardware that was a rail: what a run knows of it. */
#include "run/run.h"

#include "plan/known.h"

/* Its hardware is looked at when it is new. What --apply --iface names shall have what it has now, and no more. */
static void know_rail(const IbhRun *run, const IbhNic *nic, GArray *known)
{
    const gboolean all = run->only && g_strv_contains(run->only, nic->link->name);
    IbhKnownRail now;

    if (ibh_known_of(run->rails, nic, known, all, &now) && (now.slot[0] || ibh_hardware_find(run->sysfs, &now)))
        ibh_known_put(known, &now);
}

static gboolean is_undone(const IbhRun *run, const char *iface)
{
    return run->undo && !run->remember && (!run->only || g_strv_contains(run->only, iface));
}

void ibh_run_know(const IbhRun *run, GArray *known, gboolean refused)
{
    for (guint i = 0; !run->undo && !refused && i < run->rails->nics->len; i++)
        know_rail(run, g_ptr_array_index(run->rails->nics, i), known);
    IBH_EACH_BACK (IbhKnownRail, one, known) {
        ibh_known_look(one, run->rails, run->config);
        if (one->why == IBH_FORGOTTEN || is_undone(run, one->iface))
            IBH_REMOVE(IbhKnownRail, one, known);
        else if (one->why == IBH_IS_THERE)
            one->since = 0;
        else if (!one->since)
            one->since = g_get_real_time() / G_USEC_PER_SEC;
    }
}
