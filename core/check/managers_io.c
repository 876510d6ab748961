/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/look_io.h"

#include "host/store.h"

#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define NM_MILLISECONDS 2000

#define NETWORK_MANAGER "NetworkManager"
#define CONFIGURED "/etc/networkd-dispatcher/configured.d/50-ib-hook"
#define ROUTABLE "/etc/networkd-dispatcher/routable.d/50-ib-hook"
#define NM(in) in "/NetworkManager/dispatcher.d/50-ib-hook"
#define IFUPDOWN "/etc/network/if-up.d/ib-hook"
#define SCRIPTS "/etc/sysconfig/network-scripts"

/* Root owns it, and only root can write it or replace its entries. A link is not trusted. */
static gboolean is_trusted(const char *path)
{
    struct stat status;

    return lstat(path, &status) == 0 && ibh_file_check_trusted(&status, path, NULL);
}

/* ---- our hook: is it called? ---- */

/* Where SELinux is enforced, programs of these types stay in their caller's domain, which is not allowed to do our
 * work. */
#define CONFINED ":(bin|lib|usr|etc)_t(:|$)"

static char *why_unusable(const char *path, const char *place)
{
    g_autofree char *enforce = NULL;
    char label[256] = "";
    struct stat file;

    if (stat(path, &file) < 0)
        return g_strdup_printf("%s: %s", place, g_strerror(errno));
    if (!S_ISREG(file.st_mode))
        return g_strdup_printf("%s is masked", place);
    if (!(file.st_mode & S_IXUSR) || !ibh_file_check_trusted(&file, place, NULL))
        return g_strdup_printf("%s is not an executable file that only root may write", place);
    if (getxattr(path, "security.selinux", label, sizeof label - 1) > 0 &&
        g_regex_match_simple(CONFINED, label, G_REGEX_RAW, 0) &&
        g_file_get_contents("/sys/fs/selinux/enforce", &enforce, NULL, NULL) && enforce[0] == '1')
        return g_strdup_printf("SELinux labels %s as %s, and confines it", place, label);
    return NULL;
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

/* ---- one manager after the other: whose file says that the link is its own ---- */

#define NETWORKD "(?s)\\A(?=.*?^ADMIN_STATE=(?!unmanaged$)[^\n]).*?^NETWORK_FILE="
#define NETPLAN NETWORKD "/run/systemd/network/10-netplan-([^\n]*)\\.network$"
#define MANAGED "(?s)\\A(?=.*?^managed=true$)(?:.*?^connection-uuid=([-0-9A-Fa-f]{36})$)?"
#define PICKLED "(?:\\x8c#|X#\\x00{3})(@)" /* by Python: the length, in one byte or in four, and the name */

/* NetworkManager comes late: it calls a NIC "managed" also if another manager configures it and NetworkManager only
 * watches. RHEL's scripts keep no state: a NIC with an ifcfg file is theirs unless NetworkManager, which reads these
 * files too, says that it manages the NIC. ifupdown2 keeps its stanzas in a directory that any user could have made,
 * with links to anywhere, and that outlives a boot: its lock is of this boot. */
static const struct {
    const char *name;
    const char *file;     /* @: the link's name, #: its number */
    const char *says;     /* matches where the link is its own, and has the connection in parentheses; "": the file does
                             both. @: the link's name, #: the length of that */
    const char *hooks[3]; /* where ours is called, in its order: the first that exists counts */
    const char *needs;    /* it is there, or this manager is not: of files outside of /run, which have to be root's */
} rows[] = {
    {"netplan", "/run/systemd/netif/links/#", NETPLAN, {CONFIGURED, ROUTABLE}, ""},
    {"systemd-networkd", "/run/systemd/netif/links/#", NETWORKD "[^\n]*?([^/\n]+)$", {CONFIGURED, ROUTABLE}, ""},
    {"ifupdown", "/run/network/ifstate", "^@=([^ \n]+)", {IFUPDOWN}, ""},
    {"ifupdown-ng", "/run/ifstate", "^@=([^ \n]+)", {IFUPDOWN}, ""},
    {"ifupdown2", "/var/tmp/network/ifstatenew", PICKLED, {IFUPDOWN}, "/run/network/ifstatelock"},
    {NETWORK_MANAGER, "/run/NetworkManager/devices/#", MANAGED, {NM("/etc"), NM("/usr/lib")}, ""},
    {"network-scripts", SCRIPTS "/ifcfg-@", "", {"/sbin/ifup-local"}, SCRIPTS "/ifup-post"},
};

static char *fill_in(const char *text, const char *name, const char *number)
{
    GString *filled = g_string_new(NULL);

    for (; *text; text++) {
        if (*text == '@' || *text == '#')
            g_string_append(filled, *text == '@' ? name : number);
        else
            g_string_append_c(filled, *text);
    }
    return g_string_free(filled, FALSE);
}

/* TRUE: the link is its own. `says`: a pattern, not "". */
static gboolean says_so(const char *says, const char *name, const char *text, gsize size, char **ret_connection)
{
    g_autofree char *length = g_strdup_printf("\\x%02x", (guint)strlen(name)), *pattern = NULL, *found = NULL;
    g_autoptr(GString) bytes = g_string_new(NULL); /* a name may have any */
    g_autoptr(GRegex) regex = NULL;
    g_autoptr(GMatchInfo) match = NULL;

    for (const char *at = name; *at; at++)
        g_string_append_printf(bytes, "\\x%02x", (guchar)*at);
    pattern = fill_in(says, bytes->str, length);
    regex = g_regex_new(pattern, G_REGEX_RAW | G_REGEX_MULTILINE | G_REGEX_NEWLINE_LF, 0, NULL);
    if (!g_regex_match_full(regex, text, (gssize)size, 0, 0, &match, NULL))
        return FALSE;
    found = g_match_info_fetch(match, 1);
    *ret_connection = found && found[0] ? g_steal_pointer(&found) : NULL;
    return TRUE;
}

static void find_manager(const char *root, const IbhLink *link, gboolean hooks, GArray *managers)
{
    g_autofree char *number = g_strdup_printf("%d", link->ifindex);

    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        IbhManager manager = {.ifindex = link->ifindex, .name = rows[i].name};
        g_autofree char *file = fill_in(rows[i].file, link->name, number), *path = g_strconcat(root, file, NULL),
                        *needs = g_strconcat(root, rows[i].needs, NULL), *directory = g_path_get_dirname(path);
        const gboolean is_needed = rows[i].needs[0] != '\0';
        g_autoptr(GString) text = NULL;

        if (!is_needed || (access(needs, F_OK) == 0 && is_trusted(directory)))
            text = ibh_file_read(path, is_needed, NULL, NULL);
        if (!text || (rows[i].says[0] && !says_so(rows[i].says, link->name, text->str, text->len, &manager.connection)))
            continue;
        if (!rows[i].says[0])
            manager.connection = g_path_get_basename(path);
        if (hooks)
            look_at_hook(root, rows[i].hooks, &manager);
        g_array_append_val(managers, manager);
        return;
    }
}

