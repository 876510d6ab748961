/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Talks to systemd with the protocol of sd_notify(). */
#include "watch/watch.h"

#include "run/run.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void ibh_notify(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    int fd = path && (path[0] == '/' || path[0] == '@') ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;

    if (fd < 0)
        return;
    (void)ibh_datagram_send(fd, path, state, strlen(state));
    close(fd);
}

gint64 ibh_notify_interval(void)
{
    const char *interval = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    guint64 value;

    if (!interval || !g_ascii_string_to_unsigned(interval, 10, 1, G_MAXINT64, &value, NULL))
        return 0;
    /* The variables may be for the process that started us, and not for us. */
    if (pid && g_ascii_strtoll(pid, NULL, 10) != getpid())
        return 0;
    return (gint64)value;
}
