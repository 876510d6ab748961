/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which network namespace this is, and whether another process is in it.
 */
#include "kernel/netlink.h"

#include <sys/socket.h>
#include <sys/stat.h>

/* What headers of Linux 4.18 do not have. */
#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

gboolean ibh_process_is_in_this_netns(const char *process)
{
    g_autofree char *path = g_strdup_printf("/proc/%s/net/dev", process);
    struct stat own, other;

    return stat("/proc/self/net/dev", &own) == 0 && stat(path, &other) == 0 && own.st_ino == other.st_ino &&
           own.st_dev == other.st_dev;
}

guint64 ibh_netns_number(void)
{
    struct stat info;

    return stat("/proc/self/net/dev", &info) == 0 ? info.st_ino : 0;
}

guint64 ibh_socket_netns_cookie(int fd)
{
    guint64 cookie = 0;
    socklen_t size = sizeof cookie;

    (void)getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &size);
    return cookie;
}
