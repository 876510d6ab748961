/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/run.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void ibh_notify(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    gsize length = path ? strlen(path) : 0;
    int fd;

    if (!length || length >= sizeof address.sun_path || !strchr("/@", path[0]))
        return;
    memcpy(address.sun_path, path, length);
    if (path[0] == '@')
        address.sun_path[0] = '\0'; /* an abstract name */
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    (void)sendto(fd, state, strlen(state), MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&address,
                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
    close(fd);
}

gint64 ibh_notify_interval(void)
{
    const char *interval = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    guint64 value;

    if (!interval || !g_ascii_string_to_unsigned(interval, 10, 1, G_MAXINT64, &value, NULL))
        return 0;
    if (pid && g_ascii_strtoll(pid, NULL, 10) != getpid())
        return 0;
    return (gint64)value;
}
