/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/files.h"

#include "config/rt_tables.h"
#include "model/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEXT_MAX ((gsize)1024 * 1024)

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

static gboolean fail_errno(GError **error, const char *path, int number)
{
    g_autofree char *shown = g_strescape(path, NULL);

    g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(number), "%s: cannot be read: %s%s", shown,
                ibh_strerror(number), number == EMFILE || number == ENFILE ? "" : "; put it right, or take it away");
    return FALSE;
}

/* A user who can write this file decides what root does. */
static gboolean check_trusted(const struct stat *status, const char *path, GError **error)
{
    g_autofree char *shown = g_strescape(path, NULL);

    if (status->st_uid != 0 && status->st_uid != geteuid())
        return refuse(error, path, "it belongs to user %u; chown root %s", (guint)status->st_uid, shown);
    if ((status->st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return refuse(error, path, "it can be written by others (mode %04o); chmod go-w %s",
                      (guint)status->st_mode & 07777u, shown);
    return TRUE;
}

static gboolean check_file(int fd, const char *path, GError **error)
{
    struct stat status;

    if (fstat(fd, &status) < 0)
        return fail_errno(error, path, errno);
    if (!S_ISREG(status.st_mode))
        return refuse(error, path, "it is %s, not a regular file; put a plain text file there",
                      S_ISDIR(status.st_mode) ? "a directory" : "a device, pipe or socket");
    return check_trusted(&status, path, error);
}

/* The limit holds for the bytes that are read, not for the size that the file claims to have. */
static gboolean read_all(int fd, const char *path, gsize limit, GString *text, GError **error)
{
    char chunk[4096];
    ssize_t count;

    while ((count = read(fd, chunk, sizeof(chunk))) != 0) {
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return fail_errno(error, path, errno);
        g_string_append_len(text, chunk, count);
        if (text->len > limit)
            return refuse(error, path, "it is larger than %" G_GSIZE_FORMAT " bytes; shorten it", limit);
    }
    return TRUE;
}

gboolean ibh_file_read_trusted(const char *path, gsize limit, char **ret_text, gsize *ret_length, GError **error)
{
    g_autoptr(GString) text = g_string_new(NULL);
    /* A FIFO without a writer must not block us, and a terminal must not become ours. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    gboolean ok;

    if (fd < 0)
        return fail_errno(error, path, errno);
    ok = check_file(fd, path, error) && read_all(fd, path, limit, text, error);
    close(fd);
    if (!ok)
        return FALSE;
    *ret_length = text->len;
    *ret_text = g_string_free(g_steal_pointer(&text), FALSE);
    return TRUE;
}

char *ibh_file_read_shown(const char *path, gsize limit, gsize *ret_length)
{
    g_autoptr(GString) text = g_string_new(NULL);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
    struct stat status;
    gboolean ok;

    if (fd < 0)
        return NULL;
    ok = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && read_all(fd, path, limit, text, NULL);
    close(fd);
    *ret_length = text->len;
    return ok ? g_string_free(g_steal_pointer(&text), FALSE) : NULL;
}

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
        return fail_errno(error, path, errno);
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
    const int fd = dir ? dirfd(dir) : -1;
    struct stat status;
    gboolean ok;

    if (dir == NULL && is_absent(path))
        return g_steal_pointer(&names);
    if (dir == NULL) {
        fail_errno(error, path, errno);
        return NULL;
    }
    if (fd < 0 || fstat(fd, &status) < 0)
        ok = fail_errno(error, path, errno);
    else
        ok = check_trusted(&status, path, error) && read_names(dir, path, names, error);
    closedir(dir);
    return ok ? g_steal_pointer(&names) : NULL;
}

/* ---- names of tables ------------------------------------------------------------------------------- */

/* The places of rt_tables, as iproute2 looks for them: the administrator's before the distribution's. */
static const char *const TABLE_DIRS[] = {"/etc/iproute2", "/usr/share/iproute2", "/usr/lib/iproute2"};

typedef struct {
    const char *root; /* what all paths are under: "" but for tests */
    const char *name;
    gboolean found;
    guint32 table;
} TableSearch;

/* FALSE: an error. `ret_exists` says whether there is such a file at all. */
static gboolean search_file(TableSearch *search, const char *path, gboolean *ret_exists, GError **error)
{
    g_autoptr(GError) local = NULL;
    g_autofree char *text = NULL;
    gsize length = 0;

    *ret_exists = ibh_file_read_trusted(path, TEXT_MAX, &text, &length, &local);
    if (*ret_exists) {
        search->found = ibh_rt_tables_find(text, length, search->name, &search->table);
        return TRUE;
    }
    if (g_error_matches(local, G_FILE_ERROR, G_FILE_ERROR_NOENT))
        return TRUE;
    g_propagate_error(error, g_steal_pointer(&local));
    return FALSE;
}

/* Only the first of the files counts, as with iproute2. */
static gboolean search_main_file(TableSearch *search, GError **error)
{
    gboolean exists = FALSE;

    for (guint i = 0; i < G_N_ELEMENTS(TABLE_DIRS) && !exists; i++) {
        g_autofree char *path = g_strconcat(search->root, TABLE_DIRS[i], "/rt_tables", NULL);

        if (!search_file(search, path, &exists, error))
            return FALSE;
    }
    return TRUE;
}

/* A file hides those of the same name in later directories. */
static gboolean search_directory(TableSearch *search, const char *path, GHashTable *seen, GError **error)
{
    g_autoptr(GPtrArray) names = list_trusted(path, error);
    gboolean exists;

    if (names == NULL)
        return FALSE;
    IBH_EACH_POINTER (const char, name, names) {
        g_autofree char *file = g_strconcat(path, "/", name, NULL);

        if (search->found)
            break;
        if (g_hash_table_add(seen, g_strdup(name)) && !search_file(search, file, &exists, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean search_directories(TableSearch *search, GError **error)
{
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

    for (guint i = 0; i < G_N_ELEMENTS(TABLE_DIRS) && !search->found; i++) {
        g_autofree char *path = g_strconcat(search->root, TABLE_DIRS[i], "/rt_tables.d", NULL);

        if (!search_directory(search, path, seen, error))
            return FALSE;
    }
    return TRUE;
}

/* An IbhTableLookup. Names are rare: the files are read when the first name occurs. */
static gboolean find_table(gpointer data, const char *name, guint32 *ret_table, GError **error)
{
    TableSearch search = {.root = data, .name = name};

    if (!search_main_file(&search, error) || (!search.found && !search_directories(&search, error)) || !search.found)
        return FALSE;
    *ret_table = search.table;
    return TRUE;
}

/* ---- the configuration ----------------------------------------------------------------------------- */

static gboolean add_file(IbhConfig *config, const char *root, const char *path, GError **error)
{
    g_autofree char *text = NULL;
    g_autofree char *table_root = g_strdup(root);
    gsize length = 0;

    return ibh_file_read_trusted(path, TEXT_MAX, &text, &length, error) &&
           ibh_config_add(config, path, text, length, find_table, table_root, error);
}

static gboolean add_directory(IbhConfig *config, const char *root, const char *path, GError **error)
{
    g_autoptr(GPtrArray) names = list_trusted(path, error);

    if (names == NULL)
        return FALSE;
    IBH_EACH_POINTER (const char, name, names) {
        g_autofree char *file = g_strconcat(path, "/", name, NULL);

        if (!add_file(config, root, file, error))
            return FALSE;
    }
    return TRUE;
}

/* All files, in the order in which later ones win. No file at all is fine. */
static gboolean add_all(IbhConfig *config, const char *root, const char *directory, GError **error)
{
    g_autofree char *file = g_strconcat(directory, "/ib-hook.conf", NULL);
    g_autofree char *fragments = g_strconcat(directory, "/conf.d", NULL);
    /* A user who can write the directory can replace root's file or conf.d. */
    g_autoptr(GPtrArray) trusted = list_trusted(directory, error);

    if (trusted == NULL)
        return FALSE;
    IBH_EACH_POINTER (const char, name, trusted) { /* what is listed must be readable: it may be a link that dangles */
        if (g_str_equal(name, "ib-hook.conf") && !add_file(config, root, file, error))
            return FALSE;
    }
    return add_directory(config, root, fragments, error);
}

static IbhConfig *load_under(const char *root, const char *named, GError **error)
{
    g_autoptr(IbhConfig) config = ibh_config_new();
    g_autofree char *standard = g_strconcat(root, IBH_CONFIG_DIR, NULL);
    const char *path = named ? named : standard;
    gboolean all = !named || g_file_test(path, G_FILE_TEST_IS_DIR);
    GError *local = NULL;

    if (all ? add_all(config, root, path, &local) : add_file(config, root, path, &local))
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
