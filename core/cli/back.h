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
    const char *const *only; /* names of the trial's interfaces, compared with the names in `then`; NULL for all */
    gboolean tried;          /* an earlier attempt to take the trial back has saved the state, but operations failed */
} IbhTrial;

/* Returns the plan that restores our rules and routes from before the trial, and the old values of those sysctls whose
 * present value is ours. Of the trial's NICs, the plan leaves three kinds alone: NICs whose netdev is new since the
 * trial began, for example because a driver restarted; NICs that an --undo after the beginning of the trial holds; and,
 * after the first attempt to take the trial back, NICs about which --undo or --apply has decided since that attempt, or
 * that did not concern it (see ibh_trial_remember()). If an address came during the trial, our present rules for the
 * address stay, and so do the routes that these rules use. */
GPtrArray *ibh_trial_plan_back(const IbhRails *rails, const IbhTrial *trial);
/* Updates `state` after that plan. Of the trial's NICs that the plan does not leave alone, this concerns the candidates
 * without manage=no, and the NICs that the --apply changed. For such a NIC, `state` gets back what it remembered of the
 * NIC before the trial: its table, and its known rail. If the NIC was held before the trial, it is held again;
 * otherwise, it is kept from now on. The first attempt also holds the name of each NIC of the trial that was held
 * before the trial, and that is gone now or has a new netdev. */
void ibh_trial_remember(const IbhTrial *trial, const IbhRails *rails, IbhState *state);
