/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A plan is done, and the state file follows it. */
#include "run/run.h"

#include "kernel/sysctl.h"
#include "model/state.h"
#include "plan/tables.h"

#include <signal.h>
#include <string.h>

#define PEERS_SWITCH_WITHIN 50000 /* microseconds, after an announcement */

/* ---- the operations ---- */

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

/* ---- the state ---- */

const IbhState *ibh_run_save(IbhRun *run, const IbhState *on_file, const IbhState *state)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *text = NULL;

    if (!run->store || run->forgets || ibh_state_equal(on_file, state))
        return on_file;
    if (ibh_store_save(run->store, state, &error))
        return state;
    text = g_strdup_printf("%s; old sysctl values and holds are not remembered for --undo: make /run writable",
                           error->message);
    ibh_run_warn(run, text);
    run->forgets = TRUE;
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

void ibh_run_update_holds(const IbhRun *run, const IbhPlan *plan, IbhState *state)
{
    if (!run->only && run->undo)
        hold_all(run, plan, state);
    else if (!run->only)
        ibh_state_lift(state, NULL);
    for (guint i = 0; run->only && run->only[i]; i++)
        (run->undo ? ibh_state_hold : ibh_state_lift)(state, run->only[i]);
}

/* Blocks signals (a terminal that closes, a service that stops) for the few milliseconds of a change. */
static void block_signals(const IbhRun *run, sigset_t *ret_before)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGALRM, SIGUSR1, SIGUSR2, SIGTSTP};
    sigset_t set;

    sigemptyset(&set);
    for (guint i = 0; i < G_N_ELEMENTS(numbers); i++)
        sigaddset(&set, numbers[i]);
    if (run->is_event)
        sigdelset(&set, SIGALRM); /* a hook's own limit: its caller waits no longer */
    sigprocmask(SIG_BLOCK, &set, ret_before);
}

/* TRUE if everything of ours is known afterwards, so that an event need not look for leftovers. */
static gboolean is_whole(const IbhRun *run, const IbhOutcome *outcome)
{
    return !run->undo && !run->only && !run->restrained && !run->bad_config && !outcome->errors->len &&
           run->rails->candidates;
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

IbhOutcome *ibh_run_change(IbhRun *run, const IbhPlan *plan)
{
    const IbhState *before = run->snapshot->state, *on_file = run->on_file;
    g_autoptr(IbhState) ahead = ibh_state_copy(before), after = ibh_state_copy(before);
    g_autoptr(GArray) rails = ibh_rails_to_remember(run->rails, run->undo ? run->only : NULL, run->undo && !run->only);
    IbhOutcome *outcome;
    sigset_t signals;

    block_signals(run, &signals);
    ibh_state_remember(ahead, plan->ops, FALSE);
    ahead->whole &= !plan->ops->len;
    on_file = ibh_run_save(run, on_file, ahead);
    outcome = ibh_apply(plan, execute, run);
    ibh_state_remember(after, outcome->done, TRUE);
    remember_rails(after, before, rails, outcome->errors->len > 0);
    after->whole = is_whole(run, outcome);
    if (!run->is_event)
        ibh_run_update_holds(run, plan, after);
    (void)ibh_run_save(run, on_file, after);
    sigprocmask(SIG_SETMASK, &signals, NULL);
    return outcome;
}
