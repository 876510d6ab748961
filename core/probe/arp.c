/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ARP and neighbour discovery of --probe, from the wire. */
#include "probe/probe.h"

#include <linux/if_ether.h>
#include <netinet/icmp6.h>
#include <sys/socket.h>

gboolean ibh_arp_parse(const guint8 *frame, gsize length, guint16 operation, IbhArpReply *ret_reply)
{
    const gsize size = length >= 8 ? frame[4] : 0; /* of a hardware address */

    if (!size || size > IBH_LLADDR_MAX || length < 8 + 2 * (size + 4) || frame[2] != ETH_P_IP >> 8 ||
        frame[3] != (ETH_P_IP & 0xff) || frame[5] != 4 || ibh_get16(frame + 6) != operation)
        return FALSE;
    *ret_reply = (IbhArpReply){.from = ibh_ip_from_bytes(AF_INET, frame + 8 + size),
                               .to = ibh_ip_from_bytes(AF_INET, frame + 8 + 2 * size + 4),
                               .lladdr = ibh_lladdr(frame + 8, (guint)size)};
    return TRUE;
}

gboolean ibh_na_parse(const IbhLink *link, const guint8 *packet, gsize length, IbhArpReply *ret_reply)
{
    const gsize before = 2 + ibh_nd_pad(link); /* of an option, the hardware address */

    if (length < 24 || packet[0] != ND_NEIGHBOR_ADVERT || packet[1] != 0 || !link->lladdr_len)
        return FALSE;
    for (gsize at = 24, size; at + 8 <= length && (size = (gsize)packet[at + 1] * 8) && size <= length - at;
         at += size) {
        if (packet[at] != ND_OPT_TARGET_LINKADDR || size < before + link->lladdr_len)
            continue;
        *ret_reply = (IbhArpReply){.from = ibh_ip_from_bytes(AF_INET6, packet + 8),
                                   .to = {.family = AF_INET6},
                                   .lladdr = ibh_lladdr(packet + at + before, link->lladdr_len),
                                   .proxy = !(packet[4] & 0x20)}; /* without "override" */
        return TRUE;
    }
    return FALSE;
}
