/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An --apply that was not confirmed: the plan that gives the state before it back, and what is remembered then. Pure.
 */
#pragma once

#include "plan/plan.h"

typedef struct {
    const IbhSnapshot *then; /* the state before: what stood, the NICs with their names, and what was remembered */
    const GPtrArray *made;   /* const IbhOp *: what the --apply did, or was about to do */
    const char *const *only; /* the interfaces of the trial, by their names then; NULL: all */
    gboolean tried;          /* to give the state before back; not all of it came */
} IbhTrial;

/* To what of ours stood before, on the NICs of the trial that are the same netdevs and about which nobody has decided
 * since. What stands for an address that came since stays. */
GPtrArray *ibh_trial_plan_back(const IbhRails *rails, const IbhTrial *trial);
/* These NICs stay as they are from now on, and are known as before. */
void ibh_trial_remember(const IbhTrial *trial, const IbhRails *rails, IbhState *state);
