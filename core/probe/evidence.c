/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a frame proves. Any host can put any frame on the wire, so this file and, for claims, claims.c decide what to
 * believe, before judge.c reads the result. They believe:
 *
 *   an echo reply that has the cookie of a pair, which only packets of this pair contain (in a damaged reply, a few
 *   bytes of the cookie may be wrong);
 *   an answer to a SYN, if the answer has a part of this cookie;
 *   an ICMP error that quotes an echo of a pair, unless the error came from another host than the pair's next hop;
 *   an ARP packet or an advertisement, unless it names another hardware address than the one that the frame comes from:
 *   then the claim counts as forged (but see ibh_probe_believe_routers()), and proves nothing about the named host.
 *
 * IPoIB does not tell the sender of a frame, and a virtual router may send from its own NIC. So errors and claims that
 * come in over IPoIB are believed, and so are those of virtual routers.
 */
#include "model/arp.h"
#include "probe/probe.h"

#include <linux/if_ether.h>
#include <net/if_arp.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <string.h>
#include <sys/socket.h>

#define IPV6_HEADER 40    /* bytes of an IPv6 header */
#define FRAGMENT_HEADER 8 /* bytes of the fragment header of IPv6 */
#define FLAGS_AT 13       /* offset in a TCP header */
#define FIN 0x01
#define SYN 0x02
#define RST 0x04
#define ACK 0x10
#define QUOTE 8          /* bytes of IPv4 payload that an ICMP error quotes at least (RFC 792) */
#define COOKIE_END 24    /* where an echo's cookie ends; an ICMPv6 error may have 1,280 bytes, so it quotes this far */
#define DAMAGED 4        /* the most wrong cookie bytes of a damaged reply: with more, it is not a reply to us */
#define ADVERTISEMENT 24 /* bytes of an advertisement or solicitation before its options */
#define SOLICITED 0x40   /* flag of an advertisement: it answers a solicitation */
#define OVERRIDES 0x20   /* flag of an advertisement; a proxy clears it, and so does each host of an anycast address */

gsize ibh_icmp_offset(const guint8 *bytes, gsize length)
{
    const gsize header = length ? (gsize)(bytes[0] & 0xf) * 4 : 0;

    return header >= 20 && header < length && bytes[0] >> 4 == 4 && bytes[9] == IPPROTO_ICMP ? header : 0;
}

/* ---- echo replies ---- */

/* Returns the pair whose request this packet answers, and sets *ret_number to the number of this request; returns NULL
 * if there is no such pair. A reply comes from the peer, goes to our address, and repeats the request, including the
 * zeros that fill it. Replies to the echo IBH_PROBE_FREE, and to the extra echo of flight.c, are not taken: these
 * echoes only have to leave. */
static IbhProbePair *find_request(const IbhProbe *probe, const IbhPacket *reply, guint *ret_number)
{
    const gboolean six = reply->from.family == AF_INET6;
    const guint8 *icmp = reply->icmp;
    guint8 head[IBH_PROBE_PACKET];
    IbhProbePair *pair = reply->length < IBH_PROBE_PACKET ? NULL : ibh_probe_pair(probe, ibh_get32(icmp + 24));
    gboolean is_expected;
    guint number;

    if (!pair)
        return NULL;
    number = *ret_number = ibh_get32(icmp + 28);
    if (number & IBH_PROBE_SIZED)
        is_expected = (number & ~IBH_PROBE_SIZED) <= ibh_probe_full_size(pair);
    else
        is_expected = number < probe->count && pair->echoes[number].sent_at;
    if (!is_expected)
        return NULL;
    if ((!reply->is_fragment && reply->length + reply->cut != ibh_probe_length(number, six)) ||
        !ibh_ip_equal(&reply->from, ibh_probe_peer(pair)) || !ibh_ip_equal(&reply->to, &pair->route.from))
        return NULL;
    ibh_probe_write_head(pair, number, head);
    /* type and checksum differ between a request and its reply; everything after them is the same */
    if (icmp[0] != (six ? ICMP6_ECHO_REPLY : ICMP_ECHOREPLY) || icmp[1] != 0 ||
        memcmp(icmp + 4, head + 4, sizeof head - 4) != 0)
        return NULL;
    for (gsize at = IBH_PROBE_PACKET; at < reply->length; at++) {
        if (icmp[at])
            return NULL;
    }
    return pair;
}

/* If NICs are stacked, such as a bond on its ports, a packet is heard on each of them, and the pair's own NIC counts.
 * Replies to small echoes do not count if they come after the pair gave up these echoes: the answer to --probe's own
 * question may have repaired the neighbour entry, and the kernel then sends the echoes that waited for the entry. */
