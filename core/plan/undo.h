/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --undo: a plan that takes back what is ours. Pure.
 */
#pragma once

#include "plan/emit.h"

/* Takes away all that is ours on these interfaces, gives sysctls back. `after`: the rails as they will be when these
 * are held, NULL where none stays. */
IbhPlan *ibh_plan_undo(const IbhRails *rails, const IbhRails *after, const char *const *only);
