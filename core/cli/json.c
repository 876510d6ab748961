/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/json.h"

IbhJson *ibh_json_new(void)
{
    IbhJson *json = g_new0(IbhJson, 1);

    json->text = g_string_new(NULL);
    return json;
}

char *ibh_json_finish(IbhJson *json)
{
    char *text = g_string_free(json->text, FALSE);

    g_free(json);
    return text;
}

static void append_string(GString *text, const char *value)
{
    g_autofree char *valid = g_utf8_make_valid(value, -1);

    g_string_append_c(text, '"');
    for (const char *at = valid; *at; at++) {
        guchar c = (guchar)*at;

        if (c == '"' || c == '\\')
            g_string_append_printf(text, "\\%c", c);
        else if (c == '\n')
            g_string_append(text, "\\n");
        else if (c < 0x20 || c == 0x7f)
            g_string_append_printf(text, "\\u%04x", c);
        else
            g_string_append_c(text, (char)c);
    }
    g_string_append_c(text, '"');
}

static void begin(IbhJson *json, const char *key)
{
    if (json->comma)
        g_string_append_c(json->text, ',');
    json->comma = TRUE;
    if (key) {
        append_string(json->text, key);
        g_string_append_c(json->text, ':');
    }
}

void ibh_json_open(IbhJson *json, const char *key, char bracket)
{
    begin(json, key);
    g_string_append_c(json->text, bracket);
    json->comma = FALSE;
}

void ibh_json_close(IbhJson *json, char bracket)
{
    g_string_append_c(json->text, bracket);
    json->comma = TRUE;
}

void ibh_json_string(IbhJson *json, const char *key, const char *value)
{
    begin(json, key);
    if (value)
        append_string(json->text, value);
    else
        g_string_append(json->text, "null");
}

void ibh_json_int(IbhJson *json, const char *key, gint64 value)
{
    begin(json, key);
    g_string_append_printf(json->text, "%" G_GINT64_FORMAT, value);
}

void ibh_json_milli(IbhJson *json, const char *key, gint64 thousandths)
{
    const char *sign = thousandths < 0 ? "-" : "";
    guint64 size = thousandths < 0 ? 0 - (guint64)thousandths : (guint64)thousandths;

    begin(json, key);
    g_string_append_printf(json->text, "%s%" G_GUINT64_FORMAT ".%03u", sign, size / 1000, (guint)(size % 1000));
}

void ibh_json_bool(IbhJson *json, const char *key, gboolean value)
{
    begin(json, key);
    g_string_append(json->text, value ? "true" : "false");
}
