/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The packets of --probe, and what packets from the wire, which may be anything, say of its pairs. */
#include "model/arp.h"
#include "probe/probe.h"

#include <linux/if_ether.h>
#include <net/if_arp.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <string.h>
#include <sys/socket.h>

#define SIX 40          /* bytes of an IPv6 header */
#define FRAGMENT 8      /* of its extension header */
#define SOLICITATION 24 /* up to the end of the address that is asked for */
/* Of a TCP header. */
#define WORDS_AT 12 /* its length in words, in the upper half */
#define FLAGS_AT 13
#define FIN 0x01
#define SYN 0x02
#define RST 0x04
#define ACK 0x10
#define TCP_WINDOW 1024

/* ---- echoes ---- */

static guint checksum(const guint8 *bytes, gsize length)
{
    guint32 sum = 0;

    for (gsize i = 0; i < length; i++)
        sum += i % 2 ? bytes[i] : (guint32)bytes[i] << 8;
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return ~sum & 0xffff;
}

/* IPv6's has the addresses in it, the length and the protocol. */
static gboolean is_sum_right(const IbhProbeReply *reply)
{
    const gboolean six = reply->from.family == AF_INET6;
    g_autofree guint8 *bytes = g_malloc0(SIX + reply->length);

    if (six) {
        memcpy(bytes, reply->from.bytes, 16);
        memcpy(bytes + 16, reply->to.bytes, 16);
        ibh_put32(bytes + 32, (guint32)reply->length);
        bytes[39] = IPPROTO_ICMPV6;
    }
    memcpy(bytes + SIX, reply->icmp, reply->length);
    return checksum(bytes, SIX + reply->length) == 0;
}

/* Without the IP header. 0: there is no such echo. */
static gsize length_of(guint number, gboolean six)
{
    const guint size = number & ~IBH_PROBE_SIZED, header = six ? SIX : 20;

    if (!(number & IBH_PROBE_SIZED))
        return IBH_PROBE_PACKET;
    return size >= header + IBH_PROBE_PACKET && size <= IBH_PROBE_SIZE_MAX ? size - header : 0;
}

/* What request and reply have in common: id, sequence; cookie, pair, number, zeros. */
static void put_body(const IbhProbe *probe, guint pair, guint number, guint8 *packet)
{
    ibh_put16(packet + 4, probe->id);
    ibh_put16(packet + 6, number & 0xffff);
    memcpy(packet + 8, probe->cookie, sizeof probe->cookie);
    ibh_put32(packet + 24, pair);
    ibh_put32(packet + 28, number);
}

/* Before it: type, code, checksum. In IPv6 the kernel writes the checksum. */
gsize ibh_probe_packet(const IbhProbe *probe, guint pair, guint number, guint8 *packet)
{
    gboolean six = ibh_probe_family(ibh_probe_pair(probe, pair)) != 0;
    gsize length = length_of(number, six);

    memset(packet, 0, length);
    packet[0] = six ? ICMP6_ECHO_REQUEST : ICMP_ECHO;
    put_body(probe, pair, number, packet);
    if (!six)
        ibh_put16(packet + 2, checksum(packet, length));
    return length;
}

void ibh_probe_sent(IbhProbe *probe, guint pair, guint number, gint64 now)
{
    *ibh_probe_echo(probe, pair, number) = (IbhProbeEcho){.sent_at = now};
    ibh_probe_pair(probe, pair)->sent++;
}

gsize ibh_icmp_offset(int family, const guint8 *bytes, gsize length)
{
    gsize header = length ? (gsize)(bytes[0] & 0xf) * 4 : 0;

    if (family == AF_INET6)
        return length > SIX && bytes[6] == IPPROTO_ICMPV6 ? SIX : 0;
    return header >= 20 && header < length && bytes[0] >> 4 == 4 && bytes[9] == IPPROTO_ICMP ? header : 0;
}

/* A packet answers a request of ours if its first bytes are that request's, sent back to its source by the peer that it
 * went to. What follows them is zeros, and `length` bytes in all have to be as many as were sent; 0: it is a part. */