gboolean ibh_probe_take_reply(IbhProbe *probe, const IbhPacket *reply, gint64 now)
{
    guint number, size;
    IbhProbePair *pair = find_request(probe, reply, &number);
    const int pair_ifindex = pair ? ibh_probe_link(pair)->ifindex : 0;
    IbhProbeEcho *echo;

    if (!pair)
        return FALSE;
    size = number & ~IBH_PROBE_SIZED;
    if (reply->is_fragment) {
        pair->mtu.fragment = (guint)reply->total;
        return FALSE;
    }
    if (number & IBH_PROBE_SIZED) {
        guint *longest = now ? &pair->mtu.passed : &pair->mtu.seen;

        *longest = MAX(*longest, size);
        return TRUE;
    }
    echo = &pair->echoes[number];
    /* the pair has gone on without all replies, or this reply is delivered a second time */
    if ((pair->step > IBH_STEP_ECHOES && pair->received < pair->sent) || (now && echo->received))
        return FALSE;
    if (now) {
        const gint64 rtt = MAX(now - echo->sent_at, 0);

        echo->received = TRUE;
        pair->received++;
        pair->rtt = pair->rtt < 0 ? rtt : MIN(pair->rtt, rtt);
        return TRUE;
    }
    pair->doubled |= echo->seen == reply->ifindex;
    echo->seen = echo->seen == pair_ifindex ? pair_ifindex : reply->ifindex;
    if (reply->ifindex == pair_ifindex)
        pair->sender = reply->sender;
    else
        pair->strayed = reply->sender;
    return TRUE;
}

/* Notes a reply with a wrong checksum, which was damaged on its way. FALSE if the packet is no such reply. */
static gboolean hear_damaged(IbhProbe *probe, const IbhPacket *reply)
{
    const gboolean six = reply->from.family == AF_INET6;
    IbhProbePair *pair = ibh_probe_find_pair(probe, reply->ifindex, &reply->from);
    guint32 sum = 0;
    guint wrong = 0;

    if (!pair || reply->length < IBH_PROBE_PACKET || reply->cut ||
        reply->icmp[0] != (six ? ICMP6_ECHO_REPLY : ICMP_ECHOREPLY))
        return FALSE;
    /* the first 4 bytes of the cookie are not here, but in the identifier and the sequence number */
    for (guint at = 4; at < sizeof pair->cookie; at++)
        wrong += reply->icmp[at + 8] != pair->cookie[at] ? 1 : 0;
    if (six) { /* the checksum of ICMPv6 also covers addresses, length and protocol */
        sum = ibh_probe_sum((guint32)reply->length + IPPROTO_ICMPV6, reply->from.bytes, 16);
        sum = ibh_probe_sum(sum, reply->to.bytes, 16);
    }
    if (wrong > DAMAGED || ibh_probe_sum(sum, reply->icmp, reply->length) == 0xffff)
        return FALSE;
    if (reply->length > IBH_PROBE_PACKET)
        pair->mtu.mangled = TRUE;
    else
        pair->mangled = TRUE;
    return TRUE;
}

/* ---- what this host sends ---- */

/* Notes that one of our echoes leaves. Address translation may change its addresses and its identifier, but not the
 * part of the cookie that follows the tag. */
static void hear_request(IbhProbe *probe, const IbhPacket *packet)
{
    const guint8 *icmp = packet->icmp;
    IbhProbePair *pair = packet->length < IBH_PROBE_PACKET ? NULL : ibh_probe_pair(probe, ibh_get32(icmp + 24));
    guint number;
    gboolean is_pair_nic;

    if (!pair || icmp[0] != (packet->from.family == AF_INET6 ? ICMP6_ECHO_REQUEST : ICMP_ECHO) ||
        memcmp(icmp + 12, pair->cookie + 4, sizeof pair->cookie - 4) != 0)
        return;
    is_pair_nic = ibh_probe_link(pair)->ifindex == packet->ifindex;
    number = ibh_get32(icmp + 28);
    /* if NICs are stacked, the pair's own NIC counts */
    if (number == IBH_PROBE_FREE && (is_pair_nic || !pair->free_ifindex))
        pair->free_ifindex = packet->ifindex;
    if (!is_pair_nic)
        return;
    if (number & IBH_PROBE_SIZED)
        pair->mtu.left = MAX(pair->mtu.left, number & ~IBH_PROBE_SIZED);
    /* Large echoes and IBH_PROBE_FREE, which are sent in a later step, are noted above. Any other echo that leaves in a
     * later step perhaps leaves only because --probe asked for the hardware address, so it does not count. */
    if (pair->step > IBH_STEP_ECHOES)
        return;
    pair->left = TRUE;
    if (number < probe->count)
        pair->echoes[number].left = TRUE;
    pair->leaves_from = packet->from;
    pair->leaves_to = packet->to;
    pair->is_translated =
        !ibh_ip_equal(&packet->from, &pair->route.from) || !ibh_ip_equal(&packet->to, ibh_probe_peer(pair));
}

