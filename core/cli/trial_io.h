/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A trial is an --apply that waits for --confirm, and is taken back if no --confirm comes in time. */
#pragma once

#include "run/run.h"

#define IBH_LOCK_SECONDS 10 /* how long a command waits for the lock */

/* Call this just before the change. `confirm` is the SECONDS of --confirm; 0 without --confirm. The --apply joins the
 * trial that waits, if any; else, with --confirm, it begins a trial. A plan without operations begins no trial, and
 * joins one only with --confirm. If the time of the trial has long been over, an --apply of all NICs that begins no new
 * trial ends the old one. Sets `ret_seconds` to the time that the trial has left; 0 if the --apply is part of no trial.
 */
gboolean ibh_trial_begin(const IbhRun *run, const GPtrArray *plan, int confirm, guint *ret_seconds, GError **error);
/* Confirms the trial. Returns FALSE if no trial waits, which is an error of usage, or if the trial could not be ended.
 */
gboolean ibh_trial_confirm(const IbhRun *run, GError **error);
void ibh_trial_forget(const IbhRun *run); /* ends the trial: there is nothing left to confirm */