static IbhProbePair *find_request(const IbhProbe *probe, const IbhProbeReply *reply, gsize length, guint *ret_number)
{
    const gboolean six = reply->from.family == AF_INET6;
    guint8 request[IBH_PROBE_PACKET] = {0};
    guint32 i, number;
    IbhProbePair *pair;

    if (reply->length < IBH_PROBE_PACKET || (i = ibh_get32(reply->icmp + 24)) >= probe->pairs->len)
        return NULL;
    number = *ret_number = ibh_get32(reply->icmp + 28);
    pair = ibh_probe_pair(probe, i);
    if (number & IBH_PROBE_SIZED ? (number & ~IBH_PROBE_SIZED) > ibh_probe_full_size(pair)
                                 : number >= (guint)probe->count || !ibh_probe_echo(probe, i, number)->sent_at)
        return NULL;
    if ((length && length != length_of(number, six)) || !ibh_ip_equal(&reply->from, ibh_probe_peer(pair)) ||
        !ibh_ip_equal(&reply->to, &ibh_probe_source(pair)->ip))
        return NULL;
    put_body(probe, i, number, request);
    if (reply->icmp[0] != (six ? ICMP6_ECHO_REPLY : ICMP_ECHOREPLY) || reply->icmp[1] != 0 ||
        memcmp(reply->icmp + 4, request + 4, sizeof request - 4) != 0)
        return NULL;
    for (gsize at = IBH_PROBE_PACKET; at < reply->length; at++) {
        if (reply->icmp[at])
            return NULL;
    }
    return pair;
}

/* A reply of this pair whose checksum is wrong: it was damaged behind the host that sent it. */
static void note_mangled(IbhProbe *probe, const IbhProbeReply *reply)
{
    const gboolean six = reply->from.family == AF_INET6;
    IbhProbePair *pair = ibh_probe_find_pair(probe, reply->ifindex, &reply->from);

    if (!pair || reply->length < IBH_PROBE_PACKET || reply->icmp[0] != (six ? ICMP6_ECHO_REPLY : ICMP_ECHOREPLY) ||
        ibh_get16(reply->icmp + 4) != probe->id || is_sum_right(reply))
        return;
    pair->mangled |= reply->length == IBH_PROBE_PACKET;
    pair->mtu.mangled |= reply->length > IBH_PROBE_PACKET;
}

/* By a later packet of ours, an entry of the neighbour table may be mended, and old echoes leave. */
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

/* ---- TCP ---- */

/* Sequence numbers cannot be guessed, and name the pair. */
static guint32 first_number(const IbhProbe *probe)
{
    return ibh_get32(probe->cookie + 4);
}

/* Above the ports that Linux gives to connections by itself, so that no connection is disturbed. */
static guint16 syn_port(const IbhProbe *probe)
{
    return (guint16)(61000 + probe->id % 4000);
}

void ibh_probe_syn(const IbhProbe *probe, guint pair, guint8 segment[IBH_SYN_LENGTH])
{
    memset(segment, 0, IBH_SYN_LENGTH);
    ibh_put16(segment, syn_port(probe));
    ibh_put16(segment + 2, IBH_SYN_PORT);
    ibh_put32(segment + 4, first_number(probe) + pair);
    segment[WORDS_AT] = IBH_SYN_LENGTH / 4 << 4;
    segment[FLAGS_AT] = SYN;
    ibh_put16(segment + 14, TCP_WINDOW);
}

/* A RST that acknowledges our number; a SYN with ACK, from a program that listens, is as good. */
static gboolean is_answer_to_syn(guint8 flags)
{
    return flags & ACK && flags & (RST | SYN) && !(flags & FIN);
}

static void hear_tcp(IbhProbe *probe, const IbhHeard *heard)
{
    const guint8 *segment = heard->bytes + SIX;
    const IbhIp from = ibh_ip_from_bytes(AF_INET6, heard->bytes + 8),
                to = ibh_ip_from_bytes(AF_INET6, heard->bytes + 24);
    guint32 number;
    IbhProbePair *pair;

    if (heard->outgoing || heard->length < SIX + IBH_SYN_LENGTH || !is_answer_to_syn(segment[FLAGS_AT]) ||
        ibh_get16(segment) != IBH_SYN_PORT || ibh_get16(segment + 2) != syn_port(probe))
        return;
    number = ibh_get32(segment + 8) - 1 - first_number(probe);
    pair = number < probe->pairs->len ? ibh_probe_pair(probe, number) : NULL;
    if (!pair || pair->syn != IBH_SYN_SILENT || !ibh_ip_equal(&from, ibh_probe_peer(pair)) ||
        !ibh_ip_equal(&to, &ibh_probe_source(pair)->ip))
        return;
    pair->syn = IBH_SYN_ANSWERED;
    pair->syn_sender = heard->sender;
}

const char *ibh_probe_syn_why(const IbhProbePair *pair)
{
    if (pair->syn == IBH_SYN_SILENT)
        return "no answer to a TCP SYN (a firewall?)";
    return pair->syn == IBH_SYN_ANSWERED && !(pair->syn_sender.len && pair->lladdr.len)
               ? "the kernel tells no hardware addresses"
               : NULL;
}

