/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/scripts.h"

#include "host/files.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCRIPT_MAX ((gsize)64 * 1024)
#define N_SCRIPTS 512 /* no more of them are read */

/* The entries of /proc/PID/net are made anew for each network namespace, so their inodes tell namespaces apart. Unlike
 * /proc/1/ns/net they can be read without the right to trace process 1, which --show does not have. */
static gboolean is_namespace_of_init(void)
{
    struct stat init, own;

    return stat("/proc/1/net/dev", &init) == 0 && stat("/proc/self/net/dev", &own) == 0 && init.st_dev == own.st_dev &&
           init.st_ino == own.st_ino;
}

char *ibh_host_root(const char *sysfs)
{
    if (!g_str_equal(sysfs, "/sys"))
        return g_path_get_dirname(sysfs);
    return is_namespace_of_init() ? g_strdup("") : NULL;
}

/* ---- scripts ---- */

/* Files, and directories of files, with the prefix or suffix of the names that count. */
typedef struct {
    IbhScriptKind kind;
    const char *path;
    const char *prefix;
    const char *suffix;
} Place;

static const Place PLACES[] = {
    {IBH_SCRIPT_SHELL, "/etc/NetworkManager/dispatcher.d", "", ""},
    {IBH_SCRIPT_SHELL, "/etc/NetworkManager/dispatcher.d/pre-up.d", "", ""},
    {IBH_SCRIPT_SHELL, "/etc/NetworkManager/dispatcher.d/no-wait.d", "", ""},
    {IBH_SCRIPT_SHELL, "/etc/networkd-dispatcher/carrier.d", "", ""},
    {IBH_SCRIPT_SHELL, "/etc/networkd-dispatcher/configured.d", "", ""},
    {IBH_SCRIPT_SHELL, "/etc/networkd-dispatcher/configuring.d", "", ""},
    {IBH_SCRIPT_SHELL, "/etc/networkd-dispatcher/degraded.d", "", ""},
    {IBH_SCRIPT_SHELL, "/etc/networkd-dispatcher/routable.d", "", ""},
    {IBH_SCRIPT_SHELL, "/etc/network/if-pre-up.d", "", ""},
    {IBH_SCRIPT_SHELL, "/etc/network/if-up.d", "", ""},
    {IBH_SCRIPT_SHELL, "/sbin", "ifup-local", "ifup-local"},
    {IBH_SCRIPT_SHELL, "/sbin", "ifup-pre-local", "ifup-pre-local"},
    {IBH_SCRIPT_STANZAS, "/etc/network", "interfaces", "interfaces"},
    {IBH_SCRIPT_STANZAS, "/etc/network/interfaces.d", "", ""},
    {IBH_SCRIPT_RULES, "/etc/sysconfig/network-scripts", "rule-", ""},
    {IBH_SCRIPT_RULES, "/etc/sysconfig/network-scripts", "rule6-", ""},
    {IBH_SCRIPT_ROUTES, "/etc/sysconfig/network-scripts", "route-", ""},
    {IBH_SCRIPT_ROUTES, "/etc/sysconfig/network-scripts", "route6-", ""},
    {IBH_SCRIPT_NETPLAN, "/etc/netplan", "", ".yaml"},
};

/* Links are not followed: our hooks are links, and a link to /dev/null masks. Managers do not run a file that is not
 * root's, or a hook that is not executable. */
static gboolean is_in_use(const char *path, IbhScriptKind kind)
{
    struct stat status;

    return lstat(path, &status) == 0 && S_ISREG(status.st_mode) && (status.st_uid == 0 || status.st_uid == geteuid()) &&
           (kind != IBH_SCRIPT_SHELL || (status.st_mode & S_IXUSR));
}

/* Paths become parts of commands to paste. */
static gboolean is_plain(const char *name)
{
    for (; *name; name++) {
        if (g_ascii_iscntrl(*name))
            return FALSE;
    }
    return TRUE;
}

static void read_script(const char *root, const Place *place, const char *name, IbhSnapshot *snapshot)
{
    g_autofree char *path = g_strconcat(place->path, "/", name, NULL);
    g_autofree char *file = g_strconcat(root, path, NULL);
    IbhScript *script;
    gsize length;
    char *text = is_in_use(file, place->kind) ? ibh_file_read_shown(file, SCRIPT_MAX, &length) : NULL;

    if (!text)
        return;
    script = g_new0(IbhScript, 1);
    script->kind = place->kind;
    script->path = g_steal_pointer(&path);
    script->text = text;
    g_ptr_array_add(snapshot->scripts, script);
}

static int compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void read_place(const char *root, const Place *place, IbhSnapshot *snapshot)
{
    g_autofree char *directory = g_strconcat(root, place->path, NULL);
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GDir) dir = g_dir_open(directory, 0, NULL);
    const char *name;

    while (dir && (name = g_dir_read_name(dir))) {
        if (is_plain(name) && g_str_has_prefix(name, place->prefix) && g_str_has_suffix(name, place->suffix))
            g_ptr_array_add(names, g_strdup(name));
    }
    g_ptr_array_sort(names, compare_names);
    for (guint i = 0; i < names->len && snapshot->scripts->len < N_SCRIPTS; i++)
        read_script(root, place, g_ptr_array_index(names, i), snapshot);
}

void ibh_host_read_scripts(const char *sysfs, IbhSnapshot *snapshot)
{
    g_autofree char *root = ibh_host_root(sysfs);

    for (guint i = 0; root && i < G_N_ELEMENTS(PLACES); i++)
        read_place(root, &PLACES[i], snapshot);
}
