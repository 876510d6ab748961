/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens the files of the configuration, and trusts none that others could have written.
 */
#pragma once

#include "config/config.h"

#define IBH_CONFIG_DIR "/etc/ib-hook"

/* The whole of a regular file of at most `limit` bytes that belongs to root (or to the user that runs this,
 * unprivileged) and that no other user can write. A missing file: FALSE with G_FILE_ERROR_NOENT. */
gboolean ibh_file_read_trusted(const char *path, gsize limit, char **ret_text, gsize *ret_length, GError **error);

/* For people to look at: a regular file, no link, of at most `limit` bytes, of any owner; NULL: there is none. */
char *ibh_file_read_shown(const char *path, gsize limit, gsize *ret_length);

/* `path`: only this file, or a directory with ib-hook.conf and conf.d; NULL: IBH_CONFIG_DIR. No file: the defaults. */
IbhConfig *ibh_config_load(const char *path, GError **error);
