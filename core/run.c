#include "run.h"

#include "announce.h"
#include "caps.h"
#include "capture.h"
#include "confirm.h"
#include "fabric_read.h"
#include "files.h"
#include "host.h"
#include "manager.h"
#include "probe_io.h"
#include "render.h"
#include "report.h"
#include "snapshot.h"
#include "state.h"
#include "store.h"
#include "sysctl.h"

#include <linux/capability.h>
#include <linux/rtnetlink.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LOCK_SECONDS 10
#define PEERS_SWITCH_WITHIN 50000 /* microseconds, after an announcement */
#define LOCK_SECONDS_OF_A_HOOK 8  /* its caller waits for it */

typedef struct {
    const IbhOptions *options;
    IbhReconcile *how; /* NULL: somebody asked for it on the command line */
    const char *const *only;
    const IbhWriter *writer;
    IbhStyle style;
    GString *out;
    GString *warnings;

    IbhConfig *config;
    gboolean bad_config; /* and the defaults stand in for it */
    gboolean refused;    /* by the kernel: some operation */
    IbhNetlink *netlink;
    IbhStore *store;   /* NULL: without one; then old sysctl values and holds are not remembered */
    IbhState *on_file; /* what is remembered, before anything of it was forgotten */
    IbhSnapshot *snapshot;
    IbhRails *rails;
    IbhFabric *fabric; /* --show, --check */
    IbhAnnouncer announcer;
    gboolean announced; /* just now: peers may still send to the other NIC */
} Run;

static void warn(Run *run, const char *message)
{
    g_autofree char *text = (run->how ? &ibh_log_writer : &ibh_text_writer)->error(0, message);

    g_string_append(run->warnings, text);
}

/* ---- getting ready ---- */

static gboolean writes(const Run *run)
{
    return run->options->action == IBH_ACTION_APPLY || run->options->action == IBH_ACTION_UNDO ||
           run->options->action == IBH_ACTION_CONFIRM;
}

static gboolean check_privileges(const Run *run, GError **error)
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

/* Without its directory a change can still be made: only what would have been remembered is lost. */
static gboolean open_store(Run *run, GError **error)
{
    g_autoptr(GError) problem = NULL;

    run->store = ibh_store_open(ibh_netlink_namespace_cookie(run->netlink), writes(run), &problem);
    if (problem) {
        g_autofree char *text =
            g_strdup_printf("%s; going on without a lock, old sysctl values are not remembered", problem->message);

        warn(run, text);
    }
    return !run->store || !writes(run) ||
           ibh_store_lock(run->store, run->how ? LOCK_SECONDS_OF_A_HOOK : LOCK_SECONDS, error);
}

static IbhState *copy_state(const IbhState *state)
{
    g_autofree char *text = ibh_state_format(state);

    return ibh_state_parse(text, strlen(text));
}

/* Old values of an interface that is gone, or came back as another, are worth nothing. */
static void forget_gone_links(IbhSnapshot *snapshot)
{
    GArray *sysctls = snapshot->state->sysctls, *routes = snapshot->state->routes;

    for (guint i = sysctls->len; i-- > 0;) {
        IbhSavedSysctl *saved = &g_array_index(sysctls, IbhSavedSysctl, i);
        const IbhLink *link = ibh_snapshot_link(snapshot, saved->ifindex);

        if (!link)
            g_array_remove_index(sysctls, i);
        else
            g_strlcpy(saved->iface, link->name, sizeof saved->iface);
    }
    for (guint i = routes->len; i-- > 0;) {
        if (!ibh_snapshot_link(snapshot, g_array_index(routes, IbhSavedRoute, i).ifindex))
            g_array_remove_index(routes, i);
    }
}

