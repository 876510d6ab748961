/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * desired − actual = an ordered list of operations. Pure: linked into its tests without libnl.
 */
#pragma once

#include "plan/emit.h"

/* `only`: names of interfaces the plan is restricted to (NULL-terminated), NULL for all. */
IbhPlan *ibh_plan_apply(const IbhRails *rails, const char *const *only);

/* Deletes all that is ours on these interfaces, and restores sysctls. `after`: the rails as they will be when these
 * interfaces are held; NULL: none stays. */
IbhPlan *ibh_plan_undo(const IbhRails *rails, const IbhRails *after, const char *const *only);

/* main=spread: TRUE if unbound traffic leaves by this NIC, too. */
gboolean ibh_spread_has(const IbhRails *rails, const IbhNic *nic);
