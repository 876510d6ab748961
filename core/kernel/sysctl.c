/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/netlink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NET "/proc/sys/net/"

int ibh_sysctl_read(const char *format, ...)
{
    g_autofree char *name = NULL, *path = NULL;
    char text[16] = "";
    gssize length;
    va_list args;
    int fd;

    va_start(args, format);
    name = g_strdup_vprintf(format, args);
    va_end(args);
    path = g_strconcat(NET, name, NULL);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    length = read(fd, text, sizeof text - 1);
    close(fd);
    return length < 0 ? -1 : atoi(text);
}

gboolean ibh_sysctl_read_all(int values[IBH_N_SYSCTLS], GError **error)
{
    for (int key = 0; key < IBH_N_SYSCTLS; key++) {
        const char *name = ibh_sysctl_name((IbhSysctl)key);

        values[key] = ibh_sysctl_read("ipv4/conf/all/%s", name);
        if (values[key] < 0 && errno != ENOENT) {
            g_set_error(error, G_FILE_ERROR, (gint)g_file_error_from_errno(errno),
                        "cannot read " NET "ipv4/conf/all/%s: %s; nothing was changed", name, ibh_strerror(errno));
            return FALSE;
        }
        values[key] = MAX(values[key], 0);
    }
    return TRUE;
}

gboolean ibh_sysctl_write(const char *iface, IbhSysctl key, int value, GError **error)
{
    g_autofree char *path = g_strdup_printf(NET "ipv4/conf/%s/%s", iface, ibh_sysctl_name(key));
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
