/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/run.h"

#include "run/change.h"
#include "run/confined.h"
#include "run/look.h"

#include "kernel/caps.h"
#include "host/files.h"
#include "host/near_source.h"
#include "model/state.h"
#include "kernel/sysctl.h"

#include <linux/capability.h>
#include <string.h>

#define HURRY 1 /* seconds to wait for the lock: two if hooks wait for us */

/* ---- getting ready ---- */

static gboolean writes(const IbhRun *run)
{
    return run->options->action == IBH_ACTION_APPLY || run->options->action == IBH_ACTION_UNDO ||
           run->options->action == IBH_ACTION_CONFIRM;
}

static gboolean check_privileges(const IbhRun *run, GError **error)
{
    if (!writes(run) || ibh_caps_have(CAP_NET_ADMIN))
        return TRUE;
    g_set_error(error, IBH_RUN_ERROR, 0,
                "%s needs CAP_NET_ADMIN in this network namespace, which this process does not have: run it as root "
                "(--show, --check, --plan and --render need nothing)",
                run->options->action == IBH_ACTION_APPLY  ? "--apply"
                : run->options->action == IBH_ACTION_UNDO ? "--undo"
                                                          : "--confirm");
    return FALSE;
}

/* A later hook may do our work, if its inputs equal ours. Only this one knows which NIC was taken down on purpose. */
static gboolean take_turn(IbhRun *run, GError **error)
{
    const IbhReconcile *event = run->event;
    int seconds = event && event->hurries ? HURRY : run->mode->lock_seconds;

    if (!event || !event->one_of_many || (event->restraint.down && event->restraint.down[0]))
        return ibh_store_lock(run->store, seconds, error);
    return ibh_store_lock_or_share(run->store, seconds, &run->is_done, error);
}

/* Without its directory a change can still be made: only old values would not be remembered. */
static gboolean open_store(IbhRun *run, GError **error)
{
    g_autoptr(GError) problem = NULL;

    run->store = ibh_store_open(ibh_netlink_namespace_cookie(run->netlink), writes(run), &problem);
    if (problem) {
        g_autofree char *text = g_strdup_printf(
            "%s; going on without a lock, old sysctl values are not remembered for --undo: make /run writable",
            problem->message);

        ibh_run_warn(run, text);
        g_clear_error(&problem);
    }
    if (!run->store || !writes(run) || take_turn(run, &problem))
        return TRUE;
    if (run->event)
        run->event->busy = g_error_matches(problem, G_FILE_ERROR, G_FILE_ERROR_AGAIN);
    g_propagate_error(error, g_steal_pointer(&problem));
    return FALSE;
}

/* Old values of an interface that disappeared, or came back as another one, are worthless. */
static void forget_gone_links(IbhSnapshot *snapshot)
{
    GArray *sysctls = snapshot->state->sysctls;

    IBH_EACH_BACK (IbhSavedSysctl, saved, sysctls) {
        const IbhLink *link = ibh_snapshot_link(snapshot, saved->ifindex);

        if (!link)
            IBH_REMOVE(IbhSavedSysctl, saved, sysctls);
        else
            g_strlcpy(saved->iface, link->name, sizeof saved->iface);
    }
}

static gboolean load(IbhRun *run, GError **error)
{
    run->on_file = run->store ? ibh_store_load(run->store, error) : ibh_state_new();
    return run->on_file != NULL;
}

static gboolean look(IbhRun *run, GError **error)
{
    run->snapshot = ibh_snapshot_take(run->netlink, run->options->sysfs, ibh_state_copy(run->on_file), error);
    if (!run->snapshot)
        return FALSE;
    forget_gone_links(run->snapshot);
    if (!run->event)
        run->snapshot->hash_policy = ibh_sysctl_read_hash_policy(); /* which is only reported */
    if (!ibh_sysctl_read_all(run->snapshot->all, error) ||
        !ibh_snapshot_add_tables_of_foreign_rules(run->snapshot, run->netlink, run->config, error))
        return FALSE;
    return run->options->action != IBH_ACTION_UNDO || ibh_snapshot_add_neighbours(run->snapshot, run->netlink, error);
}

static gboolean check_names(const IbhRun *run, GError **error)
{
    for (guint i = 0; run->only && run->only[i]; i++) {
        if (ibh_snapshot_link_by_name(run->snapshot, run->only[i]) || run->options->token)
            continue; /* the waiting process reports to no terminal */
        g_set_error(error, IBH_CONFIG_ERROR, 0,
                    "--iface %s: there is no such interface here; ib-hook --show lists them", run->only[i]);
        return FALSE;
    }
    return TRUE;
}

