/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lines of a report for people: columns, and colors. */
#include "report/report.h"

#include <string.h>

#define CELLS_MAX 5
#define NAMES_MAX 3

typedef char *Cell; /* a row is an array of cells, which ends with NULL */

void ibh_rows_add(const IbhReport *report, const char *format, ...)
{
    g_autofree char *row = NULL;
    char **cells;
    va_list args;

    va_start(args, format);
    row = g_strdup_vprintf(format, args);
    va_end(args);
    cells = g_strsplit(row, "\t", CELLS_MAX);
    for (char **cell = cells; *cell; cell++) {
        g_autofree char *raw = *cell;

        *cell = ibh_text_printable(raw);
    }
    g_ptr_array_add(report->rows, cells);
}

/* Writes the last cell of a row. `room` is how many characters fit into the rest of the line. If the cell is longer,
 * looks for the last "; " in its first `room` - 3 characters: breaks the cell there, and writes the rest into a new
 * line, after `indent` blanks. If there is no "; ", writes only these characters, and "..." in place of the rest. */
static void put_last(GString *out, const char *cell, glong room, glong indent)
{
    const gboolean fits = g_utf8_strlen(cell, -1) <= room;
    const char *cut = g_utf8_offset_to_pointer(cell, fits ? 0 : MAX(room, 3) - 3),
               *semicolon = fits ? NULL : g_strrstr_len(cell, cut - cell, "; ");

    if (fits)
        g_string_append_printf(out, "%s\n", cell);
    else if (!semicolon)
        g_string_append_printf(out, "%.*s...\n", (int)(cut - cell), cell);
    else {
        g_string_append_printf(out, "%.*s;\n%*s", (int)(semicolon - cell), cell, (int)indent, "");
        put_last(out, semicolon + 2, room, indent);
    }
}

/* Colors "ok" green (32), "warning" yellow (33), "error" and "failed" red (31). ibh_rows_put() finds the first of these
 * words in each line. A line that begins with a blank belongs to the line above, and stays plain. Returns FALSE, so
 * that GLib goes on to the next match. */
static gboolean paint(const GMatchInfo *match, GString *out, gpointer data G_GNUC_UNUSED)
{
    g_autofree char *before = g_match_info_fetch(match, 1), *word = g_match_info_fetch(match, 2);
    const int color = g_str_equal(word, "ok") ? 32 : g_str_equal(word, "warning") ? 33 : 31;

    g_string_append_printf(out, "%s\033[%dm%s\033[0m", before, color, word);
    return FALSE;
}

void ibh_rows_put(const IbhReport *report)
{
    GString *out = report->out;
    const glong width = (glong)report->style->width;
    glong widths[CELLS_MAX] = {0};

    IBH_EACH_POINTER (Cell, cells, report->rows) {
        for (int i = 0; cells[i + 1]; i++)
            /* two blanks follow each column, but an empty column takes no room */
            widths[i] = MAX(widths[i], *cells[i] ? g_utf8_strlen(cells[i], -1) + 2 : 0);
    }
    IBH_EACH_POINTER (Cell, cells, report->rows) {
        glong room = cells[1] && width ? width : G_MAXINT; /* a line without columns is never cut */
        int i = 0;

        for (; cells[i + 1]; i++) {
            g_string_append_printf(out, "%s%*s", cells[i], (int)(widths[i] - g_utf8_strlen(cells[i], -1)), "");
            room -= widths[i];
        }
        /* `width - room` is the width of the other columns. It means nothing for a line that is never cut. */
        put_last(out, cells[i], room, width - room);
    }
    if (report->style->color) {
        g_autoptr(GRegex) words = g_regex_new("^(\\S.*?)??\\b(error|failed|warning|ok)\\b", G_REGEX_MULTILINE, 0, NULL);
        g_autofree char *painted = g_regex_replace_eval(words, out->str, -1, 0, 0, paint, NULL, NULL);

        g_string_assign(out, painted);
    }
}

char *ibh_names_shorten(const GPtrArray *names)
{
    GString *text = g_string_new(NULL);
    const guint shown = names->len > NAMES_MAX + 1 ? NAMES_MAX : names->len; /* never "and 1 more" */

    for (guint i = 0; i < shown; i++)
        g_string_append_printf(text, "%s%s", !i ? "" : i + 1 == names->len ? " and " : ", ", (char *)names->pdata[i]);
    if (shown < names->len)
        g_string_append_printf(text, " and %u more", names->len - shown);
    return g_string_free(text, FALSE);
}
