/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/plan.h"

/* Takes back the operations of the failed operation's unit, the last one first, and removes them from `done`. An
 * operation stays done if the kernel would refuse the old route now (IbhOp.for_good), or if its inverse fails.
 * Returns the error message. */
static char *fail_unit(GPtrArray *done, IbhOp *failed, const GError *error, IbhExecute execute, gpointer kernel)
{
    g_autofree char *command = ibh_op_command(failed), *problem = NULL;
    GString *message = g_string_new(NULL);
    gboolean some_stay = FALSE;

    g_string_printf(message, "%s: %s failed: %s (%s)", failed->iface[0] ? failed->iface : "-",
                    ibh_op_name(failed->type), error->message, command);
    if (error->domain == IBH_ANSWER_LOST) /* the kernel may have done the operation: treat it as done */
        g_ptr_array_add(done, failed);
    for (guint i = done->len; i-- > 0;) {
        const IbhOp *op = g_ptr_array_index(done, i);
        g_autoptr(GError) refusal = NULL;
        IbhOp inverse;

        if (!ibh_unit_is_same(&op->unit, &failed->unit))
            continue;
        some_stay |= op->for_good;
        if (op->for_good)
            continue;
        /* An operation on peers has no inverse: only remove it from the list. */
        if (!ibh_op_inverse(op, &inverse) || execute(kernel, &inverse, &refusal))
            g_ptr_array_remove_index(done, i);
        else if (!problem)
            problem = g_strdup(refusal->message);
    }
    if (problem)
        g_string_append_printf(
            message, "; the operations before could not be taken back, either: %s; run ib-hook --apply again", problem);
    else if (failed->unit.kind != IBH_UNIT_NONE)
        g_string_append_printf(message, "; %scorrect the cause, then run ib-hook --apply",
                               some_stay ? "" : "the state before is back: ");
    return g_string_free(message, FALSE);
}

IbhOutcome *ibh_plan_execute(const GPtrArray *plan, IbhExecute execute, gpointer kernel)
{
    IbhOutcome *outcome = g_new0(IbhOutcome, 1);
    g_autoptr(GArray) failed = IBH_NEW_ARRAY(IbhUnit);

    outcome->done = g_ptr_array_new();
    outcome->errors = g_ptr_array_new_with_free_func(g_free);
    IBH_EACH_POINTER (IbhOp, op, plan) {
        g_autoptr(GError) error = NULL;
        gboolean has_failed = FALSE;

        IBH_EACH (const IbhUnit, unit, failed)
            has_failed |= ibh_unit_is_same(unit, &op->unit);
        if (has_failed)
            continue;
        if (execute(kernel, op, &error)) {
            g_ptr_array_add(outcome->done, op);
            continue;
        }
        g_ptr_array_add(outcome->errors, fail_unit(outcome->done, op, error, execute, kernel));
        g_array_append_val(failed, op->unit);
    }
    return outcome;
}

void ibh_outcome_free(IbhOutcome *outcome)
{
    g_ptr_array_unref(outcome->done);
    g_ptr_array_unref(outcome->errors);
    g_free(outcome);
}
