/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/store.h"

#include "kernel/netlink.h"
#include "plan/known.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

struct IbhStore {
    int lock;       /* the descriptor of the lock file; -1 if it is not open */
    char *stem;     /* the path of each file of this namespace in /run/ib-hook, without the ending (".state") */
    char *state;    /* the text of the state as we loaded or wrote it last */
    GString *rails; /* the text of the rails file; NULL if the state has these rails already, or if read_rails()
                       returned NULL */
    GArray *known;  /* IbhKnownRail: the rails that the rails file has; NULL if unknown. If the state has the rails
                       of earlier boots (IbhState.recalled), we do not read the file, and assume that it has the
                       rails of the state. This is wrong if an earlier run failed to write the file, or if somebody
                       has changed or removed it */
    gboolean writes_rails; /* the state has other known rails than the file: ibh_store_close() writes the file */
};

/* `cookie` is 0 before Linux 5.14, where a process cannot read the cookie of its namespace. Without a cookie, use the
 * namespace's number: the kernel does not reuse this number while a process is in the namespace, and the boot id
 * separates boots. */
static char *make_stem(guint64 cookie)
{
    g_autofree char *boot = NULL;

    if (cookie)
        return g_strdup_printf(IBH_RUN_DIR "/n%" G_GINT64_MODIFIER "x", cookie);
    (void)g_file_get_contents("/proc/sys/kernel/random/boot_id", &boot, NULL, NULL);
    return g_strdup_printf(IBH_RUN_DIR "/i%" G_GUINT64_FORMAT "-%s", ibh_netns_number("self"),
                           boot ? g_strchomp(boot) : "0");
}

static gboolean check_directory(const char *path, GError **error)
{
    struct stat info;

    if (lstat(path, &info) == 0) {
        if (S_ISDIR(info.st_mode))
            return ibh_file_check_trusted(&info, path, error);
        errno = ENOTDIR;
    }
    return ibh_file_cannot("open or make", path, error);
}

char *ibh_store_file(const IbhStore *store, const char *end)
{
    return g_strconcat(store->stem, end, NULL);
}

/* ---- the rails file: the known rails of earlier boots ---- */

#define RAILS_FILE IBH_LIB_DIR "/rails"

/* A command in another network namespace (ip netns exec) has the same /var/lib as the host, but its rails must not
 * become known rails of the host. In a container with a process 1 of its own, that process is the one that counts.
 * If /proc has hidepid=2 and gid=, root needs CAP_SYS_PTRACE to look at process 1. So remember the number:
 * ibh_process_start() calls this function before a run gives up capabilities. */
gboolean ibh_store_is_home(void)
{
    static guint64 number;

    if (!number)
        number = ibh_netns_number("1");
    return number && number == ibh_netns_number("self");
}

/* Makes the line with which a complete rails file of this machine ends. A file that ends otherwise was truncated, or
 * comes from another machine with the same disk image. Returns NULL where no rails file is kept: in a network namespace
 * other than that of process 1, if /var/lib/ib-hook is missing or not trusted, or on a machine without an id. */
static char *make_end(void)
{
    g_autofree char *id = NULL;

    if (!ibh_store_is_home() || !check_directory(IBH_LIB_DIR, NULL) ||
        !g_file_get_contents("/etc/machine-id", &id, NULL, NULL) || !g_ascii_isxdigit(id[0]))
        return NULL;
    return g_strdup_printf("# ib-hook: hardware that was a rail of machine %s\n", g_strstrip(id));
}

/* TRUE if a later attempt to read the file may succeed. */
static gboolean is_temporary(const GError *error)
{
    static const int temporary[] = {G_FILE_ERROR_MFILE, G_FILE_ERROR_NFILE, G_FILE_ERROR_NOMEM, G_FILE_ERROR_IO,
                                    G_FILE_ERROR_INTR};

    IBH_EACH_ROW (const int, code, temporary) {
        if (g_error_matches(error, G_FILE_ERROR, *code))
            return TRUE;
    }
    return FALSE;
}

/* Returns NULL if the file was not read, so that later runs try again: the file cannot be read now, or make_end()
 * returns NULL, for a moment (before /var is mounted) or for good (in another network namespace). Returns an empty text
 * if another try would not help: for example, the file is missing, truncated, not trusted, or from another machine. */
static GString *read_rails(void)
{
    g_autofree char *end = make_end();
    g_autoptr(GError) problem = NULL;
    g_autoptr(GString) text = end ? ibh_file_read(RAILS_FILE, NULL, &problem) : NULL;

    if (!end || is_temporary(problem))
        return NULL;
    return text && g_str_has_suffix(text->str, end) ? g_steal_pointer(&text) : g_string_new(NULL);
}

