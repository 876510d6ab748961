/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fabric_tree.h"

#include "temp_tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

char *root;

int make_root(void **state)
{
    (void)state;
    root = g_dir_make_tmp("ib-hook-fabric-XXXXXX", NULL);
    return root == NULL;
}

int remove_root(void **state)
{
    (void)state;
    remove_tree(root);
    g_clear_pointer(&root, g_free);
    return 0;
}

/* Thousands of files: g_file_set_contents() would wait for the disk at each. */
void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* `text` NULL: a directory. */
void put(const char *path, const char *text)
{
    g_autofree char *full = g_build_filename(root, path, NULL);
    g_autofree char *parent = text ? g_path_get_dirname(full) : g_strdup(full);
    g_autofree char *plain = text ? g_strcompress(text) : NULL;
    g_autofree char *line = text ? g_strconcat(plain, "\n", NULL) : NULL;

    assert_int_equal(g_mkdir_with_parents(parent, 0755), 0);
    if (line)
        write_file(full, line);
}

void take_away(const char *path)
{
    g_autofree char *full = g_build_filename(root, path, NULL);

    if (access(full, F_OK) != 0)
        fail_msg("%s: there is no such thing to remove", path);
    remove_tree(full);
}

static void take_file(const char *path, const char *text, gpointer data)
{
    (void)data;
    put(path, text);
}

void put_line(const char *line)
{
    for_each_file(line, take_file, NULL);
}

char **read_fixture(const char *name)
{
    g_autofree char *path = g_build_filename(FIXTURES, name, NULL), *text = NULL;

    if (!g_file_get_contents(path, &text, NULL, NULL))
        fail_msg("%s cannot be read", path);
    return g_strsplit(text, "\n", -1);
}

char **read_tree(const char *host)
{
    g_autofree char *file = g_strconcat(host, ".tree", NULL);

    return read_fixture(file);
}

void put_host(const char *name)
{
    g_auto(GStrv) lines = read_tree(name);

    for (char **line = lines; *line; line++)
        put_line(*line);
}

GPtrArray *list_hosts(void)
{
    g_autoptr(GDir) dir = g_dir_open(FIXTURES, 0, NULL);
    GPtrArray *hosts = g_ptr_array_new_with_free_func(g_free);
    const char *name;

    while ((name = g_dir_read_name(dir))) {
        if (g_str_has_suffix(name, ".tree"))
            g_ptr_array_add(hosts, g_strndup(name, strlen(name) - strlen(".tree")));
    }
    return hosts;
}
