/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The last step of a run: run the plan, and save the state. */
#include "run/run.h"

#include "plan/known.h"

#include <signal.h>

#define PEERS_SWITCH_WITHIN 50000 /* microseconds, after an announcement */

/* ---- the operations ---- */

/* An announcement makes peers switch sooner to the NIC that answers for an address now. We also delete our neighbour
 * entries on a NIC that no longer answers: otherwise, the kernel may probe these neighbours through this NIC. The
 * probes are ARP requests with this NIC's hardware address, so the neighbours would switch back to this NIC. If either
 * operation fails, peers switch when they ask again: so warn, and keep the change. */
static void make_peers_switch(IbhRun *run, const IbhOp *op)
{
    const IbhLink *link = ibh_snapshot_link(run->snapshot, op->ifindex);
    g_autoptr(GError) error = NULL;
    gboolean done = (op->type == IBH_OP_NEIGH_DEL || op->by_kernel) && ibh_netlink_execute(run->netlink, op, &error);

    /* If the kernel's own ARP cannot announce the address, or fails, send the announcement ourselves. */
    if (!done && op->type == IBH_OP_ANNOUNCE) {
        g_clear_error(&error);
        done = ibh_announce(&run->packet_socket, link, &op->ip, &error);
    }
    run->announced |= op->type == IBH_OP_ANNOUNCE;
    if (!done) {
        g_autofree char *command = ibh_op_command(op);
        g_autofree char *text = g_strdup_printf("%s: %s: %s (%s); peers switch when they ask again", op->iface,
                                                ibh_op_name(op->type), error->message, command);

        ibh_run_warn(run, text);
    }
}

static gboolean execute_op(gpointer data, const IbhOp *op, GError **error)
{
    IbhRun *run = data;

    switch (op->type) {
    case IBH_OP_SYSCTL_SET:
        /* Packets that peers sent before the announcement are still on their way, and a strict rp_filter would drop
         * them: wait. */
        if (run->announced && op->key == IBH_SYSCTL_RP_FILTER &&
            ibh_sysctl_effective(run->snapshot, op->key, op->to) == 1) {
            g_usleep(PEERS_SWITCH_WITHIN);
            run->announced = FALSE;
        }
        return ibh_sysctl_write(run->netlink, op->ifindex, op->iface, op->key, op->to, error);
    case IBH_OP_ANNOUNCE:
    case IBH_OP_NEIGH_DEL:
        make_peers_switch(run, op);
        return TRUE;
    default:
        return ibh_netlink_execute(run->netlink, op, error);
    }
}

/* ---- the state ---- */

/* Warns of the consequences of an unsaved state. `problem` is NULL if the store could not be opened: then
 * ibh_run_open() has warned already, and only a run with `undo`, whose holds are lost, warns again. */
static void warn_not_saved(IbhRun *run, const GError *problem)
{
    const char *loss = run->undo
                           ? "no hold could be saved: the next event routes these NICs again; to prevent that, set "
                             "manage=no in " IBH_CONFIG_DIR "/ib-hook.conf"
                           : "old sysctl values and holds are not remembered for --undo";
    g_autofree char *text = g_strdup_printf("%s%s%s", problem ? problem->message : "", problem ? "; " : "", loss);

    if (run->undo || run->store)
        ibh_run_warn(run, text);
}

/* After --undo, forgets the saved sysctls whose old value is unknown (with --iface, only those of the named NICs), and
 * warns of each that still has our value. Each saved sysctl has a link, because ibh_state_match_links() has dropped the
 * saved sysctls of links that are gone. */
static void drop_lost_values(IbhRun *run, IbhState *state)
{
    IBH_EACH_BACK (const IbhSavedSysctl, saved, state->sysctls) {
        const IbhLink *link = ibh_snapshot_link(run->snapshot, saved->ifindex);
        IbhOp reset = {.type = IBH_OP_SYSCTL_SET, .key = saved->key};

        /* An old value that is not known is saved as the value that was set. */
        if (saved->old != saved->set || (run->only && !g_strv_contains(run->only, saved->iface)))
            continue;
        if (link->sysctl[saved->key] == saved->set) {
            g_autofree char *command = NULL, *text = NULL;

            g_strlcpy(reset.iface, saved->iface, sizeof reset.iface);
            command = ibh_op_command(&reset);
            text = g_strdup_printf(
                "%s: %s=%d stays: the value before ib-hook is not known (it could not be saved, or " IBH_RUN_DIR
                " was removed); the kernel's default is 0 (%s)",
                saved->iface, ibh_sysctl_name(saved->key), saved->set, command);
            ibh_run_warn(run, text);
        }
        IBH_REMOVE(IbhSavedSysctl, saved, state->sysctls);
    }
}

/* Updates the holds after a command.
 * - --apply ends hold and keep of its NICs.
 * - --undo with names holds the named NICs that exist, even without address or carrier. A named NIC that is gone gets
 *   no hold: update_known() only forgets the known rail.
 * - --undo without names holds three kinds of NICs: the candidates without manage=no; the known rails that are still
 *   expected, which may be away while a driver restarts; and every NIC with an operation, because a NIC with our rules
 *   is no candidate if the RDMA modules are not loaded. */
