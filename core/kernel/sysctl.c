/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/netlink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONF "/proc/sys/net/ipv4/conf"

static char *sysctl_path(const char *iface, IbhSysctl key)
{
    return g_strdup_printf(CONF "/%s/%s", iface, ibh_sysctl_name(key));
}

/* 0 where there is none. Returns 0 or an errno. */
static int read_number(const char *path, int *ret_value)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char text[16] = "";
    int problem = fd < 0 && errno != ENOENT ? errno : 0;

    if (fd >= 0) {
        if (read(fd, text, sizeof text - 1) < 0)
            problem = errno;
        close(fd);
    }
    *ret_value = atoi(text);
    return problem;
}

gboolean ibh_sysctl_read_all(int values[IBH_N_SYSCTLS], GError **error)
{
    for (int key = 0; key < IBH_N_SYSCTLS; key++) {
        g_autofree char *path = sysctl_path("all", (IbhSysctl)key);
        int problem = read_number(path, &values[key]);

        if (problem) {
            g_set_error(error, G_FILE_ERROR, (gint)g_file_error_from_errno(problem),
                        "cannot read %s: %s; nothing was changed", path, ibh_strerror(problem));
            return FALSE;
        }
    }
    return TRUE;
}

int ibh_sysctl_read(const char *format, ...)
{
    g_autofree char *name = NULL, *path = NULL;
    va_list args;
    int value;

    va_start(args, format);
    name = g_strdup_vprintf(format, args);
    va_end(args);
    path = g_strconcat("/proc/sys/net/", name, NULL);
    return access(path, R_OK) == 0 && read_number(path, &value) == 0 ? value : -1;
}

gboolean ibh_sysctl_write(const char *iface, IbhSysctl key, int value, GError **error)
{
    g_autofree char *path = sysctl_path(iface, key);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    gssize written = -1;
    char text[16];
    int problem;

    g_snprintf(text, sizeof text, "%d", value);
    if (fd >= 0)
        written = write(fd, text, strlen(text));
    problem = errno;
    if (fd >= 0)
        close(fd);
    if (written == (gssize)strlen(text))
        return TRUE;
    g_set_error(error, G_FILE_ERROR, (gint)g_file_error_from_errno(problem), "%s: %s", path, ibh_strerror(problem));
    return FALSE;
}
