/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/look_io.h"

#include "host/store.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#define NM_MILLISECONDS 2000 /* how long nm.so may wait for NetworkManager's answer */

#define NETWORK_MANAGER "NetworkManager"
#define CONFIGURED "/etc/networkd-dispatcher/configured.d/50-ib-hook"
#define ROUTABLE "/etc/networkd-dispatcher/routable.d/50-ib-hook"
#define NM(in) in "/NetworkManager/dispatcher.d/50-ib-hook"
#define NM_DISPATCHER "NetworkManager-dispatcher.service"
#define NM_ALIAS "dbus-org.freedesktop.nm-dispatcher.service"
#define NETWORKD_DISPATCHER "networkd-dispatcher.service"
#define IFUPDOWN "/etc/network/if-up.d/ib-hook"
#define SCRIPTS "/etc/sysconfig/network-scripts"

/* Paths in variables, macros and tables of this file begin with a slash. Paths of an IbhTree do not, so functions of
 * the tree get `path + 1`, or a literal without the slash. */

/* TRUE if root, or the user that runs us, owns the file or directory, and no other user can write it. Symbolic links
 * are not trusted: with O_NOFOLLOW, we look at the link itself, whose mode, 0777, lets others write. */
static gboolean is_trusted(const IbhTree *tree, const char *path)
{
    struct stat status;
    const int looked = ibh_tree_look(tree, path + 1, O_NOFOLLOW, &status);

    if (looked >= 0)
        close(looked);
    return looked >= 0 && ibh_file_check_trusted(&status, path, NULL);
}

/* ---- is our hook called? ---- */

/* If SELinux is enforcing, programs with these labels run in the domain of their caller, and this domain may not change
 * rules and routes. */
#define CONFINED ":(bin|lib|usr|etc)_t(:|$)"

/* Returns why the hook at `place` cannot run, or may not act when it runs; NULL if we see no reason. In a copy
 * (--sysfs), we judge neither SELinux nor a hook that we may not look at (EXDEV). */
static char *why_unusable(const IbhTree *tree, const char *place)
{
    g_autofree char *enforce = NULL;
    char label[256] = "";
    struct stat file;
    const int looked = ibh_tree_look(tree, place + 1, 0, &file);

    if (looked < 0) /* EXDEV: the path leads out of the copy, or not all users may read the file there */
        return errno == EXDEV ? NULL : g_strdup_printf("%s: %s", place, g_strerror(errno));
    close(looked);
    if (!S_ISREG(file.st_mode) || !(file.st_mode & S_IXUSR) || !ibh_file_check_trusted(&file, place, NULL))
        return g_strdup_printf("%s is not an executable file that only root may write", place);
    if (tree->complete && getxattr(place, "security.selinux", label, sizeof label - 1) > 0 &&
        g_regex_match_simple(CONFINED, label, G_REGEX_RAW, 0) &&
        g_file_get_contents("/sys/fs/selinux/enforce", &enforce, NULL, NULL) && enforce[0] == '1')
        return g_strdup_printf("SELinux labels %s as %s, and confines it", place, label);
    return NULL;
}

/* What is at a path. NOTHING: the path does not exist, or we may not look at it. MASK: a link to /dev/null, which
 * systemd calls a mask. SOMETHING: anything else, such as a file or any other link. NOTHING is 0, so it counts as
 * FALSE. */
typedef enum { NOTHING, MASK, SOMETHING } Standing;

G_GNUC_PRINTF(2, 3)
static Standing look_for(const IbhTree *tree, const char *format, ...)
{
    static const char mask[] = "/dev/null";
    g_autofree char *place = NULL;
    char target[sizeof mask] = "";
    struct stat link;
    gboolean masked;
    va_list args;
    int looked;

    va_start(args, format);
    place = g_strdup_vprintf(format, args);
    va_end(args);
    looked = ibh_tree_look(tree, place + 1, O_NOFOLLOW, &link);
    if (looked < 0)
        return NOTHING;
    /* With "", readlinkat() reads the link that was looked at, and fails for anything but a link. `target` has one byte
     * more than "/dev/null". If the link's text is longer, this byte is not NUL, so `target` and `mask` differ. */
    masked = readlinkat(looked, "", target, sizeof target) > 0 && memcmp(target, mask, sizeof mask) == 0;
    close(looked);
    return masked ? MASK : SOMETHING;
}

/* ---- the services that call hooks ---- */

#define WATCH "ib-hook-watch.service"

/* Looks for the unit's file in directories that systemd searches, in systemd's order. The first directory that has
 * the file counts: a mask in /etc hides a unit in /usr/lib. */
