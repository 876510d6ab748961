/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens the files of the configuration, and trusts none that others could have written.
 */
#pragma once

#include "config/config.h"

#define IBH_CONFIG_DIR "/etc/ib-hook"

/* `path`: only this file, or a directory with ib-hook.conf and conf.d; NULL: IBH_CONFIG_DIR. No file: the defaults. */
IbhConfig *ibh_config_load(const char *path, GError **error);
