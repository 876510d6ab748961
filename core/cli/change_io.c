/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/command_io.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

/* ---- the process that waits for --confirm ---- */

#define TRIES 720 /* a host that may be cut off is worth an hour */
#define PAUSE 5   /* seconds */

/* Detaches: the end of the caller (its terminal, its session, its pipe) does not end this process, and this process
 * keeps none of the caller's files and locks open. All that is done when the caller goes on. */
static void detach(int ready)
{
    const int max = (int)CLAMP(sysconf(_SC_OPEN_MAX), 256, 65536), null = open("/dev/null", O_RDWR);

    (void)setsid();
    for (int fd = 0; fd < max; fd++) {
        if (fd <= STDERR_FILENO)
            (void)dup2(null, fd);
        else if (fd != ready)
            close(fd);
    }
    (void)!write(ready, "", 1);
    close(ready);
}

/* Ended early by a signal (a service that stops, a machine that shuts down), it undoes the half-tried change. */
static void wait_for(int seconds)
{
    gint64 end = g_get_monotonic_time() + (gint64)seconds * G_USEC_PER_SEC;
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    for (gint64 left = end - g_get_monotonic_time(); left > 0; left = end - g_get_monotonic_time()) {
        struct timespec rest = {.tv_sec = (time_t)(left / G_USEC_PER_SEC),
                                .tv_nsec = (long)(left % G_USEC_PER_SEC) * 1000};

        if (sigtimedwait(&signals, NULL, &rest) == SIGTERM)
            return;
    }
}

/* Repeats until it succeeds, or finds that the change was confirmed. */
G_GNUC_NORETURN static void live(IbhOptions options, int ready)
{
    g_autoptr(GString) out = g_string_new(NULL), warnings = g_string_new(NULL);
    int status = IBH_EXIT_SYSTEM;

    detach(ready);
    options.action = IBH_ACTION_UNDO;
    options.json = FALSE;
    options.style = (IbhStyle){0};
    for (int i = 0; i < TRIES && status == IBH_EXIT_SYSTEM; i++) {
        wait_for(i ? PAUSE : options.confirm);
        g_string_truncate(out, 0);
        g_string_truncate(warnings, 0);
        status = ibh_action(&options, out, warnings);
    }
    openlog("ib-hook", LOG_PID, LOG_DAEMON);
    if (out->len)
        syslog(LOG_WARNING, "not confirmed within %d s: %s", options.confirm, out->str);
    if (warnings->len)
        syslog(LOG_ERR, "%s", warnings->str);
    _exit(status);
}

/* Starts the process that undoes an --apply unless it is confirmed, just before the change. It has no terminal, no
 * session and no descriptor of ours; it waits, and undoes the change if the token in `options` still exists. */
static gboolean start_process(const IbhOptions *options, GError **error)
{
    int ready[2] = {-1, -1};
    sigset_t all, before;
    pid_t child = -1;
    char byte;

    /* No signal ends it before it is detached, not even that of a terminal that closes right now, nor later. */
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    if (pipe2(ready, O_CLOEXEC) == 0 && (child = fork()) == 0)
        live(*options, ready[1]);
    if (child < 0)
        g_set_error(error, G_FILE_ERROR, (gint)g_file_error_from_errno(errno),
                    "cannot start the process that waits for --confirm: %s; nothing was changed", g_strerror(errno));
    if (ready[1] >= 0)
        close(ready[1]);
    (void)!read(ready[0], &byte, 1);
    if (ready[0] >= 0)
        close(ready[0]);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return child > 0;
}

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
    return ibh_store_set_token(command->run.store, token, error) && start_process(&options, error);
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
