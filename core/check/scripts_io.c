/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/scripts_io.h"

#include "host/trusted.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCRIPT_MAX ((gsize)64 * 1024)
#define N_SCRIPTS 512 /* no more of them are read */

/* Files of directories, with the prefix and suffix of the names that count. Managers run a hook only if it is
 * executable. */
typedef struct {
    const char *path, *prefix, *suffix;
    gboolean is_hook;
} Place;

static const Place PLACES[] = {
    {"/etc/NetworkManager/dispatcher.d", "", "", TRUE},
    {"/etc/NetworkManager/dispatcher.d/pre-up.d", "", "", TRUE},
    {"/etc/NetworkManager/dispatcher.d/no-wait.d", "", "", TRUE},
    {"/etc/networkd-dispatcher/carrier.d", "", "", TRUE},
    {"/etc/networkd-dispatcher/configured.d", "", "", TRUE},
    {"/etc/networkd-dispatcher/configuring.d", "", "", TRUE},
    {"/etc/networkd-dispatcher/degraded.d", "", "", TRUE},
    {"/etc/networkd-dispatcher/routable.d", "", "", TRUE},
    {"/etc/network/if-pre-up.d", "", "", TRUE},
    {"/etc/network/if-up.d", "", "", TRUE},
    {"/sbin", "ifup-local", "ifup-local", TRUE},
    {"/sbin", "ifup-pre-local", "ifup-pre-local", TRUE},
    {"/etc/network", "interfaces", "interfaces", FALSE},
    {"/etc/network/interfaces.d", "", "", FALSE},
    {"/etc/sysconfig/network-scripts", "rule", "", FALSE},
    {"/etc/sysconfig/network-scripts", "route", "", FALSE},
    {"/etc/netplan", "", ".yaml", FALSE},
};

/* Links are not followed: our hooks are links, and a link to /dev/null masks. Managers do not run a file that is not
 * root's, or a hook that is not executable. */
static gboolean is_in_use(const char *path, gboolean is_hook)
{
    struct stat status;

    return lstat(path, &status) == 0 && S_ISREG(status.st_mode) && (status.st_uid == 0 || status.st_uid == geteuid()) &&
           (!is_hook || (status.st_mode & S_IXUSR));
}

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
    char *text = is_in_use(file, place->is_hook) ? ibh_file_read_shown(file, SCRIPT_MAX, &length) : NULL;

    if (!text)
        return;
    script = g_new0(IbhScript, 1);
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

void ibh_scripts_read(const char *root, IbhSnapshot *snapshot)
{
    IBH_EACH_ROW (const Place, place, PLACES)
        read_place(root, place, snapshot);
}
