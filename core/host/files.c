/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- directories --------------------------------------------------------------------------------- */

static int compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC(DIR, closedir)

/* Returns the sorted paths of the files *.conf in a directory. If `only` is not NULL, returns only the path of the file
 * with this name, if there is one. Fails if other users could write in the directory. A missing directory has no files.
 * A dangling link in place of the directory is an error, because settings may be missing. If the directory exists, sets
 * `ret_public`, which may be NULL, to the result of ibh_file_is_public() for the directory. */
static GPtrArray *list_trusted(const char *path, const char *only, gboolean *ret_public, GError **error)
{
    g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(DIR) dir = opendir(path);
    const struct dirent *entry;
    struct stat status;

    if (!dir && errno == ENOENT && lstat(path, &status) < 0 && errno == ENOENT)
        return g_steal_pointer(&paths);
    if (!dir || fstat(dirfd(dir), &status) < 0) {
        ibh_file_fail(path, error);
        return NULL;
    }
    if (!ibh_file_check_trusted(&status, path, error))
        return NULL;
    for (errno = 0; (entry = readdir(dir)) != NULL; errno = 0) {
        /* Editors and packagers leave .x.conf.swp, x.conf~ and x.conf.rpmnew behind. */
        if (only ? g_str_equal(entry->d_name, only)
                 : entry->d_name[0] != '.' && g_str_has_suffix(entry->d_name, ".conf"))
            g_ptr_array_add(paths, g_strconcat(path, "/", entry->d_name, NULL));
    }
    if (errno != 0) {
        ibh_file_fail(path, error);
        return NULL;
    }
    if (ret_public)
        *ret_public = ibh_file_is_public(dirfd(dir));
    g_ptr_array_sort(paths, compare_names);
    return g_steal_pointer(&paths);
}

/* ---- names of tables ------------------------------------------------------------------------------- */

#ifndef IBH_ROOT /* tests have their own root */
#define IBH_ROOT ""
#endif

/* iproute2 reads the distribution's rt_tables only if the administrator's directory has none. We look for the name in
 * all directories, and first in the administrator's, so the distribution's files can only add names. */
static const char *const TABLE_DIRS[] = {IBH_ROOT "/etc/iproute2", IBH_ROOT "/usr/share/iproute2",
                                         IBH_ROOT "/usr/lib/iproute2"};

/* Returns TRUE if the search ends, because the file has the name, or exists but cannot be read (sets `error`). */
static gboolean search_tables(const char *path, const char *name, guint32 *ret_table, GError **error)
{
    g_autoptr(GError) local = NULL;
    g_autoptr(GString) text = ibh_file_read(path, NULL, &local);

    if (text)
        return ibh_rt_tables_find(text->str, text->len, name, ret_table);
    if (g_error_matches(local, G_FILE_ERROR, G_FILE_ERROR_NOENT))
        return FALSE;
    g_propagate_error(error, g_steal_pointer(&local));
    return TRUE;
}

/* Runs only if table= has a name instead of a number. This is rare, so the function need not be fast. `error` must not
 * be NULL. */
gboolean ibh_table_look_up(const char *name, guint32 *ret_table, GError **error)
{
    IBH_EACH_ROW (const char *const, dir, TABLE_DIRS) {
        g_autofree char *main = g_strconcat(*dir, "/rt_tables", NULL), *more = g_strconcat(main, ".d", NULL);
        g_autoptr(GPtrArray) paths = NULL;

        if (search_tables(main, name, ret_table, error))
            return !*error;
        paths = list_trusted(more, NULL, NULL, error);
        if (!paths)
            return FALSE;
        IBH_EACH_POINTER (const char, path, paths) {
            if (search_tables(path, name, ret_table, error))
                return !*error;
        }
    }
    return FALSE;
}

/* ---- the configuration ----------------------------------------------------------------------------- */

static gboolean add_file(IbhConfig *config, const char *path, GError **error)
{
    gboolean is_public = FALSE;
    g_autoptr(GString) text = ibh_file_read(path, &is_public, error);
    g_autofree char *shown = g_strescape(path, NULL);

    return text && ibh_config_add(config, shown, text->str, text->len, ibh_table_look_up, is_public, error);
}

/* Each file of the list must be readable; even ENOENT is an error, because the file may be a dangling link. `is_named`
 * means that the directory was named with --config: perhaps by a user who may run us with sudo, but may not list this
 * directory. So if not all users may list a named directory, an error must not show the names of its files. (The name
 * `only` is no secret.) */
static gboolean add_files(IbhConfig *config, const char *directory, const char *only, gboolean is_named, GError **error)
{
    gboolean shows_names = TRUE;
    g_autoptr(GPtrArray) paths = list_trusted(directory, only, is_named && !only ? &shows_names : NULL, error);
    g_autoptr(GError) local = NULL;

    if (!paths)
        return FALSE;
    IBH_EACH_POINTER (const char, path, paths) {
        if (add_file(config, path, &local))
            continue;
        if (shows_names)
            g_propagate_error(error, g_steal_pointer(&local));
        else
            g_set_error(error, IBH_CONFIG_ERROR, 0,
                        "%s: a file in it cannot be used; which one is not shown, as not all users may list this "
                        "directory: try each, --config FILE",
                        directory);
        return FALSE;
    }
    return TRUE;
}

IbhConfig *ibh_config_load(const char *named, GError **error)
{
    g_autoptr(IbhConfig) config = ibh_config_new();
    const char *path = named ? named : IBH_ROOT IBH_CONFIG_DIR;
    g_autofree char *fragments = g_strconcat(path, "/conf.d", NULL);
    gboolean is_directory = !named || g_file_test(path, G_FILE_TEST_IS_DIR), is_loaded;
    g_autoptr(GError) local = NULL;

    /* Later files win. A directory may have none of these files, but a file that was named must exist. */
    if (is_directory)
        is_loaded = add_files(config, path, "ib-hook.conf", named != NULL, &local) &&
                    add_files(config, fragments, NULL, named != NULL, &local);
    else
        is_loaded = add_file(config, path, &local);
    if (is_loaded)
        return g_steal_pointer(&config);
    /* Whatever the domain of the error, the configuration cannot be used: give the caller one domain for that. */
    g_assert(local);
    g_set_error_literal(error, IBH_CONFIG_ERROR, 0, local->message);
    return NULL;
}
