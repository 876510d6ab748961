/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/tokens_io.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define END ".confirm"

char *ibh_tokens_read(const IbhStore *store)
{
    g_autofree char *path = ibh_store_file(store, END);
    GString *tokens = ibh_file_read(path, NULL, NULL);

    return tokens ? g_string_free(tokens, FALSE) : NULL;
}

int ibh_tokens_open(const IbhStore *store)
{
    g_autofree char *path = ibh_store_file(store, END);

    return open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

char *ibh_tokens_read_open(int file, const char *unreadable)
{
    char tokens[1 << 16]; /* thousands */
    const ssize_t length = pread(file, tokens, sizeof tokens, 0);

    return length < 0 ? g_strdup(unreadable) : g_strndup(tokens, (gsize)length);
}

/* In place: those that wait have the file open. What cannot be written whole leaves it as long as it was. */
static gboolean write_at(int file, gsize at, const char *text, gsize length_before)
{
    const gsize length = strlen(text);
    gboolean whole;

    errno = ENOSPC; /* if only a part is written */
    whole = pwrite(file, text, length, (off_t)at) == (ssize_t)length;
    return ftruncate(file, (off_t)(whole ? at + length : length_before)) == 0 && whole;
}

gboolean ibh_tokens_add(const IbhStore *store, const char *token, GError **error)
{
    g_autofree char *path = ibh_store_file(store, END), *before = ibh_tokens_read(store);
    g_autofree char *line = g_strdup_printf("%s\n", token);
    const gsize length = before ? strlen(before) : 0;
    gboolean done;
    int file;

    if (!before) /* what has the name is no file of tokens */
        (void)unlink(path);
    file = open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | (before ? 0 : O_CREAT | O_EXCL), 0644);
    done = (file >= 0 && write_at(file, length, line, length)) || ibh_file_cannot("write", path, error);
    if (file >= 0)
        close(file);
    return done;
}

void ibh_tokens_drop(const IbhStore *store, const char *token)
{
    g_autofree char *path = ibh_store_file(store, END), *before = ibh_tokens_read(store);
    g_auto(GStrv) lines = g_strsplit(before ? before : "", "\n", -1);
    g_autoptr(GString) tokens = g_string_new(NULL);
    int file;

    for (char **line = lines; *line; line++) {
        if (**line && !g_str_equal(*line, token))
            g_string_append_printf(tokens, "%s\n", *line);
    }
    if (!tokens->len)
        (void)ibh_tokens_clear(store, NULL);
    else if ((file = open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)) >= 0) {
        (void)write_at(file, 0, tokens->str, strlen(before));
        close(file);
    }
}

/* Those that have it open see that it is empty; without that, a file that is removed says nothing to them. */
gboolean ibh_tokens_clear(const IbhStore *store, GError **error)
{
    g_autofree char *path = ibh_store_file(store, END);
    const int file = open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    const gboolean emptied = file < 0 || ftruncate(file, 0) == 0;

    if (file >= 0)
        close(file);
    return (emptied && (unlink(path) == 0 || errno == ENOENT)) || ibh_file_cannot("remove", path, error);
}
