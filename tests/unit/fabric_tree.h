/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hosts as trees: tests/unit/fabric/HOST.tree, written below a directory of their own. Lines "PATH TEXT", or "PATH/"
 * for a directory, or "DIRECTORY: FILE TEXT | FILE TEXT" for several in one.
 */
#pragma once

#include <glib.h>

#include <string.h>

/* Of a line of such a file. `text` NULL: a directory, if its path ends with "/". */
typedef void FabricTake(const char *path, const char *text, gpointer data);
static inline void for_each_file(const char *line, FabricTake *take, gpointer data)
{
    const char *colon = strstr(line, ": ");
    gsize directory = colon && colon < line + strcspn(line, " ") ? (gsize)(colon - line) : 0;
    g_auto(GStrv) files = g_strsplit(directory ? colon + 2 : line, directory ? " | " : "\n", -1);

    for (char **file = files; *file && line[0] != '#'; file++) {
        const char *blank = strchr(*file, ' ');
        g_autofree char *path =
            g_strdup_printf("%.*s%s%.*s", (int)directory, line, directory ? "/" : "", (int)strcspn(*file, " "), *file);

        take(path, blank ? blank + 1 : NULL, data);
    }
}

#define FIXTURES IBH_TESTS "/unit/fabric"

extern char *root; /* the directory */

/* Around each test. */
int make_root(void **state);
int remove_root(void **state);

void write_file(const char *path, const char *text);
/* `text`, with \n and \t as in C, NULL: a directory. */
void put(const char *path, const char *text);
void put_line(const char *line);
void take_away(const char *path);
/* The lines of a file beside the trees. */
char **read_fixture(const char *name);
char **read_tree(const char *host);
void put_host(const char *name);
GPtrArray *list_hosts(void); /* char * */
