/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/probe_trace.h"

#include "check/outcome.h"
#include "model/arp.h"
#include "model/bytes.h"

#include <linux/if_ether.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <string.h>
#include <sys/socket.h>

#define ARP_REQUEST 1
#define SOLICITATION 24 /* bytes, up to the end of the address that is asked for */

gboolean ibh_probe_trace_is_due(const IbhProbe *probe, guint i)
{
    const IbhProbePair *pair = ibh_probe_pair(probe, i);

    for (guint number = 0; number < (guint)probe->count; number++) {
        if (ibh_probe_echo(probe, i, number)->seen)
            return FALSE;
    }
    return pair->sent && !pair->received && ibh_nic_is_usable(ibh_probe_source(probe, pair)->nic);
}

static IbhIp to_ip(int family, const guint8 *bytes)
{
    IbhIp ip = {.family = family};

    memcpy(ip.bytes, bytes, family == AF_INET6 ? 16 : 4);
    return ip;
}

/* ---- echoes ---- */

/* Where ICMP begins; 0: it is none, or cut short. */
static gsize find_icmp(const IbhTraced *packet, gsize needed)
{
    gboolean six = packet->protocol == ETH_P_IPV6;
    gsize header = six ? 40 : packet->length ? (gsize)(packet->bytes[0] & 0xf) * 4 : 0;

    if (header < 20 || packet->length < header + needed ||
        packet->bytes[six ? 6 : 9] != (six ? IPPROTO_ICMPV6 : IPPROTO_ICMP))
        return 0;
    return header;
}

static IbhProbePair *find_traced(const IbhProbe *probe, int ifindex, guint32 i)
{
    IbhProbePair *pair = i < probe->pairs->len ? ibh_probe_pair(probe, i) : NULL;

    return pair && pair->trace.asked && ibh_probe_link(probe, pair)->ifindex == ifindex ? pair : NULL;
}

/* Translation of addresses leaves the cookie as it is. */
static void take_echo(IbhProbe *probe, const IbhTraced *packet)
{
    gboolean six = packet->protocol == ETH_P_IPV6;
    int family = six ? AF_INET6 : AF_INET;
    const guint8 request = six ? ICMP6_ECHO_REQUEST : ICMP_ECHO, reply = six ? ICMP6_ECHO_REPLY : ICMP_ECHOREPLY;
    gsize at = find_icmp(packet, IBH_PROBE_PACKET);
    const guint8 *icmp = packet->bytes + at;
    IbhProbePair *pair;
    IbhIp from, to;

    if (!at || memcmp(icmp + 8, probe->cookie, sizeof probe->cookie) != 0 ||
        !(pair = find_traced(probe, packet->ifindex, ibh_get32(icmp + 24))))
        return;
    from = to_ip(family, packet->bytes + (six ? 8 : 12));
    to = to_ip(family, packet->bytes + (six ? 24 : 16));
    if (packet->outgoing && icmp[0] == request) {
        pair->trace.left = TRUE;
        pair->trace.from = from;
        pair->trace.to = to;
        pair->trace.is_translated =
            !ibh_ip_equal(&from, &ibh_probe_source(probe, pair)->ip) || !ibh_ip_equal(&to, ibh_probe_peer(probe, pair));
    }
    if (!packet->outgoing && icmp[0] == reply && ibh_ip_equal(&from, ibh_probe_peer(probe, pair)) &&
        ibh_ip_equal(&to, &ibh_probe_source(probe, pair)->ip))
        pair->trace.came = TRUE;
}

/* ---- questions for the hardware address ---- */

static void note_question(IbhProbe *probe, const IbhTraced *packet, const IbhIp *whom)
{
    gpointer number;
    IbhProbePair *pair;

    if (!g_hash_table_lookup_extended(probe->numbers, whom, NULL, &number) ||
        !(pair = ibh_probe_find_pair(probe, packet->ifindex, GPOINTER_TO_UINT(number))) ||
        !ibh_ip_equal(ibh_probe_peer(probe, pair), whom))
        return;
    pair->trace.asks |= packet->outgoing;
    pair->trace.told |= !packet->outgoing;
}

static void take_arp(IbhProbe *probe, const IbhTraced *packet)
{
    gsize length = packet->length >= 8 ? packet->bytes[4] : 0, whom = 8 + 2 * length + 4;
    IbhArpReply reply;
    IbhIp ip;

    if (!packet->outgoing && ibh_arp_parse_reply(packet->bytes, packet->length, &reply))
        note_question(probe, packet, &reply.from);
    if (!packet->outgoing || packet->length < whom + 4 || packet->bytes[5] != 4 ||
        ibh_get16(packet->bytes + 6) != ARP_REQUEST)
        return;
    ip = to_ip(AF_INET, packet->bytes + whom);
    note_question(probe, packet, &ip);
}

static void take_solicitation(IbhProbe *probe, const IbhTraced *packet)
{
    gsize at = find_icmp(packet, SOLICITATION);
    IbhIp ip;

    if (!at || packet->bytes[at] != (packet->outgoing ? ND_NEIGHBOR_SOLICIT : ND_NEIGHBOR_ADVERT))
        return;
    ip = to_ip(AF_INET6, packet->bytes + at + 8);
    note_question(probe, packet, &ip);
}

void ibh_probe_trace_take(IbhProbe *probe, const IbhTraced *packet)
{
    switch (packet->protocol) {
    case ETH_P_ARP:
        take_arp(probe, packet);
        break;
    case ETH_P_IPV6:
        take_solicitation(probe, packet);
        take_echo(probe, packet);
        break;
    case ETH_P_IP:
        take_echo(probe, packet);
        break;
    default:
        break;
    }
}

/* ---- the verdict ---- */

gboolean ibh_probe_trace_has_moved(const IbhProbePair *pair)
{
    return !pair->trace.asked || pair->trace.left || pair->trace.asks || pair->trace.delivered;
}

IbhProbeLoss ibh_probe_trace_verdict(const IbhProbePair *pair)
{
    const IbhProbeTrace *trace = &pair->trace;

    if (!trace->asked || trace->delivered)
        return IBH_LOSS_NONE;
    if (trace->came)
        return IBH_LOSS_DROPPED;
    if (trace->left)
        return trace->is_translated ? IBH_LOSS_TRANSLATED : IBH_LOSS_NONE;
    /* a gateway is asked for another address than the peer's */
    return pair->on_link && (trace->told || !trace->asks) ? IBH_LOSS_HELD : IBH_LOSS_NONE;
}
