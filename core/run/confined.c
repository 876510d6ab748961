/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define REPORTED_FILE IBH_RUN_DIR "/confined" /* in /run: one report for each boot */

typedef struct {
    const char *what; /* a path; for a socket, a name in words */
    int flags;        /* for open(); 0 for a socket */
} Needed;

static const Needed NEEDED[] = {{"/sys/class/net", O_RDONLY | O_DIRECTORY},
                                {IBH_RUN_DIR, O_RDONLY | O_DIRECTORY},
                                {"/proc/sys/net/ipv4/conf/all/arp_ignore", O_RDWR},
                                {"a netlink socket", 0}};

/* Returns the first thing that the process may not open; NULL if there is none. Missing files don't count. */
static const char *find_forbidden(void)
{
    IBH_EACH_ROW (const Needed, one, NEEDED) {
        const int fd = one->flags ? open(one->what, one->flags | O_NOFOLLOW | O_CLOEXEC)
                                  : socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0);

        if (fd >= 0)
            close(fd);
        else if (errno == EACCES || errno == EPERM || errno == EROFS)
            return one->what;
    }
    return NULL;
}

void ibh_confined_explain(GString *warnings)
{
    const char *forbidden = geteuid() == 0 ? find_forbidden() : NULL;
    g_autofree char *domain = NULL; /* the SELinux context of this process */
    int fd;

    if (!forbidden)
        return;
    g_string_truncate(warnings, 0);
    /* SELinux never refuses with EROFS. */
    if (errno != EROFS && access("/sys/fs/selinux", F_OK) == 0 &&
        g_file_get_contents("/proc/self/attr/current", &domain, NULL, NULL))
        g_string_append_printf(warnings,
                               "SELinux forbids access to %s to ib-hook, which runs as %s: install ib-hook-selinux, "
                               "or, if it is installed, run: sudo restorecon -R /usr/lib/NetworkManager/dispatcher.d "
                               "/usr/libexec/ib-hook\n",
                               forbidden, g_strstrip(domain));
    else
        g_string_append_printf(warnings,
                               "ib-hook cannot act: root may not open %s here; a security module or a container "
                               "forbids it\n",
                               forbidden);
    /* The first report of this boot makes the file. */
    fd = open(REPORTED_FILE, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0 && errno == EEXIST)
        g_string_truncate(warnings, 0);
    close(fd);
}
