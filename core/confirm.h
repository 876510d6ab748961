/*
 * --apply --confirm SECONDS: a process that undoes it when nobody confirms.
 */
#pragma once

#include "options.h"

/* Starts it, before anything changes, and gives `options` the token by which it knows its --apply again. The process
 * has no terminal and no session; it waits, and undoes what was applied if its token is still there. */
gboolean ibh_confirm_start(IbhOptions *options, GError **error);
