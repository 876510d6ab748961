/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/managers_io.h"

#include "host/files.h"
#include "host/store.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STATE_MAX ((gsize)1024 * 1024)
#define NM_MILLISECONDS 2000

static const char NETWORK_MANAGER[] = "NetworkManager";

/* A file of a manager: its text, or NULL. */
G_GNUC_PRINTF(2, 3) static char *read_state(gsize *ret_length, const char *format, ...)
{
    g_autofree char *path = NULL;
    va_list args;

    va_start(args, format);
    path = g_strdup_vprintf(format, args);
    va_end(args);
    return ibh_file_read_shown(path, STATE_MAX, ret_length);
}

/* What follows `key` in the line that begins with it, up to one of `stops`; NULL: no such line, or nothing. */
static char *value_of(const char *text, const char *key, const char *stops)
{
    gsize length = strlen(key);

    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, length) == 0) {
            gsize end = strcspn(line + length, stops);

            return end ? g_strndup(line + length, end) : NULL;
        }
    }
    return NULL;
}

/* Root owns it, and only root can write it or replace its entries. */
static gboolean is_trusted(const char *path)
{
    struct stat status;

    return lstat(path, &status) == 0 && status.st_uid == 0 && !(status.st_mode & (S_IWGRP | S_IWOTH));
}

/* ---- one manager after the other: TRUE where it is this one ---- */

/* netplan writes networkd's files: 10-netplan-ib0.network. */
static gboolean by_networkd(const char *root, const IbhLink *link, IbhManager *manager)
{
    static const char netplan[] = "10-netplan-", suffix[] = ".network";
    gsize length;
    g_autofree char *text = read_state(&length, "%s/run/systemd/netif/links/%d", root, link->ifindex);
    g_autofree char *state = text ? value_of(text, "ADMIN_STATE=", "\n") : NULL;
    g_autofree char *file = text ? value_of(text, "NETWORK_FILE=", "\n") : NULL;
    g_autofree char *base = file ? g_path_get_basename(file) : NULL;

    if (!state || !base || g_str_equal(state, "unmanaged"))
        return FALSE;
    if (g_str_has_prefix(file, "/run/systemd/network/") && g_str_has_prefix(base, netplan) &&
        g_str_has_suffix(base, suffix)) {
        manager->name = "netplan";
        manager->connection = g_strndup(base + strlen(netplan), strlen(base) - strlen(netplan) - strlen(suffix));
    } else {
        manager->name = "systemd-networkd";
        manager->connection = g_steal_pointer(&base);
    }
    return TRUE;
}

/* ifupdown, and ifupdown-ng in a file of its own: "ib0=ib0", the interface and the stanza that it got. */
static gboolean by_ifstate(const char *root, const IbhLink *link, IbhManager *manager)
{
    static const struct {
        const char *path, *name;
    } files[] = {{"run/network/ifstate", "ifupdown"}, {"run/ifstate", "ifupdown-ng"}};
    g_autofree char *key = g_strconcat(link->name, "=", NULL);

    for (guint i = 0; i < G_N_ELEMENTS(files) && !manager->name; i++) {
        gsize length;
        g_autofree char *text = read_state(&length, "%s/%s", root, files[i].path);

        manager->connection = text ? value_of(text, key, " \n") : NULL;
        manager->name = manager->connection ? files[i].name : NULL;
    }
    return manager->name != NULL;
}

/* Python's pickle writes a string's length before it, in one byte or in four. */
static gboolean pickle_has(const char *data, gsize size, const char *word)
{
    gsize length = strlen(word);
    const char one[] = {'\x8c', (char)length}, four[] = {'X', (char)length, 0, 0, 0};
    const char *at = data;

    while ((at = memmem(at, size - (gsize)(at - data), word, length))) {
        gsize before = (gsize)(at - data);

        if ((before >= sizeof one && memcmp(at - sizeof one, one, sizeof one) == 0) ||
            (before >= sizeof four && memcmp(at - sizeof four, four, sizeof four) == 0))
            return TRUE;
        at++;
    }
    return FALSE;
}

/* ifupdown2 keeps its stanzas in a directory that any user could have made, with links to anywhere, and that outlives a
 * boot: its lock is of this boot. */
static gboolean by_ifupdown2(const char *root, const IbhLink *link, IbhManager *manager)
{
    g_autofree char *directory = g_strconcat(root, "/var/tmp/network", NULL);
    g_autofree char *path = g_strconcat(directory, "/ifstatenew", NULL);
    g_autofree char *lock = g_strconcat(root, "/run/network/ifstatelock", NULL);
    g_autofree char *data = NULL;
    gsize size;

    if (access(lock, F_OK) != 0 || !is_trusted(directory) ||
        !ibh_file_read_trusted(path, STATE_MAX, &data, &size, NULL) || !pickle_has(data, size, link->name))
        return FALSE;
    manager->name = "ifupdown2";
    manager->connection = g_strdup(link->name);
    return TRUE;
}

