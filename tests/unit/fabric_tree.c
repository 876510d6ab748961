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

/* "PATH TEXT", or "PATH/". */
void put_line(const char *line)
{
    const char *blank = strchr(line, ' ');
    g_autofree char *path = g_strndup(line, blank ? (gsize)(blank - line) : strlen(line));

    put(path, blank ? blank + 1 : NULL);
}

char **read_fixture(const char *name)
{
    g_autofree char *path = g_build_filename(FIXTURES, name, NULL), *text = NULL;

    if (!g_file_get_contents(path, &text, NULL, NULL))
        fail_msg("%s cannot be read", path);
    return g_strsplit(text, "\n", -1);
}

void put_host(const char *name)
{
    g_autofree char *file = g_strconcat(name, ".tree", NULL);
    g_auto(GStrv) lines = read_fixture(file);

    for (char **line = lines; *line; line++) {
        if ((*line)[0] && (*line)[0] != '#')
            put_line(*line);
    }
}
