/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One event, a step after the other: open and configure (open.c) → look and decide (decide.c) → change (change.c).
 */
#include "run/run.h"

#define LOCK_SECONDS 8 /* its caller waits for it */

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

static gboolean act(const IbhEvent *event, IbhRun *run, GString *out)
{
    g_autoptr(GPtrArray) plan = NULL;
    g_autoptr(IbhOutcome) outcome = NULL;
    g_autoptr(GError) error = NULL;
    guint wanted;

    if (ibh_run_open(run, LOCK_SECONDS, &error) && configure(event, run) && ibh_run_look(run, &error))
        plan = ibh_run_decide(run, &error);
    if (plan) /* what remote= names in vain is left out: the NIC comes up all the same */
        (void)ibh_rails_check_remote(run->rails, &error);
    warn_of(run, error);
    if (!plan)
        return FALSE;
    wanted = plan->len;
    run->spared = ibh_plan_restrain(plan, run->rails, &event->restraint);
    run->restrained = plan->len < wanted;
    outcome = ibh_run_change(run, plan);
    return report(event, run, outcome, out);
}

/* `ret_changed`: it came as far as the change. */
static gboolean run_once(const IbhEvent *event, GString *out, GString *warnings, gboolean *ret_changed)
{
    IbhRun run = {.config_path = event->config,
                  .sysfs = event->sysfs,
                  .is_event = TRUE,
                  .writes = TRUE,
                  .respects_holds = TRUE,
                  .speaker = "",
                  .warnings = warnings,
                  .announcer = IBH_ANNOUNCER_INIT};
    gboolean ok = act(event, &run, out), may_be_confined;

    *ret_changed = run.spared != NULL;
    may_be_confined = warnings->len || (*ret_changed && !run.rails->candidates);
    if (event->after)
        event->after(event->data, &run);
    ibh_run_close(&run);
    if (may_be_confined)
        ibh_confined_explain(warnings);
    return ok;
}

/* If a manager takes an address away while a plan runs, the kernel refuses a route: a second look tells whether that is
 * an error. */
gboolean ibh_event_run(const IbhEvent *event, GString *complained)
{
    g_autoptr(GString) out = g_string_new(NULL), warnings = g_string_new(NULL);
    gboolean changed, ok = run_once(event, out, warnings, &changed);

    if (!ok && changed) {
        g_string_truncate(warnings, 0);
        ok = run_once(event, out, warnings, &changed);
    }
    ibh_log_lines(LOG_INFO, out->str);
    if (!g_string_equal(warnings, complained))
        ibh_log_lines(LOG_WARNING, warnings->str);
    g_string_assign(complained, warnings->str);
    return ok;
}
