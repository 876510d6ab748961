/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Coloured words, and tables of them, for people. Control characters are removed.
 */
#pragma once

#include "cli/report.h"

#define IBH_RED "31"
#define IBH_GREEN "32"
#define IBH_YELLOW "33"
#define IBH_BOLD "1"

/* `color`: NULL for none. */
void ibh_put(GString *out, const IbhStyle *style, const char *color, const char *text);
G_GNUC_PRINTF(4, 5)
void ibh_putf(GString *out, const IbhStyle *style, const char *color, const char *format, ...);
void ibh_put_line(GString *out, const IbhStyle *style, const char *lead, const char *text); /* and a newline */

/* Columns as wide as their widest cell. */
typedef struct {
    guint columns;
    GArray *cells; /* row by row; the first row may be a heading */
} IbhTable;

IbhTable *ibh_table_new(guint columns);
void ibh_table_free(IbhTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IbhTable, ibh_table_free)

/* The next cell. Takes `text`. */
void ibh_table_add(IbhTable *table, char *text, const char *color);
/* `width`: the last column is cut at a word where a line would be longer; 0: it is whole. */
void ibh_put_table(GString *out, const IbhStyle *style, const IbhTable *table, guint width);

/* Adds what is not there yet; FALSE: it is. */
gboolean ibh_add_name(GPtrArray *names, const char *name);
void ibh_put_verdict(GString *out, const IbhNode *tree, const IbhStyle *style); /* the host's line */
void ibh_put_probe(GString *out, const IbhNode *tree, const IbhStyle *style);   /* text_probe.c */
