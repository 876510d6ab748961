/*
 * desired − actual = an ordered list of operations. Pure: linked into its tests without libnl.
 */
#pragma once

#include "model/operation.h"
#include "plan/rails.h"

typedef struct {
    GPtrArray *ops; /* IbhOp * */
} IbhPlan;

/* Leaves only operations of one family; 0: both. */
void ibh_plan_keep_family(IbhPlan *plan, int family);
void ibh_plan_free(IbhPlan *plan);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IbhPlan, ibh_plan_free)

/* `only`: names of interfaces the plan is restricted to (NULL-terminated), NULL for all. */
IbhPlan *ibh_plan_apply(const IbhRails *rails, const char *const *only);

/* Takes away all that is ours on these interfaces, gives sysctls back. `after`: the rails as they will be when these
 * are held, NULL where none stays. */
IbhPlan *ibh_plan_undo(const IbhRails *rails, const IbhRails *after, const char *const *only);
