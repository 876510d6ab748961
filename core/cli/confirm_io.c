/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/command_io.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

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
    options.json = options.verbose = options.quiet = FALSE;
    for (int i = 0; i < TRIES && status == IBH_EXIT_SYSTEM; i++) {
        wait_for(i ? PAUSE : options.confirm);
        g_string_truncate(out, 0);
        g_string_truncate(warnings, 0);
        status = ibh_action(&options, FALSE, out, warnings);
    }
    openlog("ib-hook", LOG_PID, LOG_DAEMON);
    if (out->len)
        syslog(LOG_WARNING, "not confirmed within %d s: %s", options.confirm, out->str);
    if (warnings->len)
        syslog(LOG_ERR, "%s", warnings->str);
    _exit(status);
}

gboolean ibh_confirm_start(const IbhOptions *options, GError **error)
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
