/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hosts as trees: tests/unit/fabric/HOST.tree, written below a directory of their own. Lines "PATH TEXT", or "PATH/"
 * for a directory, or "DIRECTORY: FILE TEXT | FILE TEXT" for several in one.
 */
#pragma once

#include <glib.h>

#define FIXTURES IBH_TESTS "/unit/fabric"

extern char *root; /* the directory */

/* Around each test. */
int make_root(void **state);
int remove_root(void **state);

void write_file(const char *path, const char *text);
/* `text`, with \n and \t as in C, NULL: a directory. */
void put(const char *path, const char *text);
void put_line(const char *line);
/* `text` NULL: a directory. */
typedef void FabricTake(const char *path, const char *text, gpointer data);
void for_each_file(const char *line, FabricTake *take, gpointer data);
void take_away(const char *path);
/* The lines of a file beside the trees. */
char **read_fixture(const char *name);
char **read_tree(const char *host);
void put_host(const char *name);
GPtrArray *list_hosts(void); /* char * */
