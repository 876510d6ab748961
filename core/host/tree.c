/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/tree.h"

#include "host/bounded.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define N_NAMES 4096

#define FORMAT(path, format)                                                                                           \
    do {                                                                                                               \
        va_list args;                                                                                                  \
                                                                                                                       \
        va_start(args, format);                                                                                        \
        (path) = g_strdup_vprintf(format, args);                                                                       \
        va_end(args);                                                                                                  \
    } while (0)

/* ---- where it is ---- */

/* realpath() allocates its results, which g_free() may free: since GLib 2.46 it is free(). */
IbhTree ibh_tree_of(const char *sysfs)
{
    IbhTree tree = {.sys = g_strdup(sysfs)};
    g_autofree char *parent = NULL;

    for (gsize length = strlen(sysfs); length > 1 && sysfs[length - 1] == '/'; length--)
        tree.sys[length - 1] = '\0';
    parent = g_path_get_dirname(tree.sys);
    tree.proc = g_build_filename(parent, "proc", NULL);
    tree.lists = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_ptr_array_unref);
    tree.complete = g_str_equal(tree.sys, "/sys");
    if (!tree.complete) {
        tree.real_sys = realpath(tree.sys, NULL);
        tree.real_proc = realpath(tree.proc, NULL);
    }
    return tree;
}

void ibh_tree_clear(IbhTree *tree)
{
    g_clear_pointer(&tree->lists, g_hash_table_unref);
    g_clear_pointer(&tree->sys, g_free);
    g_clear_pointer(&tree->proc, g_free);
    g_clear_pointer(&tree->real_sys, g_free);
    g_clear_pointer(&tree->real_proc, g_free);
}

/* What follows the directory in this path, "" if it is the directory; NULL: it does not lie there. */
static const char *find_below(const char *path, const char *directory)
{
    const char *rest = directory && g_str_has_prefix(path, directory) ? path + strlen(directory) : NULL;

    return rest && (*rest == '/' || !*rest) ? rest : NULL;
}

/* A copy's links may lead anywhere its maker likes: they are not followed to files that only root can read, nor to a
 * device. */
static gboolean leads_out(const IbhTree *tree, const char *path)
{
    g_autofree char *real = tree->complete ? NULL : realpath(path, NULL);

    return real && !find_below(real, tree->real_sys) && !find_below(real, tree->real_proc);
}

/* Pipes and devices are not opened: opening alone may have an effect. */
static gboolean is_file(const IbhTree *tree, const char *full)
{
    struct stat status;

    return full && (tree->complete || stat(full, &status) < 0 || S_ISREG(status.st_mode));
}

/* NULL: not in this tree. */
static char *locate(const IbhTree *tree, const char *path)
{
    const char *root = g_str_has_prefix(path, "sys/") ? tree->sys : tree->proc;
    g_autofree char *full = g_build_filename(root, strchr(path, '/'), NULL);

    return leads_out(tree, full) ? NULL : g_steal_pointer(&full);
}

/* ---- looking ---- */

/* A NIC whose device cannot be read for a moment would lose its rail: so only ENOENT counts as absent. */
static void note_problem(IbhTree *tree, int problem)
{
    if (!tree->problem && (problem == EMFILE || problem == ENFILE || problem == ENOMEM || problem == EINTR))
        tree->problem = problem;
}

/* -1: there is no such file, or none that gives its text at once. */
static gssize read_file(IbhTree *tree, const char *path, char *text, gsize limit, gboolean line)
{
    g_autofree char *full = locate(tree, path);
    gssize length;
    int fd;

    if (!is_file(tree, full))
        return -1;
    fd = ibh_bounded_open(full, 0);
    length = fd < 0 ? -1 : ibh_bounded_read(fd, text, limit, line);
    if (length < 0)
        note_problem(tree, errno);
    if (fd >= 0)
        close(fd);
    return length;
}

void ibh_tree_line(IbhTree *tree, char *line, gsize size, const char *format, ...)
{
    g_autofree char *path = NULL;
    gssize length;

    FORMAT(path, format);
    length = read_file(tree, path, line, size - 1, TRUE);
    line[MAX(length, 0)] = '\0';
    line[strcspn(line, "\n")] = '\0';
}

char *ibh_tree_text(IbhTree *tree, gsize limit, const char *format, ...)
{
    g_autofree char *path = NULL;
    g_autofree char *text = g_malloc0(limit + 1);

    FORMAT(path, format);
    return read_file(tree, path, text, limit, FALSE) < 0 ? NULL : g_steal_pointer(&text);
}

gboolean ibh_tree_has(IbhTree *tree, const char *format, ...)
{
    g_autofree char *path = NULL, *full = NULL;
    struct stat status;

    FORMAT(path, format);
    full = locate(tree, path);
    return full && stat(full, &status) == 0;
}

char *ibh_tree_real(IbhTree *tree, const char *format, ...)
{
    g_autofree char *path = NULL, *full = NULL, *real = NULL;
    const char *rest;

    FORMAT(path, format);
    full = locate(tree, path);
    real = full ? realpath(full, NULL) : NULL;
    rest = real ? find_below(real, tree->complete ? tree->sys : tree->real_sys) : NULL;
    return rest && *rest ? g_strdup(rest + 1) : NULL;
}

static int compare_names(gconstpointer a, gconstpointer b)
{
    return strverscmp(*(const char *const *)a, *(const char *const *)b);
}

static GPtrArray *read_list(IbhTree *tree, const char *path)
{
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *full = locate(tree, path);
    const struct dirent *entry;
    DIR *dir = full ? opendir(full) : NULL;
    if (!dir && full && errno != ENOENT && errno != ENOTDIR && errno != ENODEV)
        tree->problem = errno;
    if (!dir)
        return names;
    while (names->len < N_NAMES && (errno = 0, entry = readdir(dir))) {
        if (entry->d_name[0] != '.')
            g_ptr_array_add(names, g_strdup(entry->d_name));
    }
    if (errno)
        tree->problem = errno; /* there are more, which could not be read */
    closedir(dir);
    g_ptr_array_sort(names, compare_names);
    return names;
}

GPtrArray *ibh_tree_list(IbhTree *tree, const char *format, ...)
{
    g_autofree char *path = NULL;
    GPtrArray *names;

    FORMAT(path, format);
    if (!(names = g_hash_table_lookup(tree->lists, path))) {
        names = read_list(tree, path);
        g_hash_table_insert(tree->lists, g_steal_pointer(&path), names);
    }
    return g_ptr_array_ref(names);
}
