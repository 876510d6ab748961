/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tells peers which hardware address an IP address has now.
 */
#pragma once

#include "model/model.h"

typedef struct {
    int packet; /* sockets, opened at need; -1: none */
    int icmp6;
} IbhAnnouncer;

#define IBH_ANNOUNCER_INIT ((IbhAnnouncer){.packet = -1, .icmp6 = -1})

/* Sends a gratuitous ARP for any address from any link, or (IPv6) an unsolicited neighbour advertisement. Closing its
 * packet socket costs some milliseconds (the kernel waits for an RCU grace period), so where the kernel's own ARP will
 * do, use ibh_netlink_announce(). */
gboolean ibh_announce(IbhAnnouncer *announcer, const IbhLink *link, const IbhIp *ip, GError **error);
void ibh_announcer_clear(IbhAnnouncer *announcer);
