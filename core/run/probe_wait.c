/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/probe_wait.h"

#include <stdio.h>

#define PROGRESS_AFTER G_USEC_PER_SEC
#define PROGRESS_EVERY (G_USEC_PER_SEC / 5)

gint64 ibh_prober_now(void)
{
    return g_get_monotonic_time();
}

void ibh_prober_poll(struct pollfd *fds, guint n, gint64 until)
{
    gint64 left = MAX(until - ibh_prober_now(), 0);
    struct timespec limit = {.tv_sec = (time_t)(left / G_USEC_PER_SEC),
                             .tv_nsec = (long)(left % G_USEC_PER_SEC) * 1000};

    (void)ppoll(fds, n, &limit, NULL);
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