/* ---- ARP and neighbour discovery ---- */

gboolean ibh_arp_parse(const guint8 *frame, gsize length, guint16 operation, IbhArpReply *ret_reply)
{
    const gsize size = length >= 8 ? frame[4] : 0; /* of a hardware address */

    if (!size || size > IBH_LLADDR_MAX || length < 8 + 2 * (size + 4) || ibh_get16(frame + 2) != ETH_P_IP ||
        frame[5] != 4 || ibh_get16(frame + 6) != operation)
        return FALSE;
    *ret_reply = (IbhArpReply){.from = ibh_ip_from_bytes(AF_INET, frame + 8 + size),
                               .to = ibh_ip_from_bytes(AF_INET, frame + 8 + 2 * size + 4),
                               .lladdr = ibh_lladdr_from_bytes(frame + 8, (guint)size)};
    return TRUE;
}

/* An advertisement came in through `link`. */
static gboolean parse_advertisement(const IbhLink *link, const guint8 *packet, gsize length, IbhArpReply *ret_reply)
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
                                   .lladdr = ibh_lladdr_from_bytes(packet + at + before, link->lladdr_len),
                                   .proxy = !(packet[4] & 0x20)}; /* without "override" */
        return TRUE;
    }
    return FALSE;
}

/* ---- what passes a NIC ---- */

