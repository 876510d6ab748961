/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a frame from the wire, which may be anything, is evidence of. A frame is evidence only together with its sender;
 * that is decided here, before any stage reads the frame:
 *
 *   an echo reply, or the answer to a SYN, carries the cookie of its pair, which only packets of this pair carry;
 *   an ICMP error quotes such a packet, and comes from the hardware address of the pair's next hop;
 *   an answer to ARP or to a solicitation names the hardware address that the frame comes from: if not, its sender
 *   forges it, and the frame says nothing about the host that it names.
 */
#include "model/arp.h"
#include "probe/probe.h"

#include <linux/if_ether.h>
#include <net/if_arp.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <string.h>
#include <sys/socket.h>

#define SIX 40      /* bytes of an IPv6 header */
#define FRAGMENT 8  /* of its extension header */
#define FLAGS_AT 13 /* of a TCP header */
#define FIN 0x01
#define SYN 0x02
#define RST 0x04
#define ACK 0x10
#define QUOTE 8          /* bytes of an IPv4 packet that each ICMP error quotes (RFC 792) */
#define COOKIE_END 24    /* of an echo; IPv6 quotes as much as 1,280 bytes hold */
#define DAMAGED 4        /* bytes of the cookie at most: what has more wrong ones is no reply of ours */
#define ADVERTISEMENT 24 /* up to the end of the address that it is about, as a solicitation */
#define SOLICITED 0x40   /* flags of an advertisement: it answers; */
#define SOLICITED 0x40   /* flags of an advertisement: it answers a question; */
#define OVERRIDES 0x20   /* and its sender stands for no other host, as a proxy does */

gsize ibh_icmp_offset(int family, const guint8 *bytes, gsize length)
{
    gsize header = length ? (gsize)(bytes[0] & 0xf) * 4 : 0;

    if (family == AF_INET6)
        return length > SIX && bytes[6] == IPPROTO_ICMPV6 ? SIX : 0;
    return header >= 20 && header < length && bytes[0] >> 4 == 4 && bytes[9] == IPPROTO_ICMP ? header : 0;
}

/* ---- echo replies ---- */

/* The pair whose request this packet answers: it repeats the request, and goes back to its source from the peer. Zeros
 * follow, so that `length` is as long as the request; 0: the packet is a fragment. */
static IbhProbePair *find_request(const IbhProbe *probe, const IbhProbeReply *reply, gsize length, guint *ret_number)
{
    const gboolean six = reply->from.family == AF_INET6;
    guint8 head[IBH_PROBE_PACKET];
    guint32 i, number;
    IbhProbePair *pair;

    if (reply->length < IBH_PROBE_PACKET || (i = ibh_get32(reply->icmp + 24)) >= probe->pairs->len)
        return NULL;
    number = *ret_number = ibh_get32(reply->icmp + 28);
    pair = ibh_probe_pair(probe, i);
    if (number & IBH_PROBE_SIZED ? (number & ~IBH_PROBE_SIZED) > ibh_probe_full_size(pair)
                                 : number >= (guint)probe->count || !ibh_probe_echo(probe, i, number)->sent_at)
        return NULL;
    if ((length && length != ibh_probe_length(number, six)) || !ibh_ip_equal(&reply->from, ibh_probe_peer(pair)) ||
        !ibh_ip_equal(&reply->to, &ibh_probe_source(pair)->ip))
        return NULL;
    ibh_probe_head(probe, i, number, head);
    if (reply->icmp[0] != (six ? ICMP6_ECHO_REPLY : ICMP_ECHOREPLY) || reply->icmp[1] != 0 ||
        memcmp(reply->icmp + 4, head + 4, sizeof head - 4) != 0)
        return NULL;
    for (gsize at = IBH_PROBE_PACKET; at < reply->length; at++) {
        if (reply->icmp[at])
            return NULL;
    }
    return pair;
}

/* Our own questions may mend an entry of the neighbour table; then the kernel sends echoes that waited for the entry.
 */
static gboolean comes_too_late(const IbhProbePair *pair)
{
    return pair->step > IBH_STEP_ECHOES && pair->received < pair->sent;
}

