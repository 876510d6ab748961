/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/netlink.h"

#include <sys/socket.h>
#include <sys/stat.h>

#ifndef SO_NETNS_COOKIE /* headers of Linux 4.18 lack it */
#define SO_NETNS_COOKIE 71
#endif

/* Each network namespace has its own inode of net/dev in /proc. stat() of net/dev needs no capability; stat() of
 * another process's ns/net needs one. */
guint64 ibh_netns_number(const char *process)
{
    g_autofree char *path = g_strdup_printf("/proc/%s/net/dev", process);
    struct stat info;

    return stat(path, &info) == 0 ? info.st_ino : 0;
}

guint64 ibh_socket_netns_cookie(int fd)
{
    guint64 cookie = 0;
    socklen_t size = sizeof cookie;

    (void)getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &size);
    return cookie;
}