static Standing look_for_unit(const IbhTree *tree, const char *unit)
{
    static const char *const directories[] = {"/etc", "/run", "/usr/local/lib", "/usr/lib", "/lib"};
    Standing standing = NOTHING;

    for (gsize i = 0; !standing && i < G_N_ELEMENTS(directories); i++)
        standing = look_for(tree, "%s/systemd/system/%s", directories[i], unit);
    return standing;
}

/* TRUE if systemd starts the unit at boot. We look only at multi-user.target, because the units that we ask about
 * are enabled for no other target. */
static gboolean is_enabled(const IbhTree *tree, const char *unit)
{
    return look_for_unit(tree, unit) == SOMETHING &&
           look_for(tree, "/etc/systemd/system/multi-user.target.wants/%s", unit);
}

/* If the service `unit` does not call hooks, sets the reason (`inactive`) and the remedy. Two kinds of services call
 * hooks:
 * - D-Bus starts NetworkManager's dispatcher on demand, via `alias`, a link that exists only if the unit is enabled. So
 *   this service calls hooks if the link exists.
 * - A service without an alias (NULL) starts at boot, and calls hooks while it runs. While it runs, systemd keeps the
 *   link "invocation:UNIT".
 * If the service is enabled but does not run, also sets `will_start`, because the host may still be booting. If the
 * service is there, but neither masked nor enabled, also sets `by_choice`. */
static void find_why_inactive(const IbhTree *tree, const char *unit, const char *alias, IbhManager *manager)
{
    const char *masked = look_for_unit(tree, unit) == MASK             ? unit
                         : alias && look_for_unit(tree, alias) == MASK ? alias
                                                                       : NULL;

    if (masked) {
        manager->inactive = g_strdup_printf("%s is masked", masked);
        manager->remedy = g_strdup_printf("sudo systemctl unmask %s; sudo systemctl enable --now %s", masked, unit);
    } else if (!look_for_unit(tree, unit)) {
        manager->inactive = g_strdup_printf("there is no %s", unit);
        manager->remedy = g_strdup("install it");
    } else if (alias ? look_for_unit(tree, alias) : look_for(tree, "/run/systemd/units/invocation:%s", unit)) {
        return;
    } else if (is_enabled(tree, unit)) {
        manager->will_start = TRUE;
        manager->inactive = g_strdup_printf("%s does not run", unit);
        manager->remedy = g_strdup_printf("sudo systemctl start %s", unit);
    } else {
        manager->by_choice = TRUE;
        manager->inactive = g_strdup_printf("%s is disabled", unit);
        manager->remedy = g_strdup_printf("sudo systemctl enable --now %s", unit);
    }
}

/* If the manager does not call our hook, sets the reason (`inactive`). `places` and `units` are the members `hooks` and
 * `units` of the manager's row (see below). Without systemd, we do not know how the service is started, so we do not
 * judge the service. */
static void find_why_not_called(IbhTree *tree, const char *const *places, const char *const *units, IbhManager *manager)
{
    const char *const *place = places;

    while (*place && !look_for(tree, "%s", *place))
        place++;
    if (!*place)
        manager->inactive = g_strdup_printf("there is no %s", places[0]);
    else if (look_for(tree, "%s", *place) == MASK)
        manager->inactive = g_strdup_printf("%s is masked", *place);
    else
        manager->inactive = why_unusable(tree, *place);
    if (!manager->inactive && units[0] && ibh_tree_has(tree, "run/systemd/system"))
        find_why_inactive(tree, units[0], units[1], manager);
}

/* ---- which manager configures a link ---- */

/* Regular expressions for `says` below. NETWORKD is the beginning of two of them. NETWORKD matches only if networkd
 * manages the link, and ends before the path of the link's .network file. NETPLAN matches only if, besides, netplan
 * made that file. MANAGED matches if NetworkManager manages the link; its group is the UUID of the connection, if the
 * text has one. */
#define NETWORKD "(?s)\\A(?=.*?^ADMIN_STATE=(?!unmanaged$)[^\n]).*?^NETWORK_FILE="
#define NETPLAN NETWORKD "/run/systemd/network/10-netplan-([^\n]*)\\.network$"
#define MANAGED "(?s)\\A(?=.*?^managed=true$)(?:.*?^connection-uuid=([-0-9A-Fa-f]{36})$)?"
/* A name in Python's pickle format: an opcode, the length of the name (#), and the name (@). After the opcode 0x8c, the
 * length has one byte; after the opcode X, the length has four bytes, of which the last three are zero. */
