/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a row of the tables says of a case. */
#include "fabric/case.h"

#include <string.h>

void ibh_case_take(IbhCase *c, const char *word, char *text)
{
    g_hash_table_replace(c->words, g_strdup(word), text);
}

void ibh_case_say(IbhCase *c, const char *word, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    ibh_case_take(c, word, g_strdup_vprintf(format, args));
    va_end(args);
}
