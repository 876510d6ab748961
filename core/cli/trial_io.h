/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A trial is an --apply that waits for --confirm, and is taken back without it. */
#pragma once

#include "run/run.h"

#define IBH_LOCK_SECONDS 10 /* how long a command waits for the lock */

/* Call this just before the change. Begins a trial of `confirm` seconds (0 without --confirm), or joins the trial that
 * waits. A plan without operations begins no trial, and joins one only with --confirm. Sets `ret_seconds` to the time
 * that the begun or joined trial has left; else to 0. */
gboolean ibh_trial_begin(const IbhRun *run, const GPtrArray *plan, int confirm, guint *ret_seconds, GError **error);
/* Confirms the trial. Returns FALSE if no trial waits, which is an error of usage, or if the trial could not be ended.
 */
gboolean ibh_trial_confirm(const IbhRun *run, GError **error);
void ibh_trial_forget(const IbhRun *run); /* ends the trial: there is nothing left to confirm */