/* ---- ICMP errors ---- */

/* TRUE if the quote in an ICMP error is the beginning of an echo of this pair, and long enough to prove it. */
static gboolean is_quote(const IbhProbePair *pair, const guint8 *quote, gsize length)
{
    /* hear_error() has checked that the quote has the 8 bytes of QUOTE. The quote may end before the echo's number, but
     * the ICMP sequence number tells the low 16 bits of the number. */
    const guint low = (ibh_get16(quote + 6) - ibh_get16(pair->cookie + 2)) & 0xffff;
    const guint numbers[] = {low, IBH_PROBE_SIZED | low, IBH_PROBE_FREE};
    const gboolean six = ibh_probe_is_ipv6(pair);
    guint8 head[IBH_PROBE_PACKET];

    if (length < (six ? COOKIE_END : QUOTE))
        return FALSE;
    for (guint n = 0; n < G_N_ELEMENTS(numbers); n++) {
        ibh_probe_write_head(pair, numbers[n], head);
        if (six)
            memcpy(head + 2, quote + 2, 2); /* the checksum, which the kernel wrote */
        if (memcmp(head, quote, MIN(length, sizeof head)) == 0)
            return TRUE;
    }
    return FALSE;
}

/* FALSE if the frame came from another host than the next hop. TRUE also if that cannot be known: if the sender or the
 * next hop is unknown; if neither a claim nor an earlier neighbour entry tells the next hop's hardware address; or if a
 * virtual router claims the next hop's address, because a virtual router may send from its own NIC. */
static gboolean may_be_from(IbhProbeHop *hop, const IbhLladdr *sender)
{
    if (!sender->len || !hop || (!hop->n_claims && !hop->entry.len))
        return TRUE;
    return ibh_hop_has_virtual(hop) || ibh_hop_has(hop, sender) || ibh_lladdr_equal(sender, &hop->entry);
}

/* Takes an ICMP error (too long, unreachable, time exceeded) under four conditions:
 * - Another host sent the error.
 * - The error came in through the NIC of a pair.
 * - The error quotes an echo of this pair, with the echo's IP header.
 * - The frame may be from the pair's next hop. */
static void hear_error(IbhProbe *probe, const IbhPacket *error)
{
    const int family = error->from.family;
    const gboolean six = family == AF_INET6;
    const gsize ip_size = six ? 16 : 4, quote_at = 8 + (six ? IPV6_HEADER : 20);
    const guint8 *icmp = error->icmp, *quote = icmp + quote_at;
    guint limit;
    IbhProbePair *pair;
    IbhIp from, to;

    if (error->length < quote_at + QUOTE || ibh_rails_holder(probe->rails, &error->from))
        return;
    /* the quoted IP header ends with the source and the destination */
    from = ibh_ip_from_bytes(family, quote - 2 * ip_size);
    to = ibh_ip_from_bytes(family, quote - ip_size);
    pair = ibh_probe_find_pair(probe, error->ifindex, &to);
    if (!pair || !ibh_ip_equal(&from, &pair->route.from) || !is_quote(pair, quote, error->length - quote_at) ||
        !may_be_from(pair->hop, &error->sender))
        return;
    limit = six ? ibh_get32(icmp + 4) : ibh_get16(icmp + 6);
    if (six ? icmp[0] == ICMP6_PACKET_TOO_BIG : icmp[0] == ICMP_DEST_UNREACH && icmp[1] == ICMP_FRAG_NEEDED) {
        pair->mtu.limited_by = error->from;
        pair->mtu.limit = limit <= ibh_probe_full_size(pair) ? limit : 0; /* a larger limit cannot be right */
    } else if (icmp[0] == (six ? ICMP6_DST_UNREACH : ICMP_DEST_UNREACH) ||
               icmp[0] == (six ? ICMP6_TIME_EXCEEDED : ICMP_TIME_EXCEEDED)) {
        pair->refused_by = error->from;
        pair->icmp_type = icmp[0];
        pair->icmp_code = icmp[1];
    }
}

/* ---- TCP ---- */

/* Takes the answer to our SYN: a RST, or a SYN if a program listens on the port. Both acknowledge our SYN, and neither
 * has the flag FIN. */
