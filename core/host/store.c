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
    int lock;
    char *path;      /* of all its files, without what they end in */
    char *state;     /* as it was read or written last */
    GString *kept;   /* what the file of earlier boots has; NULL: it is recalled already, or cannot be read now */
    GArray *known;   /* IbhKnownRail: what that file has, as far as it was written */
    char *unwritten; /* what is to be written there; NULL: nothing is new */
};

/* Before 5.14 a namespace has no cookie. Its inode may be used again, but not within the life of a process in it,
 * and the boot id keeps what survived a reboot apart. */
static char *make_path(guint64 cookie)
{
    g_autofree char *boot = NULL;
    struct stat info = {.st_ino = 0};

    if (cookie)
        return g_strdup_printf(IBH_RUN_DIR "/n%" G_GINT64_MODIFIER "x", cookie);
    (void)g_file_get_contents("/proc/sys/kernel/random/boot_id", &boot, NULL, NULL);
    (void)stat("/proc/self/ns/net", &info);
    return g_strdup_printf(IBH_RUN_DIR "/i%lu-%s", (unsigned long)info.st_ino, boot ? g_strchomp(boot) : "0");
}

static gboolean check_directory(const char *path, GError **error)
{
    struct stat info;

    if (lstat(path, &info) < 0)
        return ibh_file_cannot("open or make", path, error);
    errno = ENOTDIR;
    return S_ISDIR(info.st_mode) ? ibh_file_check_trusted(&info, path, error)
                                 : ibh_file_cannot("open or make", path, error);
}

char *ibh_store_file(const IbhStore *store, const char *end)
{
    return g_strconcat(store->path, end, NULL);
}

/* ---- what is known of earlier boots ---- */

#define KEPT_DIR "/var/lib/ib-hook"
#define KEPT KEPT_DIR "/rails"

/* What a container or a test sees must not be missed by the host. */
gboolean ibh_store_is_home(void)
{
    return ibh_process_is_in_this_netns("1");
}

/* Its last line: a file without it was cut short, or is that of another machine, whose image this one has. NULL: who
 * this one is, is not known, or the directory, which the package made, is not root's alone; then nothing is kept. */
static char *make_end(void)
{
    g_autofree char *id = NULL;

    if (!ibh_store_is_home() || !check_directory(KEPT_DIR, NULL) ||
        !g_file_get_contents("/etc/machine-id", &id, NULL, NULL) || !g_ascii_isxdigit(id[0]))
        return NULL;
    return g_strdup_printf("# ib-hook: hardware that was a rail of machine %s\n", g_strstrip(id));
}

/* It could be read at another time. */
static gboolean is_passing(const GError *error)
{
    static const int passing[] = {G_FILE_ERROR_MFILE, G_FILE_ERROR_NFILE, G_FILE_ERROR_NOMEM, G_FILE_ERROR_IO,
                                  G_FILE_ERROR_INTR};

    IBH_EACH_ROW (const int, code, passing) {
        if (g_error_matches(error, G_FILE_ERROR, *code))
            return TRUE;
    }
    return FALSE;
}

/* Empty: there is no file, or none that is to be believed. NULL: its directory is not here yet, or it cannot be read
 * now. */
static GString *recall(void)
{
    g_autofree char *end = make_end();
    g_autoptr(GError) problem = NULL;
    g_autoptr(GString) text = end ? ibh_file_read(KEPT, NULL, &problem) : NULL;

    if (!end || is_passing(problem))
        return NULL;
    return text && g_str_has_suffix(text->str, end) ? g_steal_pointer(&text) : g_string_new(NULL);
}

/* If it cannot be written, what is missing after the next boot is not known. */
static void keep(const char *known)
{
    g_autofree char *end = make_end(), *text = g_strconcat(known, end, NULL);

    if (end)
        (void)ibh_file_write(KEPT, text, IBH_FOR_ALL, NULL);
}

/* The lines about known hardware: they are the last. */
static const char *known_in(const char *text)
{
    const char *first = text ? strstr(text, "\nknown ") : NULL;

    return first ? first + 1 : "";
}

static void note_kept(IbhStore *store, const GArray *known)
{
    g_clear_pointer(&store->known, g_array_unref);
    store->known = IBH_NEW_ARRAY(IbhKnownRail);
    g_array_append_vals(store->known, known->data, known->len);
}

