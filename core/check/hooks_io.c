/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/managers_io.h"

#include "host/store.h"
#include "host/files.h"
#include "model/model.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* ---- SELinux ---- */

static gboolean is_enforcing(void)
{
    g_autofree char *text = NULL;

    return g_file_get_contents("/sys/fs/selinux/enforce", &text, NULL, NULL) && text[0] == '1';
}

/* Programs of these types stay in their caller's domain, which is not allowed to do our work. NULL: another type. */
static char *find_powerless_type(const char *path)
{
    static const char *const types[] = {"bin_t", "lib_t", "usr_t", "etc_t", NULL};
    char label[256] = "";
    ssize_t length = getxattr(path, "security.selinux", label, sizeof label - 1);
    g_auto(GStrv) parts = length > 0 ? g_strsplit(label, ":", -1) : NULL;

    return parts && g_strv_length(parts) > 2 && g_strv_contains(types, parts[2]) ? g_strdup(parts[2]) : NULL;
}

/* ---- the files ---- */

static char *why_unusable(const char *path, const char *place)
{
    g_autofree char *type = NULL;
    struct stat file;

    if (stat(path, &file) < 0)
        return g_strdup_printf("%s: %s", place, g_strerror(errno));
    if (!S_ISREG(file.st_mode))
        return g_strdup_printf("%s is masked", place);
    if (file.st_uid != 0 || !(file.st_mode & S_IXUSR) || (file.st_mode & (S_IWGRP | S_IWOTH)))
        return g_strdup_printf("%s is not an executable file that only root may write", place);
    type = is_enforcing() ? find_powerless_type(path) : NULL;
    return type ? g_strdup_printf("SELinux labels %s as %s, and confines it", place, type) : NULL;
}

static char *why_not_called(const char *root, const char *const *places)
{
    for (int i = 0; places[i]; i++) {
        g_autofree char *path = g_strconcat(root, places[i], NULL);
        struct stat link;

        if (lstat(path, &link) == 0)
            return why_unusable(path, places[i]);
    }
    return g_strdup_printf("there is no %s", places[0]);
}

/* networkd calls no hooks itself. While a unit runs, systemd keeps a link of this name. */
static gboolean lacks_dispatcher(const char *root, const char *const *places)
{
    g_autofree char *unit = g_strconcat(root, "/run/systemd/units/invocation:networkd-dispatcher.service", NULL);
    struct stat link;

    return g_str_has_prefix(places[0], "/etc/networkd-dispatcher/") && lstat(unit, &link) < 0;
}

gboolean ibh_hooks_are_called(const char *root)
{
    g_autofree char *command = g_strconcat(root, "/usr/bin/ib-hook", NULL);

    return access(command, F_OK) == 0 && (root[0] || !ibh_watch_is_running());
}

void ibh_hook_look(const char *root, const char *const *places, IbhManager *manager)
{
    manager->inactive = why_not_called(root, places);
    manager->by_choice = !manager->inactive && lacks_dispatcher(root, places);
    if (manager->by_choice)
        manager->inactive = g_strdup("networkd-dispatcher.service, which calls hooks, does not run");
}

/* ---- hand-written files, where the managers look for hooks and rules ---- */

#define SCRIPT_MAX ((gsize)64 * 1024)
#define N_SCRIPTS 512 /* no more of them are read */

/* Managers run a hook only if it is executable. */
static const struct {
    const char *pattern;
    gboolean is_hook;
} PLACES[] = {
    {"/etc/NetworkManager/dispatcher.d/*", TRUE},
    {"/etc/NetworkManager/dispatcher.d/*.d/*", TRUE},
    {"/etc/networkd-dispatcher/*.d/*", TRUE},
    {"/etc/network/if-*up.d/*", TRUE},
    {"/sbin/ifup-*local", TRUE},
    {"/etc/network/interfaces", FALSE},
    {"/etc/network/interfaces.d/*", FALSE},
    {"/etc/sysconfig/network-scripts/r[ou]*", FALSE},
    {"/etc/netplan/*.yaml", FALSE},
};

/* Links are not followed: our hooks are links, and a link to /dev/null masks. Managers do not run what is not root's.
 */
static void read_script(const char *file, gsize root, gboolean is_hook, IbhSnapshot *snapshot)
{
    struct stat status;
    IbhScript *script;
    gsize length;
    char *text;

    if (snapshot->scripts->len == N_SCRIPTS || lstat(file, &status) < 0 ||
        (status.st_uid != 0 && status.st_uid != geteuid()) || (is_hook && !(status.st_mode & S_IXUSR)))
        return;
    text = ibh_file_read_shown(file, SCRIPT_MAX, &length);
    if (!text)
        return;
    script = g_new0(IbhScript, 1);
    script->path = ibh_printable(file + root);
    script->text = text;
    g_ptr_array_add(snapshot->scripts, script);
}

void ibh_scripts_read(const char *root, IbhSnapshot *snapshot)
{
    for (gsize i = 0; i < G_N_ELEMENTS(PLACES); i++) {
        g_autofree char *pattern = g_strconcat(root, PLACES[i].pattern, NULL);
        glob_t found = {0};

        if (glob(pattern, 0, NULL, &found) == 0) {
            for (gsize n = 0; n < found.gl_pathc; n++)
                read_script(found.gl_pathv[n], strlen(root), PLACES[i].is_hook, snapshot);
        }
        globfree(&found);
    }
}
