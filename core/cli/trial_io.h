/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A trial is an --apply that waits for --confirm, and is taken back if no --confirm comes in time. */
#pragma once

#include "run/run.h"

#define IBH_LOCK_SECONDS 10 /* how long a command waits for the lock */

/* Call this just before an --apply runs its plan; if it returns FALSE, run nothing. `confirm` is the SECONDS of
 * --confirm; 0 without --confirm.
 * - If a trial waits, an --apply with --confirm, or with a plan that is not empty, joins the trial.
 * - If no trial waits, an --apply with --confirm and with a plan that is not empty begins a trial.
 * - A trial whose time has been over for some seconds no longer counts as waiting. Such a trial ends when another trial
 *   begins, or with an --apply of all NICs.
 * Sets `ret_seconds` to the time that the trial has left; 0 if no trial waits or begins. */
gboolean ibh_trial_begin(const IbhRun *run, const GPtrArray *plan, int confirm, guint *ret_seconds, GError **error);
/* Confirms the trial. Returns FALSE if there is no trial or its time is over, which is an error of usage
 * (G_OPTION_ERROR), or if the token could not be removed. */
gboolean ibh_trial_confirm(const IbhRun *run, GError **error);
void ibh_trial_forget(const IbhRun *run); /* ends the trial: there is nothing left to confirm */