static GArray *copy_known(const GArray *known)
{
    GArray *copy = IBH_NEW_ARRAY(IbhKnownRail);

    return g_array_append_vals(copy, known->data, known->len);
}

/* Writes the rails file: the last lines of the state, which are about known rails. In the file, IbhKnownRail.since is
 * 0, because the time at which a rail went missing counts for this boot only. Two runs may get here at once, because
 * each has released the lock of the namespace. So take another lock, which only root can hold, and read the state again
 * under this lock: so the newer state wins. Ignore errors: only runs after the next boot need the file. */
static void write_rails(const IbhStore *store)
{
    g_autofree char *end = make_end(), *path = ibh_store_file(store, ".state"), *lines = NULL, *text = NULL;
    g_autoptr(GString) saved = NULL; /* the text of the state file */
    g_autoptr(IbhState) state = NULL;
    const char *known;
    int lock = end ? open(IBH_RUN_DIR "/rails.lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;

    if (lock >= 0 && flock(lock, LOCK_EX) == 0)
        saved = ibh_file_read(path, NULL, NULL);
    if (saved) {
        state = ibh_state_parse(saved->str, saved->len);
        IBH_EACH (IbhKnownRail, rail, state->known)
            rail->since = 0;
        lines = ibh_state_format(state);
        known = strstr(lines, "\nknown ");
        text = g_strconcat(known ? known + 1 : "", end, NULL);
        (void)ibh_file_write(RAILS_FILE, text, IBH_FOR_ALL, NULL);
    }
    if (lock >= 0)
        close(lock);
}

/* ---- opening ---- */

IbhStore *ibh_store_open(guint64 cookie, gboolean create, GError **error)
{
    g_autoptr(IbhStore) store = g_new0(IbhStore, 1);
    g_autoptr(GString) state = NULL;
    g_autofree char *path = NULL;

    store->lock = -1;
    store->stem = make_stem(cookie);
    if (create && mkdir(IBH_RUN_DIR, 0755) < 0 && errno != EEXIST) {
        ibh_file_cannot("open or make", IBH_RUN_DIR, error);
        return NULL;
    }
    if (create && !check_directory(IBH_RUN_DIR, error))
        return NULL;
    path = ibh_store_file(store, ".state");
    state = ibh_file_read(path, NULL, NULL);
    /* Read the rails file now, before the caller takes the lock: a disk that hangs must not delay other hooks. */
    if (!state || !strstr(state->str, "\n" IBH_STATE_RECALLED "\n"))
        store->rails = read_rails();
    return g_steal_pointer(&store);
}

void ibh_store_close(IbhStore *store)
{
    if (!store)
        return;
    if (store->lock >= 0)
        close(store->lock);
    if (store->writes_rails)
        write_rails(store);
    g_free(store->stem);
    g_free(store->state);
    if (store->rails)
        g_string_free(store->rails, TRUE);
    g_clear_pointer(&store->known, g_array_unref);
    g_free(store);
}

/* ---- files of namespaces that have gone ---- */

static void remove_files(const char *key)
{
    static const char *const ends[] = {".state", ".state.new", ".confirm", ".watch", ".lock"};

    IBH_EACH_ROW (const char *const, end, ends) {
        g_autofree char *path = g_strconcat(IBH_RUN_DIR "/", key, *end, NULL);

        (void)unlink(path);
    }
}

/* Removes the files of a namespace that has gone, if our namespace has its number (ibh_netns_number()) now. The
 * kernel does not report the end of a namespace, and we cannot list the namespaces that exist. But a new namespace may
 * get the number that an ended namespace had. So store a link from our number to our files. If there is a link already,
 * and the link leads to other files, then the namespace of these files has ended. */
static void take_number(const IbhStore *store)
{
    const guint64 number = ibh_netns_number("self");
    g_autofree char *path = g_strdup_printf(IBH_RUN_DIR "/number-%" G_GUINT64_FORMAT, number);
    g_autofree char *key = g_path_get_basename(store->stem);
    g_autofree char *linked_key = g_file_read_link(path, NULL);

    if (!number || g_strcmp0(linked_key, key) == 0)
        return;
    if (linked_key) {
        if (strspn(linked_key, "-0123456789abcdefin") == strlen(linked_key)) /* as make_stem() writes it, without '/' */
            remove_files(linked_key);
        (void)unlink(path);
    }
    (void)!symlink(key, path);
}

/* ---- the lock ---- */

/* Polls, because a blocking flock() would need a signal to end the wait, and the caller may have blocked signals. */
static gboolean flock_within(const IbhStore *store, int seconds)
{
    gint64 deadline = g_get_monotonic_time() + seconds * G_USEC_PER_SEC;
    gulong pause = 200; /* microseconds */

    while (flock(store->lock, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK || g_get_monotonic_time() >= deadline)
            return FALSE;
        g_usleep(pause);
        pause = MIN(pause * 2, 5000);
    }
    return TRUE;
}

/* If somebody removes the lock file while we wait for the lock, later processes make a new file and lock the new file.
 * Our lock on the removed file (st_nlink is 0) would not keep these processes out, so open and lock the new file
 * instead. */
gboolean ibh_store_lock(IbhStore *store, int seconds, GError **error)
{
    const int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    g_autofree char *path = ibh_store_file(store, ".lock");
    gboolean is_new;
    struct stat info;

    do {
        if (store->lock >= 0)
            close(store->lock);
        store->lock = open(path, flags);
        is_new = store->lock < 0 && errno == ENOENT;
        if (is_new)
            store->lock = open(path, flags | O_CREAT, 0600);
        if (store->lock < 0 && errno != ELOOP && errno != EISDIR) /* a link or a directory has its own message below */
            return ibh_file_cannot("open", path, error);
        if (store->lock < 0 || fstat(store->lock, &info) < 0 || !S_ISREG(info.st_mode) ||
            !ibh_file_check_trusted(&info, path, NULL)) {
            g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_PERM,
                        "cannot lock %s: it is not a plain file of root's alone; remove it", path);
            return FALSE;
        }
        if (!flock_within(store, seconds)) {
            if (errno == EWOULDBLOCK)
                g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_AGAIN,
                            "gave up after %d s: another ib-hook is at work in this network namespace (lslocks names "
                            "its process); see what it waits for, and try again",
                            seconds);
            else
                ibh_file_cannot("lock", path, error);
            return FALSE;
        }
    } while (fstat(store->lock, &info) == 0 && info.st_nlink == 0);
    if (is_new) /* the first run in this namespace, which may have the number of a namespace that has gone */
        take_number(store);
    return TRUE;
}

