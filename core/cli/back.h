/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a trial is taken back: the plan that restores what stood before, and what the state remembers afterwards. A trial
 * is an --apply that waits for --confirm (trial_io.h). Pure.
 */
#pragma once

#include "plan/plan.h"

typedef struct {
    const IbhSnapshot *then; /* from before the --apply that began the trial */
    const GPtrArray *made;   /* const IbhOp *: the plan of the --apply that began the trial */
    const char *const *only; /* the interfaces of the trial, by the names in `then`; NULL for all */
    gboolean tried;          /* an earlier attempt to take the trial back has saved the state, but operations failed */
} IbhTrial;

/* Returns the plan that restores our rules, routes and sysctl values from before the trial. The plan leaves a NIC of
 * the trial out if the NIC has had a new netdev since then, for example because its driver restarted, or if a later
 * --undo or --apply has decided about the NIC. If an address came during the trial, our present rules for the address
 * stay, and so do the routes that these rules use. */
GPtrArray *ibh_trial_plan_back(const IbhRails *rails, const IbhTrial *trial);
/* Updates `state` after that plan. For each NIC that the plan restores, `state` gets back what it remembered of the NIC
 * before the trial: its table, and its known rail. A NIC that was held before the trial is held again; the other NICs
 * are kept from now on. The first attempt also holds the name of each NIC that was held before the trial, and that is
 * gone now or has a new netdev. */
void ibh_trial_remember(const IbhTrial *trial, const IbhRails *rails, IbhState *state);