/* ---- names of connections ---- */

/* The plugin's code will run in this process. */
static void name_connections(GArray *managers)
{
    IbhNmFunction *function = NULL;
    void *plugin;

    if (!is_trusted(IBH_PLUGIN_DIR) || !is_trusted(IBH_PLUGIN_DIR "/nm.so"))
        return;
    clearenv(); /* libnm takes from it which bus to ask and which file to write */
    /* It stays loaded: GLib's threads and types would not survive that. */
    plugin = dlopen(IBH_PLUGIN_DIR "/nm.so", RTLD_NOW | RTLD_LOCAL);
    if (plugin)
        *(void **)(&function) = dlsym(plugin, IBH_NM_FUNCTION);
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

/* ---- hand-written files, where managers look for hooks and rules, and what a boot runs ---- */

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
    {"/etc/systemd/network/*.network", FALSE},
    {"/etc/systemd/network/*.network.d/*.conf", FALSE},
    {"/etc/systemd/system/*.service", FALSE},
    {"/etc/cron.d/*", FALSE},
    {"/etc/crontab", FALSE},
    {"/etc/rc.local", TRUE},
    {"/etc/rc.d/rc.local", TRUE},
};

/* Links are not followed: our hooks are links, and a link to /dev/null masks. Managers do not run what is not root's.
 */
static void read_script(const char *file, gsize root, gboolean is_hook, IbhFacts *facts)
{
    IbhScript script = {0};
    GString *text;
    struct stat status;

    if (facts->scripts->len == N_SCRIPTS || lstat(file, &status) < 0 ||
        (status.st_uid != 0 && status.st_uid != geteuid()) || (is_hook && !(status.st_mode & S_IXUSR)))
        return;
    text = ibh_file_read(file, FALSE, &script.is_public, NULL);
    if (!text)
        return;
    if (text->len > SCRIPT_MAX) {
        g_string_free(text, TRUE);
        return;
    }
    script.path = ibh_text_printable(file + root);
    script.text = g_string_free(text, FALSE);
    g_array_append_val(facts->scripts, script);
}

static void read_scripts(const char *root, IbhFacts *facts)
{
    for (gsize i = 0; i < G_N_ELEMENTS(PLACES); i++) {
        g_autofree char *pattern = g_strconcat(root, PLACES[i].pattern, NULL);
        glob_t found = {0};

        if (glob(pattern, 0, NULL, &found) == 0) {
            for (gsize n = 0; n < found.gl_pathc; n++)
                read_script(found.gl_pathv[n], strlen(root), PLACES[i].is_hook, facts);
        }
        globfree(&found);
    }
}

/* ---- all ---- */

void ibh_managers_read(const char *sysfs, const IbhSnapshot *snapshot, IbhFacts *facts)
{
    g_autofree char *root = find_root(sysfs);
    gboolean hooks, asks = FALSE;

    if (!root)
        return;
    hooks = hooks_are_called(root);
    IBH_EACH (const IbhLink, link, snapshot->links)
        find_manager(root, link, hooks, facts->managers);
    read_scripts(root, facts);
    IBH_EACH (const IbhManager, manager, facts->managers)
        asks |= !root[0] && g_str_equal(manager->name, NETWORK_MANAGER);
    if (asks)
        name_connections(facts->managers);
}
