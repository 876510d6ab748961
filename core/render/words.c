/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Templates, and names that can stand in a file. */
#include "render/render.h"

#include <string.h>

void ibh_template_fill(GString *out, const char *template, const IbhValues *values)
{
    gsize group = 0;
    gboolean complete = TRUE;

    for (const char *at = template; *at; at++) {
        if (*at == '{') {
            group = out->len;
            complete = TRUE;
        } else if (*at == '}') {
            g_string_truncate(out, complete ? out->len : group);
        } else if (*at != '$') {
            g_string_append_c(out, *at);
        } else {
            const char *value = values->of[(guchar) * ++at];

            complete = complete && value;
            g_string_append(out, value ? value : "");
        }
    }
}

/* Names stand in files of many languages, in lists and beside patterns: only those that mean nothing in any are
 * written. */
gboolean ibh_render_is_plain(const char *name)
{
    return name[0] && !name[strspn(name, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "._-@+")];
}