static gboolean look(Run *run, GError **error)
{
    IbhState *state = run->store ? ibh_store_load(run->store, error) : ibh_state_new();

    if (!state)
        return FALSE;
    run->on_file = copy_state(state);
    run->snapshot = ibh_snapshot_take(run->netlink, run->options->sysfs, state, error);
    if (!run->snapshot)
        return FALSE;
    forget_gone_links(run->snapshot);
    return run->options->action != IBH_ACTION_UNDO || ibh_snapshot_add_neighbours(run->snapshot, run->netlink, error);
}

static gboolean check_names(const Run *run, GError **error)
{
    for (guint i = 0; run->only && run->only[i]; i++) {
        if (ibh_snapshot_link_by_name(run->snapshot, run->only[i]) || run->options->token)
            continue; /* nobody sees what the process that waited would complain of */
        g_set_error(error, IBH_CONFIG_ERROR, 0,
                    "--iface %s: there is no such interface here; ib-hook --show lists them", run->only[i]);
        return FALSE;
    }
    return TRUE;
}

/* --plan is what --apply would do, and that lifts holds. */
static gboolean find_rails(Run *run, GError **error)
{
    gboolean respect_holds =
        run->how || run->options->action == IBH_ACTION_SHOW || run->options->action == IBH_ACTION_CHECK;
    g_autoptr(GError) local = NULL;

    run->rails = ibh_rails_find(run->config, run->snapshot, respect_holds, &local);
    if (!run->rails && run->options->action == IBH_ACTION_UNDO) { /* two NICs with one table: as configure() does */
        warn(run, local->message);
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
    if (run->rails && run->rails->main == IBH_MAIN_REMOVE && writes(run) && !run->store) {
        warn(run, "main=remove is not done: what it takes out of main could not be remembered");
        run->rails->main = IBH_MAIN_KEEP;
    }
    return run->rails != NULL;
}

/* Where a rail may have a gateway, main is asked for what it reaches by that rail. */
static gboolean look_into_main(Run *run, GError **error)
{
    for (guint i = 0; i < run->rails->nics->len; i++) {
        const IbhNic *nic = g_ptr_array_index(run->rails->nics, i);

        if (nic->status == IBH_NIC_RAIL &&
            !ibh_snapshot_add_main(run->snapshot, run->netlink, nic->link->ifindex, error))
            return FALSE;
    }
    return TRUE;
}

static int fail(Run *run, int status, const GError *error)
{
    g_autofree char *text = run->writer->error(status, error->message);

    g_string_append(run->writer == &ibh_json_writer ? run->out : run->warnings, text);
    return status;
}

/* ---- --confirm ---- */

static gboolean has_token(const Run *run)
{
    g_autofree char *token = run->store ? ibh_store_get_token(run->store) : NULL;

    return token && (!run->options->token || g_str_equal(token, run->options->token));
}

/* Leaves the token, and starts the process that waits: it knows its --apply by it. */
static gboolean start_waiting(Run *run, GError **error)
{
    g_autofree char *token = g_strdup_printf("%d %" G_GINT64_FORMAT "\n", (int)getpid(), g_get_real_time());
    IbhOptions options = *run->options;

    if (!run->store) {
        g_set_error_literal(error, IBH_RUN_ERROR, 0, "--confirm needs " IBH_RUN_DIR "; nothing was changed");
        return FALSE;
    }
    options.token = token;
    return ibh_store_set_token(run->store, token, error) && ibh_confirm_start(&options, error);
}

static int run_confirm(Run *run)
{
    g_autoptr(GError) error = NULL;

    if (!has_token(run)) {
        g_set_error_literal(&error, IBH_RUN_ERROR, 0,
                            "nothing waits for a confirmation: --apply --confirm changed nothing, or has been undone");
        return fail(run, IBH_EXIT_USAGE, error);
    }
    if (!ibh_store_set_token(run->store, NULL, &error))
        return fail(run, IBH_EXIT_SYSTEM, error);
    if (run->writer == &ibh_json_writer)
        g_string_append(run->out, "{\"ok\":true}");
    else if (!run->style.quiet)
        g_string_append(run->out, "confirmed: it stays\n");
    return IBH_EXIT_OK;
}

/* ---- changing ---- */

/* An announcement only makes peers switch sooner: without it, the change still stands. */
static gboolean announce(Run *run, const IbhOp *op)
{
    const IbhLink *link = ibh_snapshot_link(run->snapshot, op->ifindex);
    g_autoptr(GError) error = NULL;
    gboolean sent = op->by_kernel ? ibh_netlink_announce(run->netlink, op->ifindex, &op->ip, &error)
                                  : ibh_announce(&run->announcer, link, &op->ip, &error);

    if (!sent) {
        g_autofree char *command = ibh_op_command(op);
        g_autofree char *text = g_strdup_printf("%s: announce: %s (%s); peers switch when they ask again", op->iface,
                                                error->message, command);

        warn(run, text);
    }
    return TRUE;
}

/* What peers sent before they took notice is on its way: a strict rp_filter would drop it. */
static void let_peers_switch(Run *run, const IbhOp *op)
{
    if (run->announced && op->key == IBH_SYSCTL_RP_FILTER && op->to == 1) {
        g_usleep(PEERS_SWITCH_WITHIN);
        run->announced = FALSE;
    }
}

static gboolean execute(gpointer data, const IbhOp *op, GError **error)
{
    Run *run = data;

    switch (op->type) {
    case IBH_OP_SYSCTL_SET:
        let_peers_switch(run, op);
        return ibh_sysctl_write(op->iface, op->key, op->to, error);
    case IBH_OP_ANNOUNCE:
        run->announced = TRUE;
        return announce(run, op);
    default:
        return ibh_netlink_execute(run->netlink, op, error);
    }
}

/* Returns what is on file then. */
static const IbhState *save(Run *run, const IbhState *on_file, const IbhState *state)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *text = NULL;

    if (!run->store || ibh_state_equal(on_file, state))
        return on_file;
    if (ibh_store_save(run->store, state, &error))
        return state;
    text = g_strdup_printf("%s; old sysctl values and holds are not remembered", error->message);
    warn(run, text);
    return on_file;
}

