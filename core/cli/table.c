/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/cli.h"

#include <string.h>

#define CELLS_MAX 5

void ibh_add_row(GPtrArray *rows, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    g_ptr_array_add(rows, g_strdup_vprintf(format, args));
    va_end(args);
}

static char **split(const char *row)
{
    char **cells = g_strsplit(row, "\t", CELLS_MAX);

    for (char **cell = cells; *cell; cell++) {
        g_autofree char *raw = *cell;

        *cell = ibh_printable(raw);
    }
    return cells;
}

static void put_last(GString *out, const char *cell, glong room)
{
    const gboolean fits = g_utf8_strlen(cell, -1) <= room;
    const char *end = fits ? strchr(cell, '\0') : g_utf8_offset_to_pointer(cell, MAX(room, 3) - 3);

    g_string_append_printf(out, "%.*s%s\n", (int)(end - cell), cell, fits ? "" : "...");
}

/* The first word of each line that says how something is. */
static gboolean paint(const GMatchInfo *match, GString *out, gpointer data G_GNUC_UNUSED)
{
    g_autofree char *before = g_match_info_fetch(match, 1), *word = g_match_info_fetch(match, 2);
    const int color = g_str_equal(word, "ok") ? 32 : g_str_equal(word, "warning") ? 33 : 31;

    g_string_append_printf(out, "%s\033[%dm%s\033[0m", before, color, word);
    return FALSE;
}

void ibh_put_rows(GString *out, const GPtrArray *rows, const IbhStyle *style)
{
    glong widths[CELLS_MAX] = {0};

    IBH_EACH_POINTER (const char, row, rows) {
        g_auto(GStrv) cells = split(row);

        for (int i = 0; cells[i + 1]; i++)
            widths[i] = MAX(widths[i], g_utf8_strlen(cells[i], -1) + 2);
    }
    IBH_EACH_POINTER (const char, row, rows) {
        g_auto(GStrv) cells = split(row);
        glong room = cells[1] && style->width ? (glong)style->width : G_MAXINT;
        int i = 0;

        for (; cells[i + 1]; room -= widths[i++])
            g_string_append_printf(out, "%s%*s", cells[i], (int)(widths[i] - g_utf8_strlen(cells[i], -1)), "");
        put_last(out, cells[i], room);
    }
    if (style->color) {
        g_autoptr(GRegex) words = g_regex_new("^(\\S.*?)??\\b(error|failed|warning|ok)\\b", G_REGEX_MULTILINE, 0, NULL);
        g_autofree char *painted = g_regex_replace_eval(words, out->str, -1, 0, 0, paint, NULL, NULL);

        g_string_assign(out, painted);
    }
}
