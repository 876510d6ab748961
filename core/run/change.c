/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/change.h"

#include "model/state.h"
#include "kernel/sysctl.h"
#include "plan/tables.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#define PEERS_SWITCH_WITHIN 50000 /* microseconds, after an announcement */

/* ---- --confirm ---- */

/* Stores the token, and starts the process that waits: the token identifies this --apply. */
static gboolean start_waiting(IbhRun *run, IbhRunAgain again, GError **error)
{
    g_autofree char *token = g_strdup_printf("%d %" G_GINT64_FORMAT "\n", (int)getpid(), g_get_real_time());
    IbhOptions options = *run->options;

    if (!run->store) {
        g_set_error_literal(error, IBH_RUN_ERROR, 0, "--confirm needs " IBH_RUN_DIR "; nothing was changed");
        return FALSE;
    }
    options.token = token;
    return ibh_store_set_token(run->store, token, error) && ibh_confirm_start(&options, again, error);
}

int ibh_run_confirm(IbhRun *run)
{
    g_autoptr(GError) error = NULL;

    if (!ibh_run_has_token(run)) {
        g_set_error_literal(&error, IBH_RUN_ERROR, 0,
                            "nothing waits for a confirmation: --apply --confirm changed nothing, or has been undone");
        return ibh_run_fail(run, IBH_EXIT_USAGE, error);
    }
    if (!ibh_store_set_token(run->store, NULL, &error))
        return ibh_run_fail(run, IBH_EXIT_SYSTEM, error);
    if (run->writer == &ibh_json_writer)
        g_string_append(run->out, "{\"ok\":true}");
    else if (!run->style.quiet)
        g_string_append(run->out, "confirmed: it stays\n");
    return IBH_EXIT_OK;
}

/* ---- changing ---- */

/* An announcement only makes peers switch sooner: if it fails, the change still stands. */
static gboolean announce(IbhRun *run, const IbhOp *op)
{
    const IbhLink *link = ibh_snapshot_link(run->snapshot, op->ifindex);
    g_autoptr(GError) error = NULL;
    gboolean sent = op->by_kernel ? ibh_netlink_announce(run->netlink, op->ifindex, &op->ip, &error)
                                  : ibh_announce(&run->announcer, link, &op->ip, &error);

    if (!sent) {
        g_autofree char *command = ibh_op_command(op);
        g_autofree char *text = g_strdup_printf("%s: announce: %s (%s); peers switch when they ask again", op->iface,
                                                error->message, command);

        ibh_run_warn(run, text);
    }
    return TRUE;
}

/* Packets that peers sent before they heard of it are still on their way: a strict rp_filter would drop them. */
static void let_peers_switch(IbhRun *run, const IbhOp *op)
{
    if (run->announced && op->key == IBH_SYSCTL_RP_FILTER && op->to == 1) {
        g_usleep(PEERS_SWITCH_WITHIN);
        run->announced = FALSE;
    }
}

static gboolean execute(gpointer data, const IbhOp *op, GError **error)
{
    IbhRun *run = data;

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

/* Returns the state that is in the file afterwards: on_file or state. */
static const IbhState *save(IbhRun *run, const IbhState *on_file, const IbhState *state)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *text = NULL;

    if (!run->store || ibh_state_equal(on_file, state))
        return on_file;
    if (ibh_store_save(run->store, state, &error))
        return state;
    text = g_strdup_printf("%s; old sysctl values and holds are not remembered for --undo: make /run writable",
                           error->message);
    ibh_run_warn(run, text);
    return on_file;
}

/* After a whole --undo: all candidates, and all NICs that were undone (without RDMA modules a rail is no candidate). */
static void hold_all(const IbhRun *run, const IbhPlan *plan, IbhState *state)
{
    IBH_EACH_POINTER (const IbhNic, nic, run->rails->nics) {
        if (nic->rank && nic->status != IBH_NIC_UNMANAGED)
            ibh_state_hold(state, nic->link->name);
    }
    IBH_EACH_POINTER (const IbhOp, op, plan->ops) {
        if (op->iface[0])
            ibh_state_hold(state, op->iface);
    }
}

static void update_holds(const IbhRun *run, const IbhPlan *plan, IbhState *state)
{
    gboolean undo = run->options->action == IBH_ACTION_UNDO;

    if (!run->only && undo)
        hold_all(run, plan, state);
    else if (!run->only)
        ibh_state_lift(state, NULL);
    for (guint i = 0; run->only && run->only[i]; i++)
        (undo ? ibh_state_hold : ibh_state_lift)(state, run->only[i]);
}

/* Blocks signals (a terminal that closes, a service that stops) for the few milliseconds of a change. */
static void block_signals(const IbhRun *run, sigset_t *ret_before)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGALRM, SIGUSR1, SIGUSR2, SIGTSTP};
    sigset_t set;

    sigemptyset(&set);
    for (guint i = 0; i < G_N_ELEMENTS(numbers); i++)
        sigaddset(&set, numbers[i]);
    if (run->mode->keeps_alarm)
        sigdelset(&set, SIGALRM); /* a hook's own limit: its caller waits no longer */
    sigprocmask(SIG_BLOCK, &set, ret_before);
}

/* TRUE if everything of ours is known afterwards, so that an event need not look for leftovers. */
static gboolean is_whole(const IbhRun *run, const IbhOutcome *outcome)
{
    return run->options->action == IBH_ACTION_APPLY && !run->only && !run->options->family && !run->restrained &&
           !run->bad_config && !outcome->errors->len && run->rails->candidates;
}

