/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/trial_io.h"

#include "cli/back.h"
#include "cli/cli.h"
#include "cli/token_io.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A process waits for --confirm. When the time of the trial is over, the process tries to go back, that is, to restore
 * what stood before the --apply. It pauses for PAUSE seconds between these attempts. If the token is still there
 * PAUSE seconds after the time is over, the process was killed, or has not succeeded yet; so a new --apply no longer
 * joins the trial. */
#define PAUSE 5
#define LONG_PAUSE 60 /* seconds; the longest pause if another --apply has given the trial more time */
#define TRIES 720     /* attempts, for at least an hour: until an attempt succeeds, the host may be cut off */

/* Rounds up. Returns 0 only if the time is over, or if there is no trial (`end` is 0). */
static guint seconds_left(const IbhToken *token)
{
    const gint64 left = token->end - g_get_monotonic_time();

    return left > 0 ? (guint)MIN(left / G_USEC_PER_SEC + 1, G_MAXINT) : 0;
}

/* ---- the process that waits ---- */

typedef struct {
    IbhTrial trial;
    const IbhRun *begun; /* the run of the --apply that began the trial */
    int process;         /* the process number of the --apply that began the trial; identifies the trial */
    int token_file;      /* open, so that the process can read the token even if the file's name is removed */
    guint seconds;       /* until the process looks again */
    gboolean ends;       /* SIGTERM came: a service stops, or the machine shuts down */
    gboolean is_early;   /* at the last look, the time was not over: another --apply has given the trial more time */
} Waiter;

/* The plan() of the run that goes back. */
static GPtrArray *plan_back(const IbhRun *run)
{
    return ibh_trial_plan_back(run->rails, run->data);
}

/* The remember() of the run that goes back. */
static void remember_trial(const IbhRun *run, IbhState *state)
{
    ibh_trial_remember(run->data, run->rails, state);
}

/* Goes back if the time of the trial is over, or if this process has to end. Returns TRUE if there is nothing left to
 * do: the trial is taken back, or somebody else has ended it. Returns FALSE if the caller has to call again
 * after `waiter->seconds`: the time is not over yet, or something failed. Writes to `said` what was done. */
static gboolean try_to_go_back(Waiter *waiter, IbhRun *run, GString *said, GError **error)
{
    g_auto(IbhToken) token = {.process = 0};
    g_autoptr(GPtrArray) plan = NULL;
    g_autoptr(IbhOutcome) outcome = NULL;
    guint left;

    waiter->seconds = PAUSE;
    waiter->is_early = FALSE;
    if (!ibh_run_configure(run, error) || !ibh_run_open(run, IBH_LOCK_SECONDS, error))
        return FALSE;
    if (ibh_token_read_open(waiter->token_file, &token) && token.process != waiter->process)
        return TRUE; /* the trial was confirmed, ended by --undo or a later --apply, or replaced by another one */
    left = seconds_left(&token); /* 0 if the token cannot be read: better go back too early than never */
    if (!waiter->ends && left) {
        waiter->seconds = MIN(left, LONG_PAUSE);
        waiter->is_early = TRUE;
        return FALSE;
    }
    /* For plan_back() and remember_trial(). `token` owns the names, so they are valid only during this attempt. */
    waiter->trial.only = (const char *const *)token.ifaces;
    if (!ibh_run_look(run, error) || !(plan = ibh_run_decide(run, error)))
        return FALSE;
    outcome = ibh_run_change(run, plan);
    /* If the attempt changed nothing, log nothing here. Its errors become warnings below, and wait_for_confirmation()
     * writes the same warnings only once, not at each attempt. */
    if (outcome->done->len)
        ibh_caller_log(outcome, run->snapshot, "--apply was not confirmed");
    IBH_EACH_POINTER (const char, message, outcome->errors)
        ibh_run_warn(run, message);
    if (run->is_unsaved) /* try again: without saved holds and keeps, the next event would apply everything again */
        return FALSE;
    waiter->trial.tried = TRUE;
    g_string_printf(
        said,
        "not confirmed in time: %s (%u change%s); hooks and --watch leave it as it is until --apply, --undo or a "
        "reboot\n",
        outcome->errors->len ? "not all of the state before --apply is back" : "the state before --apply is back",
        outcome->done->len, outcome->done->len == 1 ? "" : "s");
    if (outcome->errors->len)
        return FALSE;
    ibh_trial_forget(run);
    return TRUE;
}

/* Returns when the trial was confirmed, ended or taken back, or after TRIES attempts. */
static void wait_for_confirmation(Waiter *waiter)
{
    g_autoptr(GString) said = g_string_new(NULL);
    g_autofree char *complained = NULL;
    gboolean done = FALSE;
    sigset_t signals;
    int number, tries = 0; /* `tries`: how many attempts to go back were made */

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGALRM);
    while (tries < TRIES && !done) {
        g_autoptr(GString) warnings = g_string_new(NULL);
        g_autoptr(GError) error = NULL;
        IbhRun run = {.config_path = waiter->begun->config_path,
                      .sysfs = waiter->begun->sysfs,
                      .only = waiter->begun->only,
                      .writes = TRUE,
                      .undo = TRUE,
                      .plan = plan_back,
                      .remember = remember_trial,
                      .data = &waiter->trial,
                      .warnings = warnings,
                      .packet_socket = -1};

        /* SIGALRM ends the pause. From SIGTERM on (a service stops, or the machine shuts down), do not wait for the end
         * of the trial. */
        alarm(waiter->seconds);
        waiter->ends |= sigwait(&signals, &number) == 0 && number == SIGTERM;
        g_string_truncate(said, 0);
        done = try_to_go_back(waiter, &run, said, &error);
        if (!waiter->is_early)
            tries++;
        if (error)
            ibh_run_warn(&run, error->message);
        ibh_run_close(&run);
        if (g_strcmp0(warnings->str, complained) != 0) { /* report the same reason once, not at each attempt */
            ibh_log_lines(LOG_ERR, warnings->str, TRUE);
            g_free(complained);
            complained = g_strdup(warnings->str);
        }
    }
    if (said->len)
        ibh_log_lines(LOG_WARNING, said->str, TRUE);
}

