/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens the files of the configuration, and trusts none that others could have written.
 */
#pragma once

#include "config/config.h"

#include <sys/stat.h>

#define IBH_CONFIG_DIR "/etc/ib-hook"

/* `path`: only this file, or a directory with ib-hook.conf and conf.d; NULL: IBH_CONFIG_DIR. No file: the defaults. */
IbhConfig *ibh_config_load(const char *path, GError **error);

/* ---- files that root relies on: none that others could have written ---- */

/* The whole of a regular file of at most `limit` bytes that belongs to root (or to the user that runs this,
 * unprivileged) and that no other user can write. A missing file: FALSE with G_FILE_ERROR_NOENT. */
gboolean ibh_file_read_trusted(const char *path, gsize limit, char **ret_text, gsize *ret_length, GError **error);
/* For people to look at: a regular file, no link, of at most `limit` bytes, of any owner; NULL: there is none. */
char *ibh_file_read_shown(const char *path, gsize limit, gsize *ret_length);
/* To a new file, which is renamed: no reader, and no crash, sees half of it. */
gboolean ibh_file_write(const char *path, const char *text, GError **error);

/* Of a file or a directory. */
gboolean ibh_file_check_trusted(const struct stat *status, const char *path, GError **error);
/* Returns FALSE, with a message: the path, the problem, what to do. */
gboolean ibh_file_fail(const char *path, int number, GError **error);
