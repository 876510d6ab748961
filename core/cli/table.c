/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/report.h"

#include <string.h>

void ibh_put(GString *out, const IbhReport *report, IbhColor color, const char *format, ...)
{
    static const char *const codes[] = {[IBH_PLAIN] = "",
                                        [IBH_BOLD] = "\033[1m",
                                        [IBH_RED] = "\033[31m",
                                        [IBH_GREEN] = "\033[32m",
                                        [IBH_YELLOW] = "\033[33m"};
    const char *code = report->style->color ? codes[color] : "";
    const gboolean ends = g_str_has_suffix(format, "\n");
    g_autofree char *text = NULL, *safe = NULL;
    va_list args;

    va_start(args, format);
    text = g_strdup_vprintf(format, args);
    va_end(args);
    if (ends)
        text[strlen(text) - 1] = '\0';
    safe = ibh_printable(text);
    g_string_append_printf(out, "%s%s%s%s", code, safe, code[0] ? "\033[0m" : "", ends ? "\n" : "");
}

/* ---- tables: a row is its colour, in one byte, and its cells, with tabs between them ---- */

void ibh_add_row(GPtrArray *table, IbhColor color, const char *format, ...)
{
    GString *row = g_string_new(NULL);
    va_list args;

    g_string_append_c(row, (char)color);
    va_start(args, format);
    g_string_append_vprintf(row, format, args);
    va_end(args);
    g_ptr_array_add(table, g_string_free(row, FALSE));
}

/* At a word, where it would be longer than `width`. */
static char *cut(const char *text, glong width)
{
    const char *end;

    if (g_utf8_strlen(text, -1) <= width)
        return g_strdup(text);
    end = g_utf8_offset_to_pointer(text, MAX(width, 3) - 3);
    while (end > text && *end != ' ')
        end--;
    while (end > text && strchr(" ,:;(", end[-1]))
        end--;
    return g_strdup_printf("%.*s...", (int)(end - text), text);
}

static char **split(const char *row, int columns)
{
    char **cells = g_strsplit(row + 1, "\t", columns);

    for (char **cell = cells; *cell; cell++) {
        g_autofree char *raw = *cell;

        *cell = ibh_printable(raw);
    }
    return cells;
}

void ibh_put_table(GString *out, const IbhReport *report, const GPtrArray *table, int columns, int colored)
{
    g_autofree glong *widths = g_new0(glong, columns); /* of all but the last */
    glong room = report->style->width ? report->style->width : G_MAXINT;

    IBH_EACH_POINTER (const char, row, table) {
        g_auto(GStrv) cells = split(row, columns);

        for (int i = 0; i + 1 < columns; i++)
            widths[i] = MAX(widths[i], g_utf8_strlen(cells[i], -1) + 2);
    }
    for (int i = 0; i < columns; i++)
        room -= widths[i];
    IBH_EACH_POINTER (const char, row, table) {
        g_auto(GStrv) cells = split(row, columns);
        g_autofree char *last = cells[columns - 1];

        cells[columns - 1] = cut(last, room);
        for (int i = 0; i < columns; i++) {
            ibh_put(out, report, i == colored || *row == IBH_BOLD ? (IbhColor)*row : IBH_PLAIN, "%s", cells[i]);
            g_string_append_printf(out, "%*s", (int)MAX(widths[i] - g_utf8_strlen(cells[i], -1), 0), "");
        }
        g_string_append_c(out, '\n');
    }
}
