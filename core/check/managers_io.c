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

#define NETWORK_MANAGER "NetworkManager"
#define ROUTED(state) "/etc/networkd-dispatcher/" state ".d/50-ib-hook"
#define NM(in) in "/NetworkManager/dispatcher.d/50-ib-hook"
#define IFUPDOWN "/etc/network/if-up.d/ib-hook"
#define SCRIPTS "/etc/sysconfig/network-scripts"

/* What follows `key` in the line that begins with it; NULL: no such line, or nothing. */
static char *value_of(const char *text, const char *key)
{
    gsize length = strlen(key);

    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, length) == 0) {
            gsize end = strcspn(line + length, "\n");

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

/* ---- one manager after the other: TRUE where this file of it says that the link is its own ---- */

typedef struct {
    char *text;
    gsize length;
    const IbhLink *link;
} File;

typedef gboolean IsIts(const File *state, IbhManager *manager);

/* netplan writes networkd's files: 10-netplan-ib0.network. */
static gboolean is_networkds(const File *state, IbhManager *manager)
{
    static const char netplan[] = "10-netplan-", suffix[] = ".network";
    g_autofree char *admin = value_of(state->text, "ADMIN_STATE="), *file = value_of(state->text, "NETWORK_FILE=");
    g_autofree char *base = file ? g_path_get_basename(file) : NULL;

    if (!admin || !base || g_str_equal(admin, "unmanaged"))
        return FALSE;
    if (g_str_has_prefix(file, "/run/systemd/network/") && g_str_has_prefix(base, netplan) &&
        g_str_has_suffix(base, suffix)) {
        manager->name = "netplan";
        manager->connection = g_strndup(base + strlen(netplan), strlen(base) - strlen(netplan) - strlen(suffix));
    } else {
        manager->connection = g_steal_pointer(&base);
    }
    return TRUE;
}

/* "ib0=ib0", the interface and the stanza that it got. */
static gboolean is_ifupdowns(const File *state, IbhManager *manager)
{
    g_autofree char *key = g_strconcat(state->link->name, "=", NULL);

    manager->connection = value_of(state->text, key);
    if (manager->connection)
        manager->connection[strcspn(manager->connection, " ")] = '\0';
    return manager->connection != NULL;
}

/* Python's pickle writes a string's length before it, in one byte or in four. */
static gboolean is_ifupdown2s(const File *state, IbhManager *manager)
{
    const char *name = state->link->name, *text = state->text;
    gsize n = strlen(name);
    const char one[] = {'\x8c', (char)n}, four[] = {'X', (char)n, 0, 0, 0};

    for (const char *at = text; (at = memmem(at, state->length - (gsize)(at - text), name, n)); at++) {
        gsize before = (gsize)(at - text);

        if ((before >= sizeof one && memcmp(at - sizeof one, one, sizeof one) == 0) ||
            (before >= sizeof four && memcmp(at - sizeof four, four, sizeof four) == 0)) {
            manager->connection = g_strdup(name);
            return TRUE;
        }
    }
    return FALSE;
}

static gboolean is_network_managers(const File *state, IbhManager *manager)
{
    g_autofree char *managed = value_of(state->text, "managed="), *uuid = value_of(state->text, "connection-uuid=");

    if (g_strcmp0(managed, "true") != 0)
        return FALSE;
    manager->connection = uuid && g_uuid_string_is_valid(uuid) ? g_steal_pointer(&uuid) : NULL;
    return TRUE;
}

/* NetworkManager comes late: it calls a NIC "managed" also if another manager configures it and NetworkManager only
 * watches. RHEL's scripts keep no state: a NIC with an ifcfg file is theirs unless NetworkManager, which reads these
 * files too, says that it manages the NIC. ifupdown2 keeps its stanzas in a directory that any user could have made,
 * with links to anywhere, and that outlives a boot: its lock is of this boot. */
static const struct {
    const char *name, *directory, *file; /* `file`: what its name begins with */
    enum { ONE, INDEX, NAME } of;        /* … and ends in: there is one for each NIC */
    IsIts *is_its;                       /* NULL: because it is there */
    const char *hooks[3];                /* where ours is called, in its order: the first that exists counts */
    const char *needs;                   /* it is there, or this manager is not */
} rows[] = {
    {"systemd-networkd",
     "/run/systemd/netif/links",
     "",
     INDEX,
     is_networkds,
     {ROUTED("configured"), ROUTED("routable")},
     ""},
    {"ifupdown", "/run/network", "ifstate", ONE, is_ifupdowns, {IFUPDOWN}, ""},
    {"ifupdown-ng", "/run", "ifstate", ONE, is_ifupdowns, {IFUPDOWN}, ""},
    {"ifupdown2", "/var/tmp/network", "ifstatenew", ONE, is_ifupdown2s, {IFUPDOWN}, "/run/network/ifstatelock"},
    {NETWORK_MANAGER, "/run/NetworkManager/devices", "", INDEX, is_network_managers, {NM("/etc"), NM("/usr/lib")}, ""},
    {"network-scripts", SCRIPTS, "ifcfg-", NAME, NULL, {"/sbin/ifup-local"}, SCRIPTS "/ifup-post"},
};

static void find_manager(const char *root, const IbhLink *link, gboolean hooks, GArray *managers)
{
    g_autofree char *number = g_strdup_printf("%d", link->ifindex);
    const char *const ends[] = {[ONE] = "", [INDEX] = number, [NAME] = link->name};

    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        IbhManager manager = {.ifindex = link->ifindex, .name = rows[i].name};
        g_autofree char *name = g_strconcat(rows[i].file, ends[rows[i].of], NULL);
        g_autofree char *directory = g_strconcat(root, rows[i].directory, NULL), *text = NULL;
        g_autofree char *path = g_build_filename(directory, name, NULL),
                        *needs = g_strconcat(root, rows[i].needs, NULL);
        File state = {.link = link};

        if (rows[i].needs[0] && access(needs, F_OK) != 0)
            continue;
        if (rows[i].is_its != is_ifupdown2s)
            text = ibh_file_read_shown(path, STATE_MAX, &state.length);
        else if (!is_trusted(directory) || !ibh_file_read_trusted(path, STATE_MAX, &text, &state.length, NULL))
            continue;
        state.text = text;
        if (!text || (rows[i].is_its && !rows[i].is_its(&state, &manager)))
            continue;
        if (!rows[i].is_its)
            manager.connection = g_steal_pointer(&name);
        if (hooks)
            ibh_hook_look(root, rows[i].hooks, &manager);
        g_array_append_val(managers, manager);
        return;
    }
}

/* ---- names of connections ---- */

static gboolean manages_candidate(const IbhRails *rails, const IbhSnapshot *snapshot)
{
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        const IbhManager *manager = nic->rank ? ibh_snapshot_manager(snapshot, nic->link->ifindex) : NULL;

        if (manager && g_str_equal(manager->name, NETWORK_MANAGER))
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
    gboolean hooks;

    if (!root)
        return;
    hooks = ibh_hooks_are_called(root);
    IBH_EACH (const IbhLink, link, snapshot->links)
        find_manager(root, link, hooks, snapshot->managers);
    ibh_scripts_read(root, snapshot);
    if (!root[0] && manages_candidate(rails, snapshot))
        name_connections(snapshot->managers);
}
