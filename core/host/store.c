/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/store.h"

#include "model/state.h"
#include "model/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define STATE_MAX (1024 * 1024)
#define KEY_MAX 64

/* What headers of Linux 4.18 do not have. */
#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

struct IbhStore {
    int directory; /* -1: there is none */
    int lock;
    char key[KEY_MAX]; /* of the namespace */
};

static gboolean fail(const char *doing, const char *name, GError **error)
{
    int problem = errno;

    g_set_error(error, G_FILE_ERROR, (gint)g_file_error_from_errno(problem), "cannot %s " IBH_RUN_DIR "%s%s: %s", doing,
                name[0] ? "/" : "", name, ibh_strerror(problem));
    return FALSE;
}

static gboolean is_private(int fd, GError **error)
{
    struct stat info;

    if (fstat(fd, &info) < 0)
        return fail("look at", "", error);
    if (info.st_uid == geteuid() && !(info.st_mode & (S_IWGRP | S_IWOTH)))
        return TRUE;
    g_set_error_literal(error, G_FILE_ERROR, G_FILE_ERROR_PERM,
                        IBH_RUN_DIR " is not used: it belongs to another user or others can write it; remove it");
    return FALSE;
}

/* Before 5.14 a namespace has no cookie. Its inode may be used again, but not within the life of a process in it,
 * and the boot id keeps what survived a reboot apart. */
static void make_key_of_inode(char ret_key[KEY_MAX])
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    char boot[37] = "";
    struct stat info = {.st_ino = 0};

    if (fd >= 0) {
        (void)!read(fd, boot, sizeof boot - 1);
        close(fd);
    }
    (void)stat("/proc/self/ns/net", &info);
    g_snprintf(ret_key, KEY_MAX, "i%lu-%s", (unsigned long)info.st_ino, boot[0] ? boot : "0");
}

static void make_key(guint64 cookie, char ret_key[KEY_MAX])
{
    if (cookie)
        g_snprintf(ret_key, KEY_MAX, "n%" G_GINT64_MODIFIER "x", cookie);
    else
        make_key_of_inode(ret_key);
}

