/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guesses which process has a netlink port. We have no CAP_SYS_PTRACE, so we cannot look at the descriptors of other
 * processes.
 */
#include "watch/watch.h"

#include "kernel/netlink.h"

#include <errno.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* TRUE if a socket of this network namespace has this port: then no second socket can be bound to the port. */
static gboolean is_port_taken(guint32 port)
{
    const struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_pid = port};
    const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    gboolean in_use;

    if (fd < 0)
        return FALSE;
    in_use = bind(fd, (const struct sockaddr *)&address, sizeof address) < 0 && errno == EADDRINUSE;
    close(fd);
    return in_use;
}

char *ibh_netlink_port_holder(guint32 port)
{
    /* If no socket has the port any more, the process that had it may have ended, and another may have its PID. */
    g_autoptr(GDir) processes = is_port_taken(port) ? g_dir_open("/proc", 0, NULL) : NULL;
    g_autofree char *holder = NULL;
    const char *process;

    while (processes && (process = g_dir_read_name(processes))) {
        g_autofree char *path = g_strdup_printf("/proc/%s/status", process), *status = NULL;
        const char *line, *number;

        if (!g_ascii_isdigit(process[0]) || !g_file_get_contents(path, &status, NULL, NULL) ||
            !(line = strstr(status, "\nNSpid:")))
            continue;
        /* The port of a process's first netlink socket is the PID that the process has in its own PID namespace, unless
         * the process chooses another port. The line NSpid has the PIDs of the process in all its PID namespaces; the
         * last of them is the PID in its own namespace. */
        number = g_strrstr_len(line, (gssize)strcspn(line + 1, "\n") + 1, "\t");
        if (!number || strtoul(number, NULL, 10) != port || ibh_netns_number(process) != ibh_netns_number("self"))
            continue;
        if (holder) /* two processes in different PID namespaces have this number */
            return NULL;
        line = status + strlen("Name:\t"); /* the file begins with this word and the name of the program */
        holder = g_strdup_printf("%.*s (%s)", (int)strcspn(line, "\n"), line, process);
    }
    return g_steal_pointer(&holder);
}
