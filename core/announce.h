/*
 * Tells peers which hardware address an IP address has now.
 */
#pragma once

#include "model.h"

typedef struct {
    int socket; /* a packet socket, opened at need; -1: none */
} IbhAnnouncer;

#define IBH_ANNOUNCER_INIT                                                                                             \
    {                                                                                                                  \
        .socket = -1                                                                                                   \
    }

/* Sends a gratuitous ARP for any address from any link. Closing its packet socket costs some milliseconds (the kernel
 * waits for an RCU grace period), so whoever can leaves it to the kernel's own ARP (ibh_netlink_announce). */
gboolean ibh_announce(IbhAnnouncer *announcer, const IbhLink *link, const IbhIp *ip, GError **error);
void ibh_announcer_clear(IbhAnnouncer *announcer);
