/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/in_force.h"

#include <string.h>

IbhConfig *ibh_config_from_text(const char *text, gboolean is_public, IbhTableLookup lookup)
{
    g_autoptr(IbhConfig) config = ibh_config_new();
    g_auto(GStrv) files = NULL;

    if (*text && !g_str_has_prefix(text, IBH_FILE_BEGINS))
        return NULL;
    files = g_strsplit(*text ? text + strlen(IBH_FILE_BEGINS) : text, IBH_FILE_BEGINS, -1);
    /* Each element is the name of a file, then the file's lines. In IbhConfig.text, a newline stands before each line.
     * ibh_config_add() expects a newline after each line, so the last line gets one: without this newline, a blank last
     * line would be lost. */
    for (char **file = files; *file; file++) {
        char *name_end = strchrnul(*file, '\n');
        g_autofree char *lines = *name_end ? g_strconcat(name_end + 1, "\n", NULL) : g_strdup("");

        *name_end = '\0';
        if (!ibh_config_add(config, *file, lines, strlen(lines), lookup, is_public, NULL))
            return NULL;
    }
    return g_steal_pointer(&config);
}

/* TRUE if two texts are equal apart from blank lines. In IbhConfig.text, a line with only a comment is blank, so
 * comments do not count either. */
static gboolean are_equal_texts(const char *text, const char *other)
{
    gsize length;

    do {
        text += strspn(text, "\n");
        other += strspn(other, "\n");
        length = strcspn(text, "\n");
        if (length != strcspn(other, "\n") || memcmp(text, other, length) != 0)
            return FALSE;
        text += length;
        other += length;
    } while (length); /* 0 only at the end of both texts, because blank lines are skipped */
    return TRUE;
}

IbhConfig *ibh_config_in_force(const IbhState *state, const IbhConfig *files, IbhTableLookup lookup)
{
    if (!state->config || (files && are_equal_texts(state->config, files->text->str)))
        return NULL;
    return ibh_config_from_text(state->config, !state->is_private, lookup);
}

char *ibh_config_apply_advice(const IbhState *state, const char *option)
{
    return g_strdup_printf(state->kept->len ? "correct the configuration first (its trial was not confirmed), "
                                              "and try it: sudo ib-hook %s--apply --confirm 60"
                                            : "sudo ib-hook %s--apply",
                           option);
}