/* Of a whole --undo: all candidates, and whatever was undone (without RDMA modules a rail is no candidate). */
static void hold_all(const Run *run, const IbhPlan *plan, IbhState *state)
{
    for (guint i = 0; i < run->rails->nics->len; i++) {
        const IbhNic *nic = g_ptr_array_index(run->rails->nics, i);

        if (nic->rank && nic->status != IBH_NIC_UNMANAGED)
            ibh_state_hold(state, nic->link->name);
    }
    for (guint i = 0; i < plan->ops->len; i++) {
        const IbhOp *op = g_ptr_array_index(plan->ops, i);

        if (op->iface[0])
            ibh_state_hold(state, op->iface);
    }
}

static void update_holds(const Run *run, const IbhPlan *plan, IbhState *state)
{
    gboolean undo = run->options->action == IBH_ACTION_UNDO;

    if (!run->only && undo)
        hold_all(run, plan, state);
    else if (!run->only)
        ibh_state_lift(state, NULL);
    for (guint i = 0; run->only && run->only[i]; i++)
        (undo ? ibh_state_hold : ibh_state_lift)(state, run->only[i]);
}

/* Whoever ends it - a terminal that is closed, a service that stops - does so before or after the few milliseconds in
 * which things change. */
static void block_signals(const Run *run, sigset_t *ret_before)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGALRM, SIGUSR1, SIGUSR2, SIGTSTP};
    sigset_t set;

    sigemptyset(&set);
    for (guint i = 0; i < G_N_ELEMENTS(numbers); i++)
        sigaddset(&set, numbers[i]);
    if (run->how)
        sigdelset(&set, SIGALRM); /* a hook's own: its caller waits for no more than that */
    sigprocmask(SIG_BLOCK, &set, ret_before);
}