gboolean ibh_probe_received(IbhProbe *probe, const IbhProbeReply *reply, gint64 now)
{
    guint number;
    IbhProbePair *pair = find_request(probe, reply, reply->length, &number);
    IbhProbeEcho *echo;

    if (!pair)
        return FALSE;
    if (number & IBH_PROBE_SIZED) {
        pair->mtu.passed = MAX(pair->mtu.passed, number & ~IBH_PROBE_SIZED);
        return TRUE;
    }
    echo = ibh_probe_echo(probe, ibh_get32(reply->icmp + 24), number);
    if (comes_too_late(pair) || echo->received)
        return FALSE;
    echo->received = TRUE;
    pair->received++;
    if (pair->rtt < 0 || now - echo->sent_at < pair->rtt)
        pair->rtt = MAX(now - echo->sent_at, 0);
    return TRUE;
}

/* `total`: bytes of the IP packet, or of this fragment. A NIC that stands above another one shows the packet once more:
 * if the right NIC did, that counts. */
static void hear_reply(IbhProbe *probe, const IbhHeard *heard, const IbhProbeReply *packet, gsize total,
                       gboolean is_fragment)
{
    const gsize header = (gsize)(packet->icmp - heard->bytes);
    guint number;
    IbhProbePair *pair = find_request(probe, packet, is_fragment ? 0 : total - header, &number);
    const int right = pair ? ibh_probe_link(pair)->ifindex : 0;
    IbhProbeEcho *echo;

    if (!pair)
        return;
    if (is_fragment) {
        pair->mtu.fragment = (guint)total;
    } else if (number & IBH_PROBE_SIZED) {
        pair->mtu.seen = MAX(pair->mtu.seen, number & ~IBH_PROBE_SIZED);
    } else if (!comes_too_late(pair)) {
        echo = ibh_probe_echo(probe, ibh_get32(packet->icmp + 24), number);
        echo->twice |= echo->seen == heard->ifindex;
        if (echo->seen != right)
            echo->seen = heard->ifindex;
        *(heard->ifindex == right ? &pair->sender : &pair->strayed) = heard->sender;
    }
}

/* A reply of this pair whose checksum is wrong: it was damaged behind the host that sent it. */
static void hear_damaged(IbhProbe *probe, const IbhHeard *heard, const IbhProbeReply *reply)
{
    const gboolean six = reply->from.family == AF_INET6;
    IbhProbePair *pair = ibh_probe_find_pair(probe, heard->ifindex, &reply->from);
    guint32 sum = six ? (guint32)reply->length + IPPROTO_ICMPV6 : 0;
    guint wrong = 0;

    if (!pair || reply->length < IBH_PROBE_PACKET || reply->icmp[0] != (six ? ICMP6_ECHO_REPLY : ICMP_ECHOREPLY))
        return;
    for (guint at = 4; at < sizeof pair->cookie; at++)
        wrong += reply->icmp[at + 8] != pair->cookie[at] ? 1 : 0;
    if (six) /* its checksum has addresses, length and protocol in it */
        sum = ibh_probe_sum(ibh_probe_sum(sum, reply->from.bytes, 16), reply->to.bytes, 16);
    if (wrong > DAMAGED || ibh_probe_sum(sum, reply->icmp, reply->length) == 0xffff)
        return;
    pair->mangled |= reply->length == IBH_PROBE_PACKET;
    pair->mtu.mangled |= reply->length > IBH_PROBE_PACKET;
}

/* ---- what this host sends ---- */

/* Translation of addresses leaves the cookie as it is. */
static void hear_request(IbhProbe *probe, const IbhHeard *heard, const IbhProbeReply *packet)
{
    guint32 i = packet->length >= IBH_PROBE_PACKET ? ibh_get32(packet->icmp + 24) : G_MAXUINT32, number;
    IbhProbePair *pair = i < probe->pairs->len ? ibh_probe_pair(probe, i) : NULL;
    gboolean is_right;

    if (!pair || packet->icmp[0] != (packet->from.family == AF_INET6 ? ICMP6_ECHO_REQUEST : ICMP_ECHO) ||
        memcmp(packet->icmp + 12, pair->cookie + 4, sizeof pair->cookie - 4) != 0)
        return;
    is_right = ibh_probe_link(pair)->ifindex == heard->ifindex;
    number = ibh_get32(packet->icmp + 28);
    if (number == IBH_PROBE_FREE) /* a NIC below shows it, too: by the right NIC counts */
        pair->free_ifindex = is_right || !pair->free_ifindex ? heard->ifindex : pair->free_ifindex;
    if (is_right && number & IBH_PROBE_SIZED)
        pair->mtu.left = MAX(pair->mtu.left, number & ~IBH_PROBE_SIZED);
    if (!is_right || pair->step > IBH_STEP_ECHOES)
        return; /* by an answer to our own questions, what waited for the kernel's leaves, too */
    pair->trace.left = TRUE;
    if (number < (guint)probe->count)
        ibh_probe_echo(probe, i, number)->left = TRUE;
    pair->trace.from = packet->from;
    pair->trace.to = packet->to;
    pair->trace.is_translated =
        !ibh_ip_equal(&packet->from, &ibh_probe_source(pair)->ip) || !ibh_ip_equal(&packet->to, ibh_probe_peer(pair));
}

