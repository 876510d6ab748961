/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/session.h"

#include "plan/plan.h"
#include "plan/undo.h"

const IbhRunMode ibh_run_on_command = {.problems = &ibh_text_writer, .lock_seconds = 10};

const IbhRunMode ibh_run_on_event = {.problems = &ibh_log_writer,
                                     .lock_seconds = 8, /* its caller waits for it */
                                     .configures_late = TRUE,
                                     .keeps_holds = TRUE,
                                     .keeps_alarm = TRUE};

void ibh_run_warn(IbhRun *run, const char *message)
{
    g_autofree char *text = run->mode->problems->error(0, message);

    g_string_append(run->warnings, text);
}

int ibh_run_fail(IbhRun *run, int status, const GError *error)
{
    g_autofree char *text = run->writer->error(status, error->message);

    g_string_append(run->writer == &ibh_json_writer ? run->out : run->warnings, text);
    return status;
}

gboolean ibh_run_has_token(const IbhRun *run)
{
    g_autofree char *token = run->store ? ibh_store_get_token(run->store) : NULL;

    return token && (!run->options->token || g_str_equal(token, run->options->token));
}

/* ---- the plan ---- */

static gboolean undoes_a_former_rail(const IbhRun *run, const IbhPlan *plan)
{
    IBH_EACH_POINTER (const IbhOp, op, plan->ops) {
        const IbhNic *nic = op->ifindex ? ibh_rails_nic(run->rails, op->ifindex) : NULL;

        if (nic && nic->status != IBH_NIC_RAIL)
            return TRUE;
    }
    return FALSE;
}

/* Neighbours, of which a fabric has thousands, are read only where some of them have to go. */
static IbhPlan *plan_apply(IbhRun *run)
{
    IbhPlan *plan = ibh_plan_apply(run->rails, run->only);

    if (undoes_a_former_rail(run, plan) && ibh_snapshot_add_neighbours(run->snapshot, run->netlink, NULL)) {
        ibh_plan_free(plan);
        plan = ibh_plan_apply(run->rails, run->only);
    }
    ibh_plan_keep_family(plan, run->options->family);
    return plan;
}

static void restrain(IbhRun *run, IbhPlan *plan)
{
    IbhReconcile *event = run->event;
    const guint before = plan->ops->len;

    event->spared = ibh_restrain(plan, run->rails, &event->restraint);
    run->restrained = plan->ops->len < before;
    event->candidates = g_array_new(FALSE, FALSE, sizeof(int));
    event->port = ibh_netlink_port(run->netlink);
    IBH_EACH_POINTER (const IbhNic, nic, run->rails->nics) {
        if (nic->rank)
            g_array_append_val(event->candidates, nic->link->ifindex);
    }
}

IbhPlan *ibh_run_make_plan(IbhRun *run)
{
    g_autoptr(IbhRails) after = NULL;

    if (run->options->action != IBH_ACTION_UNDO) {
        IbhPlan *plan = plan_apply(run);

        if (run->event)
            restrain(run, plan);
        return plan;
    }
    if (run->only && !run->bad_config) /* else the others stay as they are: their settings are not known */
        after = ibh_rails_without(run->config, run->snapshot, run->only);
    return ibh_plan_undo(run->rails, after, run->only);
}
