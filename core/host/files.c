/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEXT_MAX ((gsize)1024 * 1024)

/* ---- directories --------------------------------------------------------------------------------- */

static int compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static gboolean read_names(DIR *dir, const char *path, GPtrArray *names, GError **error)
{
    const struct dirent *entry;

    for (errno = 0; (entry = readdir(dir)) != NULL; errno = 0) {
        /* Editors and packagers leave .x.conf.swp, x.conf~ and x.conf.rpmnew behind. */
        if (entry->d_name[0] != '.' && g_str_has_suffix(entry->d_name, ".conf"))
            g_ptr_array_add(names, g_strdup(entry->d_name));
    }
    if (errno != 0)
        return ibh_file_fail(path, errno, error);
    g_ptr_array_sort(names, compare_names);
    return TRUE;
}

static gboolean is_absent(const char *path)
{
    struct stat status;

    return errno == ENOENT && lstat(path, &status) < 0 && errno == ENOENT;
}

/* The *.conf files of a directory that only root can write, sorted; none if there is no such directory. A link that
 * dangles is an error: settings would be lost. */
static GPtrArray *list_trusted(const char *path, GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    DIR *dir = opendir(path);
    struct stat status;
    gboolean ok;

    if (dir == NULL && is_absent(path))
        return g_steal_pointer(&names);
    if (dir == NULL || fstat(dirfd(dir), &status) < 0)
        ok = ibh_file_fail(path, errno, error);
    else
        ok = ibh_file_check_trusted(&status, path, error) && read_names(dir, path, names, error);
    if (dir)
        closedir(dir);
    return ok ? g_steal_pointer(&names) : NULL;
}

typedef gboolean (*TakeFile)(gpointer data, const char *path, GError **error);

/* `only`: of its files the one of this name; NULL: all. */
static gboolean each_file(const char *directory, const char *only, TakeFile take, gpointer data, GError **error)
{
    g_autoptr(GPtrArray) names = list_trusted(directory, error);

    if (names == NULL)
        return FALSE;
    IBH_EACH_POINTER (const char, name, names) {
        g_autofree char *path = g_strconcat(directory, "/", name, NULL);

        if ((!only || g_str_equal(name, only)) && !take(data, path, error))
            return FALSE;
    }
    return TRUE;
}

/* ---- names of tables ------------------------------------------------------------------------------- */

/* The places of rt_tables, as iproute2 has them: the administrator's before the distribution's. */
static const char *const TABLE_DIRS[] = {"/etc/iproute2", "/usr/share/iproute2", "/usr/lib/iproute2"};

typedef struct {
    const char *name;
    gboolean found;
    guint32 table;
} TableSearch;

/* FALSE: an error; there may be no such file. */
static gboolean search_file(gpointer data, const char *path, GError **error)
{
    TableSearch *search = data;
    g_autoptr(GError) local = NULL;
    g_autofree char *text = NULL;
    gsize length = 0;

    if (search->found)
        return TRUE;
    if (ibh_file_read_trusted(path, TEXT_MAX, &text, &length, &local))
        search->found = ibh_rt_tables_find(text, length, search->name, &search->table);
    if (!local || g_error_matches(local, G_FILE_ERROR, G_FILE_ERROR_NOENT))
        return TRUE;
    g_propagate_error(error, g_steal_pointer(&local));
    return FALSE;
}

typedef struct {
    IbhConfig *config;
    const char *root; /* what all paths are under: "" but for tests */
} Loading;

/* Names are rare: the files are read when one occurs. */
static gboolean find_table(gpointer data, const char *name, guint32 *ret_table, GError **error)
{
    const Loading *loading = data;
    TableSearch search = {.name = name};

    for (guint i = 0; i < G_N_ELEMENTS(TABLE_DIRS) && !search.found; i++) {
        g_autofree char *main = g_strconcat(loading->root, TABLE_DIRS[i], "/rt_tables", NULL);
        g_autofree char *more = g_strconcat(main, ".d", NULL);

        if (!search_file(&search, main, error) ||
            (!search.found && !each_file(more, NULL, search_file, &search, error)))
            return FALSE;
    }
    *ret_table = search.table;
    return search.found;
}

/* ---- the configuration ----------------------------------------------------------------------------- */

static gboolean add_file(gpointer data, const char *path, GError **error)
{
    const Loading *loading = data;
    g_autofree char *text = NULL;
    gsize length = 0;

    return ibh_file_read_trusted(path, TEXT_MAX, &text, &length, error) &&
           ibh_config_add(loading->config, path, text, length, find_table, data, error);
}

/* All files, in the order in which later ones win. No file at all is fine; what is listed must be readable: it may be a
 * link that dangles. A user who can write the directory can replace root's file or conf.d. */
static gboolean add_all(Loading *loading, const char *directory, GError **error)
{
    g_autofree char *fragments = g_strconcat(directory, "/conf.d", NULL);

    return each_file(directory, "ib-hook.conf", add_file, loading, error) &&
           each_file(fragments, NULL, add_file, loading, error);
}

static IbhConfig *load_under(const char *root, const char *named, GError **error)
{
    g_autoptr(IbhConfig) config = ibh_config_new();
    g_autofree char *standard = g_strconcat(root, IBH_CONFIG_DIR, NULL);
    const char *path = named ? named : standard;
    gboolean all = !named || g_file_test(path, G_FILE_TEST_IS_DIR);
    Loading loading = {.config = config, .root = root};
    GError *local = NULL;

    if (all ? add_all(&loading, path, &local) : add_file(&loading, path, &local))
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
