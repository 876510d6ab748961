/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --apply --confirm SECONDS: a process that undoes it unless it is confirmed.
 */
#pragma once

#include "cli/options.h"

/* Starts it, just before a change. It has no terminal, no session and no descriptor of ours; it waits, and undoes the
 * change if the token in `options` still exists. */
typedef int (*IbhCommandAgain)(const IbhOptions *options, gboolean color, GString *out, GString *warnings);
gboolean ibh_confirm_start(const IbhOptions *options, IbhCommandAgain run, GError **error);
