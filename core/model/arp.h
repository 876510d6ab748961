/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bytes of ARP and neighbour discovery: announcements. Pure.
 */
#pragma once

#include "model/model.h"

#define IBH_ARP_MAX (8 + 2 * (IBH_LLADDR_MAX + 4))

/* An ARP request: who has `whom`, tell `from`, from this link's hardware address (6 bytes of Ethernet, 20 of
 * InfiniBand). With the same address twice it is an announcement. Returns its length; 0: the link has none. */
gsize ibh_arp_request(const IbhLink *link, const IbhIp *from, const IbhIp *whom, guint8 frame[IBH_ARP_MAX]);

#define IBH_NA_MAX (24 + 8 * ((2 + 2 + IBH_LLADDR_MAX + 7) / 8))

/* An unsolicited neighbour advertisement that overrides what peers know; the checksum is the kernel's work. */
gsize ibh_na_announcement(const IbhLink *link, const IbhIp *ip, guint8 packet[IBH_NA_MAX]);
/* A packet of neighbour discovery about `ip` with this link's hardware address. 0: the link has none. */
gsize ibh_nd_packet(const IbhLink *link, const IbhIp *ip, guint8 type, guint8 option, guint8 packet[IBH_NA_MAX]);
gsize ibh_nd_pad(const IbhLink *link); /* bytes before the hardware address in an option */

/* A number in a packet, in network byte order, wherever it stands. */
static inline void ibh_put16(guint8 *at, guint value)
{
    at[0] = (guint8)(value >> 8);
    at[1] = (guint8)value;
}
