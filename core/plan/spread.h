/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * main=spread: unbound traffic over all rails of a subnet, by multipath routes in a table of their own. Pure.
 */
#pragma once

#include "plan/emit.h"

/* TRUE if unbound traffic leaves by this NIC, too. */
gboolean ibh_spread_has(const IbhRails *rails, const IbhNic *nic);

GArray *ibh_want_spread(const IbhRails *rails); /* IbhRoute */

/* The difference, as one unit of its own. `rails` NULL: everything of main=spread is deleted. */
void ibh_emit_spread(IbhPlan *plan, const IbhSnapshot *snapshot, const IbhRails *rails);
