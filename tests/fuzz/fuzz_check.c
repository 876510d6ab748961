/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What --check reads and writes: a host with foreign rules and routes, hand-written scripts, files of managers, names
 * of tables, NICs and devices; through findings and fixes to all reports (reports.h says what these must hold). The
 * input begins with lines of tests/unit/case_text.h; those that are none are passed over. Then come files and names, of
 * any bytes, each behind a line of its own:
 *
 *   == file MODE PATH    root's, below the root directory; MODE as chmod takes it
 *   == name IFACE        what this NIC is called
 *   == port IFACE        what its RDMA device is called
 */
#include "check/missing.h"
#include "reports.h"

#include "../unit/case_text.h"
#include "../unit/walk.h"
#include "check/look_io.h"
#include "host/store.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* ---- files that are in memory ---- */

#define ROOT "/t"

typedef struct {
    char *path;
    mode_t mode;
    GString *text;
} File;

static GPtrArray *files; /* File * */

static void file_free(gpointer data)
{
    File *file = data;

    g_string_free(file->text, TRUE);
    g_free(file->path);
    g_free(file);
}

static const File *find(const char *path)
{
    IBH_EACH_POINTER (const File, file, files) {
        if (g_str_equal(file->path, path))
            return file;
    }
    return NULL;
}

/* ---- the tree that they are, for what reads managers' files ---- */

#define FIRST_FD 1000 /* of the first file; one less: of a directory */

static gboolean is_directory(const char *path)
{
    const gsize length = strlen(path);

    IBH_EACH_POINTER (const File, file, files) {
        if (g_str_has_prefix(file->path, path) && file->path[length] == '/')
            return TRUE;
    }
    return FALSE;
}

IbhTree ibh_tree_of(const char *sysfs G_GNUC_UNUSED)
{
    return (IbhTree){.sys = NULL};
}

void ibh_tree_clear(IbhTree *tree G_GNUC_UNUSED)
{
}

int ibh_tree_look(const IbhTree *tree G_GNUC_UNUSED, const char *path, int flags G_GNUC_UNUSED, struct stat *ret_status)
{
    g_autofree char *full = g_strconcat(ROOT "/", path, NULL);
    const File *file = find(full);
    guint i = 0;

    *ret_status = (struct stat){.st_mode = file ? S_IFREG | file->mode : S_IFDIR | 0755};
    errno = ENOENT;
    if (!file)
        return is_directory(full) ? FIRST_FD - 1 : -1;
    (void)g_ptr_array_find(files, file, &i);
    return FIRST_FD + (int)i;
}

gboolean ibh_tree_has(IbhTree *tree, const char *format, ...)
{
    g_autofree char *path = NULL;
    struct stat status;
    va_list args;

    va_start(args, format);
    path = g_strdup_vprintf(format, args);
    va_end(args);
    return ibh_tree_look(tree, path, 0, &status) >= 0;
}

GPtrArray *ibh_tree_list(IbhTree *tree G_GNUC_UNUSED, const char *format, ...)
{
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *path = NULL, *full = NULL;
    va_list args;

    va_start(args, format);
    path = g_strdup_vprintf(format, args);
    va_end(args);
    full = g_strconcat(ROOT "/", path, "/", NULL);
    IBH_EACH_POINTER (const File, file, files) {
        const char *name = file->path + strlen(full);
        g_autofree char *first = g_str_has_prefix(file->path, full) ? g_strndup(name, strcspn(name, "/")) : NULL;

        if (first && first[0] && first[0] != '.' && !g_ptr_array_find_with_equal_func(names, first, g_str_equal, NULL))
            g_ptr_array_add(names, g_steal_pointer(&first));
    }
    return names;
}

GString *ibh_file_take(int looked, const char *path G_GNUC_UNUSED, GError **error G_GNUC_UNUSED)
{
    const File *file = g_ptr_array_index(files, looked - FIRST_FD);

    return g_string_new_len(file->text->str, (gssize)file->text->len);
}

gboolean ibh_file_is_public(int looked)
{
    return (((const File *)g_ptr_array_index(files, looked - FIRST_FD))->mode & S_IROTH) != 0;
}

gboolean ibh_file_check_trusted(const struct stat *status, const char *path G_GNUC_UNUSED, GError **error G_GNUC_UNUSED)
{
    return !(status->st_mode & (S_IWGRP | S_IWOTH));
}

#define IBH_PLUGIN_DIR "/nowhere"
#define close(fd) ((void)(fd))
#define readlinkat(fd, path, to, size) (-1)
#define getxattr(path, name, to, size) (-1)
#define ibh_watch_is_running() FALSE
#define ibh_store_is_home() FALSE
#include "check/managers_io.c"

/* ---- the input ---- */

#define SECTION "\n== "

static void add_file(const char *mode, const char *path, const char *text, gsize length)
{
    File *file = g_new0(File, 1);

    file->path = g_strconcat(ROOT "/", path, NULL);
    file->mode = (mode_t)(g_ascii_strtoull(mode, NULL, 8) & 07777);
    file->text = g_string_new_len(text, (gssize)length);
    g_ptr_array_add(files, file);
}

