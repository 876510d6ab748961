/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/arp.h"

#include <linux/if_ether.h>
#include <net/if_arp.h>
#include <netinet/icmp6.h>
#include <string.h>
#include <sys/socket.h>

static gboolean parse(const guint8 *frame, gsize length, guint8 operation, IbhArpReply *ret_reply)
{
    gsize size = length >= 8 ? frame[4] : 0; /* of a hardware address */
    IbhArpReply reply = {.from = {.family = AF_INET}, .to = {.family = AF_INET}, .lladdr_len = (guint)size};

    if (!size || size > sizeof reply.lladdr || length < 8 + 2 * (size + 4) || frame[2] != ETH_P_IP >> 8 ||
        frame[3] != (ETH_P_IP & 0xff) || frame[5] != 4 || frame[6] != 0 || frame[7] != operation)
        return FALSE;
    memcpy(reply.lladdr, frame + 8, size);
    memcpy(reply.from.bytes, frame + 8 + size, 4);
    memcpy(reply.to.bytes, frame + 8 + 2 * size + 4, 4);
    *ret_reply = reply;
    return TRUE;
}

gboolean ibh_arp_parse_reply(const guint8 *frame, gsize length, IbhArpReply *ret_reply)
{
    return parse(frame, length, ARPOP_REPLY, ret_reply);
}

gboolean ibh_arp_parse_request(const guint8 *frame, gsize length, IbhIp *ret_whom)
{
    IbhArpReply request;

    if (!parse(frame, length, ARPOP_REQUEST, &request))
        return FALSE;
    *ret_whom = request.to;
    return TRUE;
}

gsize ibh_ns_question(const IbhLink *link, const IbhIp *ip, guint8 packet[IBH_NA_MAX])
{
    return ibh_nd_packet(link, ip, ND_NEIGHBOR_SOLICIT, ND_OPT_SOURCE_LINKADDR, packet);
}

gboolean ibh_na_parse(const IbhLink *link, const guint8 *packet, gsize length, IbhArpReply *ret_reply)
{
    IbhArpReply reply = {.from = {.family = AF_INET6}, .to = {.family = AF_INET6}, .lladdr_len = link->lladdr_len};
    const gsize before = 2 + ibh_nd_pad(link); /* of an option, the hardware address */

    if (length < 24 || packet[0] != ND_NEIGHBOR_ADVERT || packet[1] != 0 || !link->lladdr_len)
        return FALSE;
    for (gsize at = 24, size; at + 8 <= length && (size = (gsize)packet[at + 1] * 8) && size <= length - at;
         at += size) {
        if (packet[at] != ND_OPT_TARGET_LINKADDR || size < before + link->lladdr_len)
            continue;
        memcpy(reply.lladdr, packet + at + before, link->lladdr_len);
        memcpy(reply.from.bytes, packet + 8, 16);
        reply.proxy = !(packet[4] & 0x20); /* without "override" */
        *ret_reply = reply;
        return TRUE;
    }
    return FALSE;
}
