/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/run.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

void ibh_run_warn(IbhRun *run, const char *message)
{
    g_autofree char *text = ibh_printable(message);

    g_string_append_printf(run->warnings, "%s%s\n", run->speaker, text);
}

/* ---- getting ready ---- */

/* If the caller closed 0, 1 or 2, no file opened later may take their place. */
static void open_standard_descriptors(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO)
        close(fd);
}

void ibh_start(void)
{
    /* The caller's environment is in memory: no core dump may contain it, and other processes may not read the memory
     * of a process of root's. A limit on core dumps does not hold for those that are piped to a program. */
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    umask(022);               /* the next run has no capability to read files in /run that are not readable */
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error, and must not end the process */
    open_standard_descriptors();
}

/* A change can be made without the directory or its lock as well. */
static void go_on(IbhRun *run, const GError *problem)
{
    g_autofree char *text = g_strdup_printf("%s; going on without a lock%s", problem->message,
                                            run->store ? "" : ", old sysctl values are not remembered for --undo");

    ibh_run_warn(run, text);
}

/* FALSE: another run has the lock all the time. */
static gboolean open_store(IbhRun *run, int lock_seconds, GError **error)
{
    g_autoptr(GError) problem = NULL;

    run->store = ibh_store_open(ibh_netlink_namespace_cookie(run->netlink), run->writes, &problem);
    if (problem || !run->writes || ibh_store_lock(run->store, lock_seconds, &problem)) {
        if (problem)
            go_on(run, problem);
        return TRUE;
    }
    if (g_error_matches(problem, G_FILE_ERROR, G_FILE_ERROR_AGAIN)) {
        g_propagate_error(error, g_steal_pointer(&problem));
        return FALSE;
    }
    go_on(run, problem);
    return TRUE;
}

gboolean ibh_run_open(IbhRun *run, int lock_seconds, GError **error)
{
    ibh_caps_keep_net();
    if (!(run->netlink = ibh_netlink_open(error)) || !open_store(run, lock_seconds, error))
        return FALSE;
    run->state = run->store ? ibh_store_load(run->store, error) : ibh_state_new();
    return run->state != NULL;
}

void ibh_run_close(IbhRun *run)
{
    ibh_announcer_clear(&run->announcer);
    ibh_rails_free(run->rails);
    ibh_snapshot_free(run->snapshot);
    ibh_state_free(run->state);
    ibh_store_close(run->store);
    ibh_netlink_close(run->netlink);
    ibh_config_free(run->config);
}

/* --undo needs the mark only: it works with a bad configuration, too. */
static void forget_config(IbhRun *run, const GError *problem)
{
    ibh_run_warn(run, problem->message);
    ibh_config_free(run->config);
    run->config = ibh_config_new();
    run->bad_config = TRUE;
}

gboolean ibh_run_configure(IbhRun *run, GError **error)
{
    g_autoptr(GError) problem = NULL;

    if ((run->config = ibh_config_load(run->config_path, &problem)))
        return TRUE;
    if (!run->undo) {
        g_propagate_error(error, g_steal_pointer(&problem));
        return FALSE;
    }
    forget_config(run, problem);
    return TRUE;
}

/* ---- everything ---- */

gboolean ibh_run_read(IbhRun *run, GError **error)
{
    run->snapshot = ibh_snapshot_take(run->netlink, run->sysfs, ibh_state_copy(run->state), error);
    if (!run->snapshot)
        return FALSE;
    ibh_state_match_links(run->snapshot->state, run->snapshot);
    return ibh_snapshot_add_main(run->snapshot, run->netlink, run->config, error) &&
           ibh_snapshot_add_tables_of_foreign_rules(run->snapshot, run->netlink, run->config, error) &&
           (!run->undo || ibh_snapshot_add_neighbours(run->snapshot, run->netlink, error));
}

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
        forget_config(run, problem);
        run->rails = ibh_rails_find(run->config, run->snapshot, run->respects_holds, error);
    }
    if (run->rails)
        run->rails->only = run->only;
    return run->rails != NULL;
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
static gboolean find_with_free_tables(IbhRun *run, GError **error)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
    guint before;

    do {
        before = run->snapshot->routes->len;
        if (!find(run, error) || (!run->undo && !read_new_tables(run, seen, error)))
            return FALSE;
    } while (run->snapshot->routes->len != before);
    return TRUE;
}

gboolean ibh_run_find_rails(IbhRun *run, GError **error)
{
    return find_with_free_tables(run, error);
}

/* ---- what is near ---- */

static gboolean judge_near(IbhRun *run, IbhNear *near, GError **error)
{
    ibh_state_match_links(run->snapshot->state, run->snapshot);
    return ibh_snapshot_add_tables_of_foreign_rules(run->snapshot, run->netlink, run->config, error) &&
           find_with_free_tables(run, error) && ibh_near_finish(near, run->rails, error);
}

gboolean ibh_run_look_near(IbhRun *run, GError **error)
{
    g_auto(IbhNear) near = {.netlink = run->netlink, .config = run->config};

    if (!run->state->whole || !ibh_netlink_is_strict(run->netlink))
        return TRUE;
    if (!(run->snapshot = ibh_near_take(&near, run->sysfs, ibh_state_copy(run->state), error)) ||
        (near.enough && !judge_near(run, &near, error)))
        return FALSE;
    if (!near.enough) {
        g_clear_pointer(&run->rails, ibh_rails_free);
        g_clear_pointer(&run->snapshot, ibh_snapshot_free);
    }
    return TRUE;
}

/* ---- the plan ---- */

static gboolean undoes_a_former_rail(const IbhRun *run, const GPtrArray *plan)
{
    IBH_EACH_POINTER (const IbhOp, op, plan) {
        const IbhNic *nic = op->ifindex ? ibh_rails_nic(run->rails, op->ifindex) : NULL;

        if (nic && nic->status != IBH_NIC_RAIL)
            return TRUE;
    }
    return FALSE;
}

/* Neighbours, of which a fabric has thousands, are read only where some of them have to go. */
static GPtrArray *plan_apply(IbhRun *run)
{
    GPtrArray *plan = ibh_plan_apply(run->rails, run->only);

    if (undoes_a_former_rail(run, plan) && ibh_snapshot_add_neighbours(run->snapshot, run->netlink, NULL)) {
        g_ptr_array_unref(plan);
        plan = ibh_plan_apply(run->rails, run->only);
    }
    return plan;
}

GPtrArray *ibh_run_plan(IbhRun *run)
{
    g_autoptr(IbhRails) after = NULL;

    if (!run->undo)
        return plan_apply(run);
    if (run->only && !run->bad_config) /* else the others stay as they are: their settings are not known */
        after = ibh_rails_without(run->config, run->snapshot, run->only);
    return ibh_plan_undo(run->rails, after, run->only);
}
