/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/tokens_io.h"

#include <errno.h>
#include <unistd.h>

#define END ".confirm"

char *ibh_tokens_read(const IbhStore *store, const char *unreadable)
{
    g_autofree char *path = ibh_store_file(store, END);
    g_autoptr(GError) problem = NULL;
    GString *tokens = ibh_file_read(path, TRUE, NULL, &problem);

    if (tokens)
        return g_string_free(tokens, FALSE);
    return g_error_matches(problem, G_FILE_ERROR, G_FILE_ERROR_NOENT) ? NULL : g_strdup(unreadable);
}

gboolean ibh_tokens_add(const IbhStore *store, const char *token, GError **error)
{
    g_autofree char *path = ibh_store_file(store, END), *before = ibh_tokens_read(store, NULL);
    g_autofree char *tokens = g_strdup_printf("%s%s\n", before ? before : "", token);

    return ibh_file_write(path, tokens, error);
}

void ibh_tokens_drop(const IbhStore *store, const char *token)
{
    g_autofree char *path = ibh_store_file(store, END), *before = ibh_tokens_read(store, NULL);
    g_auto(GStrv) lines = g_strsplit(before ? before : "", "\n", -1);
    g_autoptr(GString) tokens = g_string_new(NULL);

    for (char **line = lines; *line; line++) {
        if (**line && !g_str_equal(*line, token))
            g_string_append_printf(tokens, "%s\n", *line);
    }
    if (tokens->len)
        (void)ibh_file_write(path, tokens->str, NULL);
    else
        (void)ibh_tokens_clear(store, NULL);
}

gboolean ibh_tokens_clear(const IbhStore *store, GError **error)
{
    g_autofree char *path = ibh_store_file(store, END);
    const int problem = unlink(path) < 0 ? errno : 0;

    if (!problem || problem == ENOENT)
        return TRUE;
    g_set_error(error, G_FILE_ERROR, (gint)g_file_error_from_errno(problem), "cannot remove %s: %s", path,
                ibh_errno_text(problem));
    return FALSE;
}
