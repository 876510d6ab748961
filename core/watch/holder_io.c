/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which process has a netlink port, as far as a process without CAP_SYS_PTRACE can tell: it may not look at the
 * descriptors of others.
 */
#include "watch/watch.h"

#include "kernel/netlink.h"

#include <errno.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* No other socket of this network namespace can be given a port that one of them has. */
static gboolean has_socket(guint32 port)
{
    const struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_pid = port};
    const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    gboolean held;

    if (fd < 0)
        return FALSE;
    held = bind(fd, (const struct sockaddr *)&address, sizeof address) < 0 && errno == EADDRINUSE;
    close(fd);
    return held;
}

char *ibh_netlink_port_holder(guint32 port)
{
    g_autoptr(GDir) processes = has_socket(port) ? g_dir_open("/proc", 0, NULL) : NULL;
    g_autofree char *holder = NULL;
    const char *process;

    while (processes && (process = g_dir_read_name(processes))) {
        g_autofree char *path = g_strdup_printf("/proc/%s/status", process), *status = NULL;
        const char *line, *number;

        if (!g_ascii_isdigit(process[0]) || !g_file_get_contents(path, &status, NULL, NULL) ||
            !(line = strstr(status, "\nNSpid:")))
            continue;
        /* The kernel gives the first netlink socket of a process the number that the process has in its own PID
         * namespace, as its port: the last number of this line. */
        number = g_strrstr_len(line, (gssize)strcspn(line + 1, "\n") + 1, "\t");
        if (!number || strtoul(number, NULL, 10) != port || ibh_netns_number(process) != ibh_netns_number("self"))
            continue;
        if (holder) /* of two PID namespaces */
            return NULL;
        line = status + strlen("Name:\t");
        holder = g_strdup_printf("%.*s (%s)", (int)strcspn(line, "\n"), line, process);
    }
    return g_steal_pointer(&holder);
}
