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
 * present value is ours. The plan leaves three kinds of the trial's NICs alone:
 * - NICs whose netdev is new since the trial began, for example because a driver restarted.
 * - NICs that an --undo after the beginning of the trial holds.
 * - After the first attempt to take the trial back: NICs about which --undo or --apply has decided since that attempt,
 *   and NICs that ibh_trial_remember() did not cover at that attempt.
 * If an address came during the trial, our present rules for the address stay, and so do the routes that these rules
 * use. */
GPtrArray *ibh_trial_plan_back(const IbhRails *rails, const IbhTrial *trial);
/* Updates `state` after that plan. Covers a NIC of the trial if the plan does not leave the NIC alone, and the NIC is a
 * candidate without manage=no or was changed by the --apply. `state` then gets back the NIC's table and known rail from
 * before the trial. If the NIC was held before the trial, `state` holds it again, and otherwise keeps it from now on.
 * The first attempt also holds the name of each NIC of the trial that was held before the trial, and that is gone now
 * or has a new netdev. */
void ibh_trial_remember(const IbhTrial *trial, const IbhRails *rails, IbhState *state);
