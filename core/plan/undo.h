/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --undo: a plan that deletes what is ours. Pure.
 */
#pragma once

#include "plan/emit.h"

/* Deletes all that is ours on these interfaces, and restores sysctls. `after`: the rails as they will be when these
 * interfaces are held; NULL: none stays. */
IbhPlan *ibh_plan_undo(const IbhRails *rails, const IbhRails *after, const char *const *only);
