/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/arp.h"

#include <linux/if_ether.h>
#include <net/if_arp.h>
#include <netinet/icmp6.h>
#include <string.h>
#include <sys/socket.h>

gsize ibh_arp_request(const IbhLink *link, const IbhIp *from, const IbhIp *whom, guint8 frame[IBH_ARP_MAX])
{
    const gsize length = link->lladdr_len;

    if (!length || from->family != AF_INET || whom->family != AF_INET)
        return 0;
    ibh_put16(frame, link->type);
    ibh_put16(frame + 2, ETH_P_IP);
    frame[4] = (guint8)length;
    frame[5] = 4;
    ibh_put16(frame + 6, ARPOP_REQUEST);
    memcpy(frame + 8, link->lladdr, length);
    memcpy(frame + 8 + length, from->bytes, 4);
    memset(frame + 12 + length, 0, length); /* the hardware address of `whom` is not known */
    memcpy(frame + 12 + 2 * length, whom->bytes, 4);
    return 16 + 2 * length;
}

/* An option is a multiple of 8 bytes. RFC 4391 puts InfiniBand's padding before the address. */
gsize ibh_nd_pad(const IbhLink *link)
{
    return link->type == ARPHRD_INFINIBAND ? 2 : 0;
}

gsize ibh_nd_packet(const IbhLink *link, const IbhIp *ip, guint8 type, guint8 option, guint8 packet[IBH_NA_MAX])
{
    gsize units = (2 + ibh_nd_pad(link) + link->lladdr_len + 7) / 8;

    if (!link->lladdr_len || ip->family != AF_INET6)
        return 0;
    memset(packet, 0, IBH_NA_MAX);
    packet[0] = type;
    memcpy(packet + 8, ip->bytes, 16);
    packet[24] = option;
    packet[25] = (guint8)units;
    memcpy(packet + 26 + ibh_nd_pad(link), link->lladdr, link->lladdr_len);
    return 24 + units * 8;
}

/* Sets the router flag if this host forwards: without the flag, peers would remove this host from their list of default
 * routers. */
gsize ibh_na_announcement(const IbhLink *link, const IbhIp *ip, guint8 packet[IBH_NA_MAX])
{
    gsize length = ibh_nd_packet(link, ip, ND_NEIGHBOR_ADVERT, ND_OPT_TARGET_LINKADDR, packet);

    if (length)
        packet[4] = link->forwarding6 ? 0xa0 : 0x20; /* the flag override and, on a router, the flag router */
    return length;
}
