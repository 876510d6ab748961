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

/* ---- messages about files, each of one line ---- */

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
                ibh_errno_text(problem), problem == EMFILE || problem == ENFILE ? "" : "; repair or remove it");
    return FALSE;
}

gboolean ibh_file_cannot(const char *doing, const char *path, GError **error)
{
    const int problem = errno;

    g_set_error(error, G_FILE_ERROR, (gint)g_file_error_from_errno(problem), "cannot %s %s: %s", doing, path,
                ibh_errno_text(problem));
    return FALSE;
}

/* ---- open and read what was looked at ---- */

/* Do not wait for the writer of a FIFO, and do not take a terminal as the controlling terminal. */
#define READING (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

/* Opens the file that the descriptor refers to, even if the file was renamed. */
static int reopen(int looked)
{
    g_autofree char *name = g_strdup_printf("/proc/self/fd/%d", looked);

    return open(name, READING);
}

/* Returns the file's present path with all links resolved, followed by " (deleted)" if the file was deleted; NULL
 * without /proc. */
static char *descriptor_path(int fd)
{
    g_autofree char *name = g_strdup_printf("/proc/self/fd/%d", fd);

    return g_file_read_link(name, NULL);
}

/* Reads up to `size` bytes, whatever size stat() reports. With `line`, stops when the text ends with a newline, which
 * saves the read() that returns 0. Returns the number of bytes, or -1 and errno. */