static void hear_tcp(IbhProbe *probe, const IbhPacket *packet, const guint8 *segment, gsize length)
{
    guint8 ours[IBH_SYN_LENGTH];

    if (length < IBH_SYN_LENGTH || !(segment[FLAGS_AT] & ACK) || !(segment[FLAGS_AT] & (RST | SYN)) ||
        segment[FLAGS_AT] & FIN)
        return;
    IBH_EACH_RAIL (nic, probe) { /* the answer may come in through another NIC than the pair's */
        IbhProbePair *pair = ibh_probe_find_pair(probe, nic->link->ifindex, &packet->from);

        if (!pair || pair->syn != IBH_SYN_SILENT || !ibh_ip_equal(&packet->to, &pair->route.from))
            continue;
        ibh_probe_write_syn(pair, ours);
        if (ibh_get16(segment) != ibh_get16(ours + 2) || ibh_get16(segment + 2) != ibh_get16(ours) ||
            ibh_get32(segment + 8) - 1 != ibh_get32(ours + 4))
            continue;
        pair->syn = IBH_SYN_ANSWERED;
        pair->syn_sender = packet->sender;
    }
}

const char *ibh_probe_syn_why(const IbhProbePair *pair)
{
    /* judge.c needs the hardware addresses of the answer's sender and of the next hop */
    const gboolean knows_both = pair->syn_sender.len && pair->hop && pair->hop->lladdr.len;

    if (pair->syn == IBH_SYN_SILENT)
        return "no answer to a TCP SYN (a firewall?)";
    return pair->syn == IBH_SYN_ANSWERED && !knows_both ? "the kernel tells no hardware addresses" : NULL;
}

/* ---- ARP and neighbour discovery ---- */

/* Notes that this host asks for an address, or that a host on the wire claims an address. Ignores claims that come in
 * through NICs that do not probe: these NICs may be in other networks with the same addresses. */
static void hear_neighbour(IbhProbe *probe, const IbhHeard *heard, gboolean is_question, IbhArpClaim *claim)
{
    const int ifindex = heard->ifindex;
    IbhProbeHop *hop = heard->outgoing && is_question ? ibh_probe_hop(probe, ifindex, &claim->to) : NULL;

    if (hop) {
        hop->questions++;
        hop->kernel_asked |= !hop->asker; /* the kernel's own question: --probe has not asked yet */
    }
    if (heard->outgoing || !g_ptr_array_find(probe->nics, ibh_rails_nic(probe->rails, ifindex), NULL))
        return;
    claim->sender = heard->sender;
    ibh_probe_take_claim(probe, ifindex, claim);
}

guint ibh_arp_parse(const guint8 *frame, gsize length, IbhArpClaim *ret_arp)
{
    const guint size = length >= 8 ? frame[4] : 0; /* bytes of a hardware address */
    const guint ends = 8 + 2 * (size + 4);

    if (!size || size > IBH_LLADDR_MAX || length < ends || ibh_get16(frame + 2) != ETH_P_IP || frame[5] != 4)
        return 0;
    *ret_arp = (IbhArpClaim){.from = ibh_ip_from_bytes(AF_INET, frame + 8 + size),
                             .to = ibh_ip_from_bytes(AF_INET, frame + ends - 4),
                             .lladdr = ibh_lladdr_from_bytes(frame + 8, size)};
    return ibh_get16(frame + 6);
}

/* The kernel also updates its entries from requests, and from replies that nobody asked for. So each ARP packet counts
 * as a claim of its sender's address. A reply answers this host if its target is one of our addresses, or 0.0.0.0, as
 * after a question that named no sender (RFC 5227). But a reply whose target is the claimed address only announces this
 * address. */
static void hear_arp(IbhProbe *probe, const IbhHeard *heard)
{
    const IbhIp none = {.family = AF_INET};
    IbhArpClaim arp;
    const guint operation = ibh_arp_parse(heard->bytes, heard->length, &arp);

    if (operation != ARPOP_REQUEST && operation != ARPOP_REPLY)
        return;
    arp.is_answer = operation == ARPOP_REPLY && !ibh_ip_equal(&arp.from, &arp.to) &&
                    (ibh_ip_equal(&arp.to, &none) || ibh_rails_holder(probe->rails, &arp.to));
    hear_neighbour(probe, heard, operation == ARPOP_REQUEST, &arp);
}

/* Takes solicitations that this host sends: they ask for an address. Takes advertisements that come in: they claim an
 * address, and have its hardware address in an option. If the hop limit of a packet is below 255, a router forwarded
 * the packet, so no neighbour sent it. */
