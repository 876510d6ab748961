/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/store.h"

#include "model/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define STATE_MAX (1024 * 1024)

/* The content of the lock file, for processes that wait. */
typedef struct {
    int pid;
    guint64 begun; /* number of all runs on events that have begun */
    guint64 done;  /* the number of the last one that ended well */
} Ticket;

struct IbhStore {
    int directory; /* -1: there is none */
    int lock;
    char key[IBH_KEY_MAX]; /* of the namespace */
    gboolean waited;
    gboolean is_done;     /* the work was done by a run on an event that began while we waited, and ended well */
    guint64 begun_before; /* number of the last run on an event that had begun when we came; only if we waited */
    Ticket ticket;        /* the content of the file while we have the lock */
};

static gboolean fail(const char *doing, const char *name, GError **error)
{
    int problem = errno;

    g_set_error(error, G_FILE_ERROR, (gint)g_file_error_from_errno(problem), "cannot %s " IBH_RUN_DIR "%s%s: %s", doing,
                name[0] ? "/" : "", name, g_strerror(problem));
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

static int open_directory(void)
{
    return open(IBH_RUN_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

IbhStore *ibh_store_open(guint64 cookie, gboolean create, GError **error)
{
    g_autoptr(IbhStore) store = g_new0(IbhStore, 1);

    store->lock = -1;
    ibh_namespace_key(cookie, store->key);
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

#define TICKET_FORMAT "%-10d %20" G_GINT64_MODIFIER "u %20" G_GINT64_MODIFIER "u\n"
#define TICKET_MAX 64

static Ticket parse_ticket(char *text)
{
    Ticket ticket = {.pid = 0};
    guint64 pid = 0, *const numbers[] = {&pid, &ticket.begun, &ticket.done};

    for (guint i = 0; i < G_N_ELEMENTS(numbers); i++)
        *numbers[i] = g_ascii_strtoull(text, &text, 10);
    ticket.pid = (int)MIN(pid, G_MAXINT);
    return ticket;
}

static Ticket read_ticket(int fd)
{
    char text[TICKET_MAX] = "";

    (void)!pread(fd, text, sizeof text - 1, 0);
    return parse_ticket(text);
}

#define STEADY_TRIES 4

/* Read without the lock, the file may be half written: two equal readings are whole. FALSE: no two were equal. */
static gboolean read_ticket_steadily(int fd, Ticket *ret_ticket)
{
    char text[TICKET_MAX] = "", before[TICKET_MAX];

    for (int try = 0; try < STEADY_TRIES; try++) {
        memcpy(before, text, sizeof text);
        memset(text, 0, sizeof text);
        if (pread(fd, text, sizeof text - 1, 0) < 0)
            return FALSE;
        if (try && strcmp(text, before) == 0) {
            *ret_ticket = parse_ticket(text);
            return TRUE;
        }
    }
    return FALSE;
}

/* Always of the same length, so no old bytes remain behind it. */
static gboolean write_ticket(const IbhStore *store)
{
    char text[TICKET_MAX];

    g_snprintf(text, sizeof text, TICKET_FORMAT, store->ticket.pid, store->ticket.begun, store->ticket.done);
    return pwrite(store->lock, text, strlen(text), 0) == (gssize)strlen(text);
}

static void set_busy_error(int fd, int seconds, GError **error)
{
    Ticket ticket = read_ticket(fd);
    g_autofree char *pid = ticket.pid ? g_strdup_printf("%d", ticket.pid) : g_strdup("unknown");

    g_set_error(
        error, G_FILE_ERROR, G_FILE_ERROR_AGAIN,
        "gave up after %d s: another ib-hook (process %s) is at work in this network namespace; see what it waits "
        "for, and try again",
        seconds, pid);
}

/* A run that began after we came has seen the event that we came for. */
static gboolean has_been_done(const IbhStore *store)
{
    Ticket ticket;

    return read_ticket_steadily(store->lock, &ticket) && ticket.done > store->begun_before;
}

static guint64 begun_so_far(const IbhStore *store)
{
    Ticket ticket;

    return read_ticket_steadily(store->lock, &ticket) ? ticket.begun : G_MAXUINT64; /* then no run began later */
}

/* Polls instead of sleeping in flock(): so the wait ends without a signal or timer, which a caller may have blocked. */
static gboolean flock_within(IbhStore *store, int seconds, gboolean share)
{
    gint64 deadline = g_get_monotonic_time() + seconds * G_USEC_PER_SEC;
    gulong pause = 200; /* microseconds */

    while (flock(store->lock, LOCK_EX | LOCK_NB) < 0) {
        if ((errno != EWOULDBLOCK && errno != EINTR) || g_get_monotonic_time() >= deadline)
            return FALSE;
        if (share && (store->is_done = has_been_done(store)))
            return TRUE;
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

static gboolean take_lock(IbhStore *store, const char *name, int seconds, gboolean share, GError **error)
{
    do {
        if (store->lock >= 0)
            close(store->lock);
        if ((store->lock = open_lock(store, name, error)) < 0)
            return FALSE;
        store->waited = flock(store->lock, LOCK_EX | LOCK_NB) < 0;
        if (store->waited)
            store->begun_before = begun_so_far(store);
        if (store->waited && !flock_within(store, seconds, share)) {
            if (errno == EWOULDBLOCK || errno == EINTR)
                set_busy_error(store->lock, seconds, error);
            else
                fail("lock", name, error);
            return FALSE;
        }
    } while (is_removed(store->lock));
    return TRUE;
}

static gboolean lock(IbhStore *store, int seconds, gboolean share, GError **error)
{
    g_autofree char *name = g_strdup_printf("%s.lock", store->key);

    if (!take_lock(store, name, seconds, share, error))
        return FALSE;
    if (store->is_done)
        return TRUE;
    store->ticket = read_ticket(store->lock);
    store->is_done = share && store->waited && store->ticket.done > store->begun_before;
    store->ticket.pid = (int)getpid();
    (void)write_ticket(store);
    return TRUE;
}

gboolean ibh_store_lock(IbhStore *store, int seconds, GError **error)
{
    return lock(store, seconds, FALSE, error);
}

gboolean ibh_store_lock_or_share(IbhStore *store, int seconds, gboolean *ret_is_done, GError **error)
{
    gboolean locked = lock(store, seconds, TRUE, error);

    *ret_is_done = store->is_done;
    return locked;
}

gboolean ibh_store_begin(IbhStore *store)
{
    store->ticket.begun++;
    return write_ticket(store);
}

void ibh_store_end(IbhStore *store)
{
    store->ticket.done = store->ticket.begun;
    (void)write_ticket(store);
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
static char *read_file(IbhStore *store, const char *suffix, gsize *ret_length, GError **error)
{
    g_autofree char *name = g_strdup_printf("%s.%s", store->key, suffix);
    char *text = NULL;
    struct stat info;
    int fd;

    if (store->directory < 0)
        return NULL;
    do
        fd = openat(store->directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
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
    g_autofree char *text = read_file(store, "state", &length, &local);

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
static gboolean write_file(IbhStore *store, const char *suffix, const char *text, GError **error)
{
    g_autofree char *name = g_strdup_printf("%s.%s", store->key, suffix);
    g_autofree char *beside = g_strdup_printf("%s.new", store->key);
    gboolean written;
    int fd;

    (void)unlinkat(store->directory, beside, 0); /* left by a run that was killed: we have the lock */
    fd = openat(store->directory, beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0)
        return fail("write", beside, error);
    written = write_whole(fd, text);
    if (close(fd) < 0 || !written || renameat(store->directory, beside, store->directory, name) < 0) {
        fail("write", name, error);
        (void)unlinkat(store->directory, beside, 0);
        return FALSE;
    }
    return TRUE;
}

gboolean ibh_store_save(IbhStore *store, const IbhState *state, GError **error)
{
    g_autofree char *text = ibh_state_format(state);

    return write_file(store, "state", text, error);
}

/* ---- the confirmation that is waited for ---- */

char *ibh_store_get_token(IbhStore *store)
{
    gsize length = 0;

    return read_file(store, "confirm", &length, NULL);
}

gboolean ibh_store_set_token(IbhStore *store, const char *token, GError **error)
{
    g_autofree char *name = g_strdup_printf("%s.confirm", store->key);

    if (token)
        return write_file(store, "confirm", token, error);
    if (unlinkat(store->directory, name, 0) < 0 && errno != ENOENT)
        return fail("remove", name, error);
    return TRUE;
}
