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

/* `only`: the file of this name; NULL: all. */
static gboolean read_names(DIR *dir, const char *path, const char *only, GPtrArray *paths, GError **error)
{
    const struct dirent *entry;

    for (errno = 0; (entry = readdir(dir)) != NULL; errno = 0) {
        /* Editors and packagers leave .x.conf.swp, x.conf~ and x.conf.rpmnew behind. */
        if (only ? g_str_equal(entry->d_name, only)
                 : entry->d_name[0] != '.' && g_str_has_suffix(entry->d_name, ".conf"))
            g_ptr_array_add(paths, g_strconcat(path, "/", entry->d_name, NULL));
    }
    if (errno != 0)
        return ibh_file_fail(path, errno, error);
    g_ptr_array_sort(paths, compare_names);
    return TRUE;
}

static gboolean is_absent(const char *path)
{
    struct stat status;

    return errno == ENOENT && lstat(path, &status) < 0 && errno == ENOENT;
}

/* Paths of *.conf files in a directory that only root can write, sorted; none if there is no such directory. A link
 * that dangles is an error: settings would be lost. */
static GPtrArray *list_trusted(const char *path, const char *only, GError **error)
{
    g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);
    DIR *dir = opendir(path);
    const int fd = dir ? dirfd(dir) : -1;
    struct stat status;
    gboolean ok;

    if (dir == NULL && is_absent(path))
        return g_steal_pointer(&paths);
    if (fd < 0 || fstat(fd, &status) < 0)
        ok = ibh_file_fail(path, errno, error);
    else
        ok = ibh_file_check_trusted(&status, path, error) && read_names(dir, path, only, paths, error);
    if (dir)
        closedir(dir);
    return ok ? g_steal_pointer(&paths) : NULL;
}

/* ---- names of tables ------------------------------------------------------------------------------- */

/* The places of rt_tables, as iproute2 has them: the administrator's before the distribution's. */
static const char *const TABLE_DIRS[] = {"/etc/iproute2", "/usr/share/iproute2", "/usr/lib/iproute2"};

/* There may be no such file. */
static gboolean find_in(const char *path, const char *name, guint32 *ret_table, GError **error)
{
    g_autoptr(GError) local = NULL;
    g_autoptr(GString) text = ibh_file_read(path, TRUE, NULL, &local);

    if (text)
        return ibh_rt_tables_find(text->str, text->len, name, ret_table);
    if (!g_error_matches(local, G_FILE_ERROR, G_FILE_ERROR_NOENT))
        g_propagate_error(error, g_steal_pointer(&local));
    return FALSE;
}

/* Names are rare: the files are read when one occurs. `root`: what all paths are under, "" but for tests. */
static gboolean find_table(gpointer root, const char *name, guint32 *ret_table, GError **error)
{
    for (guint i = 0; i < G_N_ELEMENTS(TABLE_DIRS) && !*error; i++) {
        g_autofree char *main = g_strconcat(root, TABLE_DIRS[i], "/rt_tables", NULL);
        g_autofree char *more = g_strconcat(main, ".d", NULL);
        g_autoptr(GPtrArray) paths = NULL;

        if (find_in(main, name, ret_table, error))
            return TRUE;
        paths = *error ? NULL : list_trusted(more, NULL, error);
        for (guint j = 0; paths && j < paths->len && !*error; j++) {
            if (find_in(g_ptr_array_index(paths, j), name, ret_table, error))
                return TRUE;
        }
    }
    return FALSE;
}

/* ---- the configuration ----------------------------------------------------------------------------- */

static gboolean add_file(IbhConfig *config, const char *root, const char *path, GError **error)
{
    gboolean is_public = FALSE;
    g_autoptr(GString) text = ibh_file_read(path, TRUE, &is_public, error);

    ibh_config_set_quoting(config, is_public);
    return text && ibh_config_add(config, path, text->str, text->len, find_table, (gpointer)(guintptr)root, error);
}

/* What is listed must be readable: it may be a link that dangles. A user who can write the directory can replace root's
 * file or conf.d. */
static gboolean add_files(IbhConfig *config, const char *root, const char *directory, const char *only, GError **error)
{
    g_autoptr(GPtrArray) paths = list_trusted(directory, only, error);

    if (!paths)
        return FALSE;
    IBH_EACH_POINTER (const char, path, paths) {
        if (!add_file(config, root, path, error))
            return FALSE;
    }
    return TRUE;
}

static IbhConfig *load_under(const char *root, const char *named, GError **error)
{
    g_autoptr(IbhConfig) config = ibh_config_new();
    g_autofree char *standard = g_strconcat(root, IBH_CONFIG_DIR, NULL);
    const char *path = named ? named : standard;
    g_autofree char *fragments = g_strconcat(path, "/conf.d", NULL);
    gboolean all = !named || g_file_test(path, G_FILE_TEST_IS_DIR);
    GError *local = NULL;

    /* In the order in which later ones win. No file at all is fine. */
    if (all ? add_files(config, root, path, "ib-hook.conf", &local) && add_files(config, root, fragments, NULL, &local)
            : add_file(config, root, path, &local))
        return g_steal_pointer(&config);
    /* The caller needs one kind of error: the configuration cannot be used. */
    g_assert(local != NULL);
    local->domain = IBH_CONFIG_ERROR;
    local->code = 0;
    g_propagate_error(error, local);
    return NULL;
}

IbhConfig *ibh_config_load(const char *path, GError **error)
{
    return load_under("", path, error);
}