/* Translation of addresses leaves the cookie as it is. */
static void hear_request(IbhProbe *probe, const IbhHeard *heard, const IbhProbeReply *packet)
{
    guint32 i = packet->length >= IBH_PROBE_PACKET ? ibh_get32(packet->icmp + 24) : G_MAXUINT32, number;
    IbhProbePair *pair = i < probe->pairs->len ? ibh_probe_pair(probe, i) : NULL;
    gboolean is_right;

    if (!pair || packet->icmp[0] != (packet->from.family == AF_INET6 ? ICMP6_ECHO_REQUEST : ICMP_ECHO) ||
        memcmp(packet->icmp + 8, probe->cookie, sizeof probe->cookie) != 0)
        return;
    is_right = ibh_probe_link(pair)->ifindex == heard->ifindex;
    number = ibh_get32(packet->icmp + 28);
    if (number == IBH_PROBE_FREE) /* a NIC below shows it, too: by the right NIC counts */
        pair->free_ifindex = is_right || !pair->free_ifindex ? heard->ifindex : pair->free_ifindex;
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

/* A NIC that stands above another one shows the same packet once more: by the right NIC counts. */
static void hear_echo(IbhProbePair *pair, IbhProbeEcho *echo, const IbhHeard *heard)
{
    const int right = ibh_probe_link(pair)->ifindex;

    if (comes_too_late(pair))
        return;
    echo->twice |= echo->seen == heard->ifindex;
    if (echo->seen != right)
        echo->seen = heard->ifindex;
    if (heard->ifindex == right)
        pair->sender = heard->sender;
    else
        pair->strayed = heard->sender;
}

/* `total`: of its IP header and all behind it, in this piece. */
static void hear_reply(IbhProbe *probe, const IbhHeard *heard, const IbhProbeReply *packet, gsize offset, gsize total,
                       gboolean is_piece)
{
    guint number;
    IbhProbePair *pair = find_request(probe, packet, is_piece ? 0 : total - offset, &number);

    if (!pair)
        return;
    if (is_piece)
        pair->mtu.fragment = (guint)total;
    else if (number & IBH_PROBE_SIZED)
        pair->mtu.seen = MAX(pair->mtu.seen, number & ~IBH_PROBE_SIZED);
    else
        hear_echo(pair, ibh_probe_echo(probe, ibh_get32(packet->icmp + 24), number), heard);
}

static gboolean is_too_big(const guint8 *icmp, gboolean six)
{
    return six ? icmp[0] == ICMP6_PACKET_TOO_BIG : icmp[0] == ICMP_DEST_UNREACH && icmp[1] == ICMP_FRAG_NEEDED;
}

static gboolean is_refusal(const guint8 *icmp, gboolean six)
{
    return six ? icmp[0] == ICMP6_DST_UNREACH || icmp[0] == ICMP6_TIME_EXCEEDED
               : icmp[0] == ICMP_DEST_UNREACH || icmp[0] == ICMP_TIME_EXCEEDED;
}

/* Another host reports what became of an echo of ours, which it quotes. */
static void hear_error(IbhProbe *probe, const IbhHeard *heard, const IbhProbeReply *error)
{
    const gboolean six = error->from.family == AF_INET6;
    const gsize header = six ? SIX : 20, size = six ? 16 : 4;
    const guint8 *icmp = error->icmp;
    guint limit;
    IbhProbePair *pair;
    IbhIp to;

    if (error->length < 8 + header + 8 || ibh_get16(icmp + 8 + header + 4) != probe->id ||
        ibh_rails_holder(probe->rails, &error->from))
        return;
    to = ibh_ip_from_bytes(error->from.family, icmp + 8 + header - size);
    if (!(pair = ibh_probe_find_pair(probe, heard->ifindex, &to)))
        return;
    limit = six ? ibh_get32(icmp + 4) : ibh_get16(icmp + 6);
    if (is_too_big(icmp, six)) {
        pair->mtu.limited_by = error->from;
        pair->mtu.limit = limit <= ibh_probe_full_size(pair) ? limit : 0;
    } else if (is_refusal(icmp, six)) {
        pair->refusal = (IbhProbeRefusal){error->from, icmp[0], icmp[1]};
    }
}

/* A question for a hardware address, or an answer. */
static void note_question(IbhProbe *probe, const IbhHeard *heard, const IbhIp *whom)
{
    IbhProbePair *pair = ibh_probe_find_pair(probe, heard->ifindex, whom);

    if (!pair)
        return;
    pair->questions += heard->outgoing ? 1 : 0;
    if (pair->step > IBH_STEP_ECHOES)
        return;
    pair->trace.asks |= heard->outgoing;
    pair->trace.is_answered |= !heard->outgoing;
}

static void hear_arp(IbhProbe *probe, const IbhHeard *heard)
{
    IbhArpReply arp;

    if (!ibh_arp_parse(heard->bytes, heard->length, heard->outgoing ? ARPOP_REQUEST : ARPOP_REPLY, &arp))
        return;
    arp.sender = heard->sender;
    note_question(probe, heard, heard->outgoing ? &arp.to : &arp.from);
    if (!heard->outgoing)
        ibh_probe_answered(probe, heard->ifindex, &arp);
}

/* A packet that a router forwarded has fewer hops left: no neighbour sent it. */
static void hear_discovery(IbhProbe *probe, const IbhHeard *heard, const guint8 *icmp, gsize length)
{
    const IbhLink *link = ibh_snapshot_link(probe->rails->snapshot, heard->ifindex);
    IbhArpReply reply;
    IbhIp whom;

    if (!link || length < SOLICITATION || heard->bytes[7] != 255 ||
        icmp[0] != (heard->outgoing ? ND_NEIGHBOR_SOLICIT : ND_NEIGHBOR_ADVERT))
        return;
    whom = ibh_ip_from_bytes(AF_INET6, icmp + 8);
    note_question(probe, heard, &whom);
    if (!heard->outgoing && parse_advertisement(link, icmp, length, &reply))
        ibh_probe_answered(probe, heard->ifindex, &reply);
}

/* Or a piece of something else. */
static gboolean is_later_piece(const guint8 *bytes, gboolean six, gboolean is_piece)
{
    if (!six)
        return (ibh_get16(bytes + 6) & 0x1fff) != 0;
    return is_piece && (bytes[SIX] != IPPROTO_ICMPV6 || ibh_get16(bytes + SIX + 2) & 0xfff8);
}

static void hear_icmp(IbhProbe *probe, const IbhHeard *heard, gboolean six)
{
    const int family = six ? AF_INET6 : AF_INET;
    const guint8 *bytes = heard->bytes;
    gboolean is_piece = six ? bytes[6] == IPPROTO_FRAGMENT : (ibh_get16(bytes + 6) & 0x2000) != 0;
    gsize at = six && is_piece ? SIX + FRAGMENT : ibh_icmp_offset(family, bytes, heard->length);
    gsize total = six ? SIX + ibh_get16(bytes + 4) : ibh_get16(bytes + 2);
    IbhProbeReply packet;

    if (!at || total <= at || heard->length <= at || is_later_piece(bytes, six, is_piece))
        return;
    packet.from = ibh_ip_from_bytes(family, bytes + (six ? 8 : 12));
    packet.to = ibh_ip_from_bytes(family, bytes + (six ? 24 : 16));
    packet.ifindex = heard->ifindex;
    packet.icmp = bytes + at;
    packet.length = MIN(heard->length, total) - at; /* bytes behind it fill up a short frame */
    if (six && !is_piece)
        hear_discovery(probe, heard, packet.icmp, packet.length);
    if (heard->outgoing) {
        hear_request(probe, heard, &packet);
        return;
    }
    if (!is_piece && packet.length == total - at)
        note_mangled(probe, &packet);
    hear_reply(probe, heard, &packet, at, total, is_piece);
    if (!is_piece)
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