/* ---- the state ---- */

/* Fails if reading fails for a reason that may pass (is_temporary()), or if we are not root and may not read the file:
 * then the state must not be taken for empty. If reading fails for any other reason, starts with an empty state: for
 * example, if there is no file, if the file is not trusted, or if a security module does not let root read it. */
IbhState *ibh_store_load(IbhStore *store, GError **error)
{
    g_autoptr(GError) local = NULL;
    g_autofree char *path = ibh_store_file(store, ".state");
    g_autoptr(GString) text = ibh_file_read(path, NULL, &local);
    const char *before = text ? text->str : "";
    IbhState *state;

    if (is_temporary(local) || (geteuid() && g_error_matches(local, G_FILE_ERROR, G_FILE_ERROR_ACCES))) {
        g_propagate_error(error, g_steal_pointer(&local));
        return NULL;
    }
    state = ibh_state_parse(before, strlen(before));
    if (state->recalled) {
        store->known = copy_known(state->known);
    } else if (store->rails) {
        /* Add the known rails of earlier boots. Those of this boot are newer, so they win. The first events of a boot
         * may come before /var is mounted, so each run tries again until the rails file has been read. */
        g_autoptr(IbhState) earlier = ibh_state_parse(store->rails->str, store->rails->len);

        store->known = copy_known(earlier->known);
        IBH_EACH (const IbhKnownRail, known, state->known)
            ibh_known_put(earlier->known, known);
        g_array_unref(state->known);
        state->known = g_array_ref(earlier->known);
        state->recalled = TRUE;
    }
    /* If no state file was read, the state that we start with need not be saved until a run changes it. */
    store->state = text ? g_strdup(before) : ibh_state_format(state);
    return state;
}

gboolean ibh_store_save(IbhStore *store, const IbhState *state, GError **error)
{
    g_autofree char *path = ibh_store_file(store, ".state"), *text = ibh_state_format(state);

    if (g_strcmp0(text, store->state) == 0)
        return TRUE;
    if (!ibh_file_write(path, text, state->is_private ? IBH_FOR_ROOT : IBH_FOR_ALL, error))
        return FALSE;
    store->writes_rails |= store->known && ibh_known_differ(store->known, state->known);
    g_free(store->state);
    store->state = g_steal_pointer(&text);
    return TRUE;
}

/* ---- whether --watch runs ---- */

int ibh_watch_open(int flags)
{
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0); /* only for the namespace's cookie */
    g_autofree char *stem = NULL, *path = NULL;

    if (fd < 0)
        return -1;
    stem = make_stem(ibh_socket_netns_cookie(fd));
    close(fd);
    path = g_strconcat(stem, ".watch", NULL);
    return open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
}

gboolean ibh_watch_is_running(void)
{
    int fd = ibh_watch_open(O_RDONLY);
    gboolean is_held;

    if (fd < 0)
        return errno == EACCES;
    is_held = flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
    close(fd);
    return is_held;
}