static void update_holds(const IbhRun *run, const GPtrArray *plan, IbhState *state)
{
    if (!run->only && !run->undo)
        ibh_state_lift(state, NULL);
    for (guint i = 0; run->only && run->only[i]; i++) {
        if (!run->undo)
            ibh_state_lift(state, run->only[i]);
        else if (ibh_snapshot_link_by_name(run->snapshot, run->only[i]))
            ibh_state_hold(state, run->only[i]);
    }
    if (run->only || !run->undo)
        return;
    IBH_EACH_POINTER (const IbhNic, nic, run->rails->nics) {
        if (nic->rank && nic->status != IBH_NIC_UNMANAGED)
            ibh_state_hold(state, nic->link->name);
    }
    IBH_EACH (IbhKnownRail, known, state->known) {
        ibh_known_look(known, run->rails, run->config);
        if (known->why != IBH_FORGOTTEN)
            ibh_state_hold(state, ibh_known_name(known));
    }
    IBH_EACH_POINTER (const IbhOp, op, plan) {
        if (op->iface[0])
            ibh_state_hold(state, op->iface);
    }
}

/* Updates the known rails: remembers the present rails, forgets rails that nobody expects any more or that --undo
 * covers, and notes when the others went missing. Remembers no rail if the run has `undo`, or if an operation
 * failed (`refused`): after a failure, a new rail may be incomplete, and must not be reported as missing later. */
static void update_known(const IbhRun *run, GArray *known, gboolean refused)
{
    g_auto(IbhTree) tree = ibh_tree_of(run->sysfs);

    IBH_EACH_POINTER (const IbhNic, nic, run->rails->nics) {
        IbhKnownRail now;

        /* --apply --iface NAME says that the rail needs only the addresses that it has now. Any other run still expects
         * the addresses that the rail has lost. Look in sysfs only for hardware whose slot is not known yet. If sysfs
         * has no slot for the RDMA port, the RDMA device is software or has gone: do not remember the rail. */
        if (!run->undo && !refused &&
            ibh_known_describe(run->rails, nic, known, run->only && g_strv_contains(run->only, nic->link->name),
                               &now) &&
            (now.slot[0] || ibh_sysfs_find_slot(&tree, now.port, now.slot)))
            ibh_known_put(known, &now);
    }
    IBH_EACH_BACK (IbhKnownRail, one, known) {
        gboolean may_forget; /* the command names the rail's NIC, or is --undo of all NICs */

        ibh_known_look(one, run->rails, run->config);
        may_forget = run->only ? g_strv_contains(run->only, ibh_known_name(one)) : run->undo;
        /* --apply --iface NAME says that the NIC needs no address that it lacks. A run that takes back an unconfirmed
         * --apply sets run->undo, too, but its remember() has restored the known rails. */
        if (one->why == IBH_FORGOTTEN || (may_forget && (run->undo ? !run->remember : one->why == IBH_LACKS_ADDRESS)))
            IBH_REMOVE(IbhKnownRail, one, known);
        else if (one->why == IBH_IS_THERE)
            one->since = 0;
        else if (!one->since)
            one->since = g_get_real_time() / G_USEC_PER_SEC;
    }
}

/* ---- the whole ---- */

IbhOutcome *ibh_run_change(IbhRun *run, const GPtrArray *plan)
{
    const IbhState *before = run->snapshot->state;
    /* We save `ahead` before the operations run, so that a crash loses no old value, and `after` when they have run. */
    g_autoptr(IbhState) ahead = ibh_state_copy(before), after = ibh_state_copy(before);
    g_autoptr(GError) problem = NULL;
    IbhOutcome *outcome;
    sigset_t blocked, mask_before;

    /* Block signals during a change, which takes milliseconds (50 more if it waits for peers to switch), so that the
     * change is completed even if a terminal is closed or a service is stopped meanwhile. But the alarm of a hook's
     * time limit may end even a change, because the hook must not keep its caller waiting for longer than this limit.
     */
    sigfillset(&blocked);
    if (run->is_event)
        sigdelset(&blocked, SIGALRM);
    sigprocmask(SIG_BLOCK, &blocked, &mask_before);
    ibh_state_remember(ahead, plan, FALSE);
    ibh_state_match_links(ahead, run->snapshot); /* fills in the hardware of the new entries */
    if (plan->len && run->store)                 /* after an error, go on: the state is saved again after the plan */
        (void)ibh_store_save(run->store, ahead, NULL);
    outcome = ibh_plan_execute(plan, execute_op, run);
    /* Before ibh_state_remember(), because a state with saved sysctls does not count as lost. */
    ibh_known_note_lost_values(run->rails, after);
    ibh_state_remember(after, outcome->done, TRUE);
    ibh_state_match_links(after, run->snapshot);
    if (!run->undo)
        ibh_state_set_config(after, run->config->text->str, !run->config->is_public);
    if (run->remember)
        run->remember(run, after);
    else {
        g_array_unref(after->rails);
        after->rails = ibh_rails_to_remember(run->rails, run->spared);
        if (!run->is_event)
            update_holds(run, plan, after);
        if (run->undo)
            drop_lost_values(run, after);
    }
    update_known(run, after->known, outcome->errors->len > 0);
    run->is_unsaved = !run->store || !ibh_store_save(run->store, after, &problem);
    run->has_holds = !run->is_unsaved && after->holds->len > 0;
    if (run->is_unsaved)
        warn_not_saved(run, problem);
    sigprocmask(SIG_SETMASK, &mask_before, NULL);
    return outcome;
}
