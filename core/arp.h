/*
 * The bytes of an announcement. Pure.
 */
#pragma once

#include "model.h"

#define IBH_ARP_MAX (8 + 2 * (IBH_LLADDR_MAX + 4))

/* A gratuitous ARP request: who has `ip`, tell `ip`, from this link's hardware address (6 bytes of Ethernet, 20 of
 * InfiniBand). Returns its length; 0: the link has no hardware address. */
gsize ibh_arp_announcement(const IbhLink *link, const IbhIp *ip, guint8 frame[IBH_ARP_MAX]);
