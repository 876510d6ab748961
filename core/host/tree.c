/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/tree.h"

#include "config/config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FILE_MAX (1024 * 1024) /* bytes */
#define N_NAMES 4096

/* ---- messages: each is one line, the path, the problem, what to do ---- */

static gboolean G_GNUC_PRINTF(3, 4) refuse(GError **error, const char *path, const char *format, ...)
{
    g_autofree char *shown = g_strescape(path, NULL);
    g_autofree char *why = NULL;
    va_list args;

    va_start(args, format);
    why = g_strdup_vprintf(format, args);
    va_end(args);
    g_set_error(error, IBH_CONFIG_ERROR, 0, "%s: refused: %s", shown, why);
    return FALSE;
}

gboolean ibh_file_fail(const char *path, GError **error)
{
    const int problem = errno;
    g_autofree char *shown = g_strescape(path, NULL);

    g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(problem), "%s: cannot be read: %s%s", shown,
                ibh_errno_text(problem),
                problem == EMFILE || problem == ENFILE ? "" : "; put it right, or take it away");
    return FALSE;
}

gboolean ibh_file_cannot(const char *doing, const char *path, GError **error)
{
    const int problem = errno;

    g_set_error(error, G_FILE_ERROR, (gint)g_file_error_from_errno(problem), "cannot %s %s: %s", doing, path,
                ibh_errno_text(problem));
    return FALSE;
}

/* ---- what was looked at is opened, and read ---- */

/* A FIFO without a writer does not block us, and a terminal does not become ours. */
#define READING (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

/* A name for what a descriptor has, wherever that lies by now. */
static char *name_of(int fd)
{
    return g_strdup_printf("/proc/self/fd/%d", fd);
}

/* Where it lies now, without links. NULL: nowhere, or there is no /proc. */
static char *path_of(int fd)
{
    g_autofree char *name = name_of(fd);

    return g_file_read_link(name, NULL);
}

/* Up to `size` bytes, whatever size the file claims to have; where `line` is set, to the end of the first line at most,
 * which saves asking for more. Returns how many; -1 and errno where they cannot be read. */
static gssize read_up_to(int fd, char *text, gsize size, gboolean line)
{
    gsize length = 0;

    while (length < size && !(line && length && text[length - 1] == '\n')) {
        const gssize count = read(fd, text + length, size - length);

        if (count == 0)
            break;
        if (count > 0)
            length += (gsize)count;
        else if (errno != EINTR)
            return -1;
    }
    return (gssize)length;
}

GString *ibh_file_take(int looked, const char *path, GError **error)
{
    g_autofree char *name = name_of(looked);
    g_autoptr(GString) text = g_string_new(NULL);
    const int fd = open(name, READING);
    gssize length = -1;

    if (fd >= 0) {
        g_string_set_size(text, FILE_MAX + 1);
        length = read_up_to(fd, text->str, text->len, FALSE);
    }
    if (length < 0)
        ibh_file_fail(path, error);
    else if (length > FILE_MAX)
        refuse(error, path, "it is larger than %d bytes; shorten it", FILE_MAX);
    if (fd >= 0)
        close(fd);
    if (length < 0 || length > FILE_MAX)
        return NULL;
    g_string_set_size(text, (gsize)length);
    return g_steal_pointer(&text);
}

/* ---- files that root relies on ---- */

