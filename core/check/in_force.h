/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The configuration in force is that of the last --apply, hook or reload of --watch, even if that run had nothing to
 * change. The state keeps the text of that configuration.
 */
#pragma once

#include "config/config.h"

/* Parses the text of a configuration, in the form of IbhConfig.text. `is_public`: all users may read the files of this
 * configuration. `lookup` finds the numbers of tables that the text names. Returns NULL if the text is invalid, or
 * names a table that `lookup` does not find, for example because rt_tables no longer has the table. "" is the text of
 * the defaults. */
IbhConfig *ibh_config_from_text(const char *text, gboolean is_public, IbhTableLookup lookup);

/* Returns the configuration in force, if `files`, the configuration in the files, differs; comments and blank lines do
 * not count. If the files are invalid, `files` is NULL, and always differs. Returns NULL if `files` is in force, or if
 * the state has no valid configuration. The caller frees the result. */
IbhConfig *ibh_config_in_force(const IbhState *state, const IbhConfig *files, IbhTableLookup lookup);

/* Returns advice for a person: how to put the files into force. After a trial that was not confirmed, the advice is to
 * correct the files first, because they may still have what cut the host off. `option` is "--config FILE " or "". */
char *ibh_config_apply_advice(const IbhState *state, const char *option);
