/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/netlink.h"

#include "kernel/dump.h"

#include <errno.h>
#include <fcntl.h>
#include <netlink/socket.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define NET "/proc/sys/net/"
#define WRITE_TRIES 5

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
    return length < 0 ? -1 : MAX(atoi(text), 0); /* conf/all may have -1, which counts as 0 */
}

gboolean ibh_sysctl_read_all(int values[IBH_N_SYSCTLS], GError **error)
{
    for (int key = 0; key < IBH_N_SYSCTLS; key++) {
        const char *name = ibh_sysctl_name((IbhSysctl)key);

        values[key] = ibh_sysctl_read("ipv4/conf/all/%s", name);
        if (values[key] < 0 && errno != ENOENT) {
            g_set_error(error, G_FILE_ERROR, (gint)g_file_error_from_errno(errno),
                        "cannot read " NET "ipv4/conf/all/%s: %s; nothing was changed", name, ibh_errno_text(errno));
            return FALSE;
        }
        values[key] = MAX(values[key], 0);
    }
    return TRUE;
}

/* Opens the file by the NIC's name, then asks the kernel which name the index has now. If the name is the same, the
 * file is the NIC's, and a later rename makes the kernel refuse the write. If the NIC has another name, tries again
 * with that name. (RTM_SETLINK takes an index, but then the kernel does not report a new rp_filter, and acts as if the
 * link had changed: it drops cached routes and joins multicast groups again.) */
gboolean ibh_sysctl_write(IbhNetlink *netlink, int ifindex, const char *iface, IbhSysctl key, int value, GError **error)
{
    struct ifreq now = {.ifr_ifindex = ifindex};
    int problem = 0; /* the errno of the last attempt; EAGAIN if the NIC had another name */
    char name[IFNAMSIZ], text[16];

    g_strlcpy(name, iface, sizeof name);
    g_snprintf(text, sizeof text, "%d", value);
    for (gulong attempt = 0; attempt < WRITE_TRIES; attempt++) {
        g_autofree char *path = g_strdup_printf(NET "ipv4/conf/%s/%s", name, ibh_sysctl_name(key));
        int fd;

        if (attempt)
            g_usleep(attempt * 1000);
        if (!ibh_iface_name_has_sysctls(name)) { /* "all", "default": the file is not this NIC's */
            problem = EPERM;
            break;
        }
        fd = open(path, O_WRONLY | O_CLOEXEC);
        problem = fd < 0 ? errno : 0;
        if (ioctl(nl_socket_get_fd(netlink->socket), SIOCGIFNAME, &now) < 0)
            problem = errno;
        else if (!g_str_equal(now.ifr_name, name)) {
            g_strlcpy(name, now.ifr_name, sizeof name);
            problem = EAGAIN;
        } else if (fd >= 0 && write(fd, text, strlen(text)) < 0)
            problem = errno;
        if (fd >= 0)
            close(fd);
        if (problem != EAGAIN && problem != ENOENT) /* ENOENT: during a rename, the NIC has no files */
            break;
    }
    if (problem)
        g_set_error(error, G_FILE_ERROR, (gint)g_file_error_from_errno(problem), NET "ipv4/conf/%s/%s: %s", name,
                    ibh_sysctl_name(key), ibh_errno_text(problem));
    return !problem;
}