/* --plan shows what --apply would do, and --apply lifts holds. */
static gboolean find_rails(IbhRun *run, GError **error)
{
    gboolean respect_holds =
        run->mode->keeps_holds || run->options->action == IBH_ACTION_SHOW || run->options->action == IBH_ACTION_CHECK;
    g_autoptr(GError) local = NULL;

    run->rails = ibh_rails_find(run->config, run->snapshot, respect_holds, &local);
    if (!run->rails && run->options->action == IBH_ACTION_UNDO) { /* two NICs with one table: as configure() does */
        ibh_run_warn(run, local->message);
        ibh_config_free(run->config);
        run->config = ibh_config_new();
        run->bad_config = TRUE;
        run->rails = ibh_rails_find(run->config, run->snapshot, respect_holds, error);
    } else if (!run->rails) {
        g_propagate_error(error, g_steal_pointer(&local));
    }
    if (run->rails) {
        run->rails->only = run->only;
        run->rails->family = run->options->family;
    }
    return run->rails != NULL;
}

static gboolean find_rails_near(IbhRun *run, GError **error)
{
    return (run->rails = ibh_rails_find(run->config, run->snapshot, run->mode->keeps_holds, error)) != NULL;
}

/* Adds the routes of others in the tables that were chosen now. Usually there are none. */
static gboolean read_new_tables(const IbhRun *run, GHashTable *seen, GError **error)
{
    IBH_EACH_POINTER (const IbhNic, nic, run->rails->nics) {
        if (nic->status == IBH_NIC_RAIL && nic->is_table_new && g_hash_table_add(seen, GUINT_TO_POINTER(nic->table)) &&
            (!ibh_snapshot_add_table(run->snapshot, run->netlink, nic->table, error) ||
             !ibh_snapshot_add_table(run->snapshot, run->netlink, ibh_nic_defaults(nic), error)))
            return FALSE;
    }
    return TRUE;
}

/* A number that others have routes in is not free: with our rules these routes would count. */
static gboolean avoid_tables_of_others(IbhRun *run, gboolean (*find)(IbhRun *run, GError **error), GError **error)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
    guint before;

    while (run->options->action != IBH_ACTION_UNDO) {
        before = run->snapshot->routes->len;
        if (!read_new_tables(run, seen, error))
            return FALSE;
        if (run->snapshot->routes->len == before)
            break;
        g_clear_pointer(&run->rails, ibh_rails_free);
        if (!find(run, error))
            return FALSE;
    }
    return TRUE;
}

/* If a rail may have a gateway, main is asked for its routes by that rail. */
static gboolean look_into_main(IbhRun *run, GError **error)
{
    g_autoptr(GArray) ifindexes = g_array_new(FALSE, FALSE, sizeof(int));

    IBH_EACH_POINTER (const IbhNic, nic, run->rails->nics) {
        if (nic->status == IBH_NIC_RAIL)
            g_array_append_val(ifindexes, nic->link->ifindex);
    }
    return ibh_snapshot_add_main(run->snapshot, run->netlink, ifindexes, error);
}

/* An event reads what is near, if that is enough: then the rails are known afterwards. */
static gboolean look_near(IbhRun *run, GError **error)
{
    g_auto(IbhNear) near = {0};
    int all[IBH_N_SYSCTLS];

    if (!run->event || !run->on_file->whole || !ibh_netlink_is_strict(run->netlink))
        return TRUE;
    if (!ibh_sysctl_read_all(all, error) ||
        !(run->snapshot = ibh_snapshot_take_near(run->netlink, run->options->sysfs, ibh_state_copy(run->on_file), all,
                                                 run->config, &near, error)))
        return FALSE;
    if (near.enough) {
        forget_gone_links(run->snapshot);
        if (!ibh_snapshot_add_tables_of_foreign_rules(run->snapshot, run->netlink, run->config, error))
            return FALSE;
        if (find_rails_near(run, NULL) && !avoid_tables_of_others(run, find_rails_near, error))
            return FALSE;
    }
    if (run->rails && ibh_near_is_enough(&near, run->rails)) {
        ibh_near_add_main(&near, run->rails, run->snapshot);
        return TRUE;
    }
    g_clear_pointer(&run->rails, ibh_rails_free);
    g_clear_pointer(&run->snapshot, ibh_snapshot_free);
    return TRUE;
}

/* ---- the pipeline ---- */

static int run_action(IbhRun *run)
{
    g_autofree char *without = run->options->install ? ibh_run_rails_without_carrier(run) : NULL;

    if (without)
        return ibh_run_hold_back(run, without);
    switch (run->options->action) {
    case IBH_ACTION_APPLY:
    case IBH_ACTION_UNDO:
        return ibh_run_change(run, ibh_run);
    case IBH_ACTION_PLAN:
        return ibh_run_plan(run);
    case IBH_ACTION_RENDER:
        return ibh_run_render(run);
    case IBH_ACTION_PROBE:
        return ibh_run_probe(run);
    default:
        return ibh_run_check(run);
    }
}

/* --undo needs the mark only: it works with a bad configuration, too. */
static gboolean configure(IbhRun *run, GError **error)
{
    g_autoptr(GError) local = NULL;

    if ((run->config = ibh_config_load(run->options->config, &local)))
        return TRUE;
    if (run->options->action != IBH_ACTION_UNDO) {
        g_propagate_error(error, g_steal_pointer(&local));
        return FALSE;
    }
    ibh_run_warn(run, local->message);
    run->config = ibh_config_new();
    run->bad_config = TRUE;
    return TRUE;
}