#define PICKLED "(?:\\x8c#|X#\\x00{3})(@)"

/* The first row whose file says that the manager configures the link wins. So the order of the rows matters:
 * - netplan writes files for networkd, so netplan's row comes before networkd's.
 * - NetworkManager calls a NIC "managed" even if another manager configures the NIC and NetworkManager only watches. So
 *   NetworkManager's row comes after the rows of such managers.
 * - RHEL's network scripts keep no state. They configure each NIC that has an ifcfg file, except the NICs that
 *   NetworkManager manages, because NetworkManager reads the same files. So the row of the scripts is the last. This
 *   row counts only if ifup-post, the script that calls /sbin/ifup-local, is installed.
 *
 * ifupdown2 keeps its state below /var/tmp, where any user could have made the file, so we check the file's owner and
 * mode (OF_ROOT). The file also outlives a boot, so it counts only if ifupdown2's lock, which is in /run, exists. */
static const struct {
    const char *name;
    const char *file;     /* @ stands for the link's name, # for its index */
    const char *says;     /* matches if the manager configures the link; the group is the connection. @ stands for the
                             link's name, # for the length of the name. "": the file need only exist, and its name is
                             the connection */
    const char *hooks[3]; /* the places of our hook, at most two, then NULL; the first that exists counts */
    const char *units[2]; /* the service that calls hooks (NULL: the manager calls them itself), and the alias by which
                             D-Bus starts the service (NULL: none) */
    const char *needs;    /* another file, without which the row does not count; "": none is needed. With "", the Source
                             of `file` (see below) is OF_MANAGER. With a file in `needs`, the Source is OF_ROOT */
} rows[] = {
    {"netplan", "/run/systemd/netif/links/#", NETPLAN, {CONFIGURED, ROUTABLE}, {NETWORKD_DISPATCHER}, ""},
    {"systemd-networkd",
     "/run/systemd/netif/links/#",
     NETWORKD "[^\n]*?([^/\n]+)$",
     {CONFIGURED, ROUTABLE},
     {NETWORKD_DISPATCHER},
     ""},
    {"ifupdown", "/run/network/ifstate", "^@=([^ \n]+)", {IFUPDOWN}, {NULL}, ""},
    {"ifupdown-ng", "/run/ifstate", "^@=([^ \n]+)", {IFUPDOWN}, {NULL}, ""},
    {"ifupdown2", "/var/tmp/network/ifstatenew", PICKLED, {IFUPDOWN}, {NULL}, "/run/network/ifstatelock"},
    {NETWORK_MANAGER,
     "/run/NetworkManager/devices/#",
     MANAGED,
     {NM("/etc"), NM("/usr/lib")},
     {NM_DISPATCHER, NM_ALIAS},
     ""},
    {"network-scripts", SCRIPTS "/ifcfg-@", "", {"/sbin/ifup-local"}, {NULL}, SCRIPTS "/ifup-post"},
};

/* Returns the text with each # replaced by the number, and each @ by the name. */
static char *fill_in(const char *text, const char *name, const char *number)
{
    g_auto(GStrv) parts = g_strsplit(text, "#", -1), rest = NULL;
    g_autofree char *numbered = g_strjoinv(number, parts);

    rest = g_strsplit(numbered, "@", -1);
    return g_strjoinv(name, rest);
}

/* TRUE if the text of the manager's file matches `says`: the manager configures the link. If TRUE, sets the connection;
 * NULL if the text names none. */
static gboolean configures_link(const char *says, const char *name, const GString *text, char **ret_connection)
{
    g_autofree char *length = g_strdup_printf("\\x%02x", (guint)strlen(name)), *pattern = NULL, *found = NULL;
    g_autoptr(GString) bytes = g_string_new(NULL); /* the name in hexadecimal: no byte is special in a pattern */
    g_autoptr(GRegex) regex = NULL;
    g_autoptr(GMatchInfo) match = NULL;

    for (const char *at = name; *at; at++)
        g_string_append_printf(bytes, "\\x%02x", (guchar)*at);
    pattern = fill_in(says, bytes->str, length);
    regex = g_regex_new(pattern, G_REGEX_RAW | G_REGEX_MULTILINE | G_REGEX_NEWLINE_LF, 0, NULL);
    if (!g_regex_match_full(regex, text->str, (gssize)text->len, 0, 0, &match, NULL))
        return FALSE;
    found = g_match_info_fetch(match, 1);
    *ret_connection = found && found[0] ? g_steal_pointer(&found) : NULL;
    return TRUE;
}