/* When a rail went is of this boot: the file has no time. */
static char *format_kept(const GArray *known)
{
    g_autoptr(IbhState) timeless = ibh_state_new();
    g_autofree char *text = NULL;

    g_array_append_vals(timeless->known, known->data, known->len);
    IBH_EACH (IbhKnownRail, one, timeless->known)
        one->since = 0;
    text = ibh_state_format(timeless);
    return g_strdup(known_in(text));
}

/* ---- opening ---- */

static gboolean is_recalled(const IbhStore *store)
{
    g_autofree char *path = ibh_store_file(store, ".state");
    g_autoptr(GString) text = ibh_file_read(path, NULL, NULL);

    return text && strstr(text->str, "\n" IBH_STATE_RECALLED "\n");
}

IbhStore *ibh_store_open(guint64 cookie, gboolean create, GError **error)
{
    g_autoptr(IbhStore) store = g_new0(IbhStore, 1);

    store->lock = -1;
    store->path = make_path(cookie);
    if (create && mkdir(IBH_RUN_DIR, 0755) < 0 && errno != EEXIST) {
        ibh_file_cannot("open or make", IBH_RUN_DIR, error);
        return NULL;
    }
    if (create && !check_directory(IBH_RUN_DIR, error))
        return NULL;
    if (!is_recalled(store))
        store->kept = recall();
    return g_steal_pointer(&store);
}

void ibh_store_close(IbhStore *store)
{
    if (!store)
        return;
    if (store->lock >= 0)
        close(store->lock);
    if (store->unwritten)
        keep(store->unwritten);
    g_free(store->path);
    g_free(store->state);
    g_free(store->unwritten);
    if (store->kept)
        g_string_free(store->kept, TRUE);
    g_clear_pointer(&store->known, g_array_unref);
    g_free(store);
}

/* ---- namespaces that are gone ---- */

static void remove_files(const char *key)
{
    static const char *const ends[] = {".state", ".state.new", ".confirm", ".watch", ".lock"};

    IBH_EACH_ROW (const char *const, end, ends) {
        g_autofree char *path = g_strconcat(IBH_RUN_DIR "/", key, *end, NULL);

        (void)unlink(path);
    }
}

/* Nothing tells of a namespace that it goes, nor can all be listed that are there. But the kernel gives its number to a
 * later one: who finds that a link of its own number names another's files removes these. So there are never files of
 * more namespaces than there were numbers in use at one time. */
static void take_number(const IbhStore *store)
{
    const guint64 number = ibh_netns_number();
    g_autofree char *path = g_strdup_printf(IBH_RUN_DIR "/number-%" G_GUINT64_FORMAT, number);
    g_autofree char *key = g_path_get_basename(store->path);
    g_autofree char *before = g_file_read_link(path, NULL);

    if (!number || g_strcmp0(before, key) == 0)
        return;
    if (before) {
        if (strspn(before, "-0123456789abcdefin") == strlen(before))
            remove_files(before);
        (void)unlink(path);
    }
    (void)!symlink(key, path);
}

/* ---- the lock ---- */

/* Polls instead of sleeping in flock(): so the wait ends without a signal or timer, which a caller may have blocked. */
static gboolean flock_within(const IbhStore *store, int seconds)
{
    gint64 deadline = g_get_monotonic_time() + seconds * G_USEC_PER_SEC;
    gulong pause = 200; /* microseconds */

    while (flock(store->lock, LOCK_EX | LOCK_NB) < 0) {
        if ((errno != EWOULDBLOCK && errno != EINTR) || g_get_monotonic_time() >= deadline)
            return FALSE;
        g_usleep(pause);
        pause = MIN(pause * 2, 5000);
    }
    return TRUE;
}

/* Nothing is written to it. */
static int open_lock(const char *path, gboolean *ret_new, GError **error)
{
    const int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    int fd = open(path, flags);
    struct stat info;

    *ret_new = fd < 0 && errno == ENOENT;
    if (*ret_new)
        fd = open(path, flags | O_CREAT, 0600);

    if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && ibh_file_check_trusted(&info, path, NULL))
        return fd;
    if (fd < 0 && errno != ELOOP && errno != EISDIR)
        ibh_file_cannot("open", path, error);
    else
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_PERM,
                    "cannot lock %s: it is not a plain file of root's alone; remove it", path);
    if (fd >= 0)
        close(fd);
    return -1;
}