static int open_directory(void)
{
    return open(IBH_RUN_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

IbhStore *ibh_store_open(guint64 cookie, gboolean create, GError **error)
{
    g_autoptr(IbhStore) store = g_new0(IbhStore, 1);

    store->lock = -1;
    make_key(cookie, store->key);
    store->directory = open_directory();
    if (create && store->directory < 0 && errno == ENOENT &&
        (mkdir(IBH_RUN_DIR, 0755) == 0 || errno == EEXIST)) /* another process made it first */
        store->directory = open_directory();
    if (store->directory < 0 && (create || errno != ENOENT)) {
        fail("open or make", "", error);
        return NULL;
    }
    if (create && !is_private(store->directory, error))
        return NULL;
    return g_steal_pointer(&store);
}

void ibh_store_close(IbhStore *store)
{
    if (!store)
        return;
    if (store->lock >= 0)
        close(store->lock);
    if (store->directory >= 0)
        close(store->directory);
    g_free(store);
}

/* A plain file of ours with one name only: writing a file that has a second name changes that one, too. */
static gboolean is_trusted(int fd, struct stat *ret_info)
{
    return fstat(fd, ret_info) == 0 && S_ISREG(ret_info->st_mode) && ret_info->st_nlink <= 1 &&
           (ret_info->st_uid == 0 || ret_info->st_uid == geteuid()) && !(ret_info->st_mode & (S_IWGRP | S_IWOTH)) &&
           ret_info->st_size <= STATE_MAX;
}

/* ---- the lock ---- */

/* The lock file has the process id of the last run that took the lock, always of the same length. */
#define HOLDER_FORMAT "%-10d\n"
#define HOLDER_MAX 12

static void write_holder(int fd)
{
    char text[HOLDER_MAX];

    g_snprintf(text, sizeof text, HOLDER_FORMAT, (int)getpid());
    (void)!pwrite(fd, text, strlen(text), 0);
}

static void set_busy_error(int fd, int seconds, GError **error)
{
    char text[HOLDER_MAX] = "";
    guint64 pid;

    (void)!pread(fd, text, sizeof text - 1, 0);
    pid = g_ascii_strtoull(text, NULL, 10);
    g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_AGAIN,
                "gave up after %d s: another ib-hook (process %" G_GUINT64_FORMAT
                ") is at work in this network namespace; see "
                "what it waits for, and try again",
                seconds, pid);
}

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

/* FIFOs, devices and files of other users are refused. */
static int open_lock(IbhStore *store, const char *name, GError **error)
{
    int fd = openat(store->directory, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
    struct stat info;

    if (fd < 0) {
        fail("open", name, error);
        return -1;
    }
    if (is_trusted(fd, &info))
        return fd;
    close(fd);
    g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_PERM,
                "cannot lock " IBH_RUN_DIR "/%s: it is not a plain file of root's alone; remove it", name);
    return -1;
}

/* If the file is removed while a process has its lock, or waits for it, later processes lock a new file. */
static gboolean is_removed(int fd)
{
    struct stat info;

    return fstat(fd, &info) == 0 && info.st_nlink == 0;
}

static gboolean take_lock(IbhStore *store, const char *name, int seconds, GError **error)
{
    do {
        if (store->lock >= 0)
            close(store->lock);
        if ((store->lock = open_lock(store, name, error)) < 0)
            return FALSE;
        if (!flock_within(store, seconds)) {
            if (errno == EWOULDBLOCK || errno == EINTR)
                set_busy_error(store->lock, seconds, error);
            else
                fail("lock", name, error);
            return FALSE;
        }
    } while (is_removed(store->lock));
    return TRUE;
}

gboolean ibh_store_lock(IbhStore *store, int seconds, GError **error)
{
    g_autofree char *name = g_strdup_printf("%s.lock", store->key);

    if (!take_lock(store, name, seconds, error))
        return FALSE;
    write_holder(store->lock);
    return TRUE;
}

/* ---- the state ---- */

static char *read_whole(int fd, gsize size, gsize *ret_length)
{
    g_autofree char *text = g_malloc0(size + 1);
    gssize n = 1;

    for (*ret_length = 0; *ret_length < size && n > 0; *ret_length += (gsize)n) {
        do
            n = read(fd, text + *ret_length, size - *ret_length);
        while (n < 0 && errno == EINTR);
        if (n < 0)
            return NULL;
    }
    return g_steal_pointer(&text);
}

/* The whole text of one of our files. NULL: there is none, or it cannot be trusted; or, with an error, it cannot be
 * read now. */
static char *read_file(int directory, const char *name, gsize *ret_length, GError **error)
{
    char *text = NULL;
    struct stat info;
    int fd;

    if (directory < 0)
        return NULL;
    do
        fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == EIO))
        fail("open", name, error);
    if (fd >= 0 && is_trusted(fd, &info) && !(text = read_whole(fd, (gsize)info.st_size, ret_length)))
        fail("read", name, error);
    if (fd >= 0)
        close(fd);
    return text;
}

IbhState *ibh_store_load(IbhStore *store, GError **error)
{
    gsize length = 0;
    g_autoptr(GError) local = NULL;
    g_autofree char *name = g_strdup_printf("%s.state", store->key);
    g_autofree char *text = read_file(store->directory, name, &length, &local);

    if (local) {
        g_propagate_error(error, g_steal_pointer(&local));
        return NULL;
    }
    return text ? ibh_state_parse(text, length) : ibh_state_new();
}

static gboolean write_whole(int fd, const char *text)
{
    gsize length = strlen(text);

    while (length) {
        gssize n = write(fd, text, length);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return FALSE;
        text += n;
        length -= (gsize)n;
    }
    return TRUE;
}

/* Written to a new file and renamed: no reader, and no crash, sees half of it. */
static gboolean write_file(int directory, const char *name, const char *text, GError **error)
{
    g_autofree char *beside = g_strdup_printf("%s.new", name);
    gboolean written;
    int fd;

    (void)unlinkat(directory, beside, 0); /* left by a run that was killed: we have the lock */
    fd = openat(directory, beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0)
        return fail("write", beside, error);
    written = write_whole(fd, text);
    if (close(fd) < 0 || !written || renameat(directory, beside, directory, name) < 0) {
        fail("write", name, error);
        (void)unlinkat(directory, beside, 0);
        return FALSE;
    }
    return TRUE;
}

