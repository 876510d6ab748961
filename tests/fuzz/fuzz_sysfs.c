/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * /sys and /proc with any names and texts, as tests/unit/fabric/HOST.tree. They are read, judged and reported. The
 * files are in memory only. In a text, \n and \0 are bytes; "!N" alone is the N-th way to fail. Links and types of
 * files, which matter in a copy: unit/test_sysfs, netns/hostile-tree.
 */
#include "reports.h"

#include "host/tree.h"
#include "model/model.h"
#include "../unit/fabric_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- files that are in memory ---- */

#define ROOT "/"
#define FIRST_FD 1000
#define N_FDS 8

typedef struct {
    GString *text; /* NULL: a directory */
    int fails;     /* errno of who opens it, or, negative, of who reads it */
} File;

typedef struct {
    const File *file;
    gsize at;
} Open;

typedef struct {
    GHashTableIter iter;
    char *prefix;
    struct dirent entry;
    GHashTable *seen;
} Directory;

static GHashTable *files; /* path below ROOT → File * */
static Open fds[N_FDS];

static void file_free(gpointer data)
{
    File *file = data;

    if (file->text)
        g_string_free(file->text, TRUE);
    g_free(file);
}

static GHashTable *new_files(void)
{
    return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, file_free);
}

/* Its directories, too; what is there already stays. */
static void add_file(GHashTable *to, const char *path, GString *text, int fails)
{
    File *file = g_new0(File, 1);

    file->text = text;
    file->fails = fails;
    if (g_hash_table_contains(to, path)) {
        file_free(file);
        return;
    }
    g_hash_table_insert(to, g_strdup(path), file);
    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        g_autofree char *parent = g_strndup(path, (gsize)(slash - path));

        if (!g_hash_table_contains(to, parent))
            g_hash_table_insert(to, g_steal_pointer(&parent), g_new0(File, 1));
    }
}

static const File *find(const char *path)
{
    const File *file = g_str_has_prefix(path, ROOT) ? g_hash_table_lookup(files, path + strlen(ROOT)) : NULL;

    if (!file)
        errno = ENOENT;
    return file;
}

static int fake_open(const char *path, int flags, ...)
{
    const File *file = find(path);

    if (!(flags & (O_NONBLOCK | O_PATH)) || (flags & O_ACCMODE) != O_RDONLY)
        broken("opened in a way that could wait, or write");
    if (file && file->fails > 0)
        errno = file->fails;
    for (int i = 0; file && file->fails <= 0 && i < N_FDS; i++) {
        if (!fds[i].file) {
            fds[i] = (Open){.file = file};
            return FIRST_FD + i;
        }
    }
    return -1;
}

static ssize_t fake_read(int fd, void *to, size_t size)
{
    Open *open = &fds[fd - FIRST_FD];
    gsize n;

    if (!open->file->text || open->file->fails < 0) {
        errno = open->file->text ? -open->file->fails : EISDIR;
        return -1;
    }
    n = MIN(MIN(size, open->file->text->len - open->at), 1000); /* in pieces */
    memcpy(to, open->file->text->str + open->at, n);
    open->at += n;
    return (ssize_t)n;
}

static int fake_close(int fd)
{
    fds[fd - FIRST_FD].file = NULL;
    return 0;
}

static int fake_stat(int fd, struct stat *status)
{
    *status = (struct stat){.st_mode = fds[fd - FIRST_FD].file->text ? S_IFREG : S_IFDIR};
    return 0;
}

/* It has no links: each file lies where its name says. */
static char *fake_read_link(const char *name)
{
    const Open *open = &fds[atoi(strrchr(name, '/') + 1) - FIRST_FD];
    GHashTableIter iter;
    gpointer path, file;

    g_hash_table_iter_init(&iter, files);
    while (g_hash_table_iter_next(&iter, &path, &file)) {
        if (file == open->file)
            return g_strconcat(ROOT, path, NULL);
    }
    return NULL;
}

static DIR *fake_opendir(const char *path)
{
    const File *file = find(path);
    Directory *directory;

    if (file && (file->fails || file->text))
        errno = file->text ? ENOTDIR : ABS(file->fails);
    if (!file || file->fails || file->text)
        return NULL;
    directory = g_new0(Directory, 1);
    directory->prefix = g_strconcat(path + strlen(ROOT), "/", NULL);
    directory->seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_hash_table_iter_init(&directory->iter, files);
    return (DIR *)directory;
}