static gssize read_up_to(int fd, char *text, gsize size, gboolean line)
{
    gsize length = 0;

    while (length < size && !(line && length && text[length - 1] == '\n')) {
        const gssize count = read(fd, text + length, size - length);

        if (!count)
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
    g_autoptr(GString) text = g_string_new(NULL);
    const int fd = reopen(looked);
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

/* Whoever can write the file decides what root does. */
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

/* A user who may rename a directory of the path could put another directory in its place. So do not check the
 * directories by their paths: open the file's own directory, check that the file is in it, and walk up from there
 * through "..". For the walk, the path only says how many directories there are. */
gboolean ibh_file_is_public(int fd)
{
    g_autofree char *path = descriptor_path(fd);
    char *slash = path ? strrchr(path, '/') : NULL;
    g_autoptr(GString) up = g_string_new(".");
    struct stat own, status;
    gboolean may_enter;
    int parent;

    if (!slash || fstat(fd, &own) < 0 || !(own.st_mode & S_IROTH))
        return FALSE;
    *slash = '\0';
    parent = open(slash == path ? "/" : path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    may_enter = parent >= 0 && fstatat(parent, slash + 1, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
                status.st_ino == own.st_ino && status.st_dev == own.st_dev;
    /* Each round checks one directory: the file's own first, "/" last. */
    for (; may_enter && slash; slash = strrchr(path, '/')) {
        *slash = '\0';
        may_enter = fstatat(parent, up->str, &status, 0) == 0 && status.st_mode & S_IXOTH;
        g_string_append(up, "/..");
    }
    if (parent >= 0)
        close(parent);
    return may_enter;
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

gboolean ibh_file_write(const char *path, const char *text, mode_t mode, GError **error)
{
    g_autofree char *beside = g_strconcat(path, ".new", NULL);
    const char *rest = text;
    gboolean written;
    int fd;

    (void)unlink(beside); /* a run that was killed may have left it */
    fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (fd < 0)
        return ibh_file_cannot("write", beside, error);
    while (*rest) {
        const gssize count = write(fd, rest, strlen(rest));

        if (count <= 0)
            break;
        rest += count;
    }
    written = !*rest && fsync(fd) == 0; /* without fsync(), the rename may reach the disk before the text */
    if (close(fd) == 0 && written && rename(beside, path) == 0)
        return TRUE;
    ibh_file_cannot("write", path, error);
    (void)unlink(beside);
    return FALSE;
}

/* ---- a tree ---- */

static IbhTreeRoot open_root(const char *directory)
{
    IbhTreeRoot root = {.fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC)};
    struct stat status;

    if (root.fd < 0 || fstat(root.fd, &status) < 0) {
        root.fd = -errno;
        return root;
    }
    root.path = descriptor_path(root.fd);
    if (g_strcmp0(root.path, "/") == 0)
        root.path[0] = '\0';
    /* Without privileges, we can read only what the kernel allows our user. */
    root.trusted = geteuid() != 0 || ibh_file_check_trusted(&status, directory, NULL);
    return root;
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
    /* The live tree has opened no roots. A tree without `sys` has been cleared already. */
    for (guint i = 0; tree->sys && !tree->complete && i < G_N_ELEMENTS(tree->roots); i++) {
        if (tree->roots[i].fd >= 0)
            close(tree->roots[i].fd);
        g_clear_pointer(&tree->roots[i].path, g_free);
    }
    g_clear_pointer(&tree->sys, g_free);
}

/* Returns the rest of the path after the directory, "" if the path is the directory; NULL if the path is elsewhere. */
static const char *find_below(const char *path, const char *directory)
{
    const char *rest = g_str_has_prefix(path, directory) ? path + strlen(directory) : NULL;

    return rest && (*rest == '/' || !*rest) ? rest : NULL;
}

#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#define BENEATH 0x08 /* RESOLVE_BENEATH: do not follow links out of the directory */
#define N_TRIES 100  /* openat2() fails with EAGAIN if something was renamed meanwhile */

/* Looks at a file below a directory without opening the file (O_PATH). Returns a descriptor, or -1 and errno. Linux
 * before 5.6 lacks openat2(), and old seccomp filters refuse openat2() with EPERM. Then use openat(), which follows
 * links anywhere. So reject a file outside of the directory. In a directory that is not `trusted`, also reject a file
 * that not all users may read. */
static int look_below(const IbhTreeRoot *root, const char *path, int flags)
{
    const guint64 how[] = {(guint64)(O_PATH | O_CLOEXEC | flags), 0, BENEATH}; /* open_how: flags, mode, resolve */
    g_autofree char *place = NULL;
    int fd, tries = 0;

    if (root->fd < 0) {
        errno = -root->fd;
        return -1;
    }
    do
        fd = (int)syscall(SYS_openat2, root->fd, path, how, sizeof how);
    while (fd < 0 && errno == EAGAIN && ++tries < N_TRIES);
    if (fd < 0 && (errno == ENOSYS || errno == EPERM))
        fd = openat(root->fd, path, O_PATH | O_CLOEXEC | flags);
    if (fd < 0)
        return -1;
    place = descriptor_path(fd);
    if (place && root->path && find_below(place, root->path) && (root->trusted || ibh_file_is_public(fd)))
        return fd;
    close(fd);
    /* Callers take EXDEV for "absent". But if one of the two paths is unknown, the file may be below the directory:
     * then return ENOMEM, which ibh_tree_read() and ibh_tree_list() note as a problem (IbhTree.problem). */
    errno = place && root->path ? EXDEV : ENOMEM;
    return -1;
}

int ibh_tree_look(const IbhTree *tree, const char *path, int flags, struct stat *ret_status)
{
    const gboolean in_sys = g_str_has_prefix(path, "sys/");
    g_autofree char *full = g_strconcat("/", path, NULL);
    const int fd = tree->complete ? open(full, O_PATH | O_CLOEXEC | flags)
                                  : look_below(&tree->roots[in_sys], path + (in_sys ? strlen("sys/") : 0), flags);

    if (fd < 0 || fstat(fd, ret_status) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Opens a file (`type` is S_IFREG) or a directory (S_IFDIR). Returns -1 and errno on an error. In a copy, another type
 * is an error, too (ENOTDIR). */
static int open_in_tree(const IbhTree *tree, const char *path, mode_t type)
{
    g_autofree char *full = g_strconcat("/", path, NULL);
    struct stat status;
    int looked, fd = -1;

    if (tree->complete)
        return open(full, READING);
    looked = ibh_tree_look(tree, path, 0, &status);
    if (looked < 0)
        return -1;
    errno = ENOTDIR;
    if ((status.st_mode & S_IFMT) == type)
        fd = reopen(looked);
    close(looked);
    return fd;
}

#define FORMAT(path, format)                                                                                           \
    do {                                                                                                               \
        va_list args;                                                                                                  \
                                                                                                                       \
        va_start(args, format);                                                                                        \
        (path) = g_strdup_vprintf(format, args);                                                                       \
        va_end(args);                                                                                                  \
    } while (0)

gssize ibh_tree_read(IbhTree *tree, const char *path, char *text, gsize limit, gboolean line)
{
    const int fd = open_in_tree(tree, path, S_IFREG);
    const gssize length = fd < 0 ? -1 : read_up_to(fd, text, limit, line);

    if (length < 0 && !tree->problem && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == EINTR))
        tree->problem = errno;
    if (fd >= 0)
        close(fd);
    return length;
}

void ibh_tree_line(IbhTree *tree, char *line, gsize size, const char *format, ...)
{
    g_autofree char *path = NULL;
    gssize length;

    FORMAT(path, format);
    length = ibh_tree_read(tree, path, line, size - 1, TRUE);
    line[MAX(length, 0)] = '\0';
    line[strcspn(line, "\n")] = '\0';
}

gboolean ibh_tree_has(IbhTree *tree, const char *format, ...)
{
    g_autofree char *path = NULL;
    struct stat status;
    int looked;

    FORMAT(path, format);
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
    real = descriptor_path(looked);
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
    g_autofree char *path = NULL, *full = NULL;
    DIR *dir;

    FORMAT(path, format);
    full = g_strconcat("/", path, NULL);
    if (tree->complete) {
        dir = opendir(full); /* fdopendir() makes two more system calls */
    } else {
        const int fd = open_in_tree(tree, path, S_IFDIR);

        dir = fd < 0 ? NULL : fdopendir(fd);
        if (!dir && fd >= 0)
            close(fd);
    }
    /* ENODEV: the device is being removed; EXDEV: the path leads out of the copy, or is not public */
    if (!dir && errno != ENOENT && errno != ENOTDIR && errno != ENODEV && errno != EXDEV)
        tree->problem = errno;
    while (dir && names->len < N_NAMES) {
        const struct dirent *entry;

        errno = 0;
        entry = readdir(dir);
        if (!entry)
            break;
        if (entry->d_name[0] != '.')
            g_ptr_array_add(names, g_strdup(entry->d_name));
    }
    if (dir && errno)
        tree->problem = errno; /* readdir() has failed: the list is incomplete */
    if (dir)
        closedir(dir);
    g_ptr_array_sort(names, compare_versions);
    return names;
}