static gboolean by_network_manager(const char *root, const IbhLink *link, IbhManager *manager)
{
    g_autoptr(GKeyFile) file = g_key_file_new();
    gsize length;
    g_autofree char *text = read_state(&length, "%s/run/NetworkManager/devices/%d", root, link->ifindex);
    g_autofree char *uuid = NULL;

    if (!text || !g_key_file_load_from_data(file, text, length, G_KEY_FILE_NONE, NULL) ||
        !g_key_file_get_boolean(file, "device", "managed", NULL))
        return FALSE;
    uuid = g_key_file_get_string(file, "device", "connection-uuid", NULL);
    manager->name = NETWORK_MANAGER;
    manager->connection = uuid && g_uuid_string_is_valid(uuid) ? g_steal_pointer(&uuid) : NULL;
    return TRUE;
}

/* RHEL's scripts keep no state: a NIC with an ifcfg file is theirs unless NetworkManager, which reads these files too,
 * says that it manages the NIC. */
static gboolean by_network_scripts(const char *root, const IbhLink *link, IbhManager *manager)
{
    gsize length;
    g_autofree char *script = read_state(&length, "%s/etc/sysconfig/network-scripts/ifup-post", root);
    g_autofree char *ifcfg =
        script ? read_state(&length, "%s/etc/sysconfig/network-scripts/ifcfg-%s", root, link->name) : NULL;

    if (!ifcfg)
        return FALSE;
    manager->name = "network-scripts";
    manager->connection = g_strconcat("ifcfg-", link->name, NULL);
    return TRUE;
}

/* NetworkManager comes late: it calls a NIC "managed" also if another manager configures it and NetworkManager only
 * watches. */
static void find_manager(const char *root, const IbhLink *link, GArray *managers)
{
    IbhManager manager = {.ifindex = link->ifindex};

    if (by_networkd(root, link, &manager) || by_ifstate(root, link, &manager) || by_ifupdown2(root, link, &manager) ||
        by_network_manager(root, link, &manager) || by_network_scripts(root, link, &manager))
        g_array_append_val(managers, manager);
}

/* ---- names of connections ---- */

static gboolean manages_candidate(const IbhRails *rails, const IbhSnapshot *snapshot)
{
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        const IbhManager *manager = nic->rank ? ibh_snapshot_manager(snapshot, nic->link->ifindex) : NULL;

        if (manager && manager->name == NETWORK_MANAGER)
            return TRUE;
    }
    return FALSE;
}

/* The plugin's code will run in this process. */
static void *load(const char *name)
{
    void *plugin = NULL;

    if (!is_trusted(IBH_PLUGIN_DIR) || !is_trusted(IBH_PLUGIN_DIR "/nm.so"))
        return NULL;
    clearenv(); /* libnm takes from it which bus to ask and which file to write */
    plugin = dlopen(IBH_PLUGIN_DIR "/nm.so", RTLD_NOW | RTLD_LOCAL);
    /* It stays loaded: GLib's threads and types would not survive that. */
    return plugin ? dlsym(plugin, name) : NULL;
}

static void name_connections(GArray *managers)
{
    IbhNmFunction *function = NULL;

    *(void **)(&function) = load(IBH_NM_FUNCTION);
    if (function)
        function(managers, NM_MILLISECONDS);
}

/* The prefix of /run and /etc. Another root (`sysfs` is not /sys) has them beside it; on a running system the prefix is
 * "", and the files describe the namespace of process 1. NULL: this is another one, or that cannot be found out. */
static char *find_root(const char *sysfs)
{
    if (!g_str_equal(sysfs, "/sys"))
        return g_path_get_dirname(sysfs);
    return ibh_store_is_home() ? g_strdup("") : NULL;
}

void ibh_managers_read(const char *sysfs, const IbhRails *rails, IbhSnapshot *snapshot)
{
    g_autofree char *root = find_root(sysfs);

    if (!root)
        return;
    IBH_EACH (const IbhLink, link, snapshot->links)
        find_manager(root, link, snapshot->managers);
    ibh_scripts_read(root, snapshot);
    ibh_hook_files_read(root, snapshot->managers);
    if (!root[0] && manages_candidate(rails, snapshot))
        name_connections(snapshot->managers);
}
