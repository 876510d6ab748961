/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bytes of ARP requests, neighbour advertisements and neighbour solicitations. Pure.
 */
#pragma once

#include "model/model.h"

#define IBH_ARP_MAX (8 + 2 * (IBH_LLADDR_MAX + 4))

/* Writes an ARP request "who has `whom`, tell `from`" with the link's hardware address (Ethernet has 6 bytes,
 * InfiniBand 20). If `from` and `whom` are equal, the request is a gratuitous ARP. Returns the length; 0 if the link
 * has no hardware address, or if an address is not IPv4. */
gsize ibh_arp_request(const IbhLink *link, const IbhIp *from, const IbhIp *whom, guint8 frame[IBH_ARP_MAX]);

#define IBH_NA_MAX (24 + 8 * ((2 + 2 + IBH_LLADDR_MAX + 7) / 8))

/* Writes an unsolicited neighbour advertisement with the override flag and, if the link forwards IPv6, the router
 * flag. */
gsize ibh_na_announcement(const IbhLink *link, const IbhIp *ip, guint8 packet[IBH_NA_MAX]);
/* Writes a neighbour discovery packet of the ICMPv6 type `type`. The target is `ip`; an option of type `option` has the
 * link's hardware address. This function and ibh_na_announcement() return the length; 0 if the link has no hardware
 * address, or if `ip` is not IPv6. Both leave the checksum to the kernel. */
gsize ibh_nd_packet(const IbhLink *link, const IbhIp *ip, guint8 type, guint8 option, guint8 packet[IBH_NA_MAX]);
gsize ibh_nd_pad(const IbhLink *link); /* bytes of padding before the hardware address in an option */

/* Writes a number in network byte order; `at` may be unaligned. */
static inline void ibh_put16(guint8 *at, guint value)
{
    at[0] = (guint8)(value >> 8);
    at[1] = (guint8)value;
}