/* A name has no zero byte, and an end. */
static void rename_link(const IbhSnapshot *snapshot, const char *iface, gboolean port, const char *text, gsize length)
{
    IBH_EACH (IbhLink, link, snapshot->links) {
        if (!g_str_equal(link->name, iface) || !length)
            continue;
        if (port)
            g_strlcpy(link->rdma, text, MIN(length + 1, sizeof link->rdma));
        else
            g_strlcpy(link->name, text, MIN(length + 1, sizeof link->name));
        return;
    }
}

/* `head`: the line that begins it. */
static void take_section(const IbhSnapshot *snapshot, const char *head, const char *text, gsize length)
{
    g_auto(GStrv) words = g_strsplit(head, " ", 3);
    g_autofree char *name = g_strndup(text, length);

    if (g_strv_length(words) == 3 && g_str_equal(words[0], "file"))
        add_file(words[1], words[2], text, length);
    else if (words[0] && words[1])
        rename_link(snapshot, words[1], g_str_equal(words[0], "port"), name, strlen(name));
}

static IbhCase *read_host(const char *text)
{
    IbhCase *cas = ibh_case_new();
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

    cas->by_chance = TRUE;
    for (char **line = lines; *line; line++) {
        const char *stripped = g_strstrip(*line);

        if (*stripped && *stripped != '#' && !g_str_has_prefix(stripped, "rails")) /* so many as it says */
            (void)ibh_case_read(cas, stripped, NULL);
    }
    return cas;
}

static IbhCase *read_input(const char *text, gsize length)
{
    const char *end = text + length, *next = memmem(text, length, SECTION, strlen(SECTION));
    g_autofree char *host = g_strndup(text, next ? (gsize)(next - text) : length);
    IbhCase *cas = read_host(host);

    while (next) {
        const char *head = next + strlen(SECTION), *body = memchr(head, '\n', (gsize)(end - head));
        g_autofree char *line = g_strndup(head, body ? (gsize)(body - head) : 0);

        if (!body)
            return cas;
        next = memmem(body, (gsize)(end - body), SECTION, strlen(SECTION));
        body++;
        take_section(cas->snapshot, line, body,
                     next && next >= body ? (gsize)(next - body)
                     : next               ? 0
                                          : (gsize)(end - body));
    }
    return cas;
}

/* ---- what is found ---- */

static gboolean find_table(const char *name, guint32 *ret_table, GError **error)
{
    const File *file = find(ROOT "/etc/iproute2/rt_tables");

    (void)error;
    return file && ibh_rt_tables_find(file->text->str, file->text->len, name, ret_table);
}

static gboolean configure(IbhConfig *config, const IbhCase *cas, GError **error)
{
    const File *file = find(ROOT "/etc/ib-hook/ib-hook.conf");

    return ibh_config_add(config, "config", cas->config->str, cas->config->len, find_table, TRUE, error) &&
           (!file || ibh_config_add(config, file->path, file->text->str, file->text->len, find_table, TRUE, error));
}

static void check_host(const IbhConfig *config, const IbhRails *rails, const IbhFacts *facts)
{
    g_autoptr(GPtrArray) plan = ibh_plan(rails), findings = ibh_findings_new();
    g_autoptr(GPtrArray) errors = g_ptr_array_new();
    g_autoptr(GArray) missed = ibh_missing_list(rails, config, FALSE);
    g_autoptr(IbhCheck) check = ibh_check_new(rails, facts, NULL);
    IbhReport report = {.rails = rails, .facts = facts, .findings = findings, .check = check, .missed = missed};

    walk_answer(check);
    ibh_check_judge(check, plan, missed, findings);
    for (report.action = IBH_ACTION_SHOW; report.action <= IBH_ACTION_CHECK; report.action++)
        check_report(&report);
    IBH_EACH_POINTER (IbhFinding, finding, findings)
        g_ptr_array_add(errors, finding->message);
    report = (IbhReport){.rails = rails, .ops = plan};
    for (report.action = IBH_ACTION_PLAN; report.action <= IBH_ACTION_UNDO; report.action++) {
        check_report(&report);
        report.errors = errors;
    }
}

/* GLib's complaints: the caller of a function has not kept to its contract. */
static void complain(const char *domain, GLogLevelFlags level, const char *message, gpointer data)
{
    (void)domain;
    (void)level;
    (void)data;
    broken("%s", message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(GPtrArray) of_this_input = g_ptr_array_new_with_free_func(file_free);
    g_autoptr(IbhConfig) config = ibh_config_new();
    g_autoptr(IbhCase) cas = NULL;
    g_autoptr(IbhRails) rails = NULL;
    g_autoptr(GError) error = NULL;

    g_log_set_default_handler(complain, NULL);
    files = of_this_input;
    cas = read_input((const char *)data, size);
    if (configure(config, cas, &error)) {
        fake_snapshot_add_main(cas->snapshot->routes, cas->snapshot, config);
        ibh_managers_read(ROOT "/sys", cas->snapshot, cas->facts);
        rails = ibh_rails_find(config, cas->snapshot, &(IbhRequest){.respects_holds = TRUE}, &error);
    }
    if (rails)
        check_host(config, rails, cas->facts);
    else
        check_report(&(IbhReport){.status = IBH_EXIT_USAGE, .message = error->message});
    return 0;
}
