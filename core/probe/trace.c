/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/trace.h"

#include "check/questions.h"
#include "model/bytes.h"

#include <linux/if_ether.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <string.h>
#include <sys/socket.h>

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

/* ---- echoes ---- */

/* Where ICMP begins; 0: it is none, or shorter than needed. */
static gsize find_icmp(const IbhTraced *packet, gsize needed)
{
    gsize at = ibh_icmp_offset(packet->protocol == ETH_P_IPV6 ? AF_INET6 : AF_INET, packet->bytes, packet->length);

    return packet->length >= at + needed ? at : 0;
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
    from = ibh_ip_from_bytes(family, packet->bytes + (six ? 8 : 12));
    to = ibh_ip_from_bytes(family, packet->bytes + (six ? 24 : 16));
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
    IbhArpReply reply;
    IbhIp whom;

    if (packet->outgoing && ibh_arp_parse_request(packet->bytes, packet->length, &whom))
        note_question(probe, packet, &whom);
    if (!packet->outgoing && ibh_arp_parse_reply(packet->bytes, packet->length, &reply))
        note_question(probe, packet, &reply.from);
}

static void take_solicitation(IbhProbe *probe, const IbhTraced *packet)
{
    gsize at = find_icmp(packet, SOLICITATION);
    IbhIp ip;

    if (!at || packet->bytes[at] != (packet->outgoing ? ND_NEIGHBOR_SOLICIT : ND_NEIGHBOR_ADVERT))
        return;
    ip = ibh_ip_from_bytes(AF_INET6, packet->bytes + at + 8);
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
