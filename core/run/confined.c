/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SAID IBH_RUN_DIR "/confined"

static const struct {
    const char *path;
    int flags;
} NEEDED[] = {{"/sys/class/net", O_RDONLY | O_DIRECTORY},
              {IBH_RUN_DIR, O_RDONLY | O_DIRECTORY},
              {"/proc/sys/net/ipv4/conf/all/arp_ignore", O_RDWR}};

static gboolean is_forbidden(int fd)
{
    int problem = errno;

    if (fd >= 0)
        close(fd);
    return fd < 0 && (problem == EACCES || problem == EPERM);
}

/* NULL: every file that exists may be opened. */
static const char *find_forbidden(void)
{
    for (guint i = 0; i < G_N_ELEMENTS(NEEDED); i++) {
        if (is_forbidden(open(NEEDED[i].path, NEEDED[i].flags | O_NOFOLLOW | O_CLOEXEC)))
            return NEEDED[i].path;
    }
    return is_forbidden(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0)) ? "a netlink socket" : NULL;
}

/* The SELinux context of this process, or NULL where there is no SELinux. */
static char *read_domain(void)
{
    char *domain = NULL;

    if (access("/sys/fs/selinux", F_OK) < 0 || !g_file_get_contents("/proc/self/attr/current", &domain, NULL, NULL))
        return NULL;
    g_strstrip(domain);
    return domain;
}

/* FALSE: this was reported since the last boot. If that cannot be stored, *ret_briefly. */
static gboolean is_news(gboolean *ret_briefly)
{
    int fd = open(SAID, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);

    *ret_briefly = fd < 0;
    if (fd >= 0)
        close(fd);
    return fd >= 0 || errno != EEXIST;
}

static char *explain(const char *forbidden, const char *domain, gboolean briefly)
{
    if (domain && briefly)
        return g_strdup_printf("SELinux forbids %s in %s: install ib-hook-selinux", forbidden, domain);
    if (domain)
        return g_strdup_printf(
            "this hook cannot act: SELinux forbids it %s in the domain %s; install the package "
            "ib-hook-selinux, or, if it is installed, run: restorecon -R /usr/lib/NetworkManager/dispatcher.d "
            "/usr/libexec/ib-hook /usr/bin/ib-hook " IBH_RUN_DIR,
            forbidden, domain);
    return g_strdup_printf(
        "this hook cannot act: root may not open %s here; a security module or a container forbids it", forbidden);
}

void ibh_confined_explain(GString *warnings, gsize from)
{
    const char *forbidden = geteuid() == 0 ? find_forbidden() : NULL;
    g_autofree char *domain = NULL, *message = NULL;
    gboolean briefly;

    if (!forbidden)
        return;
    g_string_truncate(warnings, from);
    if (!is_news(&briefly))
        return;
    domain = read_domain();
    message = explain(forbidden, domain, briefly);
    g_string_append_printf(warnings, "%s\n", message);
}
