/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs a plan: in order, all or nothing per unit. It reaches the kernel through one function, so that tests can replace
 * the kernel.
 */
#pragma once

#include "plan/emit.h"

typedef gboolean (*IbhExecute)(gpointer kernel, const IbhOp *op, GError **error);

typedef struct {
    GPtrArray *done;   /* const IbhOp *: operations that were done and not rolled back, in order */
    GPtrArray *errors; /* char *: one message per unit that failed and was rolled back */
} IbhOutcome;

IbhOutcome *ibh_apply(const IbhPlan *plan, IbhExecute execute, gpointer kernel);
void ibh_outcome_free(IbhOutcome *outcome);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IbhOutcome, ibh_outcome_free)
