/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An --apply that was not confirmed: the plan that restores the state before it, and what is remembered after that
 * plan. Pure.
 */
#pragma once

#include "plan/plan.h"

typedef struct {
    const IbhSnapshot *then; /* the state before --apply: what stood, the NICs by name, what was remembered */
    const GPtrArray *made;   /* const IbhOp *: what the --apply did, or was about to do */
    const char *const *only; /* the interfaces of the trial, by their names then; NULL for all */
    gboolean tried;          /* an earlier attempt to restore the state was not complete */
} IbhTrial;

/* Returns the plan that restores our rules, routes and values from before the trial. The plan leaves out NICs of the
 * trial that are other netdevs now, or that a later --undo or --apply has decided about. If an address came during the
 * trial, our present rules for the address stay, and so do the routes that these rules use. */
GPtrArray *ibh_trial_plan_back(const IbhRails *rails, const IbhTrial *trial);
/* Holds or keeps the NICs that the plan restores, and restores what was remembered of them. */
void ibh_trial_remember(const IbhTrial *trial, const IbhRails *rails, IbhState *state);
