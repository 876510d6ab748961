/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * desired − actual = an ordered list of operations. Pure: linked into its tests without libnl.
 */
#pragma once

#include "plan/emit.h"

/* `only`: names of interfaces the plan is restricted to (NULL-terminated), NULL for all. */
IbhPlan *ibh_plan_apply(const IbhRails *rails, const char *const *only);
