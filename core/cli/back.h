/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The way back of an --apply that was not confirmed: the plan that restores what stood before, and what the state
 * remembers afterwards. Pure.
 */
#pragma once

#include "plan/plan.h"

typedef struct {
    const IbhSnapshot *then; /* from before the --apply that began the trial */
    const GPtrArray *made;   /* const IbhOp *: the plan of the --apply that began the trial */
    const char *const *only; /* the interfaces of the trial, by the names in `then`; NULL for all */
    gboolean tried;          /* an earlier attempt to go back has saved its holds, but some operations failed */
} IbhTrial;

/* Returns the plan that restores our rules, routes and values from before the trial. The plan leaves out NICs of the
 * trial that have a new netdev since then, for example because the driver restarted, or that a later --undo or --apply
 * has decided about. If an address came during the trial, our present rules for the address stay, and so do the routes
 * that these rules use. */
GPtrArray *ibh_trial_plan_back(const IbhRails *rails, const IbhTrial *trial);
/* For the NICs that the plan restores, restores what was remembered, holds the NICs that were held before the trial,
 * and keeps the other NICs. The first attempt also holds the names of NICs that were held before the trial, and are
 * gone now or have a new netdev. */
void ibh_trial_remember(const IbhTrial *trial, const IbhRails *rails, IbhState *state);