static void hear_discovery(IbhProbe *probe, const IbhHeard *heard, const guint8 *icmp, gsize length)
{
    const IbhLink *link = ibh_snapshot_link(probe->rails->snapshot, heard->ifindex);
    IbhArpClaim claim;
    gsize before;

    if (!link || length < ADVERTISEMENT || heard->bytes[7] != 255)
        return;
    claim = (IbhArpClaim){.from = ibh_ip_from_bytes(AF_INET6, icmp + 8),
                          .to = {.family = AF_INET6},
                          .is_answer = (icmp[4] & SOLICITED) != 0,
                          .proxy = !(icmp[4] & OVERRIDES)};
    if (heard->outgoing) { /* a solicitation asks for this address, and does not claim it */
        claim.to = claim.from;
        hear_neighbour(probe, heard, icmp[0] == ND_NEIGHBOR_SOLICIT, &claim);
        return;
    }
    if (icmp[0] != ND_NEIGHBOR_ADVERT || icmp[1] != 0 || !link->lladdr_len)
        return;
    before = 2 + ibh_nd_pad(link); /* bytes of the option before the hardware address */
    for (gsize at = ADVERTISEMENT, size; at + 8 <= length; at += size) {
        size = (gsize)icmp[at + 1] * 8;
        if (!size || size > length - at)
            return;
        if (icmp[at] != ND_OPT_TARGET_LINKADDR || size < before + link->lladdr_len)
            continue;
        claim.lladdr = ibh_lladdr_from_bytes(icmp + at + before, link->lladdr_len);
        hear_neighbour(probe, heard, FALSE, &claim);
        return;
    }
}

/* ---- everything that passes a NIC ---- */

void ibh_probe_hear(IbhProbe *probe, const IbhHeard *heard)
{
    const guint8 *bytes = heard->bytes;
    const gboolean six = heard->protocol == ETH_P_IPV6;
    const int family = six ? AF_INET6 : AF_INET;
    guint fragment_offset = 0;
    gboolean is_icmp;
    gsize at;
    IbhPacket packet = {.ifindex = heard->ifindex, .sender = heard->sender};

    if (heard->protocol == ETH_P_ARP)
        hear_arp(probe, heard);
    if ((!six && heard->protocol != ETH_P_IP) || heard->length <= (six ? IPV6_HEADER : 20))
        return;
    packet.from = ibh_ip_from_bytes(family, bytes + (six ? 8 : 12));
    packet.to = ibh_ip_from_bytes(family, bytes + (six ? 24 : 16));
    packet.total = six ? IPV6_HEADER + ibh_get16(bytes + 4) : ibh_get16(bytes + 2);
    at = six ? IPV6_HEADER : ibh_icmp_offset(bytes, heard->length);
    is_icmp = six ? bytes[6] == IPPROTO_ICMPV6 : at > 0;
    if (!six) {
        fragment_offset = ibh_get16(bytes + 6) & 0x1fff;
        packet.is_fragment = (bytes[6] & 0x20) != 0; /* the flag "more fragments" */
    } else if (bytes[6] == IPPROTO_FRAGMENT && heard->length > IPV6_HEADER + FRAGMENT_HEADER) {
        fragment_offset = ibh_get16(bytes + IPV6_HEADER + 2) & 0xfff8;
        packet.is_fragment = TRUE;
        is_icmp = bytes[IPV6_HEADER] == IPPROTO_ICMPV6;
        at += FRAGMENT_HEADER;
    } else if (bytes[6] == IPPROTO_TCP && !heard->outgoing) { /* IPv6 only: --probe sends no SYN in IPv4 */
        hear_tcp(probe, &packet, bytes + IPV6_HEADER, heard->length - IPV6_HEADER);
    }
    /* only the first fragment has the ICMP header */
    if (!is_icmp || fragment_offset || packet.total <= at || heard->length <= at)
        return;
    packet.icmp = bytes + at;
    packet.length = MIN(heard->length, packet.total) - at; /* padding may follow the packet in a short frame */
    packet.cut = packet.total - at - packet.length;
    if (six && !packet.is_fragment)
        hear_discovery(probe, heard, packet.icmp, packet.length);
    if (heard->outgoing) {
        hear_request(probe, &packet);
        return;
    }
    /* ibh_probe_take_reply() does not look at the checksum, so a damaged reply must not get there */
    if (!packet.is_fragment && hear_damaged(probe, &packet))
        return;
    (void)ibh_probe_take_reply(probe, &packet, 0); /* 0: heard, not delivered */
    if (!packet.is_fragment)
        hear_error(probe, &packet);
}
