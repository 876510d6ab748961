/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/arp.h"

#include <linux/if_ether.h>
#include <net/if_arp.h>
#include <netinet/icmp6.h>
#include <string.h>
#include <sys/socket.h>

static guint8 *put16(guint8 *at, guint value)
{
    at[0] = (guint8)(value >> 8);
    at[1] = (guint8)value;
    return at + 2;
}

static guint8 *put_bytes(guint8 *at, const guint8 *bytes, gsize length)
{
    memcpy(at, bytes, length);
    return at + length;
}

gsize ibh_arp_announcement(const IbhLink *link, const IbhIp *ip, guint8 frame[IBH_ARP_MAX])
{
    return ibh_arp_request(link, ip, ip, frame);
}

gsize ibh_arp_request(const IbhLink *link, const IbhIp *from, const IbhIp *whom, guint8 frame[IBH_ARP_MAX])
{
    static const guint8 nobody[IBH_LLADDR_MAX] = {0};
    guint8 *at = frame;

    if (!link->lladdr_len || from->family != AF_INET || whom->family != AF_INET)
        return 0;
    at = put16(at, link->type);
    at = put16(at, ETH_P_IP);
    *at++ = (guint8)link->lladdr_len;
    *at++ = 4;
    at = put16(at, ARPOP_REQUEST);
    at = put_bytes(at, link->lladdr, link->lladdr_len);
    at = put_bytes(at, from->bytes, 4);
    at = put_bytes(at, nobody, link->lladdr_len);
    at = put_bytes(at, whom->bytes, 4);
    return (gsize)(at - frame);
}

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

/* The option is counted in units of 8 bytes; InfiniBand's 20 are padded in front (RFC 4391). */
static gsize pad_of(const IbhLink *link)
{
    return link->type == ARPHRD_INFINIBAND ? 2 : 0;
}

static gsize discovery(const IbhLink *link, const IbhIp *ip, guint8 type, guint8 option, guint8 packet[IBH_NA_MAX])
{
    gsize units = (2 + pad_of(link) + link->lladdr_len + 7) / 8;

    if (!link->lladdr_len || ip->family != AF_INET6)
        return 0;
    memset(packet, 0, IBH_NA_MAX);
    packet[0] = type;
    memcpy(packet + 8, ip->bytes, 16);
    packet[24] = option;
    packet[25] = (guint8)units;
    memcpy(packet + 26 + pad_of(link), link->lladdr, link->lladdr_len);
    return 24 + units * 8;
}

gsize ibh_na_announcement(const IbhLink *link, const IbhIp *ip, gboolean router, guint8 packet[IBH_NA_MAX])
{
    gsize length = discovery(link, ip, ND_NEIGHBOR_ADVERT, ND_OPT_TARGET_LINKADDR, packet);

    if (length)
        packet[4] = router ? 0xa0 : 0x20; /* router, override */
    return length;
}

gsize ibh_ns_question(const IbhLink *link, const IbhIp *ip, guint8 packet[IBH_NA_MAX])
{
    return discovery(link, ip, ND_NEIGHBOR_SOLICIT, ND_OPT_SOURCE_LINKADDR, packet);
}

gboolean ibh_na_parse(const IbhLink *link, const guint8 *packet, gsize length, IbhArpReply *ret_reply)
{
    IbhArpReply reply = {.from = {.family = AF_INET6}, .to = {.family = AF_INET6}, .lladdr_len = link->lladdr_len};
    const gsize before = 2 + pad_of(link); /* of an option, the hardware address */

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
