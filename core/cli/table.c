/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/report.h"

#include <string.h>

static void put(GString *out, const IbhReport *report, IbhColor color, const char *text)
{
    static const char *const codes[] = {[IBH_BOLD] = "1", [IBH_RED] = "31", [IBH_GREEN] = "32", [IBH_YELLOW] = "33"};
    g_autofree char *safe = ibh_printable(text);

    if (report->style->color && color != IBH_PLAIN)
        g_string_append_printf(out, "\033[%sm%s\033[0m", codes[color], safe);
    else
        g_string_append(out, safe);
}

void ibh_put(GString *out, const IbhReport *report, IbhColor color, const char *format, ...)
{
    g_autofree char *text = NULL;
    va_list args;

    va_start(args, format);
    text = g_strdup_vprintf(format, args);
    va_end(args);
    put(out, report, color, text);
}

/* ---- tables: a cell is its colour, in one byte, and its text ---- */

void ibh_table_add(GPtrArray *table, IbhColor color, const char *format, ...)
{
    g_autofree char *text = NULL, *safe = NULL;
    va_list args;

    va_start(args, format);
    text = g_strdup_vprintf(format, args);
    va_end(args);
    safe = ibh_printable(text);
    g_ptr_array_add(table, g_strdup_printf("%c%s", (char)color, safe));
}

GPtrArray *ibh_table_new(const char *headings)
{
    GPtrArray *table = g_ptr_array_new_with_free_func(g_free);
    g_auto(GStrv) words = g_strsplit(headings, " ", -1);

    for (char **word = words; *word; word++)
        ibh_table_add(table, IBH_BOLD, "%s", *word);
    return table;
}

/* At a word, where it would be longer than `width`. */
static char *cut(const char *text, guint width)
{
    const char *end;

    if (g_utf8_strlen(text, -1) <= (glong)width)
        return g_strdup(text);
    end = g_utf8_offset_to_pointer(text, MAX(width, 3) - 3);
    while (end > text && *end != ' ')
        end--;
    while (end > text && strchr(" ,:;(", end[-1]))
        end--;
    return g_strdup_printf("%.*s...", (int)(end - text), text);
}

void ibh_put_table(GString *out, const IbhReport *report, const GPtrArray *table, guint columns, guint width)
{
    g_autofree guint *widths = g_new0(guint, columns);
    guint before = 0;

    for (guint i = 0; i < table->len; i++) {
        glong length = g_utf8_strlen((const char *)table->pdata[i] + 1, -1);

        widths[i % columns] = MAX(widths[i % columns], (guint)length + 2);
    }
    for (guint i = 0; i + 1 < columns; i++)
        before += widths[i];
    for (guint i = 0; i < table->len; i++) {
        const char *cell = table->pdata[i], *text = cell + 1;
        const gboolean last = i % columns == columns - 1;
        g_autofree char *part = last && width ? cut(text, width > before ? width - before : 0) : NULL;

        put(out, report, (IbhColor)*cell, part ? part : text);
        g_string_append_printf(out, "%*s", last ? 0 : (int)(widths[i % columns] - (guint)g_utf8_strlen(text, -1)), "");
        g_string_append(out, last ? "\n" : "");
    }
}