/* If the file is removed while a process has its lock, or waits for it, later processes lock a new file. */
gboolean ibh_store_lock(IbhStore *store, int seconds, GError **error)
{
    g_autofree char *path = ibh_store_file(store, ".lock");
    gboolean is_new;
    struct stat info;

    do {
        if (store->lock >= 0)
            close(store->lock);
        if ((store->lock = open_lock(path, &is_new, error)) < 0)
            return FALSE;
        if (!flock_within(store, seconds)) {
            if (errno == EWOULDBLOCK || errno == EINTR)
                g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_AGAIN,
                            "gave up after %d s: another ib-hook is at work in this network namespace (lslocks names "
                            "its process); see what it waits for, and try again",
                            seconds);
            else
                ibh_file_cannot("lock", path, error);
            return FALSE;
        }
    } while (fstat(store->lock, &info) == 0 && info.st_nlink == 0);
    if (is_new)
        take_number(store);
    return TRUE;
}

/* ---- the state ---- */

/* The first events of a boot may come before /var is mounted: each run tries it until it succeeds. What this boot knows
 * is newer. */
static void take_in(IbhStore *store, IbhState *state)
{
    g_autoptr(IbhState) kept = ibh_state_parse(store->kept->str, store->kept->len);

    note_kept(store, kept->known);
    IBH_EACH (const IbhKnownRail, known, state->known)
        ibh_known_put(kept->known, known);
    g_array_set_size(state->known, 0);
    g_array_append_vals(state->known, kept->known->data, kept->known->len);
    state->recalled = TRUE;
}

/* A file that cannot be trusted counts as none; what cannot be read for a moment, or by this user, does not. */
IbhState *ibh_store_load(IbhStore *store, GError **error)
{
    g_autoptr(GError) local = NULL;
    g_autofree char *path = ibh_store_file(store, ".state");
    g_autoptr(GString) text = ibh_file_read(path, NULL, &local);
    const char *before = text ? text->str : "";
    IbhState *state;

    if (is_passing(local) || (geteuid() && g_error_matches(local, G_FILE_ERROR, G_FILE_ERROR_ACCES))) {
        g_propagate_error(error, g_steal_pointer(&local));
        return NULL;
    }
    state = ibh_state_parse(before, strlen(before));
    if (!state->recalled && store->kept)
        take_in(store, state);
    else if (state->recalled)
        note_kept(store, state->known);
    store->state = text ? g_strdup(before) : ibh_state_format(state);
    return state;
}

gboolean ibh_store_save(IbhStore *store, const IbhState *state, GError **error)
{
    g_autofree char *path = ibh_store_file(store, ".state"), *text = ibh_state_format(state);

    if (g_strcmp0(text, store->state) == 0)
        return TRUE;
    if (store->known && ibh_known_differ(store->known, state->known)) {
        g_free(store->unwritten);
        store->unwritten = format_kept(state->known);
        note_kept(store, state->known);
    }
    if (!ibh_file_write(path, text, state->is_private ? IBH_FOR_ROOT : IBH_FOR_ALL, error))
        return FALSE;
    g_free(store->state);
    store->state = g_steal_pointer(&text);
    return TRUE;
}

/* ---- whether --watch runs ---- */

static int open_watch_file(int flags)
{
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0); /* any socket tells its namespace */
    g_autofree char *stem = NULL, *path = NULL;

    if (fd < 0)
        return -1;
    stem = make_path(ibh_socket_netns_cookie(fd));
    close(fd);
    path = g_strconcat(stem, ".watch", NULL);
    return open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
}

int ibh_watch_hold(void)
{
    int fd = open_watch_file(O_RDWR | O_CREAT);

    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    close(fd);
    return -1;
}

gboolean ibh_watch_is_running(void)
{
    int fd = open_watch_file(O_RDONLY);
    gboolean is_held;

    if (fd < 0)
        return errno == EACCES;
    is_held = flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
    close(fd);
    return is_held;
}