static gboolean is_remembered(const IbhState *state, const IbhSavedRail *rail)
{
    IBH_EACH (const IbhSavedRail, saved, state->rails) {
        if (saved->ifindex == rail->ifindex && saved->has_device)
            return TRUE;
    }
    return FALSE;
}

/* Where something was refused, a new rail may not stand: it can't be missed with its RDMA device. */
static void remember_rails(IbhState *after, const IbhState *before, GArray *rails, gboolean refused)
{
    IBH_EACH (IbhSavedRail, rail, rails)
        rail->has_device &= !refused || is_remembered(before, rail);
    ibh_state_set_rails(after, rails);
}

/* Old values are stored before the first change, so that a crash loses none. */
static IbhOutcome *change(IbhRun *run, const IbhPlan *plan)
{
    const IbhState *before = run->snapshot->state, *on_file = run->on_file;
    g_autoptr(IbhState) ahead = ibh_state_copy(before), after = ibh_state_copy(before);
    gboolean undo = run->options->action == IBH_ACTION_UNDO;
    g_autoptr(GArray) rails = ibh_rails_to_remember(run->rails, undo ? run->only : NULL, undo && !run->only);
    IbhOutcome *outcome;
    sigset_t signals;

    block_signals(run, &signals);
    ibh_state_remember(ahead, plan->ops, FALSE);
    ahead->whole &= !plan->ops->len;
    on_file = save(run, on_file, ahead);
    outcome = ibh_apply(plan, execute, run);
    ibh_state_remember(after, outcome->done, TRUE);
    remember_rails(after, before, rails, outcome->errors->len > 0);
    after->whole = is_whole(run, outcome);
    if (!run->mode->keeps_holds)
        update_holds(run, plan, after);
    (void)save(run, on_file, after);
    sigprocmask(SIG_SETMASK, &signals, NULL);
    return outcome;
}

static char *list_holds(const IbhRun *run, const IbhPlan *plan)
{
    g_autoptr(IbhState) state = ibh_state_new();
    GString *names = g_string_new(NULL);

    update_holds(run, plan, state);
    IBH_EACH_POINTER (const char, iface, state->holds)
        g_string_append_printf(names, "%s%s", names->len ? " " : "", iface);
    return g_string_free(names, FALSE);
}

/* ---- a first installation ---- */

/* An SSH session may use the address of a NIC without carrier, if another NIC answers for it. */
char *ibh_run_rails_without_carrier(const IbhRun *run)
{
    g_autoptr(GString) names = g_string_new(NULL);

    IBH_EACH_POINTER (const IbhNic, nic, run->rails->nics) {
        if (nic->status == IBH_NIC_RAIL && !(nic->link->carrier && nic->link->flags & IFF_UP))
            g_string_append_printf(names, "%s%s", names->len ? ", " : "", nic->link->name);
    }
    return names->len ? g_string_free(g_steal_pointer(&names), FALSE) : NULL;
}

int ibh_run_hold_back(IbhRun *run, const char *names)
{
    g_autoptr(IbhState) after = ibh_state_copy(run->snapshot->state);
    g_autofree char *text = NULL;

    IBH_EACH_POINTER (const IbhNic, nic, run->rails->nics) {
        if (nic->status == IBH_NIC_RAIL)
            ibh_state_hold(after, nic->link->name);
    }
    (void)save(run, run->on_file, after);
    text = g_strdup_printf("nothing was changed: %s would become a rail, but has no carrier: if its address is in use, "
                           "another NIC answers for it now, and would no more. Plug it in, or see ib-hook --plan; then "
                           "ib-hook --apply. Until then, or a reboot, all rails are left alone",
                           names);
    ibh_run_warn(run, text);
    return IBH_EXIT_OK;
}

static void report_confirm(IbhRun *run)
{
    if (run->options->confirm && run->writer == &ibh_text_writer && !run->style.quiet && ibh_run_has_token(run))
        g_string_append_printf(run->out, "undone again in %d s, unless: ib-hook --confirm\n", run->options->confirm);
}

static void tell_of_changes(const IbhRun *run, const GPtrArray *done)
{
    if (!run->event || !run->event->done)
        return;
    IBH_EACH_POINTER (const IbhOp, op, done)
        run->event->done(run->event->data, op);
}

int ibh_run_change(IbhRun *run, IbhRunAgain again)
{
    gboolean undo = run->options->action == IBH_ACTION_UNDO;
    g_autoptr(IbhPlan) plan = ibh_run_make_plan(run);
    g_autoptr(IbhOutcome) outcome = NULL;
    g_autoptr(GError) error = NULL;
    g_autofree char *held = undo ? list_holds(run, plan) : NULL;
    g_autofree char *text = NULL;
    IbhReport report = {.rails = run->rails, .only = run->only, .held = held};

    if (!undo && run->options->confirm && (plan->ops->len || ibh_run_has_token(run)) &&
        !start_waiting(run, again, &error))
        return ibh_run_fail(run, IBH_EXIT_SYSTEM, error);
    outcome = change(run, plan);
    if (undo && run->store && !outcome->errors->len && (!run->only || run->options->token))
        (void)ibh_store_set_token(run->store, NULL, NULL); /* there is nothing left to confirm */
    tell_of_changes(run, outcome->done);
    run->refused = outcome->errors->len > 0;
    report.done = outcome->done;
    report.errors = outcome->errors;
    text = run->writer->change(&report, &run->style);
    g_string_append(run->out, text);
    report_confirm(run);
    IBH_EACH_POINTER (const char, message, outcome->errors)
        ibh_run_warn(run, message);
    return outcome->errors->len ? IBH_EXIT_SYSTEM : IBH_EXIT_OK;
}
