/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which process has a netlink port, as far as a process without CAP_SYS_PTRACE can tell: it may not look at the
 * descriptors of others.
 */
#include "kernel/netlink.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static gboolean is_held(guint32 port)
{
    g_autofree char *text = NULL;
    guint protocol, holder;

    if (!g_file_get_contents("/proc/self/net/netlink", &text, NULL, NULL))
        return FALSE;
    for (const char *line = strchr(text, '\n'); line; line = strchr(line + 1, '\n')) {
        if (sscanf(line, " %*s %u %u", &protocol, &holder) == 2 && protocol == 0 && holder == port)
            return TRUE;
    }
    return FALSE;
}

/* Files of a network namespace have inodes of their own. */
static gboolean is_in_this_namespace(const char *process)
{
    g_autofree char *path = g_strdup_printf("/proc/%s/net/dev", process);
    struct stat own, other;

    return stat("/proc/self/net/dev", &own) == 0 && stat(path, &other) == 0 && own.st_ino == other.st_ino &&
           own.st_dev == other.st_dev;
}

/* The kernel gives the first netlink socket of a process the number that the process has in its own PID namespace, as
 * its port: the last number of this line. */
static gboolean has_number(const char *status, guint32 number)
{
    const char *line = strstr(status, "\nNSpid:");
    guint32 last = 0;
    int length = 0;

    for (line = line ? line + strlen("\nNSpid:") : ""; *line != '\n' && sscanf(line, "%u%n", &last, &length) == 1;)
        line += length;
    return last == number;
}

static char *name_if(const char *process, guint32 port)
{
    g_autofree char *path = g_strdup_printf("/proc/%s/status", process), *status = NULL;
    char name[65];

    if (!g_file_get_contents(path, &status, NULL, NULL) || !has_number(status, port) ||
        !is_in_this_namespace(process) || sscanf(status, "Name: %64[^\n]", name) != 1)
        return NULL;
    return g_strdup_printf("%s (%s)", name, process);
}

char *ibh_port_holder(guint32 port)
{
    g_autoptr(GDir) processes = is_held(port) ? g_dir_open("/proc", 0, NULL) : NULL;
    g_autofree char *holder = NULL;
    const char *process;

    while (processes && (process = g_dir_read_name(processes))) {
        char *name = g_ascii_isdigit(process[0]) ? name_if(process, port) : NULL;

        if (name && holder) { /* of two PID namespaces */
            g_free(name);
            return NULL;
        }
        holder = name ? name : holder;
    }
    return g_steal_pointer(&holder);
}
