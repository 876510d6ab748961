/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/config.h"

#include <string.h>

/* ip(8) reads rt_tables the same way: a leading zero does not make a number octal. */
gboolean ibh_table_parse(const char *text, guint32 *ret_table)
{
    gboolean hex = g_str_has_prefix(text, "0x");
    guint64 id;

    if (!g_ascii_string_to_unsigned(hex ? text + 2 : text, hex ? 16 : 10, 0, G_MAXUINT32, &id, NULL))
        return FALSE;
    *ret_table = (guint32)id;
    return TRUE;
}

/* Ignores the text after the name, as ip(8) does. */
gboolean ibh_rt_tables_find(const char *text, gsize length, const char *name, guint32 *ret_table)
{
    static const char blanks[] = " \t\r\f\v";
    const char *end = text + length, *stop;

    for (const char *at = text; at < end; at = stop + 1) {
        g_autofree char *line = NULL;
        const char *id, *word;
        char *rest = NULL;

        stop = memchr(at, '\n', (gsize)(end - at));
        stop = stop ? stop : end;
        line = g_strndup(at, (gsize)(stop - at));
        if (strlen(line) < (gsize)(stop - at)) /* the line has a NUL, so it is not text */
            continue;
        id = strtok_r(line, blanks, &rest);
        word = strtok_r(NULL, blanks, &rest);
        if (word && word[0] != '#' && g_str_equal(word, name) && ibh_table_parse(id, ret_table))
            return TRUE;
    }
    return FALSE;
}
