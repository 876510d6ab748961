/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/run.h"

#define LOCK_SECONDS 8 /* its caller waits for it */

void ibh_event_clear(IbhEvent *event)
{
    g_clear_pointer(&event->spared, g_array_unref);
    ibh_focus_clear(&event->focus);
    g_clear_pointer(&event->missed, g_array_unref);
    event->port = 0;
}

/* ---- what --watch has to hear of ---- */

static gboolean leads_a_candidate(const IbhRule *rule, const IbhRails *rails)
{
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        IBH_EACH_POINTER (const IbhAddress, address, &nic->addresses) {
            if (nic->rank && ibh_prefix_contains(&rule->from, &address->local))
                return TRUE;
        }
    }
    return FALSE;
}

static gboolean has_subnet(const GArray *subnets, const IbhPrefix *subnet)
{
    IBH_EACH (const IbhPrefix, one, subnets) {
        if (ibh_prefix_equal(one, subnet))
            return TRUE;
    }
    return FALSE;
}

static gboolean decides(const IbhRoute *route, const IbhFocus *focus)
{
    if (route->table != IBH_TABLE_MAIN)
        return ibh_has(focus->tables, (int)route->table);
    return !route->dst.length || has_subnet(focus->subnets, &route->dst);
}

static void focus_on_nic(IbhFocus *focus, const IbhNic *nic)
{
    g_array_append_val(focus->candidates, nic->link->ifindex);
    IBH_EACH_POINTER (const IbhAddress, address, &nic->addresses) {
        if (ibh_address_counts(address) && !has_subnet(focus->subnets, &address->subnet))
            g_array_append_val(focus->subnets, address->subnet);
    }
}

static void find_focus(IbhFocus *focus, const IbhRails *rails)
{
    focus->candidates = g_array_new(FALSE, FALSE, sizeof(int));
    focus->subnets = g_array_new(FALSE, FALSE, sizeof(IbhPrefix));
    focus->tables = g_array_new(FALSE, FALSE, sizeof(int));
    focus->objects = FALSE;
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        if (nic->rank)
            focus_on_nic(focus, nic);
    }
    IBH_EACH (const IbhRule, rule, rails->snapshot->rules) {
        if (ibh_rule_is_of_a_source(rule) && !ibh_has(focus->tables, (int)rule->table) &&
            leads_a_candidate(rule, rails))
            g_array_append_val(focus->tables, rule->table);
    }
    IBH_EACH (const IbhRoute, route, rails->snapshot->routes)
        focus->objects |= route->object && decides(route, focus);
}

/* ---- the run ---- */

static void restrain(IbhEvent *event, IbhRun *run, GPtrArray *plan)
{
    const guint before = plan->len;

    event->spared = ibh_restrain(plan, run->rails, &event->restraint);
    run->restrained = plan->len < before;
    event->port = ibh_netlink_port(run->netlink);
    find_focus(&event->focus, run->rails);
}

static gboolean report(const IbhEvent *event, IbhRun *run, const IbhOutcome *outcome, GString *out)
{
    g_autofree char *text = ibh_log_changes(outcome->done, run->snapshot);

    g_string_append(out, text);
    IBH_EACH_POINTER (const IbhOp, op, outcome->done) {
        if (event->done)
            event->done(event->data, op);
    }
    IBH_EACH_POINTER (const char, message, outcome->errors)
        ibh_run_warn(run, message);
    return outcome->errors->len == 0;
}

/* The rails: of what is near, or of everything. */
static gboolean look(IbhRun *run, GError **error)
{
    return ibh_run_look_near(run, error) &&
           (run->rails || (ibh_run_read(run, error) && ibh_run_find_rails(run, error)));
}

/* What remote= names in vain is left out. The NIC comes up all the same. */
static void warn_of_remote(IbhRun *run)
{
    g_autoptr(GError) problem = NULL;

    if (!ibh_rails_check_remote(run->rails, &problem))
        ibh_run_warn(run, problem->message);
}

static gboolean act(IbhEvent *event, IbhRun *run, GString *out, gboolean *ret_refused)
{
    g_autoptr(GPtrArray) plan = NULL;
    g_autoptr(IbhOutcome) outcome = NULL;
    g_autoptr(GError) error = NULL;

    if (!ibh_run_open(run, LOCK_SECONDS, &error) || !ibh_run_configure(run, &error) || !look(run, &error)) {
        ibh_run_warn(run, error->message);
        return FALSE;
    }
    warn_of_remote(run);
    plan = ibh_run_plan(run);
    restrain(event, run, plan);
    outcome = ibh_run_change(run, plan);
    event->missed = ibh_run_missed(run);
    *ret_refused = !report(event, run, outcome, out);
    return !*ret_refused;
}

static gboolean run_once(IbhEvent *event, GString *out, GString *warnings, gboolean *ret_refused)
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
    ok = act(event, &run, out, ret_refused);
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
    gboolean refused = FALSE, ok = run_once(event, out, warnings, &refused);

    if (refused) {
        g_string_truncate(warnings, 0);
        ok = run_once(event, out, warnings, &refused);
    }
    ibh_log_lines(LOG_INFO, out->str);
    if (!g_string_equal(warnings, complained))
        ibh_log_lines(LOG_WARNING, warnings->str);
    g_string_assign(complained, warnings->str);
    return ok;
}
