/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/text.h"

#include <string.h>

void ibh_put(GString *out, const IbhStyle *style, const char *color, const char *text)
{
    g_autofree char *safe = ibh_printable(text);

    if (style->color && color)
        g_string_append_printf(out, "\033[%sm%s\033[0m", color, safe);
    else
        g_string_append(out, safe);
}

void ibh_putf(GString *out, const IbhStyle *style, const char *color, const char *format, ...)
{
    g_autofree char *text = NULL;
    va_list args;

    va_start(args, format);
    text = g_strdup_vprintf(format, args);
    va_end(args);
    ibh_put(out, style, color, text);
}

void ibh_put_line(GString *out, const IbhStyle *style, const char *lead, const char *text)
{
    g_string_append(out, lead);
    ibh_put(out, style, NULL, text);
    g_string_append_c(out, '\n');
}

/* ---- tables ---- */

typedef struct {
    char *text;
    const char *color;
} Cell;

static void free_text(gpointer cell)
{
    g_free(((Cell *)cell)->text);
}

IbhTable *ibh_table_new(guint columns)
{
    IbhTable *table = g_new0(IbhTable, 1);

    table->columns = columns;
    table->cells = g_array_new(FALSE, TRUE, sizeof(Cell));
    g_array_set_clear_func(table->cells, free_text);
    return table;
}

void ibh_table_free(IbhTable *table)
{
    g_array_unref(table->cells);
    g_free(table);
}

void ibh_table_add(IbhTable *table, char *text, const char *color)
{
    const Cell cell = {.text = ibh_printable(text), .color = color};

    g_array_append_val(table->cells, cell);
    g_free(text);
}

static guint find_width(const IbhTable *table, guint column)
{
    glong width = 0;

    for (guint at = column; at < table->cells->len; at += table->columns)
        width = MAX(width, g_utf8_strlen(g_array_index(table->cells, Cell, at).text, -1));
    return (guint)width;
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

void ibh_put_table(GString *out, const IbhStyle *style, const IbhTable *table, guint width)
{
    g_autofree guint *widths = g_new(guint, table->columns);
    guint column = 0, before = 0;

    for (guint i = 0; i < table->columns; i++) {
        widths[i] = find_width(table, i);
        before += i + 1 < table->columns ? widths[i] + 2 : 0;
    }
    IBH_EACH (const Cell, cell, table->cells) {
        gboolean last = ++column == table->columns;
        g_autofree char *text = last && width ? cut(cell->text, width > before ? width - before : 0) : NULL;

        ibh_put(out, style, cell->color, text ? text : cell->text);
        if (!last) {
            g_string_append_printf(out, "%*s", (int)widths[column - 1] - (int)g_utf8_strlen(cell->text, -1) + 2, "");
        } else {
            g_string_append_c(out, '\n');
            column = 0;
        }
    }
}