/* Old values are on file before the first change, so that a crash loses none. */
static IbhOutcome *change(Run *run, const IbhPlan *plan)
{
    const IbhState *before = run->snapshot->state, *on_file = run->on_file;
    g_autoptr(IbhState) ahead = copy_state(before), after = copy_state(before);
    IbhOutcome *outcome;
    sigset_t signals;

    block_signals(run, &signals);
    ibh_state_remember(ahead, plan->ops, FALSE);
    on_file = save(run, on_file, ahead);
    outcome = ibh_apply(plan, execute, run);
    ibh_state_remember(after, outcome->done, TRUE);
    if (!run->how)
        update_holds(run, plan, after);
    (void)save(run, on_file, after);
    sigprocmask(SIG_SETMASK, &signals, NULL);
    return outcome;
}

static char *list_holds(const Run *run, const IbhPlan *plan)
{
    g_autoptr(IbhState) state = ibh_state_new();
    GString *names = g_string_new(NULL);

    update_holds(run, plan, state);
    for (guint i = 0; i < state->holds->len; i++)
        g_string_append_printf(names, "%s%s", i ? " " : "", (const char *)g_ptr_array_index(state->holds, i));
    return g_string_free(names, FALSE);
}

static gboolean undoes_a_former_rail(const Run *run, const IbhPlan *plan)
{
    for (guint i = 0; i < plan->ops->len; i++) {
        const IbhOp *op = g_ptr_array_index(plan->ops, i);
        const IbhNic *nic = op->ifindex ? ibh_rails_nic(run->rails, op->ifindex) : NULL;

        if (nic && nic->status != IBH_NIC_RAIL)
            return TRUE;
    }
    return FALSE;
}

/* Neighbours, of which a fabric has thousands, are read only where some of them have to go. */
static IbhPlan *plan_apply(Run *run)
{
    IbhPlan *plan = ibh_plan_apply(run->rails, run->only);

    if (undoes_a_former_rail(run, plan) && ibh_snapshot_add_neighbours(run->snapshot, run->netlink, NULL)) {
        ibh_plan_free(plan);
        plan = ibh_plan_apply(run->rails, run->only);
    }
    ibh_plan_keep_family(plan, run->options->family);
    return plan;
}

static void restrain(Run *run, IbhPlan *plan)
{
    IbhReconcile *how = run->how;

    how->spared = ibh_restrain(plan, run->rails, &how->restraint);
    how->candidates = g_array_new(FALSE, FALSE, sizeof(int));
    how->port = ibh_netlink_port(run->netlink);
    for (guint i = 0; i < run->rails->nics->len; i++) {
        const IbhNic *nic = g_ptr_array_index(run->rails->nics, i);

        if (nic->rank)
            g_array_append_val(how->candidates, nic->link->ifindex);
    }
}

static IbhPlan *make_plan(Run *run)
{
    g_autoptr(IbhRails) after = NULL;

    if (run->options->action != IBH_ACTION_UNDO) {
        IbhPlan *plan = plan_apply(run);

        if (run->how)
            restrain(run, plan);
        return plan;
    }
    if (run->only && !run->bad_config) /* else nobody knows how the others are wanted: they stand as they are */
        after = ibh_rails_without(run->config, run->snapshot, run->only);
    return ibh_plan_undo(run->rails, after, run->only);
}

/* ---- a first installation ---- */

/* Somebody's ssh session may run over the address of a NIC without carrier, answered by another NIC. */
static char *list_rails_without_carrier(const Run *run)
{
    g_autoptr(GString) names = g_string_new(NULL);

    for (guint i = 0; i < run->rails->nics->len; i++) {
        const IbhNic *nic = g_ptr_array_index(run->rails->nics, i);

        if (nic->status == IBH_NIC_RAIL && !(nic->link->carrier && nic->link->flags & IFF_UP))
            g_string_append_printf(names, "%s%s", names->len ? ", " : "", nic->link->name);
    }
    return names->len ? g_string_free(g_steal_pointer(&names), FALSE) : NULL;
}

