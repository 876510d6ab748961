/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The configuration in force. The last run that changed something (an --apply or a hook) has put its configuration in
 * force, and the state keeps the text.
 */
#pragma once

#include "config/config.h"

/* Parses a text as IbhConfig has it. NULL: the text is invalid, or names a table that rt_tables no longer has. */
IbhConfig *ibh_config_from_text(const char *text, gboolean is_public, IbhTableLookup lookup);

/* Returns the configuration in force if it differs from `files`, or NULL if `files` is in force. `files` may be NULL:
 * the files cannot be used. */
IbhConfig *ibh_config_in_force(const IbhState *state, const IbhConfig *files, IbhTableLookup lookup);