static struct dirent *fake_readdir(DIR *dir)
{
    Directory *directory = (Directory *)dir;
    gpointer key;

    while (g_hash_table_iter_next(&directory->iter, &key, NULL)) {
        const char *name = (const char *)key + strlen(directory->prefix);

        if (!g_str_has_prefix(key, directory->prefix) || strchr(name, '/') || !name[0] ||
            strlen(name) >= sizeof directory->entry.d_name || !g_hash_table_add(directory->seen, g_strdup(name)))
            continue;
        g_strlcpy(directory->entry.d_name, name, sizeof directory->entry.d_name);
        return &directory->entry;
    }
    return NULL;
}

static int fake_closedir(DIR *dir)
{
    Directory *directory = (Directory *)dir;

    g_free(directory->prefix);
    g_hash_table_unref(directory->seen);
    g_free(directory);
    return 0;
}

/* No input fills the megabytes that tables of routes have room for, and to clear them would take most of the time. */
#define g_malloc0(size) g_malloc0(MIN((size), 16 * 1024))
#define open fake_open
#define read fake_read
#define close fake_close
#define fstat fake_stat
#define access(path, mode) (find(path) ? 0 : -1)
#define g_file_read_link(name, error) fake_read_link(name)
#define opendir fake_opendir
#define readdir fake_readdir
#define closedir fake_closedir
#include "../unit/fabric_host.h"
#undef open
#undef read
#undef close
#undef fstat
#undef g_malloc0

/* ---- the input ---- */

static GString *unescape(const char *text)
{
    GString *out = g_string_new(NULL);

    for (; *text; text++) {
        gboolean escape = text[0] == '\\' && (text[1] == 'n' || text[1] == '0');

        g_string_append_c(out, escape ? (char)(text[1] == 'n' ? '\n' : '\0') : *text);
        text += escape;
    }
    return g_string_append_c(out, '\n');
}

static int failure(const char *text)
{
    static const int ways[] = {EMFILE, EACCES, ENODEV, -EIO, -EINVAL, -EAGAIN};

    return text[0] == '!' && text[1] && !text[2] ? ways[(guchar)text[1] % G_N_ELEMENTS(ways)] : 0;
}

static void take(const char *path, const char *text, gpointer to)
{
    gboolean directory = g_str_has_suffix(path, "/");
    g_autofree char *name = g_strndup(path, strlen(path) - (directory ? 1 : 0));

    text = text ? text : "";
    if (*name && *name != '/' && !strstr(name, "/.") && !strstr(name, "//"))
        add_file(to, name, directory ? NULL : unescape(text), failure(text));
}

static GHashTable *parse(const uint8_t *data, size_t size)
{
    g_autofree char *copy = g_strndup((const char *)data, size);
    g_auto(GStrv) lines = g_strsplit(copy, "\n", -1);
    GHashTable *to = new_files();

    for (char **line = lines; *line; line++)
        for_each_file(*line, take, to);
    return to;
}

/* ---- what has to hold ---- */

static void report_host(const IbhFabric *fabric)
{
    g_autoptr(GPtrArray) findings = ibh_findings_new();
    g_autoptr(IbhConfig) config = ibh_config_new();
    g_autoptr(IbhSnapshot) snapshot = ibh_snapshot_new();
    g_autoptr(IbhRails) rails = ibh_rails_find(config, snapshot, &(IbhRequest){.respects_holds = TRUE}, NULL);
    g_autoptr(GArray) missed = g_array_new(FALSE, TRUE, sizeof(IbhKnownRail));
    g_autoptr(IbhFacts) none = ibh_facts_new();
    IbhReport report = {.findings = findings, .rails = rails, .facts = none, .fabric = fabric, .missed = missed};

    ibh_fabric_judge(fabric, NULL, findings);
    check_report(&report);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GHashTable) all = parse(data, size);
    g_auto(IbhTree) tree = {0};
    g_autoptr(IbhFabric) fabric = NULL;

    files = all;
    fabric = read_host(&tree, "/");
    if (fabric)
        report_host(fabric);
    for (int i = 0; i < N_FDS; i++) {
        if (fds[i].file)
            broken("a file is left open");
    }
    return 0;
}
