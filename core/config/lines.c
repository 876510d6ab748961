/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/config.h"

#include <net/if.h>
#include <string.h>

#define LINE_MAX_BYTES 1024u
#define SHOWN_MAX_BYTES 60u

/* Any bytes of a file, made short and harmless for a message: it ends in terminals and logs. */
static char *show(const char *text)
{
    g_autofree char *start = g_strndup(text, SHOWN_MAX_BYTES);
    g_autofree char *escaped = g_strescape(start, NULL);

    return g_strconcat(escaped, strlen(text) > SHOWN_MAX_BYTES ? "..." : "", NULL);
}

gboolean ibh_lines_fail(IbhLines *lines, const char *format, ...)
{
    g_autofree char *shown = show(lines->content);
    g_autofree char *why = NULL;
    va_list args;

    va_start(args, format);
    why = g_strdup_vprintf(format, args);
    va_end(args);
    g_set_error(lines->error, IBH_CONFIG_ERROR, 0, "%s:%u: %s%s%s", lines->file, lines->line, shown,
                shown[0] != '\0' ? ": " : "", why);
    return FALSE;
}

/* ---- sections ---- */

/* Characters that the kernel accepts in an interface's name. */
static gboolean is_name_byte(char byte)
{
    return strchr("/: \t", byte) == NULL && !g_ascii_iscntrl(byte);
}

/* Given the '[' of a set such as [0-3], returns the end of the set, or NULL if it is open, empty or runs backwards. A
 * nested '[' is refused: fnmatch may read it as a class whose meaning depends on the locale. */
static const char *skip_set(const char *open)
{
    const char *first = open + 1 + (open[1] == '!' || open[1] == '^' ? 1 : 0);
    const char *at = first;

    for (; *at != '\0' && (*at != ']' || at == first); at++) {
        if (*at == '[' || !is_name_byte(*at) || (at - first >= 2 && at[-1] == '-' && at[0] < at[-2]))
            return NULL;
    }
    return *at == ']' ? at + 1 : NULL;
}

/* A name that a network interface can have, or a glob that can match such a name. */
static gboolean parse_pattern(const char *text, guint *ret_rank)
{
    guint literals = 0;
    gboolean glob = FALSE;

    for (const char *at = text; *at != '\0';) {
        if (strchr("*?[", *at) == NULL) {
            if (!is_name_byte(*at))
                return FALSE;
            literals++;
            at++;
            continue;
        }
        glob = TRUE;
        at = *at == '[' ? skip_set(at) : at + 1;
        if (at == NULL)
            return FALSE;
    }
    if (text[0] == '\0' || literals >= IFNAMSIZ || strcmp(text, ".") == 0 || strcmp(text, "..") == 0)
        return FALSE;
    *ret_rank = glob ? IBH_RANK_GLOB + literals : IBH_RANK_EXACT;
    return TRUE;
}

static gboolean read_section(IbhLines *lines)
{
    gsize length = strlen(lines->content);
    g_autofree char *inner = NULL;
    g_autofree char *pattern = NULL;
    guint rank = IBH_RANK_DEFAULTS;

    if (lines->content[length - 1] != ']')
        return ibh_lines_fail(lines, "no ] at the end; use [defaults] or [interface NAME]");
    inner = g_strstrip(g_strndup(lines->content + 1, length - 2));
    if (strcmp(inner, "defaults") == 0) {
        pattern = g_strdup("");
    } else if (g_str_has_prefix(inner, "interface") && strcspn(inner, " \t") == 9) {
        pattern = g_strstrip(g_strdup(inner + 9));
        if (!parse_pattern(pattern, &rank))
            return ibh_lines_fail(lines,
                                  "not an interface's name; use 1-15 characters without blanks, / and :, or a glob of "
                                  "them with *, ? and [...]");
    } else {
        return ibh_lines_fail(lines, "unknown section; use [defaults] or [interface NAME]");
    }
    g_free(lines->pattern);
    lines->pattern = g_steal_pointer(&pattern);
    lines->rank = rank;
    return TRUE;
}

/* ---- lines ---- */

static gboolean check_text(IbhLines *lines, const char *line, gsize length)
{
    if (length > LINE_MAX_BYTES)
        return ibh_lines_fail(lines, "the line is too long; use at most %u bytes", LINE_MAX_BYTES);
    if (memchr(line, '\0', length) != NULL)
        return ibh_lines_fail(lines, "a NUL byte in the line; use plain text");
    if (!g_utf8_validate(line, (gssize)length, NULL))
        return ibh_lines_fail(lines, "not valid UTF-8; use plain text");
    for (gsize i = 0; i < length; i++) {
        if (g_ascii_iscntrl(line[i]) && line[i] != '\t')
            return ibh_lines_fail(lines, "a control character in the line; use plain text");
    }
    return TRUE;
}

/* A # begins a comment only at the start of a line or after a blank: `eth#1` has none. */
static void strip_comment(char *line)
{
    for (char *at = strchr(line, '#'); at != NULL; at = strchr(at + 1, '#')) {
        if (at == line || at[-1] == ' ' || at[-1] == '\t') {
            *at = '\0';
            return;
        }
    }
}

static gboolean read_line(IbhLines *lines, const char *line, gsize length)
{
    if (length > 0 && line[length - 1] == '\r')
        length--;
    g_free(lines->content);
    lines->content = g_strndup(line, length);
    if (!check_text(lines, line, length))
        return FALSE;
    strip_comment(lines->content);
    g_strstrip(lines->content);
    if (lines->content[0] == '\0')
        return TRUE;
    return lines->content[0] == '[' ? read_section(lines) : lines->on_setting(lines->data);
}

gboolean ibh_lines_read(IbhLines *lines, const char *text, gsize length)
{
    gsize size;

    for (gsize at = 0; at < length; at += size + 1) {
        const char *newline = memchr(text + at, '\n', length - at);

        size = newline != NULL ? (gsize)(newline - text) - at : length - at;
        lines->line++;
        if (!read_line(lines, text + at, size))
            return FALSE;
    }
    return TRUE;
}
