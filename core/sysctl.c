#include "sysctl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONF "/proc/sys/net/ipv4/conf"

static char *sysctl_path(const char *iface, IbhSysctl key)
{
    return g_strdup_printf(CONF "/%s/%s", iface, ibh_sysctl_name(key));
}

/* 0 where it cannot be read. */
static int read_number(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char text[16] = "";

    if (fd < 0)
        return 0;
    if (read(fd, text, sizeof text - 1) < 0)
        text[0] = '\0';
    close(fd);
    return atoi(text);
}

void ibh_sysctl_read_all(int values[IBH_N_SYSCTLS])
{
    for (int key = 0; key < IBH_N_SYSCTLS; key++) {
        g_autofree char *path = sysctl_path("all", (IbhSysctl)key);

        values[key] = read_number(path);
    }
}

int ibh_sysctl_read_hash_policy(void)
{
    return read_number("/proc/sys/net/ipv4/fib_multipath_hash_policy");
}

int ibh_sysctl_read_neighbour_limit(int family)
{
    return read_number(family == AF_INET6 ? "/proc/sys/net/ipv6/neigh/default/gc_thresh3"
                                          : "/proc/sys/net/ipv4/neigh/default/gc_thresh3");
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
    g_set_error(error, G_FILE_ERROR, (gint)g_file_error_from_errno(problem), "%s: %s", path, g_strerror(problem));
    return FALSE;
}
