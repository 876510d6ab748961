/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/store.h"

#include "host/bounded.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX (1024 * 1024) /* bytes */

/* Every message is one line: the path, the problem, what to do. */
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

static gboolean check_file(int fd, const char *path, gboolean trusted, GError **error)
{
    struct stat status;

    if (fstat(fd, &status) < 0)
        return ibh_file_fail(path, error);
    if (!S_ISREG(status.st_mode))
        return refuse(error, path, "it is %s, not a regular file; put a plain text file there",
                      S_ISDIR(status.st_mode) ? "a directory" : "a device, pipe or socket");
    return !trusted || ibh_file_check_trusted(&status, path, error);
}

/* The limit holds for the bytes that are read, not for the size that the file claims to have. */
static gboolean read_all(int fd, const char *path, GString *text, GError **error)
{
    gssize length;

    g_string_set_size(text, FILE_MAX + 1);
    length = ibh_bounded_read(fd, text->str, text->len, FALSE);
    if (length < 0)
        return ibh_file_fail(path, error);
    g_string_set_size(text, (gsize)length);
    return length <= FILE_MAX || refuse(error, path, "it is larger than %d bytes; shorten it", FILE_MAX);
}

/* Of the opened file: a link may lead elsewhere by now. Each directory on its real path counts, too. */
static gboolean is_public(int fd)
{
    g_autofree char *link = g_strdup_printf("/proc/self/fd/%d", fd), *path = g_file_read_link(link, NULL);
    struct stat status;
    gboolean opens = path && fstat(fd, &status) == 0 && status.st_mode & S_IROTH;

    for (char *slash = opens ? strrchr(path, '/') : NULL; opens && slash; slash = strrchr(path, '/')) {
        *slash = '\0';
        opens = stat(path[0] ? path : "/", &status) == 0 && status.st_mode & S_IXOTH;
    }
    return opens;
}

GString *ibh_file_read(const char *path, gboolean trusted, gboolean *ret_public, GError **error)
{
    g_autoptr(GString) text = g_string_new(NULL);
    int fd = ibh_bounded_open(path, trusted ? 0 : O_NOFOLLOW);
    gboolean ok;

    if (fd < 0) {
        ibh_file_fail(path, error);
        return NULL;
    }
    ok = check_file(fd, path, trusted, error) && read_all(fd, path, text, error);
    if (ret_public)
        *ret_public = ok && is_public(fd);
    close(fd);
    return ok ? g_steal_pointer(&text) : NULL;
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

gboolean ibh_file_write(const char *path, const char *text, GError **error)
{
    g_autofree char *beside = g_strconcat(path, ".new", NULL);
    gboolean written;
    int fd;

    (void)unlink(beside); /* left by a run that was killed: we have the lock */
    fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
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
