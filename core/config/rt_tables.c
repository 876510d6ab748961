/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/config.h"

#include <string.h>

/* As `ip` reads it: decimal even with leading zeros, hexadecimal after 0x. */
gboolean ibh_table_parse(const char *text, guint32 *ret_table)
{
    gboolean hex = g_str_has_prefix(text, "0x");
    guint64 id;

    if (!g_ascii_string_to_unsigned(hex ? text + 2 : text, hex ? 16 : 10, 0, G_MAXUINT32, &id, NULL))
        return FALSE;
    *ret_table = (guint32)id;
    return TRUE;
}

/* Text after the name is ignored, as `ip` does. */
static gboolean parse_line(char *line, const char *name, guint32 *ret_table)
{
    static const char blanks[] = " \t\r\f\v";
    char *rest = NULL;
    const char *id = strtok_r(line, blanks, &rest);
    const char *word = strtok_r(NULL, blanks, &rest);

    return word && word[0] != '#' && g_str_equal(word, name) && ibh_table_parse(id, ret_table);
}

gboolean ibh_rt_tables_find(const char *text, gsize length, const char *name, guint32 *ret_table)
{
    const char *end = text + length, *stop;

    for (const char *at = text; at < end; at = stop + 1) {
        g_autofree char *line = NULL;

        stop = memchr(at, '\n', (gsize)(end - at));
        stop = stop ? stop : end;
        line = g_strndup(at, (gsize)(stop - at));
        if (strlen(line) == (gsize)(stop - at) && parse_line(line, name, ret_table)) /* with a NUL, it is no text */
            return TRUE;
    }
    return FALSE;
}
