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

/* `only`: the file of this name; NULL: all *.conf. */
static gboolean read_names(DIR *dir, const char *path, const char *only, GPtrArray *paths, GError **error)
{
    const struct dirent *entry;
    struct stat status;

    if (fstat(dirfd(dir), &status) < 0)
        return ibh_file_fail(path, error);
    if (!ibh_file_check_trusted(&status, path, error))
        return FALSE;
    for (errno = 0; (entry = readdir(dir)) != NULL; errno = 0) {
        /* Editors and packagers leave .x.conf.swp, x.conf~ and x.conf.rpmnew behind. */
        if (only ? g_str_equal(entry->d_name, only)
                 : entry->d_name[0] != '.' && g_str_has_suffix(entry->d_name, ".conf"))
            g_ptr_array_add(paths, g_strconcat(path, "/", entry->d_name, NULL));
    }
    if (errno != 0)
        return ibh_file_fail(path, error);
    g_ptr_array_sort(paths, compare_names);
    return TRUE;
}

static gboolean is_absent(const char *path)
{
    struct stat status;

    return errno == ENOENT && lstat(path, &status) < 0 && errno == ENOENT;
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC(DIR, closedir)

/* Paths of *.conf files in a directory that only root can write, sorted; none if there is no such directory. A link
 * that dangles is an error: settings would be lost. `ret_public` (NULL: not asked): all users may list it. */
static GPtrArray *list_trusted(const char *path, const char *only, gboolean *ret_public, GError **error)
{
    g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(DIR) dir = opendir(path);
    const gboolean ok = dir ? read_names(dir, path, only, paths, error) : is_absent(path) || ibh_file_fail(path, error);

    if (ret_public)
        *ret_public = dir && ibh_file_is_public(dirfd(dir));
    return ok ? g_steal_pointer(&paths) : NULL;
}

/* ---- names of tables ------------------------------------------------------------------------------- */

/* What all paths are under: tests have a directory of their own. */
#ifndef IBH_ROOT
#define IBH_ROOT ""
#endif

/* The places of rt_tables, as iproute2 has them: the administrator's before the distribution's. */
static const char *const TABLE_DIRS[] = {IBH_ROOT "/etc/iproute2", IBH_ROOT "/usr/share/iproute2",
                                         IBH_ROOT "/usr/lib/iproute2"};

/* TRUE: nothing more is to be read, as the name is in this file, or it cannot be read. There may be no such file. */
static gboolean find_in(const char *path, const char *name, guint32 *ret_table, GError **error)
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

/* Names are rare: the files are read when one occurs. */
static gboolean find_table(const char *name, guint32 *ret_table, GError **error)
{
    IBH_EACH_ROW (const char *const, dir, TABLE_DIRS) {
        g_autofree char *main = g_strconcat(*dir, "/rt_tables", NULL), *more = g_strconcat(main, ".d", NULL);
        g_autoptr(GPtrArray) paths = NULL;

        if (find_in(main, name, ret_table, error))
            return !*error;
        paths = list_trusted(more, NULL, NULL, error);
        if (!paths)
            return FALSE;
        IBH_EACH_POINTER (const char, path, paths) {
            if (find_in(path, name, ret_table, error))
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

    return text && ibh_config_add(config, shown, text->str, text->len, find_table, is_public, error);
}

/* What is listed must be readable: it may be a link that dangles. A user who can write the directory can replace root's
 * file or conf.d. `named`: by whoever runs us, who learns no name from a directory that not all users may list. */
static gboolean add_files(IbhConfig *config, const char *directory, const char *only, gboolean named, GError **error)
{
    gboolean shows = TRUE;
    g_autoptr(GPtrArray) paths = list_trusted(directory, only, named && !only ? &shows : NULL, error);
    g_autoptr(GError) local = NULL;

    if (!paths)
        return FALSE;
    IBH_EACH_POINTER (const char, path, paths) {
        if (add_file(config, path, &local))
            continue;
        if (shows)
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
    gboolean all = !named || g_file_test(path, G_FILE_TEST_IS_DIR);
    g_autoptr(GError) local = NULL;

    /* In the order in which later ones win. No file at all is fine. */
    if (all ? add_files(config, path, "ib-hook.conf", named != NULL, &local) &&
                  add_files(config, fragments, NULL, named != NULL, &local)
            : add_file(config, path, &local))
        return g_steal_pointer(&config);
    /* The caller needs one kind of error: the configuration cannot be used. */
    g_assert(local != NULL);
    g_set_error_literal(error, IBH_CONFIG_ERROR, 0, local->message);
    return NULL;
}

/* Lines of comments are blank here: more or fewer of them are no other configuration. */
static gboolean say_the_same(const char *one, const char *other)
{
    gsize length;

    do {
        one += strspn(one, "\n");
        other += strspn(other, "\n");
        length = strcspn(one, "\n");
        if (length != strcspn(other, "\n") || memcmp(one, other, length) != 0)
            return FALSE;
        one += length;
        other += length;
    } while (length);
    return TRUE;
}

IbhConfig *ibh_config_in_force(const IbhState *state, const IbhConfig *files)
{
    if (!state->config || (files && say_the_same(state->config, ibh_config_text(files))))
        return NULL;
    return ibh_config_from_text(state->config, !state->is_private, find_table);
}
