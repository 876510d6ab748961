/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files: those that root relies on, and the small ones of a tree, which is /sys with /proc, /run and /etc beside it, or
 * a copy of these. To open a device or a pipe has an effect, so each file is looked at first (O_PATH), and what is
 * opened is what was looked at, whatever its name leads to by then. Reads are bounded and never wait.
 */
#pragma once

#include <glib.h>

#include <sys/stat.h>

/* ---- files that root relies on: none that others could have written ---- */

/* The whole of a regular file of at most 1 MiB. It belongs to root (or to the user that runs this, unprivileged), and
 * no other user can write it; a missing one is G_FILE_ERROR_NOENT. `ret_public` (NULL: not asked): as below. */
GString *ibh_file_read(const char *path, gboolean *ret_public, GError **error);
#define IBH_FOR_ALL 0644 /* may read it */
#define IBH_FOR_ROOT 0600
/* To a new file of this mode, which is renamed: no reader, and no crash, sees half of it. */
gboolean ibh_file_write(const char *path, const char *text, mode_t mode, GError **error);

/* Of a file or a directory. */
gboolean ibh_file_check_trusted(const struct stat *status, const char *path, GError **error);
/* All users may read this open file or directory, and pass each directory on its path. Of other files no line may be
 * quoted: who is allowed to run us as root with any file, or with a directory of links, would read theirs in our
 * messages. */
gboolean ibh_file_is_public(int fd);

/* Returns FALSE, with a message by errno: the path, the problem, what to do. */
gboolean ibh_file_fail(const char *path, GError **error);
/* The same of a file of our own: "cannot write /run/…: No space left on device". */
gboolean ibh_file_cannot(const char *doing, const char *path, GError **error);

/* ---- trees ---- */

/* A directory of a copy, from which its files are found. */
typedef struct {
    int fd;           /* it is looked at only (O_PATH); below 0: what errno says of it */
    char *path;       /* without links, "" for "/"; NULL: not known */
    gboolean trusted; /* root alone could have put something there: it need not be public */
} IbhTreeRoot;

/* Paths begin with "sys/", "proc/", "run/" and so on. In a copy, "sys/" is the directory that was named, and all else
 * lies beside that; a link that leads out of the one or the other counts as absent, and so does what not all users may
 * read, unless the copy is root's. */
typedef struct {
    char *sys;            /* as it was named */
    gboolean complete;    /* /sys itself: a missing file does not exist, and the links are the kernel's and root's */
    IbhTreeRoot roots[2]; /* of a copy: of what is beside sys; of sys */
    int problem;          /* errno of a file that exists, perhaps, but could not be read; 0: none */
} IbhTree;

IbhTree ibh_tree_of(const char *sysfs);
void ibh_tree_clear(IbhTree *tree);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IbhTree, ibh_tree_clear)

/* The first line, without its newline; "" where there is none. */
G_GNUC_PRINTF(4, 5) void ibh_tree_line(IbhTree *tree, char *line, gsize size, const char *format, ...);
/* At most `limit` bytes of a file; NULL: there is none. */
G_GNUC_PRINTF(3, 4) char *ibh_tree_text(IbhTree *tree, gsize limit, const char *format, ...);
G_GNUC_PRINTF(2, 3) gboolean ibh_tree_has(IbhTree *tree, const char *format, ...);
/* Where the links of this path lead, below sys: "devices/pci0000:3a/…"; NULL: not below it. */
G_GNUC_PRINTF(2, 3) char *ibh_tree_real(IbhTree *tree, const char *format, ...);
/* The names in a directory, sorted (ib2 before ib10), no more than 4,096; none where there is no directory. */
G_GNUC_PRINTF(2, 3) GPtrArray *ibh_tree_list(IbhTree *tree, const char *format, ...); /* char * */

/* What lies there, not opened. `flags`: 0, or O_NOFOLLOW for the link itself. Returns a descriptor, which the caller
 * closes; -1 and errno (EXDEV: not in this tree, or not for all users). */
int ibh_tree_look(const IbhTree *tree, const char *path, int flags, struct stat *ret_status);
/* The text of a regular file that was looked at; NULL: it is larger than 1 MiB, or cannot be read. */
GString *ibh_file_take(int looked, const char *path, GError **error);
