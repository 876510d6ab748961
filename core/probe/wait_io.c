/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How --probe waits, and the progress that it shows on a terminal. */
#include "probe/prober_io.h"

#include <signal.h>
#include <stdio.h>

#define PROGRESS_AFTER G_USEC_PER_SEC
#define PROGRESS_EVERY (G_USEC_PER_SEC / 5)

static volatile sig_atomic_t stopped;
static sigset_t while_waiting; /* which signals are kept away */
static struct sigaction before[2];
static const int CAUGHT[] = {SIGINT, SIGTERM};

gint64 ibh_prober_now(void)
{
    return g_get_monotonic_time();
}

static void on_signal(int number)
{
    (void)number;
    stopped = 1;
}

/* Signals are delivered only while we wait, so no other call is interrupted. A signal that our caller ignores stays
 * ignored. */
void ibh_prober_catch_signals(void)
{
    struct sigaction catch = {.sa_handler = on_signal};
    sigset_t blocked;

    stopped = 0;
    sigemptyset(&blocked);
    for (guint i = 0; i < G_N_ELEMENTS(CAUGHT); i++) {
        (void)sigaction(CAUGHT[i], NULL, &before[i]);
        if (before[i].sa_handler == SIG_IGN)
            continue;
        (void)sigaction(CAUGHT[i], &catch, NULL);
        sigaddset(&blocked, CAUGHT[i]);
    }
    (void)sigprocmask(SIG_BLOCK, &blocked, &while_waiting);
}

/* "timeout", and a terminal with a pipe, send a signal twice: so a second one must not keep us from the report. */
void ibh_prober_release_signals(void)
{
    (void)sigprocmask(SIG_SETMASK, &while_waiting, NULL);
    for (guint i = 0; i < G_N_ELEMENTS(CAUGHT) && !stopped; i++)
        (void)sigaction(CAUGHT[i], &before[i], NULL);
}

gboolean ibh_prober_is_stopped(void)
{
    return stopped != 0;
}

void ibh_prober_poll(struct pollfd *fds, guint n, gint64 until)
{
    gint64 left = MAX(until - ibh_prober_now(), 0);
    struct timespec limit = {.tv_sec = (time_t)(left / G_USEC_PER_SEC),
                             .tv_nsec = (long)(left % G_USEC_PER_SEC) * 1000};

    (void)ppoll(fds, n, &limit, &while_waiting);
}

void ibh_prober_tell(IbhProber *prober, const char *doing)
{
    gint64 at = ibh_prober_now();

    if (!prober->progress || at < prober->started + PROGRESS_AFTER || at < prober->told + PROGRESS_EVERY)
        return;
    prober->told = at;
    fprintf(stderr, "\r%u of %u echoes sent, %u replies%s\033[K", prober->sent,
            prober->probe->pairs->len * (guint)prober->probe->count, prober->received, doing);
    fflush(stderr);
}

void ibh_prober_tell_end(IbhProber *prober)
{
    if (prober->told)
        fputs("\r\033[K", stderr);
}
