/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds missing rails, for commands and for --watch.
 */
#pragma once

#include "plan/known.h"

/* Returns the NICs (IbhKnownRail) that should be rails, but are gone, down or lack something; with `all`, also those
 * with IBH_IS_THERE. A NIC should be a rail if it is a known rail that is not forgotten (IBH_FORGOTTEN), or if it has a
 * section of its own with manage=yes. An entry that comes from a section alone has no slot, hardware or addresses. */
GArray *ibh_missing_list(const IbhRails *rails, const IbhConfig *config, gboolean all);
/* Returns the same list, but checks in sysfs whether hardware that seems to be gone is elsewhere (IBH_ELSEWHERE;
 * missing_io.c). The configuration is for the network namespace of process 1, so in any other namespace the list has no
 * entries with IBH_NO_SUCH_NIC. */
GArray *ibh_missing_find(const IbhRails *rails, const IbhConfig *config, const char *sysfs, gboolean all);

/* FALSE if the rail is there, is forgotten, was taken down on purpose, or is elsewhere. */
gboolean ibh_missing_is_fault(IbhMissing missing);
/* "its link has no carrier", for the end of a sentence; NULL for a rail that is there or forgotten. */
const char *ibh_missing_text(IbhMissing missing);

/* Finds the rail `now` in an earlier list, `known`. Returns the rail that has the slot of `now`. If no rail has this
 * slot, returns a rail that has the name of `now`, unless both have slots: different slots are different hardware. If
 * `now` has no slot, prefers a rail of this name without a slot. NULL if the list lacks the rail. */
const IbhKnownRail *ibh_missing_find_same(const GArray *known, const IbhKnownRail *now);
