/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/command_io.h"

#include "model/model.h"
#include "run/run.h"

#include <unistd.h>

/* ---- --confirm ---- */

/* Stores the token, and starts the process that waits: the token identifies this --apply. */
static gboolean start_waiting(IbhCommand *command, GError **error)
{
    g_autofree char *token = g_strdup_printf("%d %" G_GINT64_FORMAT "\n", (int)getpid(), g_get_real_time());
    IbhOptions options = *command->options;

    if (!command->run.store) {
        g_set_error_literal(error, IBH_RUN_ERROR, 0, "--confirm needs " IBH_RUN_DIR "; nothing was changed");
        return FALSE;
    }
    options.token = token;
    return ibh_store_set_token(command->run.store, token, error) && ibh_confirm_start(&options, error);
}

int ibh_command_confirm(IbhCommand *command, GError **error)
{
    if (!ibh_command_has_token(command)) {
        g_set_error_literal(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                            "nothing waits for a confirmation: --apply --confirm changed nothing, or has been undone");
        return IBH_EXIT_USAGE;
    }
    if (!ibh_store_set_token(command->run.store, NULL, error))
        return IBH_EXIT_SYSTEM;
    ibh_command_say(command, &(IbhReport){0});
    return IBH_EXIT_OK;
}

/* ---- changing ---- */

/* The journal tells why rails came or went: a person did it, or a package's script. */
static void record(const char *action, const IbhOutcome *outcome)
{
    const guint done = outcome->done->len, failed = outcome->errors->len;
    g_autofree char *text = g_strdup_printf("%s: %u change%s%s", action, done, done == 1 ? "" : "s",
                                            failed ? "; not all could be made" : "");

    if (done || failed)
        ibh_log_command(text);
}

int ibh_command_change(IbhCommand *command, GError **error)
{
    gboolean undo = command->options->action == IBH_ACTION_UNDO;
    g_autoptr(IbhPlan) plan = ibh_run_plan(&command->run);
    g_autoptr(IbhState) left_alone = ibh_state_new();
    g_autoptr(IbhOutcome) outcome = NULL;
    IbhReport report = {0};

    if (undo)
        ibh_run_update_holds(&command->run, plan, left_alone);
    if (!undo && command->options->confirm && (plan->ops->len || ibh_command_has_token(command)) &&
        !start_waiting(command, error))
        return IBH_EXIT_SYSTEM;
    outcome = ibh_run_change(&command->run, plan);
    record(undo ? "--undo" : "--apply", outcome);
    if (undo && command->run.store && !outcome->errors->len && (!command->run.only || command->options->token))
        (void)ibh_store_set_token(command->run.store, NULL, NULL); /* there is nothing left to confirm */
    report.ops = outcome->done;
    report.errors = outcome->errors;
    report.held = undo ? left_alone->holds : NULL;
    report.confirm = ibh_command_has_token(command) ? command->options->confirm : 0;
    ibh_command_say(command, &report);
    IBH_EACH_POINTER (const char, message, outcome->errors)
        ibh_run_warn(&command->run, message);
    return outcome->errors->len ? IBH_EXIT_SYSTEM : IBH_EXIT_OK;
}