/* A user who can write this file decides what root does. */
gboolean ibh_file_check_trusted(const struct stat *status, const char *path, GError **error)
{
    g_autofree char *shown = g_strescape(path, NULL);

    if (status->st_uid != 0 && status->st_uid != geteuid())
        return refuse(error, path, "it belongs to user %u; chown root %s", (guint)status->st_uid, shown);
    if ((status->st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return refuse(error, path, "it can be written by others (mode %04o); chmod go-w %s",
                      (guint)status->st_mode & 07777u, shown);
    return TRUE;
}

/* The directories are asked from below, each as the parent of the one before: who may rename one of them could show us
 * another one by its name. */
gboolean ibh_file_is_public(int fd)
{
    g_autofree char *path = path_of(fd);
    char *slash = path ? strrchr(path, '/') : NULL;
    g_autoptr(GString) up = g_string_new(".");
    struct stat own, status;
    gboolean opens;
    int parent;

    if (!slash || fstat(fd, &own) < 0 || !(own.st_mode & S_IROTH))
        return FALSE;
    *slash = '\0';
    parent = open(slash == path ? "/" : path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    opens = parent >= 0 && fstatat(parent, slash + 1, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            status.st_ino == own.st_ino && status.st_dev == own.st_dev;
    for (; opens && slash; slash = strrchr(path, '/')) {
        *slash = '\0';
        opens = fstatat(parent, up->str, &status, 0) == 0 && status.st_mode & S_IXOTH;
        g_string_append(up, "/..");
    }
    if (parent >= 0)
        close(parent);
    return opens;
}

GString *ibh_file_read(const char *path, gboolean *ret_public, GError **error)
{
    const int looked = open(path, O_PATH | O_CLOEXEC);
    GString *text = NULL;
    struct stat status;

    if (looked < 0 || fstat(looked, &status) < 0)
        ibh_file_fail(path, error);
    else if (!S_ISREG(status.st_mode))
        refuse(error, path, "it is %s, not a regular file; put a plain text file there",
               S_ISDIR(status.st_mode) ? "a directory" : "a device, pipe or socket");
    else if (ibh_file_check_trusted(&status, path, error))
        text = ibh_file_take(looked, path, error);
    if (ret_public)
        *ret_public = text && ibh_file_is_public(looked);
    if (looked >= 0)
        close(looked);
    return text;
}

/* The call after a short one says why it was short. */
static gboolean write_all(int fd, const char *text)
{
    while (*text) {
        const gssize count = write(fd, text, strlen(text));

        if (count <= 0)
            return FALSE;
        text += count;
    }
    return TRUE;
}

gboolean ibh_file_write(const char *path, const char *text, mode_t mode, GError **error)
{
    g_autofree char *beside = g_strconcat(path, ".new", NULL);
    gboolean written;
    int fd;

    (void)unlink(beside); /* left by a run that was killed: we have the lock */
    fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd < 0)
        return ibh_file_cannot("write", beside, error);
    errno = ENOSPC;                                  /* if only a part is written */
    written = write_all(fd, text) && fsync(fd) == 0; /* a rename may reach the disk before the text */
    if (close(fd) == 0 && written && rename(beside, path) == 0)
        return TRUE;
    ibh_file_cannot("write", path, error);
    (void)unlink(beside);
    return FALSE;
}

/* ---- a tree ---- */

/* A NIC whose device cannot be read for a moment would lose its rail: so only ENOENT counts as absent. */
static void note_problem(IbhTree *tree, int problem)
{
    if (!tree->problem && (problem == EMFILE || problem == ENFILE || problem == ENOMEM || problem == EINTR))
        tree->problem = problem;
}

/* A device that is being removed is ENODEV, what leads out of a copy EXDEV. */
static gboolean means_absent(int problem)
{
    return problem == ENOENT || problem == ENOTDIR || problem == ENODEV || problem == EXDEV;
}

static IbhTreeRoot open_root(const char *directory)
{
    IbhTreeRoot from = {.fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC)};
    struct stat status;

    if (from.fd < 0 || fstat(from.fd, &status) < 0) {
        from.fd = -errno;
        return from;
    }
    from.path = path_of(from.fd);
    if (g_strcmp0(from.path, "/") == 0)
        from.path[0] = '\0';
    /* Without privileges, the kernel says what may be read. */
    from.trusted = geteuid() != 0 || ibh_file_check_trusted(&status, directory, NULL);
    return from;
}

IbhTree ibh_tree_of(const char *sysfs)
{
    IbhTree tree = {.sys = g_strdup(sysfs)};
    g_autofree char *parent = NULL;

    for (gsize length = strlen(sysfs); length > 1 && sysfs[length - 1] == '/'; length--)
        tree.sys[length - 1] = '\0';
    tree.complete = g_str_equal(tree.sys, "/sys");
    if (tree.complete)
        return tree;
    parent = g_path_get_dirname(tree.sys);
    tree.roots[0] = open_root(parent);
    tree.roots[1] = open_root(tree.sys);
    return tree;
}

void ibh_tree_clear(IbhTree *tree)
{
    for (guint i = 0; tree->sys && !tree->complete && i < G_N_ELEMENTS(tree->roots); i++) {
        if (tree->roots[i].fd >= 0)
            close(tree->roots[i].fd);
        g_clear_pointer(&tree->roots[i].path, g_free);
    }
    g_clear_pointer(&tree->sys, g_free);
}

/* What follows the directory in this path, "" if it is the directory; NULL: it does not lie there. */
static const char *find_below(const char *path, const char *directory)
{
    const char *rest = g_str_has_prefix(path, directory) ? path + strlen(directory) : NULL;

    return rest && (*rest == '/' || !*rest) ? rest : NULL;
}

#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#define BENEATH 0x08 /* RESOLVE_BENEATH: no link leads out of the directory */
#define N_TRIES 100  /* something was renamed meanwhile, and the kernel cannot be sure */

/* Before Linux 5.6, and behind old filters of system calls (EPERM), links are followed anywhere: what they lead to is
 * not opened, and it is judged by where it lies. */
static int reach(const IbhTreeRoot *from, const char *path, int flags)
{
    const guint64 how[] = {(guint64)(O_PATH | O_CLOEXEC | flags), 0, BENEATH};
    g_autofree char *place = NULL;
    int fd, tries = 0;

    if (from->fd < 0) {
        errno = -from->fd;
        return -1;
    }
    do
        fd = (int)syscall(SYS_openat2, from->fd, path, how, sizeof how);
    while (fd < 0 && errno == EAGAIN && ++tries < N_TRIES);
    if (fd < 0 && (errno == ENOSYS || errno == EPERM))
        fd = openat(from->fd, path, O_PATH | O_CLOEXEC | flags);
    if (fd < 0)
        return -1;
    place = path_of(fd);
    if (place && from->path && find_below(place, from->path) && (from->trusted || ibh_file_is_public(fd)))
        return fd;
    close(fd);
    errno = place && from->path ? EXDEV : ENOMEM; /* what cannot be judged now is not absent */
    return -1;
}

int ibh_tree_look(const IbhTree *tree, const char *path, int flags, struct stat *ret_status)
{
    const gboolean in_sys = g_str_has_prefix(path, "sys/");
    g_autofree char *full = g_strconcat("/", path, NULL);
    const int fd = tree->complete ? open(full, O_PATH | O_CLOEXEC | flags)
                                  : reach(&tree->roots[in_sys], path + (in_sys ? strlen("sys/") : 0), flags);

    if (fd < 0 || fstat(fd, ret_status) == 0)
        return fd;
    close(fd);
    return -1;
}

/* By which name a file or directory (`type`: S_IFREG, S_IFDIR) is opened: its own; in a copy that of what was looked
 * at. NULL and errno. `ret_looked` is the caller's to close, unless it is below 0. */
static char *locate(const IbhTree *tree, const char *path, mode_t type, int *ret_looked)
{
    struct stat status;

    *ret_looked = -1;
    if (tree->complete)
        return g_strconcat("/", path, NULL);
    *ret_looked = ibh_tree_look(tree, path, 0, &status);
    if (*ret_looked >= 0 && (status.st_mode & S_IFMT) == type)
        return name_of(*ret_looked);
    if (*ret_looked >= 0)
        errno = ENOTDIR;
    return NULL;
}

#define FORMAT(path, format)                                                                                           \
    do {                                                                                                               \
        va_list args;                                                                                                  \
                                                                                                                       \
        va_start(args, format);                                                                                        \
        (path) = g_strdup_vprintf(format, args);                                                                       \
        va_end(args);                                                                                                  \
    } while (0)

/* -1: there is no such file, or none that gives its text at once. */
static gssize read_small(IbhTree *tree, const char *path, char *text, gsize limit, gboolean line)
{
    int looked;
    g_autofree char *name = locate(tree, path, S_IFREG, &looked);
    const int fd = name ? open(name, READING) : -1;
    const gssize length = fd < 0 ? -1 : read_up_to(fd, text, limit, line);

    if (length < 0)
        note_problem(tree, errno);
    if (fd >= 0)
        close(fd);
    if (looked >= 0)
        close(looked);
    return length;
}

void ibh_tree_line(IbhTree *tree, char *line, gsize size, const char *format, ...)
{
    g_autofree char *path = NULL;
    gssize length;

    FORMAT(path, format);
    length = read_small(tree, path, line, size - 1, TRUE);
    line[MAX(length, 0)] = '\0';
    line[strcspn(line, "\n")] = '\0';
}

char *ibh_tree_text(IbhTree *tree, gsize limit, const char *format, ...)
{
    g_autofree char *path = NULL;
    g_autofree char *text = g_malloc0(limit + 1);

    FORMAT(path, format);
    return read_small(tree, path, text, limit, FALSE) < 0 ? NULL : g_steal_pointer(&text);
}

gboolean ibh_tree_has(IbhTree *tree, const char *format, ...)
{
    g_autofree char *path = NULL, *full = NULL;
    struct stat status;
    int looked;

    FORMAT(path, format);
    full = g_strconcat("/", path, NULL);
    if (tree->complete)
        return access(full, F_OK) == 0;
    looked = ibh_tree_look(tree, path, 0, &status);
    if (looked >= 0)
        close(looked);
    return looked >= 0;
}

char *ibh_tree_real(IbhTree *tree, const char *format, ...)
{
    g_autofree char *path = NULL, *real = NULL;
    const char *rest;
    struct stat status;
    int looked;

    FORMAT(path, format);
    looked = ibh_tree_look(tree, path, 0, &status);
    if (looked < 0)
        return NULL;
    real = path_of(looked);
    close(looked);
    rest = real ? find_below(real, tree->complete ? tree->sys : tree->roots[1].path) : NULL;
    return rest && *rest ? g_strdup(rest + 1) : NULL;
}

static int compare_versions(gconstpointer a, gconstpointer b)
{
    return strverscmp(*(const char *const *)a, *(const char *const *)b);
}

GPtrArray *ibh_tree_list(IbhTree *tree, const char *format, ...)
{
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *path = NULL, *name = NULL;
    const struct dirent *entry;
    int looked;
    DIR *dir;

    FORMAT(path, format);
    name = locate(tree, path, S_IFDIR, &looked);
    dir = name ? opendir(name) : NULL;
    if (!dir && !means_absent(errno))
        tree->problem = errno;
    while (dir && names->len < N_NAMES && (errno = 0, entry = readdir(dir))) {
        if (entry->d_name[0] != '.')
            g_ptr_array_add(names, g_strdup(entry->d_name));
    }
    if (dir && errno)
        tree->problem = errno; /* there are more, which could not be read */
    if (dir)
        closedir(dir);
    if (looked >= 0)
        close(looked);
    g_ptr_array_sort(names, compare_versions);
    return names;
}