/* Who wrote a file. */
typedef enum {
    OF_MANAGER,   /* a manager, in /run: we check neither owner nor mode, but the file must not be a link */
    OF_ROOT,      /* root: ibh_file_check_trusted() must accept the file and its directory; the file may be a link, but
                     not the directory */
    OF_HAND,      /* a person: root or our user must own the file. Links do not count: they are our own hooks, and masks
                     (links to /dev/null), not what a person wrote */
    OF_HAND_HOOK, /* like OF_HAND, but for a program that runs only executable files: the file must be executable */
} Source;

/* Returns the text of a regular file. NULL if there is no regular file, if the file's owner or mode is wrong for its
 * source, or if the file cannot be read or is larger than 1 MiB. With a text, sets `ret_public`: TRUE if every user may
 * read the file. */
static GString *read_text(const IbhTree *tree, const char *path, Source source, gboolean *ret_public)
{
    g_autofree char *directory = g_path_get_dirname(path);
    struct stat status;
    const int looked = ibh_tree_look(tree, path + 1, source == OF_ROOT ? 0 : O_NOFOLLOW, &status);
    GString *text = NULL;
    gboolean is_accepted;

    if (looked < 0)
        return NULL;
    is_accepted = S_ISREG(status.st_mode);
    if (source == OF_ROOT)
        is_accepted = is_accepted && is_trusted(tree, directory) && ibh_file_check_trusted(&status, path, NULL);
    /* What an administrator writes belongs to root or, in a copy (--sysfs), perhaps to our user. We do not judge the
     * files of other users. */
    if (source == OF_HAND || source == OF_HAND_HOOK)
        is_accepted = is_accepted && (status.st_uid == 0 || status.st_uid == geteuid());
    if (source == OF_HAND_HOOK)
        is_accepted = is_accepted && (status.st_mode & S_IXUSR);
    if (is_accepted)
        text = ibh_file_take(looked, path, NULL);
    *ret_public = text && ibh_file_is_public(looked);
    close(looked);
    return text;
}

/* Adds the manager that configures the link, if any. If ib-hook is installed, also finds out whether the manager calls
 * our hook. */
static void read_manager(IbhTree *tree, const IbhLink *link, gboolean is_installed, GArray *managers)
{
    g_autofree char *number = g_strdup_printf("%d", link->ifindex);

    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        IbhManager manager = {.ifindex = link->ifindex, .name = rows[i].name};
        g_autofree char *path = fill_in(rows[i].file, link->name, number);
        const char *needs = rows[i].needs;
        g_autoptr(GString) text = NULL;
        gboolean is_public;

        if (!needs[0] || ibh_tree_has(tree, "%s", needs + 1))
            text = read_text(tree, path, needs[0] ? OF_ROOT : OF_MANAGER, &is_public);
        if (!text || (rows[i].says[0] && !configures_link(rows[i].says, link->name, text, &manager.connection)))
            continue;
        if (!rows[i].says[0])
            manager.connection = g_path_get_basename(path);
        if (is_installed)
            find_why_not_called(tree, rows[i].hooks, rows[i].units, &manager);
        g_array_append_val(managers, manager);
        return;
    }
}

/* ---- what NetworkManager itself says ---- */

/* Loads nm.so, and calls its function (IBH_NM_FUNCTION). The code runs in this process, so we load the file only if we
 * trust the file and its directory (is_trusted()). */
static void ask_network_manager(const IbhTree *tree, GArray *managers)
{
    IbhNmFunction *function = NULL;
    void *plugin;

    if (!is_trusted(tree, IBH_PLUGIN_DIR) || !is_trusted(tree, IBH_PLUGIN_DIR "/nm.so"))
        return;
    clearenv(); /* our caller's environment could tell libnm which bus to ask and which file to write */
    /* The plugin stays loaded: GLib's threads and types would not survive dlclose(). */
    plugin = dlopen(IBH_PLUGIN_DIR "/nm.so", RTLD_NOW | RTLD_LOCAL);
    if (plugin)
        *(void **)(&function) = dlsym(plugin, IBH_NM_FUNCTION);
    if (function)
        function(managers, NM_MILLISECONDS);
}

/* ---- hand-written files: hooks and configuration of managers, and scripts that run at boot ---- */

#define SCRIPT_MAX ((gsize)64 * 1024) /* bytes: we ignore larger files */
#define N_SCRIPTS 512                 /* we keep no more files than this */

