/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/managers_io.h"

#include "host/store.h"

#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define STATE_MAX ((gsize)1024 * 1024)
#define NM_MILLISECONDS 2000

#define NETWORK_MANAGER "NetworkManager"
#define CONFIGURED "/etc/networkd-dispatcher/configured.d/50-ib-hook"
#define ROUTABLE "/etc/networkd-dispatcher/routable.d/50-ib-hook"
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

/* ---- our hook: is it called? ---- */

/* Where SELinux is enforced, programs of these types stay in their caller's domain, which is not allowed to do our
 * work. NULL: another type. */
static char *find_powerless_type(const char *path)
{
    static const char *const types[] = {"bin_t", "lib_t", "usr_t", "etc_t", NULL};
    g_autofree char *enforce = NULL;
    char label[256] = "";
    ssize_t length = getxattr(path, "security.selinux", label, sizeof label - 1);
    g_auto(GStrv) parts = length > 0 ? g_strsplit(label, ":", -1) : NULL;

    if (!parts || g_strv_length(parts) < 3 || !g_strv_contains(types, parts[2]) ||
        !g_file_get_contents("/sys/fs/selinux/enforce", &enforce, NULL, NULL) || enforce[0] != '1')
        return NULL;
    return g_strdup(parts[2]);
}

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
    type = find_powerless_type(path);
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

static gboolean hooks_are_called(const char *root)
{
    g_autofree char *command = g_strconcat(root, "/usr/bin/ib-hook", NULL);

    return access(command, F_OK) == 0 && (root[0] || !ibh_watch_is_running());
}

/* networkd calls no hooks itself: a service does. While a unit runs, systemd keeps a link of this name. */
static void look_at_hook(const char *root, const char *const *places, IbhManager *manager)
{
    g_autofree char *unit = g_strconcat(root, "/run/systemd/units/invocation:networkd-dispatcher.service", NULL);
    struct stat link;

    manager->inactive = why_not_called(root, places);
    if (manager->inactive || !g_str_has_prefix(places[0], "/etc/networkd-dispatcher/") || lstat(unit, &link) == 0)
        return;
    manager->by_choice = TRUE;
    manager->inactive = g_strdup("networkd-dispatcher.service, which calls hooks, does not run");
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
    static const char netplan[] = "/run/systemd/network/10-netplan-", suffix[] = ".network";
    g_autofree char *admin = value_of(state->text, "ADMIN_STATE="), *file = value_of(state->text, "NETWORK_FILE=");

    if (!admin || !file || g_str_equal(admin, "unmanaged"))
        return FALSE;
    if (g_str_has_prefix(file, netplan) && g_str_has_suffix(file, suffix)) {
        manager->name = "netplan";
        file[strlen(file) - strlen(suffix)] = '\0';
        manager->connection = g_strdup(file + strlen(netplan));
    } else {
        manager->connection = g_path_get_basename(file);
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
    const char *name = state->link->name;
    int n = (int)strlen(name);
    g_autofree char *one = g_strdup_printf("\x8c%c%s", n, name),
                    *four = g_strdup_printf("X%c%c%c%c%s", n, 0, 0, 0, name);

    if (!memmem(state->text, state->length, one, (gsize)n + 2) &&
        !memmem(state->text, state->length, four, (gsize)n + 5))
        return FALSE;
    manager->connection = g_strdup(name);
    return TRUE;
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
    {"systemd-networkd", "/run/systemd/netif/links", "", INDEX, is_networkds, {CONFIGURED, ROUTABLE}, ""},
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
            look_at_hook(root, rows[i].hooks, &manager);
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
    g_autofree char *text = NULL, *path = NULL;
    struct stat status;
    gsize length;

    if (snapshot->scripts->len == N_SCRIPTS || lstat(file, &status) < 0 ||
        (status.st_uid != 0 && status.st_uid != geteuid()) || (is_hook && !(status.st_mode & S_IXUSR)))
        return;
    text = ibh_file_read_shown(file, SCRIPT_MAX, &length);
    path = ibh_printable(file + root);
    if (text)
        g_ptr_array_add(snapshot->scripts, g_strconcat(path, "\n", text, NULL));
}

static void read_scripts(const char *root, IbhSnapshot *snapshot)
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

/* ---- all ---- */

void ibh_managers_read(const char *sysfs, const IbhRails *rails, IbhSnapshot *snapshot)
{
    g_autofree char *root = find_root(sysfs);
    gboolean hooks;

    if (!root)
        return;
    hooks = hooks_are_called(root);
    IBH_EACH (const IbhLink, link, snapshot->links)
        find_manager(root, link, hooks, snapshot->managers);
    read_scripts(root, snapshot);
    if (!root[0] && manages_candidate(rails, snapshot))
        name_connections(snapshot->managers);
}
