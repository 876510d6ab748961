/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hosts as trees: tests/unit/fabric/HOST.tree, lines "PATH TEXT" or "PATH/", written below a directory of their own.
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
/* "PATH TEXT", or "PATH/". */
void put_line(const char *line);
void take_away(const char *path);
/* The lines of a file beside the trees. */
char **read_fixture(const char *name);
void put_host(const char *name);