gboolean ibh_store_save(IbhStore *store, const IbhState *state, GError **error)
{
    g_autofree char *name = g_strdup_printf("%s.state", store->key);
    g_autofree char *text = ibh_state_format(state);

    return write_file(store->directory, name, text, error);
}

/* ---- what is known of earlier boots ---- */

#define KEPT_DIR "/var/lib/ib-hook"
#define KEPT "rails"
#define MACHINE "# ib-hook: hardware that was a rail of machine "

/* What a container or a test sees must not be missed by the host. The files of a namespace in /proc have inodes of its
 * own, and unlike its handle they may be looked at without any capability. */
static gboolean is_home(void)
{
    struct stat own, first;

    return stat("/proc/self/net/dev", &own) == 0 && stat("/proc/1/net/dev", &first) == 0 &&
           own.st_ino == first.st_ino && own.st_dev == first.st_dev;
}

/* A cloned image has the file of another machine. NULL: who this one is, is not known. */
static char *make_header(void)
{
    g_autofree char *id = NULL;

    if (!g_file_get_contents("/etc/machine-id", &id, NULL, NULL) || !g_ascii_isxdigit(id[0]))
        return NULL;
    return g_strdup_printf(MACHINE "%s\n", g_strstrip(id));
}

/* The package made it. -1: there is none that is root's alone, so nothing is kept. */
static int open_kept(void)
{
    int fd = is_home() ? open(KEPT_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    struct stat info;

    if (fd >= 0 && (fstat(fd, &info) < 0 || info.st_uid != 0 || (info.st_mode & (S_IWGRP | S_IWOTH)))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

void ibh_store_recall(IbhState *state)
{
    gsize length = 0;
    int directory = open_kept();
    g_autofree char *text = read_file(directory, KEPT, &length, NULL), *header = make_header();
    g_autoptr(IbhState) kept = NULL;

    state->recalled = TRUE;
    if (directory >= 0)
        close(directory);
    if (!text || !header || !g_str_has_prefix(text, header))
        return;
    kept = ibh_state_parse(text, length);
    IBH_EACH (const IbhKnownRail, known, kept->known)
        g_array_append_vals(state->known, known, 1);
}

void ibh_store_keep(const IbhState *state)
{
    g_autofree char *header = make_header();
    g_autoptr(GString) text = g_string_new(header);
    int directory = header ? open_kept() : -1;

    if (directory < 0)
        return;
    ibh_state_format_known(state, text);
    (void)write_file(directory, KEPT, text->str,
                     NULL); /* without it, what is missing after the next boot is not known */
    close(directory);
}

/* ---- the confirmation that is waited for ---- */

char *ibh_store_get_token(IbhStore *store)
{
    g_autofree char *name = g_strdup_printf("%s.confirm", store->key);
    gsize length = 0;

    return read_file(store->directory, name, &length, NULL);
}

gboolean ibh_store_set_token(IbhStore *store, const char *token, GError **error)
{
    g_autofree char *name = g_strdup_printf("%s.confirm", store->key);

    if (token)
        return write_file(store->directory, name, token, error);
    if (unlinkat(store->directory, name, 0) < 0 && errno != ENOENT)
        return fail("remove", name, error);
    return TRUE;
}

/* ---- whether --watch runs ---- */

static int open_watch_file(int flags)
{
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0); /* any socket tells its namespace */
    char key[KEY_MAX], path[sizeof IBH_RUN_DIR + KEY_MAX + sizeof "/.watch"];
    guint64 cookie = 0;
    socklen_t size = sizeof cookie;

    if (fd < 0)
        return -1;
    if (getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &size) < 0)
        cookie = 0;
    close(fd);
    make_key(cookie, key);
    g_snprintf(path, sizeof path, IBH_RUN_DIR "/%s.watch", key);
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
