/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An --apply that was not confirmed: the plan that gives the state before it back, and what is remembered then. Pure.
 */
#pragma once

#include "plan/plan.h"

typedef struct {
    const GPtrArray *made;   /* const IbhOp *: what it did, or was about to do */
    const IbhSnapshot *then; /* what it saw: the NICs with their names, and what was remembered before */
    gboolean tried;          /* to give the state before back; not all of it came */
} IbhTrial;

/* What is no longer as it was left stays; so does what --undo, or after a first try --apply, has decided on since, and
 * what hooks did on a netdev that is another one now. */
GPtrArray *ibh_trial_plan_back(const IbhRails *rails, const IbhTrial *trial);
/* The NICs, but for those, stay as they are from now on, and are known as before. */
void ibh_trial_remember(const IbhTrial *trial, const IbhRails *rails, IbhState *state);