/* ---- ICMP errors ---- */

/* It is the beginning of an echo of this pair, as much of it as there is. */
static gboolean is_quote(const IbhProbe *probe, const IbhProbePair *pair, const guint8 *quote, gsize length)
{
    const guint low = (ibh_get16(quote + 6) - ibh_get16(pair->cookie + 2)) & 0xffff;
    const guint numbers[] = {low, IBH_PROBE_SIZED | low, IBH_PROBE_FREE};
    const gboolean six = ibh_probe_family(pair) != 0;
    guint8 head[IBH_PROBE_PACKET];

    if (length < (six ? COOKIE_END : QUOTE))
        return FALSE;
    for (guint n = 0; n < G_N_ELEMENTS(numbers); n++) {
        ibh_probe_head(probe, (guint)(pair - ibh_probe_pair(probe, 0)), numbers[n], head);
        if (six)
            memcpy(head + 2, quote + 2, 2); /* the kernel's */
        if (memcmp(head, quote, MIN(length, sizeof head)) == 0)
            return TRUE;
    }
    return FALSE;
}

/* The sender of a frame is the pair's next hop. IPoIB tells no sender; and a virtual router sends from another hardware
 * address than the one that it answers with. */
static gboolean is_from_hop(const IbhProbePair *pair, const IbhLladdr *sender)
{
    IbhProbeHop *hop = pair->hop;

    if (!sender->len || !hop || (!hop->n_claims && !hop->entry.len))
        return TRUE;
    for (guint i = 0; i < hop->n_claims; i++) {
        if (ibh_lladdr_is_virtual(&hop->claims[i].lladdr))
            return TRUE;
    }
    return ibh_hop_has(hop, sender) || ibh_lladdr_equal(sender, &hop->entry);
}

/* Another host reports what became of an echo of ours. */
static void hear_error(IbhProbe *probe, const IbhHeard *heard, const IbhProbeReply *error)
{
    const gboolean six = error->from.family == AF_INET6;
    const gsize header = six ? SIX : 20, size = six ? 16 : 4, before = 8 + header;
    const guint8 *icmp = error->icmp;
    guint limit;
    IbhProbePair *pair;
    IbhIp from, to;

    if (error->length < before + QUOTE || ibh_rails_holder(probe->rails, &error->from))
        return;
    from = ibh_ip_from_bytes(error->from.family, icmp + before - 2 * size);
    to = ibh_ip_from_bytes(error->from.family, icmp + before - size);
    pair = ibh_probe_find_pair(probe, heard->ifindex, &to);
    if (!pair || !ibh_ip_equal(&from, &ibh_probe_source(pair)->ip) ||
        !is_quote(probe, pair, icmp + before, error->length - before) || !is_from_hop(pair, &heard->sender))
        return;
    limit = six ? ibh_get32(icmp + 4) : ibh_get16(icmp + 6);
    if (six ? icmp[0] == ICMP6_PACKET_TOO_BIG : icmp[0] == ICMP_DEST_UNREACH && icmp[1] == ICMP_FRAG_NEEDED) {
        pair->mtu.limited_by = error->from;
        pair->mtu.limit = limit <= ibh_probe_full_size(pair) ? limit : 0;
    } else if (icmp[0] == (six ? ICMP6_DST_UNREACH : ICMP_DEST_UNREACH) ||
               icmp[0] == (six ? ICMP6_TIME_EXCEEDED : ICMP_TIME_EXCEEDED)) {
        pair->refusal = (IbhProbeRefusal){error->from, icmp[0], icmp[1]};
    }
}

/* ---- TCP ---- */

