/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Known rails: hardware that was a rail. We remember known rails to report a pulled cable or a card that is gone, also
 * after a reboot, and also if the network manager has removed the rail's address. Pure.
 */
#pragma once

#include "plan/rails.h"

/* Describes a NIC as the known rail to remember. From the entry of the same hardware in `known`, copies `since`, and
 * the slot if the RDMA port is the same; an unknown slot is "". If the NIC has no configured address of a family left,
 * copies the addresses of that family from the same entry, except with `all`: then the present addresses are all that
 * the rail needs. Returns FALSE, although `ret_known` is set, if the NIC is not to be remembered: it is not a rail, has
 * no RDMA port, or is not hardware (a virtual function, a VLAN, a bond). */
gboolean ibh_known_describe(const IbhRails *rails, const IbhNic *nic, const GArray *known, gboolean all,
                            IbhKnownRail *ret_known);
/* TRUE if the lists differ in hardware, in its slot, or in the address families that it has. Names, ports, addresses
 * and times don't count. */
gboolean ibh_known_differ(const GArray *before, const GArray *after);
/* Adds a known rail, or replaces all entries for the same hardware or slot. The name does not count: a NIC of the same
 * name, but with other hardware in another slot, is a different rail. */
void ibh_known_put(GArray *known, const IbhKnownRail *now);

const IbhLink *ibh_known_link(const IbhSnapshot *snapshot, const IbhKnownRail *known); /* NULL if it is gone */
/* After ibh_known_look(): returns the present name of the rail's NIC, or its last name if it is gone. */
const char *ibh_known_name(const IbhKnownRail *known);
/* Sets `link` and `why`. Never sets IBH_ELSEWHERE: only sysfs tells whether hardware that is gone is elsewhere. */
void ibh_known_look(IbhKnownRail *known, const IbhRails *rails, const IbhConfig *config);
/* Returns what the NIC of a known rail lacks; IBH_ON_PURPOSE if the link is down. Returns IBH_IS_THERE if the NIC lacks
 * nothing, and, whatever the NIC lacks, if it is held, blocked, unmanaged, or no candidate but with an RDMA port. */
IbhMissing ibh_nic_lack(const IbhNic *nic);

/* Returns the known rail that had this address, or NULL. */
const IbhKnownRail *ibh_known_with(const GArray *known, const IbhIp *ip);

/* If the state was lost, because it could not be written or was removed: for candidates that have our rules, notes in
 * `state` that the old value of each sysctl that we may have set is lost (see IbhSavedSysctl). The state counts as lost
 * if it has neither rails nor saved sysctls. */
void ibh_known_note_lost_values(const IbhRails *rails, IbhState *state);
