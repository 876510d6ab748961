/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bytes of ARP and neighbour discovery: announcements and questions. Pure.
 */
#pragma once

#include "model/model.h"

#define IBH_ARP_MAX (8 + 2 * (IBH_LLADDR_MAX + 4))

/* A gratuitous ARP request: who has `ip`, tell `ip`, from this link's hardware address (6 bytes of Ethernet, 20 of
 * InfiniBand). Returns its length; 0: the link has no hardware address. */
gsize ibh_arp_announcement(const IbhLink *link, const IbhIp *ip, guint8 frame[IBH_ARP_MAX]);

/* ARP: who has `whom`, tell `from`. */
gsize ibh_arp_request(const IbhLink *link, const IbhIp *from, const IbhIp *whom, guint8 frame[IBH_ARP_MAX]);

typedef struct {
    IbhIp from, to;
    guint8 lladdr[IBH_LLADDR_MAX]; /* from the host that has the address `from` */
    guint lladdr_len;
    gboolean proxy; /* IPv6: it says that it stands for another host */
} IbhArpReply;

/* Reads a packet from the wire, which may hold anything. */
gboolean ibh_arp_parse_reply(const guint8 *frame, gsize length, IbhArpReply *ret_reply);
gboolean ibh_arp_parse_request(const guint8 *frame, gsize length, IbhIp *ret_whom);

#define IBH_NA_MAX (24 + 8 * ((2 + 2 + IBH_LLADDR_MAX + 7) / 8))

/* An unsolicited neighbour advertisement that overrides what peers know; the checksum is the kernel's work. */
gsize ibh_na_announcement(const IbhLink *link, const IbhIp *ip, gboolean router, guint8 packet[IBH_NA_MAX]);
/* A neighbour solicitation: who has `ip`, tell the address that the kernel sends it from. 0: the link has no hardware
 * address. */
gsize ibh_ns_question(const IbhLink *link, const IbhIp *ip, guint8 packet[IBH_NA_MAX]);
/* An advertisement that came in by `link`; it may be anything. */
gboolean ibh_na_parse(const IbhLink *link, const guint8 *packet, gsize length, IbhArpReply *ret_reply);
