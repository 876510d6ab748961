/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Builds the echoes and SYNs that --probe sends; model/arp.c builds the ARP requests and the solicitations. */
#include "model/arp.h"
#include "probe/probe.h"

#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <string.h>

#define WORDS_AT 12 /* offset in a TCP header; the byte's upper 4 bits are the header's length in words of 4 bytes */
#define FLAGS_AT 13 /* offset in a TCP header */
#define SYN 0x02    /* flag in a TCP header */
#define TCP_WINDOW 1024

guint ibh_probe_sum(guint32 sum, const guint8 *bytes, gsize length)
{
    for (gsize i = 0; i < length; i++)
        sum += i % 2 ? bytes[i] : (guint32)bytes[i] << 8;
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return sum;
}

gsize ibh_probe_length(guint number, gboolean six)
{
    const guint size = number & ~IBH_PROBE_SIZED, header = six ? 40 : 20;

    if (!(number & IBH_PROBE_SIZED))
        return IBH_PROBE_PACKET;
    return size >= header + IBH_PROBE_PACKET && size <= IBH_PROBE_SIZE_MAX ? size - header : 0;
}

/* An ICMP error may quote only 8 bytes of the echo. So the identifier and the sequence number contain a part of the
 * cookie, and the checksum depends on the whole cookie. The zeros that fill a large echo do not change the checksum. In
 * IPv6, the kernel writes the checksum. */
void ibh_probe_write_head(const IbhProbePair *pair, guint number, guint8 head[IBH_PROBE_PACKET])
{
    const gboolean six = ibh_probe_is_ipv6(pair);

    memset(head, 0, IBH_PROBE_PACKET);
    head[0] = six ? ICMP6_ECHO_REQUEST : ICMP_ECHO;
    memcpy(head + 4, pair->cookie, 2);                                    /* the identifier */
    ibh_put16(head + 6, (ibh_get16(pair->cookie + 2) + number) & 0xffff); /* the sequence number */
    ibh_put32(head + 8, pair->probe->tag);
    memcpy(head + 12, pair->cookie + 4, sizeof pair->cookie - 4);
    ibh_put32(head + 24, (guint32)(pair - ibh_probe_pair(pair->probe, 0))); /* the pair's index */
    ibh_put32(head + 28, number);
    if (!six)
        ibh_put16(head + 2, ~ibh_probe_sum(0, head, IBH_PROBE_PACKET) & 0xffff);
}

gsize ibh_probe_write_echo(const IbhProbePair *pair, guint number, guint8 *packet)
{
    const gsize length = ibh_probe_length(number, ibh_probe_is_ipv6(pair));

    memset(packet, 0, length);
    ibh_probe_write_head(pair, number, packet);
    return length;
}

void ibh_probe_note_sent(IbhProbePair *pair, guint number, gint64 now)
{
    pair->echoes[number] = (IbhProbeEcho){.sent_at = now};
    pair->sent++;
}

/* The source port is above those that Linux assigns by default, so that the SYN disturbs no connection. */
gsize ibh_probe_write_syn(const IbhProbePair *pair, guint8 segment[IBH_SYN_LENGTH])
{
    memset(segment, 0, IBH_SYN_LENGTH);
    ibh_put16(segment, 61000 + ibh_get16(pair->cookie) % 4000);
    ibh_put16(segment + 2, IBH_SYN_PORT);
    memcpy(segment + 4, pair->cookie + 4, 4); /* the sequence number */
    segment[WORDS_AT] = IBH_SYN_LENGTH / 4 << 4;
    segment[FLAGS_AT] = SYN;
    ibh_put16(segment + 14, TCP_WINDOW);
    return IBH_SYN_LENGTH;
}
