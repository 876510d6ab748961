/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/rt_tables.h"

#include <string.h>

#define BLANKS " \t\r\f\v"

/* As `ip` reads it: decimal even with leading zeros, hexadecimal after 0x. */
static gboolean parse_id(const char *text, guint32 *ret_id)
{
    gboolean hex = g_str_has_prefix(text, "0x");
    guint64 id;

    if (!g_ascii_string_to_unsigned(hex ? text + 2 : text, hex ? 16 : 10, 0, G_MAXUINT32, &id, NULL))
        return FALSE;
    *ret_id = (guint32)id;
    return TRUE;
}

/* Cuts the next word off `cursor` and returns it, "" at the end. */
static char *next_word(char **cursor)
{
    char *word = *cursor + strspn(*cursor, BLANKS);
    char *end = word + strcspn(word, BLANKS);

    *cursor = *end == '\0' ? end : end + 1;
    *end = '\0';
    return word;
}

/* Text after the name is ignored, as `ip` does. */
static gboolean parse_line(char *line, const char *name, guint32 *ret_table)
{
    char *cursor = line;
    const char *id = next_word(&cursor);
    const char *word = next_word(&cursor);

    return word[0] != '#' && strcmp(word, name) == 0 && parse_id(id, ret_table);
}

gboolean ibh_rt_tables_find(const char *text, gsize length, const char *name, guint32 *ret_table)
{
    gsize size;

    if (name[0] == '\0')
        return FALSE;
    for (gsize at = 0; at < length; at += size + 1) {
        const char *start = text + at;
        const char *newline = memchr(start, '\n', length - at);

        size = newline != NULL ? (gsize)(newline - start) : length - at;
        g_autofree char *line = g_strndup(start, size);
        /* A line with a NUL inside is no text: its copy would end there and could pass for another line. */
        if (strlen(line) == size && parse_line(line, name, ret_table))
            return TRUE;
    }
    return FALSE;
}
