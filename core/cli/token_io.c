/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/token_io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SUFFIX ".confirm" /* of the file's name */
#define OPEN_FLAGS (O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)

void ibh_token_clear(IbhToken *token)
{
    g_clear_pointer(&token->ifaces, g_strfreev);
    token->process = 0;
}

/* Parses "PROCESS END [INTERFACE...]". Without the two numbers, the token is empty. Without interfaces, `ifaces` is
 * NULL. */
static IbhToken parse_token(const char *text)
{
    IbhToken token = {.process = 0};
    int length = 0;

    if (sscanf(text, "%d %" G_GINT64_FORMAT " %n", &token.process, &token.end, &length) < 2) {
        token.process = 0;
        return token;
    }
    if (text[length]) {
        g_autofree char *names = g_strstrip(g_strdup(text + length));

        token.ifaces = g_strsplit(names, " ", -1);
    }
    return token;
}

IbhToken ibh_token_read(const IbhStore *store)
{
    g_autofree char *path = store ? ibh_store_file(store, SUFFIX) : NULL;
    g_autoptr(GString) text = path ? ibh_file_read(path, NULL, NULL) : NULL;

    return parse_token(text ? text->str : "");
}

int ibh_token_open(const IbhStore *store)
{
    g_autofree char *path = ibh_store_file(store, SUFFIX);

    return open(path, O_RDONLY | OPEN_FLAGS);
}

gboolean ibh_token_read_open(int file, IbhToken *ret_token)
{
    char text[1 << 16]; /* enough for the names of thousands of interfaces */
    const ssize_t length = pread(file, text, sizeof text - 1, 0);

    text[MAX(length, 0)] = '\0';
    *ret_token = parse_token(text);
    return length >= 0;
}

/* Overwrites the file instead of renaming a new file to its name: the process that waits has the file open, and would
 * not see a new file. If the line cannot be written whole, puts the old content back; a new file stays empty. */
gboolean ibh_token_write(const IbhStore *store, const IbhToken *token, GError **error)
{
    g_autofree char *path = ibh_store_file(store, SUFFIX);
    g_autofree char *names = token->ifaces ? g_strjoinv(" ", token->ifaces) : g_strdup("");
    g_autofree char *line = g_strdup_printf("%d %" G_GINT64_FORMAT " %s\n", token->process, token->end, names);
    const gssize length = (gssize)strlen(line);
    g_autoptr(GString) before = ibh_file_read(path, NULL, NULL);
    gboolean done;
    int file;

    if (!before) /* a file that we cannot read or trust is not ours */
        (void)unlink(path);
    file = open(path, O_WRONLY | OPEN_FLAGS | (before ? 0 : O_CREAT | O_EXCL), 0644);
    if (file < 0)
        return ibh_file_cannot("write", path, error);
    errno = ENOSPC; /* a short write sets no errno */
    done = pwrite(file, line, (gsize)length, 0) == length && ftruncate(file, length) == 0;
    if (!done) {
        ibh_file_cannot("write", path, error);
        if (before)
            (void)!pwrite(file, before->str, before->len, 0);
        (void)!ftruncate(file, before ? (off_t)before->len : 0);
    }
    close(file);
    return done;
}

gboolean ibh_token_remove(const IbhStore *store, GError **error)
{
    g_autofree char *path = store ? ibh_store_file(store, SUFFIX) : NULL;
    gboolean is_empty;
    int file;

    if (!path)
        return TRUE;
    /* Empty the file first: the process that waits has the file open, and takes the missing line for a confirmation. */
    file = open(path, O_WRONLY | OPEN_FLAGS);
    if (file < 0 && errno == ENOENT)
        return TRUE;
    is_empty = file >= 0 && ftruncate(file, 0) == 0;
    if (file >= 0)
        close(file);
    if (is_empty && (unlink(path) == 0 || errno == ENOENT))
        return TRUE;
    return ibh_file_cannot("remove", path, error);
}
