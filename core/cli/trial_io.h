/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A trial: an --apply that waits for --confirm, and else is taken back. */
#pragma once

#include "run/run.h"

#define IBH_LOCK_SECONDS 10 /* a command waits for the lock */

/* Just before the change: begins a trial of so many seconds (0: none was asked for), or takes part in the one that
 * waits. `ret_seconds`: it waits for so long; 0: none does. */
gboolean ibh_trial_begin(const IbhRun *run, const GPtrArray *plan, int confirm, guint *ret_seconds, GError **error);
/* --confirm. FALSE: nothing waits, which is an error of usage, or it could not be ended. */
gboolean ibh_trial_confirm(const IbhRun *run, GError **error);
void ibh_trial_forget(const IbhRun *run); /* there is nothing left to confirm */
