/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file of rt_tables: every word in it is looked for as a name. What is found, and with which number, has to be what
 * the grammar says, which stands here a second time, byte by byte: [blanks] ID blanks NAME [blanks …].
 */
#include "broken.h"
#include "config/config.h"

#include <stdint.h>
#include <string.h>

#define WORDS_MAX 64 /* each is looked for in the whole file */
#define UNTOUCHED 4711u

static gboolean is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\f' || byte == '\v';
}

static gboolean is_number(const char **at, const char *end, guint64 *ret_number)
{
    gboolean hex = end - *at >= 2 && (*at)[0] == '0' && (*at)[1] == 'x';
    const char *first;

    *ret_number = 0;
    for (first = *at += hex ? 2 : 0; *at < end && !is_blank(**at); ++*at) {
        if (!(hex ? g_ascii_isxdigit(**at) : g_ascii_isdigit(**at)))
            return FALSE;
        *ret_number = *ret_number * (hex ? 16 : 10) + (guint64)g_ascii_xdigit_value(**at);
        if (*ret_number > G_MAXUINT32)
            return FALSE;
    }
    return *at > first;
}

static gboolean line_gives(const char *at, const char *end, const char *name, guint64 *ret_number)
{
    gsize length = strlen(name);

    if (name[0] == '#' || memchr(at, '\0', (gsize)(end - at)))
        return FALSE;
    while (at < end && is_blank(*at))
        at++;
    if (!is_number(&at, end, ret_number))
        return FALSE;
    while (at < end && is_blank(*at))
        at++;
    return (gsize)(end - at) >= length && memcmp(at, name, length) == 0 && (at + length == end || is_blank(at[length]));
}

static gboolean file_gives(const char *text, gsize size, const char *name, guint64 *ret_number)
{
    const char *end = text + size;

    for (const char *at = text; at < end;) {
        const char *newline = memchr(at, '\n', (gsize)(end - at)), *stop = newline ? newline : end;

        if (line_gives(at, stop, name, ret_number))
            return TRUE;
        at = stop + 1;
    }
    return FALSE;
}

static void look_for(const char *text, gsize size, const char *name)
{
    guint64 number = 0;
    guint32 table = UNTOUCHED;
    gboolean there = file_gives(text, size, name, &number);

    if (ibh_rt_tables_find(text, size, name, &table) != there)
        broken("%s is %s", name, there ? "there, and not found" : "found, and not there");
    if (table != (there ? number : UNTOUCHED))
        broken("%s is %u instead of %" G_GUINT64_FORMAT, name, table, there ? number : UNTOUCHED);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data, *end = text + size;
    guint32 table;
    int words = 0;

    if (ibh_rt_tables_find(text, size, "", &table))
        broken("a table without a name");
    look_for(text, size, "rail1");
    for (const char *at = text; at < end && words < WORDS_MAX; words++) {
        g_autofree char *word = NULL;
        const char *first = at;

        while (at < end && *at && *at != '\n' && !is_blank(*at))
            at++;
        word = g_strndup(first, (gsize)(at - first));
        if (*word)
            look_for(text, size, word);
        at++;
    }
    return 0;
}