/* A RST that acknowledges the number of our SYN; a SYN with ACK, from a program that listens, is as good. */
static void hear_tcp(IbhProbe *probe, const IbhHeard *heard)
{
    const guint8 *segment = heard->bytes + SIX;
    const IbhIp from = ibh_ip_from_bytes(AF_INET6, heard->bytes + 8),
                to = ibh_ip_from_bytes(AF_INET6, heard->bytes + 24);
    guint8 ours[IBH_SYN_LENGTH];
    guint8 flags;

    if (heard->outgoing || heard->length < SIX + IBH_SYN_LENGTH)
        return;
    flags = segment[FLAGS_AT];
    if (!(flags & ACK) || !(flags & (RST | SYN)) || flags & FIN)
        return;
    IBH_EACH_POINTER (const IbhNic, nic, probe->nics) {
        IbhProbePair *pair = ibh_probe_find_pair(probe, nic->link->ifindex, &from);

        if (!pair || pair->syn != IBH_SYN_SILENT || !ibh_ip_equal(&to, &ibh_probe_source(pair)->ip))
            continue;
        ibh_probe_syn(probe, (guint)(pair - ibh_probe_pair(probe, 0)), ours);
        if (memcmp(segment, ours + 2, 2) != 0 || memcmp(segment + 2, ours, 2) != 0 ||
            ibh_get32(segment + 8) - 1 != ibh_get32(ours + 4))
            continue;
        pair->syn = IBH_SYN_ANSWERED;
        pair->syn_sender = heard->sender;
    }
}

const char *ibh_probe_syn_why(const IbhProbePair *pair)
{
    if (pair->syn == IBH_SYN_SILENT)
        return "no answer to a TCP SYN (a firewall?)";
    return pair->syn == IBH_SYN_ANSWERED && !(pair->syn_sender.len && pair->hop && pair->hop->lladdr.len)
               ? "the kernel tells no hardware addresses"
               : NULL;
}

/* ---- ARP and neighbour discovery ---- */

gboolean ibh_arp_parse(const guint8 *frame, gsize length, guint16 operation, IbhArpClaim *ret_arp)
{
    const gsize size = length >= 8 ? frame[4] : 0; /* of a hardware address */

    if (!size || size > IBH_LLADDR_MAX || length < 8 + 2 * (size + 4) || ibh_get16(frame + 2) != ETH_P_IP ||
        frame[5] != 4 || ibh_get16(frame + 6) != operation)
        return FALSE;
    *ret_arp = (IbhArpClaim){.from = ibh_ip_from_bytes(AF_INET, frame + 8 + size),
                             .to = ibh_ip_from_bytes(AF_INET, frame + 8 + 2 * size + 4),
                             .lladdr = ibh_lladdr_from_bytes(frame + 8, (guint)size)};
    return TRUE;
}

/* An advertisement came in through `link`. */
static gboolean parse_advertisement(const IbhLink *link, const guint8 *packet, gsize length, IbhArpClaim *ret_arp)
{
    const gsize before = 2 + ibh_nd_pad(link); /* of an option, the hardware address */

    if (length < ADVERTISEMENT || packet[0] != ND_NEIGHBOR_ADVERT || packet[1] != 0 || !link->lladdr_len)
        return FALSE;
    for (gsize at = ADVERTISEMENT, size; at + 8 <= length && (size = (gsize)packet[at + 1] * 8) && size <= length - at;
         at += size) {
        if (packet[at] != ND_OPT_TARGET_LINKADDR || size < before + link->lladdr_len)
            continue;
        *ret_arp = (IbhArpClaim){.from = ibh_ip_from_bytes(AF_INET6, packet + 8),
                                 .to = {.family = AF_INET6},
                                 .lladdr = ibh_lladdr_from_bytes(packet + at + before, link->lladdr_len),
                                 .is_answer = (packet[4] & SOLICITED) != 0,
                                 .proxy = !(packet[4] & OVERRIDES)};
        return TRUE;
    }
    return FALSE;
}

/* The kernel asks for a hardware address. */
static void hear_question(IbhProbe *probe, int ifindex, const IbhIp *whom)
{
    IbhProbeHop *hop = ibh_probe_hop(probe, ifindex, whom);

    if (!hop)
        return;
    hop->questions++;
    hop->asks |= !hop->asker;
}

/* The frame of a virtual router's answer comes from its own NIC (RFC 5798, 8.1.2). IPoIB tells no sender. Other NICs
 * than those that probe may be in other networks, with the same addresses. */
static void hear_claim(IbhProbe *probe, const IbhHeard *heard, IbhArpClaim *claim)
{
    const IbhNic *nic = ibh_rails_nic(probe->rails, heard->ifindex);

    if (!g_ptr_array_find(probe->nics, nic, NULL))
        return;
    claim->sender = heard->sender;
    if (claim->sender.len && !ibh_lladdr_equal(&claim->sender, &claim->lladdr) &&
        !ibh_lladdr_is_virtual(&claim->lladdr))
        ibh_probe_forged(probe, heard->ifindex, claim);
    else
        ibh_probe_claimed(probe, heard->ifindex, claim);
}

