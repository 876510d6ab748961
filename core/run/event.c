/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The run for an event: open and configure (open.c) → look and decide (decide.c) → change (change.c) → report.
 */
#include "run/run.h"

/* Less than a hook's time limit (hook.c), so that the hook can still warn that another run has the lock. */
#define LOCK_SECONDS 8

/* Returns FALSE if the run ended before the change, or if an operation failed. Appends lines for the journal: to `out`
 * about what was done, to `warnings` about problems. Sets `ret_tried` to TRUE if the run got as far as the change. Sets
 * `ret_may_be_confined` to TRUE if a security module may be why the run could not act: an operation failed, there is no
 * candidate, or the run ended before the change, but not because of an error in the configuration. */
static gboolean run_once(const IbhEvent *event, GString *out, GString *warnings, gboolean *ret_tried,
                         gboolean *ret_may_be_confined)
{
    g_autoptr(GPtrArray) plan = NULL;
    g_autoptr(IbhOutcome) outcome = NULL;
    g_autoptr(GError) error = NULL, problem = NULL; /* `problem`: of the configuration */
    IbhRun run = {.config_path = event->config,
                  .sysfs = event->sysfs,
                  .is_event = TRUE,
                  .writes = TRUE,
                  .respects_holds = TRUE,
                  .warnings = warnings,
                  .packet_socket = -1};

    if (ibh_run_open(&run, LOCK_SECONDS, &error)) {
        (void)ibh_run_configure(&run, &problem);
        if (event->configure)
            event->configure(event->data, &run);
        if (problem)
            ibh_run_warn(&run, problem->message);
        if (run.config && ibh_run_look(&run, &error))
            plan = ibh_run_decide(&run, &error);
    }
    if (plan) {
        g_autofree char *text = NULL;

        /* Warn of a remote= that cannot work, and route the NIC without it. */
        if (!ibh_rails_check_remote(run.rails, &error))
            ibh_run_warn(&run, error->message);
        run.spared = ibh_plan_restrain(plan, run.rails, &event->restraint);
        outcome = ibh_run_change(&run, plan);
        text = ibh_ops_log_text(outcome->done, run.snapshot, event->cause);
        g_string_append(out, text);
        IBH_EACH_POINTER (const char, message, outcome->errors)
            ibh_run_warn(&run, message);
        *ret_may_be_confined = outcome->errors->len || !run.rails->candidates;
    } else { /* the run ended before the change */
        if (error)
            ibh_run_warn(&run, error->message);
        *ret_may_be_confined = !problem;
    }
    if (event->after)
        event->after(event->data, &run, outcome);
    ibh_run_close(&run);
    *ret_tried = outcome != NULL;
    return outcome && !outcome->errors->len;
}

/* An address may disappear while we run the plan, and then the kernel rejects a route. Run once more before reporting
 * an error. */
gboolean ibh_event_run(const IbhEvent *event, GString *complained)
{
    g_autoptr(GString) out = g_string_new(NULL), warnings = g_string_new(NULL);
    gboolean tried, may_be_confined, ok = run_once(event, out, warnings, &tried, &may_be_confined);

    if (!ok && tried) {
        g_string_truncate(warnings, 0);
        ok = run_once(event, out, warnings, &tried, &may_be_confined);
    }
    if (may_be_confined)
        ibh_confined_explain(warnings);
    ibh_log_lines(LOG_INFO, out->str, TRUE);
    if (!g_string_equal(warnings, complained))
        ibh_log_lines(LOG_WARNING, warnings->str, TRUE);
    g_string_assign(complained, warnings->str);
    return ok;
}
