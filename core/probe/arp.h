/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ARP and neighbour discovery: questions, and answers from the wire. Pure.
 */
#pragma once

#include "model/arp.h"

typedef struct {
    IbhIp from, to;
    guint8 lladdr[IBH_LLADDR_MAX]; /* from the host that has the address `from` */
    guint lladdr_len;
    gboolean proxy; /* IPv6: it says that it stands for another host */
} IbhArpReply;

/* Reads a packet from the wire, which may hold anything. */
gboolean ibh_arp_parse_reply(const guint8 *frame, gsize length, IbhArpReply *ret_reply);
gboolean ibh_arp_parse_request(const guint8 *frame, gsize length, IbhIp *ret_whom);

/* A neighbour solicitation: who has `ip`, tell the address that the kernel sends it from. 0: the link has no hardware
 * address. */
gsize ibh_ns_question(const IbhLink *link, const IbhIp *ip, guint8 packet[IBH_NA_MAX]);
/* An advertisement that came in by `link`; it may be anything. */
gboolean ibh_na_parse(const IbhLink *link, const guint8 *packet, gsize length, IbhArpReply *ret_reply);
