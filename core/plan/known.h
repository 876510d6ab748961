/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hardware that was a rail. It is remembered, so that a cable that is out, or a card that is gone, is missed: whether
 * its manager takes the address away or leaves it, and whether that was before the boot or after it. Pure.
 */
#pragma once

#include "plan/rails.h"

/* What a rail that shall be remembered looks like now; its slot and since when it is missing are as in `known`, slot
 * "": not known. A family that it lost stays known, unless this is `all` that it shall have. FALSE: it is none, or
 * nothing that stays (a virtual function, a VLAN, a bond). */
gboolean ibh_known_of(const IbhRails *rails, const IbhNic *nic, const GArray *known, gboolean all,
                      IbhKnownRail *ret_known);
/* Hardware, or a family of one, is in one list alone. Names, addresses and times come and go. */
gboolean ibh_known_differ(const GArray *before, const GArray *after);
/* In the place of what is known of the same hardware, or was in its slot. What only had its name, and is in another
 * slot, is another one. */
void ibh_known_put(GArray *known, const IbhKnownRail *now);

const IbhLink *ibh_known_link(const IbhSnapshot *snapshot, const IbhKnownRail *known); /* NULL: it is not here */
/* Finds its link, and why it is missing. Whether hardware that is gone is elsewhere, the caller finds out. */
void ibh_known_look(IbhKnownRail *known, const IbhRails *rails, const IbhConfig *config);
/* Why this NIC is missed; IBH_IS_THERE if it is a rail, or never was one. */
IbhMissing ibh_nic_missing(const IbhRails *rails, const IbhNic *nic);

/* What had this address; NULL: nothing. */
const IbhKnownRail *ibh_known_with(const GArray *known, const IbhIp *ip);

/* A rail stands that the state does not have: it could not be written, or was removed. Of each sysctl that may be ours,
 * remembers that the old value is lost. */
void ibh_known_note_lost_values(const IbhRails *rails, IbhState *state);
