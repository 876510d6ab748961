/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A report in all its languages: each is what its readers can read, and shows nothing that they would not see.
 */
#pragma once

#include "broken.h"
#include "cli/cli.h"

#include <string.h>

/* ---- characters ---- */

/* Control characters, marks for the direction of text, without a width, or that are none. */
static inline gboolean is_hidden(gunichar c)
{
    const GUnicodeType type = g_unichar_type(c);

    return type <= G_UNICODE_UNASSIGNED || type == G_UNICODE_SURROGATE || type == G_UNICODE_LINE_SEPARATOR ||
           type == G_UNICODE_PARAGRAPH_SEPARATOR;
}

/* The length of one of our own colours, "\033[31m"; 0: none is here. */
static inline gsize color_length(const char *at)
{
    if (strncmp(at, "\033[0m", 4) == 0)
        return 4;
    return strncmp(at, "\033[3", 3) == 0 && strchr("123", at[3]) && at[4] == 'm' ? 5 : 0;
}

static inline void check_characters(const char *text, gboolean color)
{
    if (!g_utf8_validate(text, -1, NULL))
        broken("a report is no UTF-8");
    for (const char *at = text; *at; at = g_utf8_find_next_char(at, NULL)) {
        for (gsize n = color ? color_length(at) : 0; n; n = color_length(at))
            at += n;
        if (!*at)
            return;
        if (*at != '\n' && is_hidden(g_utf8_get_char(at)))
            broken("the character U+%04X in a report", g_utf8_get_char(at));
    }
}

/* ---- JSON ---- */

/* Returns what follows. */
static inline const char *pass_string(const char *at)
{
    if (*at++ != '"')
        broken("JSON: no string at %s", at - 1);
    for (; *at != '"'; at++) {
        if ((guchar)*at < 0x20)
            broken("JSON: a string without an end, or a control character in it");
        if (*at != '\\')
            continue;
        at++;
        if (!strchr("\"\\/bfnrtu", *at) || (*at == 'u' && strspn(at + 1, "0123456789abcdefABCDEF") < 4))
            broken("JSON: an escape that is none: %s", at - 1);
    }
    return at + 1;
}

static inline const char *pass_word(const char *at)
{
    static const char *const words[] = {"true", "false", "null"};
    char *end;

    for (gsize i = 0; i < G_N_ELEMENTS(words); i++) {
        if (g_str_has_prefix(at, words[i]))
            return at + strlen(words[i]);
    }
    (void)g_ascii_strtod(at, &end);
    if (end == at || !strchr("-0123456789", *at) || strcspn(at, "xXnNiI") < (gsize)(end - at))
        broken("JSON: no value at %s", at);
    return end;
}

#define DEPTH_MAX 16

/* A value, without blanks, as we write it. `open` holds the brackets that are to be closed. */
static inline void check_json(const char *text)
{
    char open[DEPTH_MAX + 1] = "";
    gsize depth = 0;
    const char *at = text;
    gboolean expects = TRUE, fresh = FALSE; /* a value has to come; just behind an opening bracket */

    do {
        if (fresh && *at == open[depth - 1]) {
            expects = FALSE;
        } else if (expects) {
            if (depth && open[depth - 1] == '}') {
                at = pass_string(at);
                if (*at++ != ':')
                    broken("JSON: a key without a value");
            }
            fresh = *at == '{' || *at == '[';
            expects = fresh;
            if (fresh && depth == DEPTH_MAX)
                broken("JSON: too deep");
            if (fresh)
                open[depth++] = *at++ == '{' ? '}' : ']';
            else
                at = *at == '"' ? pass_string(at) : pass_word(at);
            continue;
        }
        fresh = FALSE;
        expects = *at == ',';
        if (!depth || (*at != ',' && *at != open[depth - 1]))
            broken("JSON: neither a comma nor an end at %s", at);
        depth -= *at++ == ',' ? 0 : 1;
    } while (depth);
    if (!g_str_equal(at, "\n"))
        broken("JSON: more than one line, or none");
}

/* ---- Prometheus ---- */

/* Returns what follows. */
static inline const char *pass_name(const char *at)
{
    const gsize length = strspn(at, "abcdefghijklmnopqrstuvwxyz_");

    if (!length)
        broken("Prometheus: no name at %s", at);
    return at + length;
}

static inline const char *pass_labels(const char *at)
{
    do {
        at = pass_name(at + 1);
        if (*at++ != '=' || *at++ != '"')
            broken("Prometheus: a label without a value");
        for (; *at && *at != '"'; at++) {
            if (*at == '\\' && !strchr("\\\"n", *++at))
                broken("Prometheus: an escape that is none");
        }
        if (*at++ != '"')
            broken("Prometheus: a label without an end");
    } while (*at == ',');
    if (*at != '}')
        broken("Prometheus: labels without an end");
    return at + 1;
}

static inline void check_series(const char *line, GHashTable *seen)
{
    const char *at = pass_name(line);
    char *end;

    at = *at == '{' ? pass_labels(at) : at;
    if (!g_hash_table_add(seen, g_strndup(line, (gsize)(at - line))))
        broken("Prometheus: twice: %s", line);
    if (*at != ' ' || (g_ascii_strtod(at + 1, &end), end == at + 1) || *end)
        broken("Prometheus: no number: %s", line);
}

static inline void check_prometheus(const char *text)
{
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    const guint n = g_strv_length(lines);

    if (!n || lines[n - 1][0])
        broken("Prometheus: the last line has no end");
    for (guint i = 0; i + 1 < n; i++) {
        if (g_str_has_prefix(lines[i], "# TYPE "))
            (void)(g_str_has_suffix(pass_name(lines[i] + 7), " gauge") ? 0 : (broken("Prometheus: %s", lines[i]), 0));
        else if (g_str_has_prefix(lines[i], "# HELP "))
            (void)pass_name(lines[i] + 7);
        else
            check_series(lines[i], seen);
    }
}

/* ---- all ---- */

static inline void check_report(const IbhReport *report)
{
    static const IbhStyle styles[] = {{.verbose = TRUE}, {.width = 80, .color = TRUE}, {.width = 20}, {.quiet = TRUE}};
    g_autofree char *json = ibh_report(report, ibh_report_json, &(IbhStyle){.verbose = TRUE});

    check_characters(json, FALSE);
    check_json(json);
    for (gsize i = 0; i < G_N_ELEMENTS(styles); i++) {
        g_autofree char *text = ibh_report(report, ibh_report_text, &styles[i]);

        check_characters(text, styles[i].color);
    }
    if (report->findings) {
        g_autofree char *series = ibh_report(report, ibh_report_prometheus, &(IbhStyle){0});

        check_characters(series, FALSE);
        check_prometheus(series);
    }
}
