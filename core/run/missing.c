/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hardware that was a rail: what is known of it, and what the journal says of it. */
#include "run/run.h"

#include "plan/known.h"

/* A link that trains again, a DHCP server that takes its time: no fault yet. */
#define WHILE (10 * G_USEC_PER_SEC)

/* ---- what is known ---- */

/* Its hardware is looked at when it is new. */
static void know_rail(const IbhRun *run, const IbhNic *nic, GArray *known)
{
    IbhKnownRail now;

    if (ibh_known_of(nic, known, &now) && (now.slot[0] || ibh_hardware_find(run->sysfs, &now)))
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

GArray *ibh_run_missed(const IbhRun *run)
{
    GArray *missed = ibh_known_missed(run->rails, run->config);

    IBH_EACH_BACK (IbhKnownRail, one, missed) {
        if (one->why == IBH_IS_GONE && ibh_hardware_is_there(run->sysfs, one))
            one->why = IBH_ELSEWHERE;
        if (one->why == IBH_NO_SUCH_NIC && !ibh_store_is_home())
            IBH_REMOVE(IbhKnownRail, one, missed); /* the configuration is of the host, not of a container or a test */
    }
    return missed;
}

/* ---- in the journal ---- */

static void say(const IbhKnownRail *missed)
{
    g_autofree char *what = ibh_known_text(missed);
    g_autofree char *text = g_strdup_printf("%s is missing: %s", missed->iface, what);

    ibh_log_lines(LOG_WARNING, text);
}

void ibh_missing_say(const GArray *missed)
{
    IBH_EACH (const IbhKnownRail, one, missed) {
        if (ibh_missing_is_fault(one->why))
            say(one);
    }
}

gint64 ibh_missing_log(GArray **last, GArray *missed, gint64 now)
{
    g_autoptr(GArray) before = NULL;
    gint64 next = G_MAXINT64;

    if (!missed)
        return next;
    before = *last;
    *last = g_array_ref(missed);
    IBH_EACH_BACK (const IbhKnownRail, one, missed) {
        if (!ibh_missing_is_fault(one->why))
            IBH_REMOVE(IbhKnownRail, one, missed);
    }
    IBH_EACH (IbhKnownRail, one, missed) {
        const IbhKnownRail *old = ibh_known_named(before, one->iface);

        one->due = old ? old->due : now + WHILE;
        if (one->due && one->due <= now) {
            say(one);
            one->due = 0;
        }
        next = one->due ? MIN(next, one->due) : next;
    }
    IBH_EACH (const IbhKnownRail, one, before) {
        g_autofree char *text = g_strdup_printf("%s is missing no more", one->iface);

        if (!one->due && !ibh_known_named(missed, one->iface))
            ibh_log_lines(LOG_NOTICE, text);
    }
    return next;
}