static int hold_back(Run *run, const char *names)
{
    g_autoptr(IbhState) after = copy_state(run->snapshot->state);
    g_autofree char *text = NULL;

    for (guint i = 0; i < run->rails->nics->len; i++) {
        const IbhNic *nic = g_ptr_array_index(run->rails->nics, i);

        if (nic->status == IBH_NIC_RAIL)
            ibh_state_hold(after, nic->link->name);
    }
    (void)save(run, run->on_file, after);
    text = g_strdup_printf("nothing was changed: %s would become a rail, but has no carrier: if its address is in use, "
                           "another NIC answers for it now, and would no more. Plug it in, or see ib-hook --plan; then "
                           "ib-hook --apply. Until then, or a reboot, all rails are left alone",
                           names);
    warn(run, text);
    return IBH_EXIT_OK;
}

static void say_confirm(Run *run)
{
    if (run->options->confirm && run->writer == &ibh_text_writer && !run->style.quiet && has_token(run))
        g_string_append_printf(run->out, "undone again in %d s, unless: ib-hook --confirm\n", run->options->confirm);
}

static int run_change(Run *run)
{
    gboolean undo = run->options->action == IBH_ACTION_UNDO;
    g_autoptr(IbhPlan) plan = make_plan(run);
    g_autoptr(IbhOutcome) outcome = NULL;
    g_autoptr(GError) error = NULL;
    g_autofree char *held = undo ? list_holds(run, plan) : NULL;
    g_autofree char *text = NULL;
    IbhReport report = {.rails = run->rails, .only = run->only, .held = held};

    if (!undo && run->options->confirm && (plan->ops->len || has_token(run)) && !start_waiting(run, &error))
        return fail(run, IBH_EXIT_SYSTEM, error);
    outcome = change(run, plan);
    if (undo && run->store && !outcome->errors->len && (!run->only || run->options->token))
        (void)ibh_store_set_token(run->store, NULL, NULL); /* nothing is left that could be confirmed */
    for (guint i = 0; run->how && run->how->done && i < outcome->done->len; i++)
        run->how->done(run->how->data, g_ptr_array_index(outcome->done, i));
    run->refused = outcome->errors->len > 0;
    report.done = outcome->done;
    report.errors = outcome->errors;
    text = run->writer->change(&report, &run->style);
    g_string_append(run->out, text);
    say_confirm(run);
    for (guint i = 0; i < outcome->errors->len; i++)
        warn(run, g_ptr_array_index(outcome->errors, i));
    return outcome->errors->len ? IBH_EXIT_SYSTEM : IBH_EXIT_OK;
}

/* ---- looking ---- */

static int run_plan(Run *run)
{
    g_autoptr(IbhPlan) plan = make_plan(run);
    IbhReport report = {.rails = run->rails, .only = run->only, .plan = plan};
    g_autofree char *text = run->writer->plan(&report, &run->style);

    g_string_append(run->out, text);
    return IBH_EXIT_OK;
}

/* A route that is an error is an answer: main's comes before T's default route. */
static gboolean look_for_errors(Run *run, GError **error)
{
    static const guint8 types[] = {RTN_UNREACHABLE, RTN_BLACKHOLE, RTN_PROHIBIT};

    for (guint i = 0; i < G_N_ELEMENTS(types); i++) {
        const IbhRouteFilter four = {.family = AF_INET, .table = IBH_TABLE_MAIN, .type = types[i]};
        const IbhRouteFilter six = {.family = AF_INET6, .table = IBH_TABLE_MAIN, .type = types[i]};

        if (!ibh_netlink_read_routes(run->netlink, &four, run->snapshot->routes, error) ||
            !ibh_netlink_read_routes(run->netlink, &six, run->snapshot->routes, error))
            return FALSE;
    }
    return TRUE;
}

