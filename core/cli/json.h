/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes JSON into a string. Pure.
 */
#pragma once

#include <glib.h>

typedef struct {
    GString *text;
    gboolean comma; /* before the next value */
} IbhJson;

IbhJson *ibh_json_new(void);
char *ibh_json_finish(IbhJson *json); /* frees the writer, returns the text */

void ibh_json_open(IbhJson *json, const char *key, char bracket); /* '{' or '['; key NULL: inside an array */
void ibh_json_close(IbhJson *json, char bracket);
void ibh_json_string(IbhJson *json, const char *key, const char *value); /* NULL: null; invalid UTF-8 is replaced */
void ibh_json_int(IbhJson *json, const char *key, gint64 value);
void ibh_json_milli(IbhJson *json, const char *key, gint64 thousandths); /* 1234: 1.234 */
void ibh_json_bool(IbhJson *json, const char *key, gboolean value);