/* Starts the process that waits. Returns FALSE if it could not be started. When this returns TRUE, the process is
 * detached: it has a session of its own, blocks all signals, holds no lock, pipe or terminal, and has only two files
 * open, the token's and /dev/null. */
static gboolean start_process(Waiter waiter)
{
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    sigset_t all;
    int status = 0;
    pid_t child;

    if (null < 0)
        return FALSE;

    signal(SIGCHLD, SIG_DFL); /* if SIGCHLD is ignored, waitpid() tells nothing about a child */
    child = fork();
    if (child == 0) {
        sigfillset(&all);
        sigprocmask(SIG_BLOCK, &all, NULL);
        (void)setsid();
        for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
            (void)dup2(null, fd);
        for (int fd = (int)CLAMP(sysconf(_SC_OPEN_MAX), 256, 65536); fd > STDERR_FILENO; fd--)
            close(fd);
        /* daemon() forks once more: the child ends with status 0, and the grandchild waits. The first argument keeps
         * the working directory, because the path of --config may be relative; the second keeps the descriptors. */
        waiter.token_file = ibh_token_open(waiter.begun->store);
        if (waiter.token_file >= 0 && daemon(TRUE, TRUE) == 0) {
            wait_for_confirmation(&waiter);
            _exit(IBH_EXIT_OK);
        }
        _exit(IBH_EXIT_SYSTEM);
    }
    close(null);
    return child > 0 && waitpid(child, &status, 0) == child && !status;
}

/* ---- the commands ---- */

/* Adds to the token the interfaces of an --apply that joins the trial. In the token and in `only`, NULL stands for all
 * interfaces. */
static void join_ifaces(IbhToken *token, const char *const *only)
{
    if (!token->ifaces || !only) {
        g_clear_pointer(&token->ifaces, g_strfreev);
        return;
    }
    for (; *only; only++) {
        const guint n = g_strv_length(token->ifaces);

        if (g_strv_contains((const char *const *)token->ifaces, *only))
            continue;
        token->ifaces = g_renew(char *, token->ifaces, n + 2);
        token->ifaces[n] = g_strdup(*only);
        token->ifaces[n + 1] = NULL;
    }
}

gboolean ibh_trial_begin(const IbhRun *run, const GPtrArray *plan, int confirm, guint *ret_seconds, GError **error)
{
    const gint64 now = g_get_monotonic_time(), end = confirm ? now + (gint64)confirm * G_USEC_PER_SEC : 0;
    g_auto(IbhToken) token = ibh_token_read(run->store);
    const Waiter waiter = {.trial = {.made = plan, .then = run->snapshot},
                           .begun = run,
                           .process = (int)getpid(),
                           .seconds = (guint)confirm};
    const gboolean waits = token.process && token.end + PAUSE * G_USEC_PER_SEC > now;
    const gboolean begins = end && plan->len; /* unless a trial waits */

    *ret_seconds = 0;
    /* An --apply during a trial joins the trial: going back restores what stood before the first --apply. */
    if (waits) {
        token.end = MAX(token.end, end);
        *ret_seconds = MAX(seconds_left(&token), 1); /* 0 would say that no trial waits */
        if (!plan->len && !end)
            return TRUE;
        join_ifaces(&token, run->only);
        return ibh_token_write(run->store, &token, error);
    }
    /* An --apply of all NICs ends an overdue trial, because a late attempt to go back would take this --apply back,
     * too. If this --apply begins a trial itself, no more is needed: its token, written below, replaces the old one. */
    if (token.process && !begins && !run->only)
        return ibh_token_remove(run->store, error);
    if (!begins)
        return TRUE;
    if (!run->store) {
        g_set_error_literal(error, IBH_RUN_ERROR, 0, "--confirm needs " IBH_RUN_DIR "; nothing was changed");
        return FALSE;
    }
    ibh_token_clear(&token);
    token = (IbhToken){.process = waiter.process, .end = end, .ifaces = g_strdupv((GStrv)(guintptr)run->only)};
    *ret_seconds = waiter.seconds;
    if (!ibh_token_write(run->store, &token, error))
        return FALSE;
    if (start_process(waiter))
        return TRUE;
    ibh_trial_forget(run);
    g_set_error_literal(error, IBH_RUN_ERROR, 0,
                        "--confirm needs one more process, which cannot be started; nothing was changed");
    return FALSE;
}

gboolean ibh_trial_confirm(const IbhRun *run, GError **error)
{
    g_auto(IbhToken) token = ibh_token_read(run->store);
    g_autofree char *caller = NULL;

    if (!seconds_left(&token)) { /* without a trial, `end` is 0 */
        g_set_error_literal(
            error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
            "nothing waits for a confirmation: there was no --apply --confirm that changed anything, or it was "
            "confirmed or undone, or its time is over");
        return FALSE;
    }
    if (!ibh_token_remove(run->store, error))
        return FALSE;
    caller = ibh_caller("the change stays: --confirm");
    ibh_log_lines(LOG_INFO, caller, FALSE);
    return TRUE;
}

void ibh_trial_forget(const IbhRun *run)
{
    (void)ibh_token_remove(run->store, NULL);
}