/* Routes that others put into the rails' tables matter only to who judges them. */
static gboolean look_into_tables(Run *run, GError **error)
{
    for (guint i = 0; i < run->rails->nics->len; i++) {
        const IbhNic *nic = g_ptr_array_index(run->rails->nics, i);

        if (nic->status == IBH_NIC_RAIL && !ibh_snapshot_add_table(run->snapshot, run->netlink, nic->table, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean ask_kernel(Run *run, GArray *questions, GError **error)
{
    for (guint i = 0; i < questions->len; i++) {
        if (!ibh_netlink_lookup(run->netlink, &g_array_index(questions, IbhQuestion, i).lookup, error))
            return FALSE;
    }
    return TRUE;
}

static void warn_of_problem(Run *run, const IbhTree *tree)
{
    g_autofree char *text = NULL;

    if (!tree->problem)
        return;
    text = g_strdup_printf("%s: not everything that RDMA ports say could be read: %s", tree->sys,
                           g_strerror(tree->problem));
    warn(run, text);
}

static void look_at_fabric(Run *run)
{
    g_auto(IbhTree) tree = {0};

    ibh_tree_open(&tree, run->options->sysfs);
    run->fabric = ibh_fabric_read(&tree, run->snapshot->links);
    warn_of_problem(run, &tree);
    ibh_fabric_use_rails(run->fabric, run->rails);
    run->snapshot->fabric = run->fabric;
}

static int run_check(Run *run)
{
    g_autoptr(IbhPlan) plan = make_plan(run);
    g_autoptr(GArray) questions = ibh_check_questions(run->rails, run->only);
    g_autoptr(GPtrArray) findings = NULL;
    g_autoptr(GError) error = NULL;
    g_autofree char *text = NULL;
    IbhReport report = {.rails = run->rails, .only = run->only};
    gboolean show = run->options->action == IBH_ACTION_SHOW;

    if (!look_into_tables(run, &error) || !look_for_errors(run, &error) ||
        !ibh_snapshot_add_neighbours(run->snapshot, run->netlink, &error) || !ask_kernel(run, questions, &error))
        return fail(run, IBH_EXIT_SYSTEM, error);
    look_at_fabric(run);
    report.questions = questions;
    ibh_host_read_scripts(run->options->sysfs, run->snapshot);
    ibh_managers_read(run->options->sysfs, run->rails, run->snapshot);
    report.findings = findings = ibh_check_judge(run->rails, plan, questions, run->only);
    text = (show ? run->writer->show : run->writer->check)(&report, &run->style);
    g_string_append(run->out, text);
    return show || ibh_check_is_ok(findings, NULL) ? IBH_EXIT_OK : IBH_EXIT_FINDINGS;
}

static int run_render(Run *run)
{
    IbhRender render = {.rails = run->rails, .only = run->only};
    g_autoptr(GError) error = NULL;
    g_autofree char *text = NULL;

    ibh_managers_read(run->options->sysfs, run->rails, run->snapshot);
    if (g_str_equal(run->options->render, "nm-keyfile"))
        render.write_profile = ibh_manager_profile_writer();
    text = ibh_render(run->options->render, &render, &error);
    if (!text)
        return fail(run, IBH_EXIT_SYSTEM, error);
    g_string_append(run->out, text);
    return IBH_EXIT_OK;
}

/* ---- archives of other hosts ---- */

static int run_capture(Run *run)
{
    g_auto(IbhCaptured) captured = {0};
    g_autoptr(GError) error = NULL;
    const char *file = run->options->capture;
    g_autofree char *word = ibh_shell_word(file), *shown = ibh_report_clean(word);

    if (!ibh_capture(run->options->sysfs, file, &captured, &error))
        return fail(run, g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_EXIST) ? IBH_EXIT_USAGE : IBH_EXIT_SYSTEM,
                    error);
    if (run->writer == &ibh_json_writer)
        g_string_append_printf(run->out, "{\"ok\":true,\"files\":%u}", captured.files);
    else if (!run->style.quiet)
        g_string_append_printf(run->out, "captured %u files; elsewhere: tar xf %s; ib-hook --check --sysfs %s\n",
                               captured.files, shown, captured.directory);
    return IBH_EXIT_OK;
}

static gboolean check_captured_names(const Run *run, GError **error)
{
    for (guint i = 0; run->only && run->only[i]; i++) {
        if (!ibh_fabric_nic(run->fabric, run->only[i])) {
            g_set_error(error, IBH_CONFIG_ERROR, 0,
                        "--iface %s: there is no such RDMA interface in the captured tree; ib-hook --show --sysfs %s "
                        "lists them",
                        run->only[i], run->options->sysfs);
            return FALSE;
        }
    }
    return TRUE;
}

/* Another host's links, addresses and routes are not here, and ours are not its: only its ports are judged. */
static int run_captured(Run *run, IbhTree *tree)
{
    g_autoptr(GPtrArray) findings = g_ptr_array_new_with_free_func(ibh_finding_free);
    IbhReport report = {.only = run->only, .findings = findings, .captured = TRUE};
    gboolean show = run->options->action == IBH_ACTION_SHOW;
    g_autoptr(GError) error = NULL;
    g_autofree char *text = NULL;

    if (!show && run->options->action != IBH_ACTION_CHECK) {
        g_set_error(&error, IBH_CONFIG_ERROR, 0, "--sysfs %s: a captured tree is for --show and --check only",
                    run->options->sysfs);
        return fail(run, IBH_EXIT_USAGE, error);
    }
    run->fabric = ibh_fabric_read_captured(tree, &error);
    if (!run->fabric)
        return fail(run, IBH_EXIT_SYSTEM, error);
    warn_of_problem(run, tree);
    if (!check_captured_names(run, &error))
        return fail(run, IBH_EXIT_USAGE, error);
    run->config = ibh_config_new();
    run->snapshot = ibh_snapshot_new();
    run->snapshot->fabric = run->fabric;
    run->rails = ibh_rails_find(run->config, run->snapshot, TRUE, &error);
    if (!run->rails)
        return fail(run, IBH_EXIT_USAGE, error);
    ibh_fabric_judge(run->fabric, run->only, findings, NULL);
    report.rails = run->rails;
    text = (show ? run->writer->show : run->writer->check)(&report, &run->style);
    g_string_append(run->out, text);
    return show || ibh_check_is_ok(findings, NULL) ? IBH_EXIT_OK : IBH_EXIT_FINDINGS;
}

/* ---- probing ---- */

static int run_probe(Run *run)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IbhProbe) probe = ibh_probe_new(run->rails, run->options, &error);
    IbhReport report = {.rails = run->rails, .only = run->only, .probe = probe};
    g_autofree char *text = NULL;

    if (!probe)
        return fail(run, IBH_EXIT_USAGE, error);
    if (probe->pairs->len && !ibh_probe_run(probe, run->netlink, !run->style.quiet && isatty(STDERR_FILENO), &error))
        return fail(run, IBH_EXIT_SYSTEM, error);
    ibh_probe_judge(probe);
    report.findings = probe->findings;
    text = run->writer->probe(&report, &run->style);
    g_string_append(run->out, text);
    return ibh_check_is_ok(probe->findings, NULL) ? IBH_EXIT_OK : IBH_EXIT_FINDINGS;
}

/* ---- the pipeline ---- */

static int run_action(Run *run)
{
    g_autofree char *without = run->options->install ? list_rails_without_carrier(run) : NULL;

    if (without)
        return hold_back(run, without);
    switch (run->options->action) {
    case IBH_ACTION_APPLY:
    case IBH_ACTION_UNDO:
        return run_change(run);
    case IBH_ACTION_PLAN:
        return run_plan(run);
    case IBH_ACTION_RENDER:
        return run_render(run);
    case IBH_ACTION_PROBE:
        return run_probe(run);
    default:
        return run_check(run);
    }
}

/* To undo, a mark says enough: whoever wants to be rid of it must not be held up by a bad configuration. */
static gboolean configure(Run *run, GError **error)
{
    g_autoptr(GError) local = NULL;

    if ((run->config = ibh_config_load(run->options->config, &local)))
        return TRUE;
    if (run->options->action != IBH_ACTION_UNDO) {
        g_propagate_error(error, g_steal_pointer(&local));
        return FALSE;
    }
    warn(run, local->message);
    run->config = ibh_config_new();
    run->bad_config = TRUE;
    return TRUE;
}

static int pipeline(Run *run)
{
    g_autoptr(GError) error = NULL;
    g_auto(IbhTree) tree = {0};

    if (run->options->action == IBH_ACTION_CAPTURE)
        return run_capture(run);
    ibh_tree_open(&tree, run->options->sysfs);
    if (tree.captured)
        return run_captured(run, &tree);
    if (!configure(run, &error))
        return fail(run, IBH_EXIT_USAGE, error);
    if (!check_privileges(run, &error))
        return fail(run, IBH_EXIT_SYSTEM, error);
    ibh_caps_drop();
    if (!(run->netlink = ibh_netlink_open(&error)) || !open_store(run, &error))
        return fail(run, IBH_EXIT_SYSTEM, error);
    if (run->options->action == IBH_ACTION_CONFIRM)
        return run_confirm(run);
    if (run->options->action == IBH_ACTION_UNDO && run->options->token && !has_token(run))
        return IBH_EXIT_OK; /* it was confirmed */
    if (!look(run, &error))
        return fail(run, IBH_EXIT_SYSTEM, error);
    if (!check_names(run, &error) || !find_rails(run, &error))
        return fail(run, IBH_EXIT_USAGE, error);
    if (!look_into_main(run, &error))
        return fail(run, IBH_EXIT_SYSTEM, error);
    return run_action(run);
}

static int run_all(Run *run)
{
    int status;

    run->announcer = (IbhAnnouncer)IBH_ANNOUNCER_INIT;
    status = pipeline(run);
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

int ibh_run(const IbhOptions *options, gboolean color, GString *out, GString *warnings)
{
    Run run = {.options = options,
               .only = ibh_options_only(options),
               .writer = options->json ? &ibh_json_writer : &ibh_text_writer,
               .style = {.color = color, .verbose = options->verbose, .quiet = options->quiet},
               .out = out,
               .warnings = warnings};

    return run_all(&run);
}

void ibh_reconcile_clear(IbhReconcile *how)
{
    g_clear_pointer(&how->spared, g_array_unref);
    g_clear_pointer(&how->candidates, g_array_unref);
    how->port = 0;
}

static int reconcile(IbhReconcile *how, GString *out, GString *warnings, gboolean *refused)
{
    const IbhOptions options = {.action = IBH_ACTION_APPLY,
                                .config = (char *)(guintptr)how->config,
                                .sysfs = (char *)(guintptr)(how->sysfs ? how->sysfs : "/sys")};
    Run run = {.options = &options, .how = how, .writer = &ibh_log_writer, .out = out, .warnings = warnings};
    int status;

    ibh_reconcile_clear(how);
    status = run_all(&run);
    *refused = run.refused;
    return status;
}

/* An address that its manager takes away while a plan runs makes the kernel refuse a route: whether it is an error, a
 * second look says. */
int ibh_reconcile(IbhReconcile *how, GString *out, GString *warnings)
{
    const gsize before = warnings->len;
    gboolean refused = FALSE;
    int status = reconcile(how, out, warnings, &refused);

    if (!refused)
        return status;
    g_string_truncate(warnings, before);
    return reconcile(how, out, warnings, &refused);
}
