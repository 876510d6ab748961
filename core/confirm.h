/*
 * --apply --confirm SECONDS: a process that undoes it when nobody confirms.
 */
#pragma once

#include "options.h"

/* Starts it, just before something changes. It has no terminal, no session and no descriptor of ours; it waits, and
 * undoes what was applied if the token in `options` is still there. */
gboolean ibh_confirm_start(const IbhOptions *options, GError **error);