/* `place` is a file or, if there is a pattern, a directory. The pattern has one part for each level below the
 * directory, with slashes between the parts; the last part is for the names of files. */
static const struct {
    const char *place;
    const char *pattern;
    Source source;
} PLACES[] = {
    {"/etc/NetworkManager/dispatcher.d", "*", OF_HAND_HOOK},
    {"/etc/NetworkManager/dispatcher.d", "*.d/*", OF_HAND_HOOK},
    {"/etc/networkd-dispatcher", "*.d/*", OF_HAND_HOOK},
    {"/etc/network", "if-*up.d/*", OF_HAND_HOOK},
    {"/sbin/ifup-local", NULL, OF_HAND_HOOK},
    {"/sbin/ifup-pre-local", NULL, OF_HAND_HOOK},
    {"/etc/network/interfaces", NULL, OF_HAND},
    {"/etc/network/interfaces.d", "*", OF_HAND},
    {"/etc/sysconfig/network-scripts", "r[ou]*", OF_HAND}, /* route-ib0, rule-ib0 */
    {"/etc/netplan", "*.yaml", OF_HAND},
    {"/etc/systemd/network", "*.network", OF_HAND},
    {"/etc/systemd/network", "*.network.d/*.conf", OF_HAND},
    {"/etc/systemd/system", "*.service", OF_HAND},
    {"/etc/cron.d", "*", OF_HAND},
    {"/etc/crontab", NULL, OF_HAND},
    {"/etc/rc.local", NULL, OF_HAND_HOOK},
    {"/etc/rc.d/rc.local", NULL, OF_HAND_HOOK},
};

/* Reads a file or, if there is a pattern, the matching files of a directory (see PLACES). In the directory, takes the
 * names that match the first part of the pattern, and calls itself for each, with the rest of the pattern. */
static void read_scripts(IbhTree *tree, const char *place, const char *pattern, Source source, IbhFacts *facts)
{
    const char *rest = pattern ? strchr(pattern, '/') : NULL;
    g_autofree char *first = rest ? g_strndup(pattern, (gsize)(rest - pattern)) : g_strdup(pattern);
    g_autoptr(GPtrArray) names = pattern ? ibh_tree_list(tree, "%s", place + 1) : g_ptr_array_new();
    g_autoptr(GString) text = NULL;
    IbhScript script = {0};

    IBH_EACH_POINTER (const char, name, names) {
        g_autofree char *path = g_strconcat(place, "/", name, NULL);

        if (fnmatch(first, name, 0) == 0)
            read_scripts(tree, path, rest ? rest + 1 : NULL, source, facts);
    }
    if (!pattern && facts->scripts->len < N_SCRIPTS)
        text = read_text(tree, place, source, &script.is_public);
    if (!text || text->len > SCRIPT_MAX)
        return;
    script.path = ibh_text_printable(place);
    script.text = g_string_free(g_steal_pointer(&text), FALSE);
    g_array_append_val(facts->scripts, script);
    /* cppcheck-suppress memleak ; the array owns the text */
}

/* ---- all ---- */

void ibh_managers_read(const char *sysfs, const IbhSnapshot *snapshot, IbhFacts *facts)
{
    g_auto(IbhTree) tree = ibh_tree_of(sysfs);
    gboolean is_installed, has_nm = FALSE;

    if (tree.complete && !ibh_store_is_home()) /* /run and /etc describe process 1's network namespace */
        return;
    is_installed = ibh_tree_has(&tree, "usr/bin/ib-hook");
    facts->watched = tree.complete && ibh_watch_is_running();
    facts->will_watch = is_enabled(&tree, WATCH);
    facts->start_watch = !ibh_tree_has(&tree, "run/systemd/system") ? "run ib-hook --watch"
                         : look_for_unit(&tree, WATCH) == MASK      ? "sudo systemctl unmask " WATCH
                                                                 "; sudo systemctl enable --now " WATCH
                                                               : "sudo systemctl enable --now " WATCH;
    IBH_EACH (const IbhLink, link, snapshot->links)
        read_manager(&tree, link, is_installed, facts->managers);
    for (gsize i = 0; i < G_N_ELEMENTS(PLACES); i++)
        read_scripts(&tree, PLACES[i].place, PLACES[i].pattern, PLACES[i].source, facts);
    /* For a copy (--sysfs), do not ask: NetworkManager knows only the live host. */
    IBH_EACH (const IbhManager, manager, facts->managers)
        has_nm |= tree.complete && g_str_equal(manager->name, NETWORK_MANAGER);
    if (has_nm)
        ask_network_manager(&tree, facts->managers);
}
