/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the options to an action.
 */
#pragma once

#include "cli/options.h"

/* The text for the user: `out` for standard output, `warnings` for standard error. Returns the exit status. */
int ibh_action(const IbhOptions *options, gboolean color, GString *out, GString *warnings);
