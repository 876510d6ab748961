/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Known rails: hardware that was a rail. We remember known rails to report a pulled cable or a card that is gone, also
 * after a reboot, and also if the network manager has removed the rail's address. Pure.
 */
#pragma once

#include "plan/rails.h"

/* Sets `ret_known` to the entry that remembers this NIC. If `known` has an entry of the same hardware, copies three
 * things from that entry: `since`; the slot, if the RDMA port is the same; and the addresses of each family in which
 * the NIC now serves no address, or only advertised ones. With `drop_old`, copies no addresses, because the present
 * addresses are all that the rail needs. A slot that is not copied is "", which means unknown. Returns FALSE if the NIC
 * is not to be remembered: it is not a rail, has no RDMA port, or is no hardware (it is, for example, a virtual
 * function, a VLAN or a bond). Without `drop_old`, also returns FALSE for a rail that shares no subnet now, so that the
 * old entry stays. Even then, `ret_known` is set. */
gboolean ibh_known_describe(const IbhRails *rails, const IbhNic *nic, const GArray *known, gboolean drop_old,
                            IbhKnownRail *ret_known);
/* TRUE if the lists differ in the hardware, in a slot, or in whether a known rail has IPv4 or IPv6 addresses. Names,
 * ports, times and the addresses themselves do not count. */
gboolean ibh_known_differ(const GArray *before, const GArray *after);
/* Adds a known rail, or replaces all entries for the same hardware or slot. The name does not count: a NIC of the same
 * name, but with other hardware in another slot, is a different rail. */
void ibh_known_put(GArray *known, const IbhKnownRail *now);

/* TRUE if the NIC serves an address whose subnet contains this address of the known rail, or if it has other subnets
 * now in the family of this address: it serves a configured address outside of 169.254/16, where a network manager may
 * choose an address by itself, and none of its subnets contains an address of the known rail. */
gboolean ibh_known_has_subnet(const IbhRails *rails, const IbhNic *nic, const IbhKnownRail *known, const IbhIp *ip);
const IbhLink *ibh_known_link(const IbhSnapshot *snapshot, const IbhKnownRail *known); /* NULL if gone */
/* After ibh_known_look(): returns the present name of the rail's NIC or, if the NIC is gone, its last name. */
const char *ibh_known_name(const IbhKnownRail *known);
/* Sets the members `link` and `why` of `known`. Never sets IBH_ELSEWHERE: if hardware has no netdev here, only sysfs
 * tells whether the hardware is elsewhere. */
void ibh_known_look(IbhKnownRail *known, const IbhRails *rails, const IbhConfig *config);
/* Returns what the NIC of a known rail lacks; IBH_IS_THERE if it lacks nothing. A NIC that is no candidate lacks
 * something only if it has neither an RDMA port nor manage=yes (IBH_LACKS_RDMA). For the statuses IBH_NIC_HELD,
 * IBH_NIC_BLOCKED and IBH_NIC_UNMANAGED, returns IBH_IS_THERE, whatever the NIC lacks. For the remaining statuses,
 * returns IBH_ON_PURPOSE if the link is down. */
IbhMissing ibh_nic_lack(const IbhNic *nic);

/* If the saved state was lost (a run could not write the state, or the file was removed), adds entries to `state`: for
 * each candidate that has our rules, an entry for each sysctl whose present value may be ours. The entry says that the
 * administrator's value is lost (see IbhSavedSysctl). A state with rails or saved sysctls does not count as lost, and
 * stays as it is. */
void ibh_known_note_lost_values(const IbhRails *rails, IbhState *state);
