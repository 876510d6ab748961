/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bytes of announcements and questions: ARP, and neighbour discovery. Pure.
 */
#pragma once

#include "model/model.h"

#define IBH_ARP_MAX (8 + 2 * (IBH_LLADDR_MAX + 4))

/* A gratuitous ARP request: who has `ip`, tell `ip`, from this link's hardware address (6 bytes of Ethernet, 20 of
 * InfiniBand). Returns its length; 0: the link has no hardware address. */
gsize ibh_arp_announcement(const IbhLink *link, const IbhIp *ip, guint8 frame[IBH_ARP_MAX]);

/* Who has `whom`, tell `from`. */
gsize ibh_arp_request(const IbhLink *link, const IbhIp *from, const IbhIp *whom, guint8 frame[IBH_ARP_MAX]);

typedef struct {
    IbhIp from, to;
    guint8 lladdr[IBH_LLADDR_MAX]; /* of who says that it is `from` */
    guint lladdr_len;
} IbhArpReply;

/* From the wire: it may be anything. */
gboolean ibh_arp_parse_reply(const guint8 *frame, gsize length, IbhArpReply *ret_reply);

#define IBH_NA_MAX (24 + 8 * ((2 + 2 + IBH_LLADDR_MAX + 7) / 8))

/* An unsolicited neighbour advertisement that overrides what peers know; the checksum is the kernel's work. */
gsize ibh_na_announcement(const IbhLink *link, const IbhIp *ip, gboolean router, guint8 packet[IBH_NA_MAX]);
