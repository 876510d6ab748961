/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that root relies on, and trees of small files: /sys with /proc, /run and /etc beside it, or a copy of these.
 * Opening a device or a pipe can have an effect. So before we open a file that root relies on, or a file of a copy, we
 * look at the file without opening it (O_PATH). Then we open this very file, even if its name leads elsewhere by then.
 * In the live tree, we open files directly. Reads are bounded, and do not wait for other programs, such as the writer
 * of a FIFO.
 */
#pragma once

#include <glib.h>

#include <sys/stat.h>

/* ---- files that root relies on: no other user may have written them ---- */

/* Reads a regular file of at most 1 MiB. It must belong to root (or to the user that runs us without privileges), and
 * no other user may be able to write it. If the file is missing, the error is G_FILE_ERROR_NOENT. Sets `ret_public`,
 * which may be NULL, to the result of ibh_file_is_public(), and to FALSE on failure. */
GString *ibh_file_read(const char *path, gboolean *ret_public, GError **error);
#define IBH_FOR_ALL 0644 /* all users may read the file */
#define IBH_FOR_ROOT 0600
/* Writes a new file of this mode and renames it: readers see the old text or the whole new text, even after a crash. */
gboolean ibh_file_write(const char *path, const char *text, mode_t mode, GError **error);

/* TRUE if the file or directory with this status belongs to root or to the user that runs us, and its mode lets nobody
 * else write. `path` is only for the text of the error. */
gboolean ibh_file_check_trusted(const struct stat *status, const char *path, GError **error);
/* TRUE if all users may read this open file or directory, and enter each directory of its path. Quote no line of a
 * file that is not public: a user who may run us as root with any file (sudo) could read the line in our messages. */
gboolean ibh_file_is_public(int fd);

/* These two set an error from errno and return FALSE. ibh_file_fail() says "PATH: cannot be read: …", with advice.
 * ibh_file_cannot(), for our own files, says "cannot write /run/…: No space left on device" if `doing` is "write". */
gboolean ibh_file_fail(const char *path, GError **error);
gboolean ibh_file_cannot(const char *doing, const char *path, GError **error);

/* ---- trees ---- */

/* A directory below which we look for files of a copy. */
typedef struct {
    int fd;           /* opened with O_PATH; -errno if that failed */
    char *path;       /* with all links resolved, "" for "/"; NULL if unknown */
    gboolean trusted; /* TRUE if files need not be public, because only root could write there or we are not root */
} IbhTreeRoot;

/* Paths begin with "sys/", "proc/", "run/" and so on. In a copy, "sys/" is the directory from --sysfs, and "proc/",
 * "run/" and so on are beside that directory. In a copy, a link that leads out of its IbhTreeRoot counts as absent. So
 * does a file that not all users may read, unless its IbhTreeRoot is `trusted`. */
typedef struct {
    char *sys;            /* the directory from --sysfs */
    gboolean complete;    /* TRUE for /sys itself, the live tree: if a device's file is missing there, the device does
                             not exist (a copy may lack files). Links are followed, as only the kernel and root make
                             them */
    IbhTreeRoot roots[2]; /* of a copy: the parent of sys, then sys */
    int problem;          /* the errno of a file that may exist but could not be read; 0 if there is none */
} IbhTree;

IbhTree ibh_tree_of(const char *sysfs);
void ibh_tree_clear(IbhTree *tree);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IbhTree, ibh_tree_clear)

/* Reads the first line, without its newline; "" if the file is missing, empty or cannot be read. */
G_GNUC_PRINTF(4, 5) void ibh_tree_line(IbhTree *tree, char *line, gsize size, const char *format, ...);
/* Reads at most `limit` bytes of a file; with `line`, stops when the text ends with a newline. Adds no NUL to the text.
 * Returns the length, or -1 if the file is missing or cannot be read, or if a read would block. Stores errors that may
 * pass, such as too many open files, in tree->problem: if a device that cannot be read for a moment counted as absent,
 * its NIC would no longer be a rail. */
gssize ibh_tree_read(IbhTree *tree, const char *path, char *text, gsize limit, gboolean line);
/* TRUE if the path exists and, if it is a link, leads to something that exists. An error counts as FALSE. */
G_GNUC_PRINTF(2, 3) gboolean ibh_tree_has(IbhTree *tree, const char *format, ...);
/* Resolves the links of a path. Returns where the path leads, relative to sys, such as "devices/pci0000:3a/…"; NULL if
 * the path is missing, cannot be resolved, or does not lead below sys. The caller frees the result. */
G_GNUC_PRINTF(2, 3) char *ibh_tree_real(IbhTree *tree, const char *format, ...);
/* Lists the names (char *) in a directory, at most 4,096, sorted as versions (ib2 before ib10). Skips names that begin
 * with a dot. If the directory is missing or is being removed, if it counts as absent in this copy, or if it is a file,
 * the list is empty. After any other error, the list is incomplete, and tree->problem has the errno. */
G_GNUC_PRINTF(2, 3) GPtrArray *ibh_tree_list(IbhTree *tree, const char *format, ...);

/* Looks at a file without opening it. `flags` is 0, or O_NOFOLLOW for a link itself. Returns a descriptor, which the
 * caller closes, or -1 and errno (EXDEV: outside of this copy, or not public). */
int ibh_tree_look(const IbhTree *tree, const char *path, int flags, struct stat *ret_status);
/* Reads a regular file that the caller has looked at (`looked`: the descriptor); NULL if the file cannot be read or is
 * larger than 1 MiB. */
GString *ibh_file_take(int looked, const char *path, GError **error);
