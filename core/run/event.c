/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One event, a step after the other: open and configure (open.c) → look and decide (decide.c) → change (change.c).
 */
#include "run/run.h"

#define LOCK_SECONDS 8 /* its caller waits for it */

void ibh_event_clear(IbhEvent *event)
{
    g_clear_pointer(&event->spared, g_array_unref);
    ibh_focus_clear(&event->focus);
    event->port = 0;
}

static void restrain(IbhEvent *event, IbhRun *run, GPtrArray *plan)
{
    const guint before = plan->len;

    event->spared = ibh_plan_restrain(plan, run->rails, &event->restraint);
    run->restrained = plan->len < before;
    event->port = ibh_netlink_port(run->netlink);
    ibh_focus_find(&event->focus, run->rails);
}

static gboolean report(const IbhEvent *event, IbhRun *run, const IbhOutcome *outcome, GString *out)
{
    g_autofree char *text = ibh_ops_log_text(outcome->done, run->snapshot, event->cause);

    g_string_append(out, text);
    IBH_EACH_POINTER (const IbhOp, op, outcome->done) {
        if (event->done)
            event->done(event->data, op);
    }
    IBH_EACH_POINTER (const char, message, outcome->errors)
        ibh_run_warn(run, message);
    return outcome->errors->len == 0;
}

static void warn_of(IbhRun *run, const GError *problem)
{
    if (problem)
        ibh_run_warn(run, problem->message);
}

static gboolean configure(const IbhEvent *event, IbhRun *run)
{
    g_autoptr(GError) problem = NULL;

    (void)ibh_run_configure(run, &problem);
    if (event->configure)
        event->configure(event->data, run);
    warn_of(run, problem);
    return run->config != NULL;
}

static gboolean act(IbhEvent *event, IbhRun *run, GString *out)
{
    g_autoptr(GPtrArray) plan = NULL;
    g_autoptr(IbhOutcome) outcome = NULL;
    g_autoptr(GError) error = NULL;

    if (ibh_run_open(run, LOCK_SECONDS, &error) && configure(event, run) && ibh_run_look(run, &error))
        plan = ibh_run_decide(run, &error);
    if (plan) /* what remote= names in vain is left out: the NIC comes up all the same */
        (void)ibh_rails_check_remote(run->rails, &error);
    warn_of(run, error);
    if (!plan)
        return FALSE;
    restrain(event, run, plan);
    outcome = ibh_run_change(run, plan);
    return report(event, run, outcome, out);
}

static gboolean run_once(IbhEvent *event, GString *out, GString *warnings)
{
    IbhRun run = {.config_path = event->config,
                  .sysfs = event->sysfs,
                  .is_event = TRUE,
                  .writes = TRUE,
                  .respects_holds = TRUE,
                  .speaker = "",
                  .warnings = warnings,
                  .announcer = IBH_ANNOUNCER_INIT};
    gboolean ok;

    ibh_event_clear(event);
    ok = act(event, &run, out);
    if (event->after)
        event->after(event->data, &run);
    ibh_run_close(&run);
    if (warnings->len || (event->focus.candidates && !event->focus.candidates->len))
        ibh_confined_explain(warnings);
    return ok;
}

/* If a manager takes an address away while a plan runs, the kernel refuses a route: a second look tells whether that is
 * an error. */
gboolean ibh_event_run(IbhEvent *event, GString *complained)
{
    g_autoptr(GString) out = g_string_new(NULL), warnings = g_string_new(NULL);
    gboolean ok = run_once(event, out, warnings);

    if (!ok && event->focus.candidates) { /* it came so far */
        g_string_truncate(warnings, 0);
        ok = run_once(event, out, warnings);
    }
    ibh_log_lines(LOG_INFO, out->str);
    if (!g_string_equal(warnings, complained))
        ibh_log_lines(LOG_WARNING, warnings->str);
    g_string_assign(complained, warnings->str);
    return ok;
}
