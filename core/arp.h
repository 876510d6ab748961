/*
 * The bytes of an announcement: ARP, and neighbour discovery. Pure.
 */
#pragma once

#include "model.h"

#define IBH_ARP_MAX (8 + 2 * (IBH_LLADDR_MAX + 4))

/* A gratuitous ARP request: who has `ip`, tell `ip`, from this link's hardware address (6 bytes of Ethernet, 20 of
 * InfiniBand). Returns its length; 0: the link has no hardware address. */
gsize ibh_arp_announcement(const IbhLink *link, const IbhIp *ip, guint8 frame[IBH_ARP_MAX]);

#define IBH_NA_MAX (24 + 8 * ((2 + 2 + IBH_LLADDR_MAX + 7) / 8))

/* An unsolicited neighbour advertisement that overrides what peers know; the checksum is the kernel's work. */
gsize ibh_na_announcement(const IbhLink *link, const IbhIp *ip, gboolean router, guint8 packet[IBH_NA_MAX]);