/* Each packet of ARP claims its sender's address: the kernel believes a request, and what nobody asked for, too. An
 * answer goes to who asked: to an address of this host, or to none, if the question had none (RFC 5227). */
static void hear_arp(IbhProbe *probe, const IbhHeard *heard)
{
    const IbhIp none = {.family = AF_INET};
    IbhArpClaim arp;

    if (heard->outgoing) {
        if (ibh_arp_parse(heard->bytes, heard->length, ARPOP_REQUEST, &arp))
            hear_question(probe, heard->ifindex, &arp.to);
    } else if (ibh_arp_parse(heard->bytes, heard->length, ARPOP_REPLY, &arp)) {
        arp.is_answer = !ibh_ip_equal(&arp.from, &arp.to) &&
                        (ibh_ip_equal(&arp.to, &none) || ibh_rails_holder(probe->rails, &arp.to));
        hear_claim(probe, heard, &arp);
    } else if (ibh_arp_parse(heard->bytes, heard->length, ARPOP_REQUEST, &arp)) {
        hear_claim(probe, heard, &arp);
    }
}

/* A packet that a router forwarded has fewer hops left: no neighbour sent it. */
static void hear_discovery(IbhProbe *probe, const IbhHeard *heard, const guint8 *icmp, gsize length)
{
    const IbhLink *link = ibh_snapshot_link(probe->rails->snapshot, heard->ifindex);
    IbhIp whom = {.family = AF_UNSPEC};
    IbhArpClaim claim;

    if (length >= ADVERTISEMENT)
        whom = ibh_ip_from_bytes(AF_INET6, icmp + 8);
    if (!link || length < ADVERTISEMENT || heard->bytes[7] != 255)
        return;
    if (heard->outgoing && icmp[0] == ND_NEIGHBOR_SOLICIT)
        hear_question(probe, heard->ifindex, &whom);
    else if (!heard->outgoing && parse_advertisement(link, icmp, length, &claim))
        hear_claim(probe, heard, &claim);
}

/* ---- all that passes a NIC ---- */

static void hear_icmp(IbhProbe *probe, const IbhHeard *heard, gboolean six)
{
    const int family = six ? AF_INET6 : AF_INET;
    const guint8 *bytes = heard->bytes;
    const gboolean is_fragment = six ? bytes[6] == IPPROTO_FRAGMENT : (ibh_get16(bytes + 6) & 0x2000) != 0;
    const gsize at = six && is_fragment ? SIX + FRAGMENT : ibh_icmp_offset(family, bytes, heard->length),
                total = six ? SIX + ibh_get16(bytes + 4) : ibh_get16(bytes + 2);
    IbhProbeReply packet;

    if (!at || total <= at || heard->length <= at)
        return;
    if (six ? is_fragment && (bytes[SIX] != IPPROTO_ICMPV6 || ibh_get16(bytes + SIX + 2) & 0xfff8)
            : ibh_get16(bytes + 6) & 0x1fff)
        return; /* a later fragment, or one of something else */
    packet = (IbhProbeReply){.ifindex = heard->ifindex,
                             .from = ibh_ip_from_bytes(family, bytes + (six ? 8 : 12)),
                             .to = ibh_ip_from_bytes(family, bytes + (six ? 24 : 16)),
                             .icmp = bytes + at,
                             .length = MIN(heard->length, total) - at}; /* bytes behind it fill up a short frame */
    if (six && !is_fragment)
        hear_discovery(probe, heard, packet.icmp, packet.length);
    if (heard->outgoing) {
        hear_request(probe, heard, &packet);
        return;
    }
    hear_reply(probe, heard, &packet, total, is_fragment);
    if (is_fragment)
        return;
    if (packet.length == total - at)
        hear_damaged(probe, heard, &packet);
    hear_error(probe, heard, &packet);
}

void ibh_probe_hear(IbhProbe *probe, const IbhHeard *heard)
{
    const gboolean six = heard->protocol == ETH_P_IPV6;

    if (six && heard->length > SIX && heard->bytes[6] == IPPROTO_TCP)
        hear_tcp(probe, heard);
    else if (heard->protocol == ETH_P_ARP)
        hear_arp(probe, heard);
    else if ((six && heard->length > SIX + FRAGMENT) || (heard->protocol == ETH_P_IP && heard->length > 20))
        hear_icmp(probe, heard, six);
}
