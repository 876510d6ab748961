/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/command_io.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the process that waits for --confirm ---- */

#define TRIES 720 /* a host that may be cut off is worth an hour */
#define PAUSE 5   /* seconds */

/* Ended early by a signal (a service that stops, a machine that shuts down), it undoes the half-tried change. */
static void wait_for(guint seconds)
{
    sigset_t signals;
    int number;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGALRM);
    alarm(seconds);
    (void)sigwait(&signals, &number);
}

/* Repeats until it succeeds, or finds that the change was confirmed. */
G_GNUC_NORETURN static void live(IbhOptions options)
{
    g_autoptr(GString) out = g_string_new(NULL), warnings = g_string_new(NULL);
    int status = IBH_EXIT_SYSTEM;

    options.action = IBH_ACTION_UNDO;
    options.json = FALSE;
    options.style = (IbhStyle){0};
    for (int i = 0; i < TRIES && status == IBH_EXIT_SYSTEM; i++) {
        wait_for(i ? PAUSE : (guint)options.confirm);
        g_string_truncate(out, 0);
        g_string_truncate(warnings, 0);
        status = ibh_action(&options, out, warnings);
    }
    if (out->len)
        ibh_log_lines(LOG_WARNING, g_string_prepend(out, "not confirmed in time: ")->str);
    ibh_log_lines(LOG_ERR, warnings->str);
    _exit(status);
}

/* Starts the process that undoes an --apply unless it is confirmed, just before the change. When this returns, that one
 * has left our session, and holds no file, lock, pipe or terminal of ours or of our caller's; no signal ends it. */
static gboolean start_process(const IbhOptions *options)
{
    sigset_t all;
    int status = 0;
    pid_t child;

    signal(SIGCHLD, SIG_DFL); /* who ignores it never hears how a child ended */
    child = fork();
    if (child == 0) {
        sigfillset(&all);
        sigprocmask(SIG_BLOCK, &all, NULL);
        (void)setsid();
        for (int fd = (int)CLAMP(sysconf(_SC_OPEN_MAX), 256, 65536); fd > STDERR_FILENO; fd--)
            close(fd);
        if (daemon(TRUE, FALSE) == 0)
            live(*options);
        _exit(IBH_EXIT_SYSTEM);
    }
    return child > 0 && waitpid(child, &status, 0) == child && !status;
}

/* ---- --confirm ---- */

/* The token identifies this --apply to the process that waits. */
static gboolean start_waiting(IbhCommand *command, GError **error)
{
    g_autofree char *token = g_strdup_printf("%d %" G_GINT64_FORMAT "\n", (int)getpid(), g_get_real_time());
    IbhOptions options = *command->options;

    options.token = token;
    if (command->run.store && !ibh_store_set_token(command->run.store, token, error))
        return FALSE;
    if (command->run.store && start_process(&options))
        return TRUE;
    g_set_error(error, IBH_RUN_ERROR, 0, "--confirm needs %s; nothing was changed",
                command->run.store ? "one more process, which cannot be started" : IBH_RUN_DIR);
    return FALSE;
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
    return ibh_command_say(command, &(IbhReport){0});
}

/* ---- changing ---- */

int ibh_command_change(IbhCommand *command, GError **error)
{
    const gboolean undo = command->options->action == IBH_ACTION_UNDO;
    g_autoptr(GPtrArray) plan = ibh_run_plan(&command->run);
    g_autoptr(IbhOutcome) outcome = NULL;
    g_autofree char *line = NULL;
    IbhReport report = {0};

    if (!undo && command->options->confirm && (plan->len || ibh_command_has_token(command)) &&
        !start_waiting(command, error))
        return IBH_EXIT_SYSTEM;
    outcome = ibh_run_change(&command->run, plan);
    /* The journal tells why rails came or went: a person did it, or a package's script. */
    line = g_strdup_printf("%s: %u change%s%s", undo ? "--undo" : "--apply", outcome->done->len,
                           outcome->done->len == 1 ? "" : "s", outcome->errors->len ? "; not all could be made" : "");
    if (outcome->done->len || outcome->errors->len)
        ibh_log_command(line);
    if (undo && command->run.store && !outcome->errors->len && (!command->run.only || command->options->token))
        (void)ibh_store_set_token(command->run.store, NULL, NULL); /* there is nothing left to confirm */
    report.ops = outcome->done;
    report.errors = outcome->errors;
    report.confirm = ibh_command_has_token(command) ? command->options->confirm : 0;
    IBH_EACH_POINTER (const char, message, outcome->errors)
        ibh_run_warn(&command->run, message);
    return ibh_command_say(command, &report);
}
