/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/model.h"

#include <errno.h>
#include <string.h>

char *ibh_shell_word(const char *word)
{
    for (const char *at = word; *at; at++) {
        if (!g_ascii_isalnum(*at) && !strchr("._:@%+=/-", *at))
            return g_shell_quote(word);
    }
    return g_strdup(word);
}

char *ibh_printable(const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    GString *out = g_string_new(NULL);

    for (char *at = valid; *at; at = g_utf8_next_char(at)) {
        gunichar c = g_utf8_get_char(at);

        g_string_append_unichar(out, g_unichar_isprint(c) ? c : '?');
    }
    return g_string_free(out, FALSE);
}

const char *ibh_strerror(int number)
{
    return number == EMFILE || number == ENFILE
               ? "Too many open files: raise the limit of its caller (ulimit -n, LimitNOFILE=)"
               : strerror(number);
}