/* From now on other runs may leave their work to this one: so an event reads the configuration only now. */
static gboolean begin(IbhRun *run, GError **error)
{
    if (!run->mode->configures_late)
        return TRUE;
    run->has_begun = run->event->one_of_many && run->store && ibh_store_begin(run->store);
    return configure(run, error);
}

static int look_at_all(IbhRun *run)
{
    g_autoptr(GError) error = NULL;

    if (!look(run, &error))
        return ibh_run_fail(run, IBH_EXIT_SYSTEM, error);
    if (!check_names(run, &error) || !find_rails(run, &error))
        return ibh_run_fail(run, IBH_EXIT_USAGE, error);
    if (!avoid_tables_of_others(run, find_rails, &error) || !look_into_main(run, &error))
        return ibh_run_fail(run, IBH_EXIT_SYSTEM, error);
    return run_action(run);
}

static int pipeline(IbhRun *run)
{
    g_autoptr(GError) error = NULL;

    if (!run->mode->configures_late && !configure(run, &error))
        return ibh_run_fail(run, IBH_EXIT_USAGE, error);
    if (!check_privileges(run, &error))
        return ibh_run_fail(run, IBH_EXIT_SYSTEM, error);
    ibh_caps_keep_net();
    if (!(run->netlink = ibh_netlink_open(&error)) || !open_store(run, &error))
        return ibh_run_fail(run, IBH_EXIT_SYSTEM, error);
    if (run->options->action == IBH_ACTION_CONFIRM)
        return ibh_run_confirm(run);
    if (run->is_done)
        return IBH_EXIT_OK;
    if (!begin(run, &error))
        return ibh_run_fail(run, IBH_EXIT_USAGE, error);
    if (run->options->action == IBH_ACTION_UNDO && run->options->token && !ibh_run_has_token(run))
        return IBH_EXIT_OK; /* it was confirmed */
    if (!load(run, &error) || !look_near(run, &error))
        return ibh_run_fail(run, IBH_EXIT_SYSTEM, error);
    return run->rails ? run_action(run) : look_at_all(run);
}

static int run_all(IbhRun *run)
{
    int status;

    run->announcer = IBH_ANNOUNCER_INIT;
    status = pipeline(run);
    if (status == IBH_EXIT_OK && run->has_begun)
        ibh_store_end(run->store);
    ibh_announcer_clear(&run->announcer);
    ibh_rails_free(run->rails);
    ibh_snapshot_free(run->snapshot);
    ibh_fabric_free(run->fabric);
    ibh_state_free(run->on_file);
    ibh_store_close(run->store);
    ibh_netlink_close(run->netlink);
    ibh_config_free(run->config);
    return status;
}

static const IbhWriter *writer_of(const IbhOptions *options)
{
    return options->json ? &ibh_json_writer : options->prometheus ? &ibh_prometheus_writer : &ibh_text_writer;
}

int ibh_run(const IbhOptions *options, gboolean color, GString *out, GString *warnings)
{
    IbhRun run = {.options = options,
                  .mode = &ibh_run_on_command,
                  .only = ibh_options_only(options),
                  .writer = writer_of(options),
                  .style = {.color = color, .verbose = options->verbose, .quiet = options->quiet},
                  .out = out,
                  .warnings = warnings};

    return run_all(&run);
}

void ibh_reconcile_clear(IbhReconcile *event)
{
    g_clear_pointer(&event->spared, g_array_unref);
    g_clear_pointer(&event->candidates, g_array_unref);
    event->busy = FALSE;
    event->port = 0;
}

static int reconcile(IbhReconcile *event, GString *out, GString *warnings, gboolean *refused)
{
    const IbhOptions options = {.action = IBH_ACTION_APPLY,
                                .config = (char *)(guintptr)event->config,
                                .sysfs = (char *)(guintptr)(event->sysfs ? event->sysfs : "/sys")};
    IbhRun run = {.options = &options,
                  .mode = &ibh_run_on_event,
                  .event = event,
                  .writer = &ibh_log_writer,
                  .out = out,
                  .warnings = warnings};
    const gsize before = warnings->len;
    int status;

    ibh_reconcile_clear(event);
    status = run_all(&run);
    *refused = run.refused;
    if (warnings->len > before || (event->candidates && !event->candidates->len))
        ibh_confined_explain(warnings, before);
    return status;
}

/* If a manager takes an address away while a plan runs, the kernel refuses a route: a second look tells whether that is
 * an error. */
int ibh_reconcile(IbhReconcile *event, GString *out, GString *warnings)
{
    const gsize before = warnings->len;
    gboolean refused = FALSE;
    int status = reconcile(event, out, warnings, &refused);

    if (!refused)
        return status;
    g_string_truncate(warnings, before);
    return reconcile(event, out, warnings, &refused);
}
