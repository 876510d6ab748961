/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A configuration file: comments, sections, and lines that its caller understands. Every error names file and line.
 */
#pragma once

#include <glib.h>

#define IBH_CONFIG_ERROR (g_quark_from_static_string("ibh-config-error"))

/* How near a section's name is to one interface: [defaults], then a glob by its literal characters, then the name. */
#define IBH_RANK_DEFAULTS 0u
#define IBH_RANK_GLOB 1u
#define IBH_RANK_EXACT G_MAXUINT

typedef struct {
    char *file; /* safe to print */
    guint line;
    char *content;                         /* of the line, without its comment */
    char *pattern;                         /* of the section, "": [defaults]; NULL: none yet */
    guint rank;                            /* of the section */
    gboolean (*on_setting)(gpointer data); /* for each line that is neither empty nor a section */
    gpointer data;
    GError **error;
} IbhLines;

gboolean ibh_lines_read(IbhLines *lines, const char *text, gsize length);
/* Returns FALSE. */
G_GNUC_PRINTF(2, 3) gboolean ibh_lines_fail(IbhLines *lines, const char *format, ...);
