/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/syn.h"

#include "model/bytes.h"

#include <string.h>
#include <sys/socket.h>

/* Of a TCP header. */
#define FLAGS_AT 13
#define FIN 0x01
#define SYN 0x02
#define RST 0x04
#define ACK 0x10
#define WORDS_AT 12 /* the header's length in words, in the upper half */
#define WINDOW 1024

/* Sequence numbers cannot be guessed, and name the pair. */
static guint32 first_number(const IbhProbe *probe)
{
    return ibh_get32(probe->cookie + 4);
}

/* Above the ports that Linux gives to connections by itself, so that no connection is disturbed. */
guint16 ibh_probe_syn_port(const IbhProbe *probe)
{
    return (guint16)(61000 + probe->id % 4000);
}

gboolean ibh_probe_wants_syn(const IbhProbe *probe, const IbhProbePair *pair)
{
    return pair->on_link && pair->received && ibh_probe_peer(probe, pair)->family == AF_INET6;
}

void ibh_probe_syn(const IbhProbe *probe, guint pair, guint8 segment[IBH_SYN_LENGTH])
{
    memset(segment, 0, IBH_SYN_LENGTH);
    ibh_put16(segment, ibh_probe_syn_port(probe));
    ibh_put16(segment + 2, IBH_SYN_PORT);
    ibh_put32(segment + 4, first_number(probe) + pair);
    segment[WORDS_AT] = IBH_SYN_LENGTH / 4 << 4;
    segment[FLAGS_AT] = SYN;
    ibh_put16(segment + 14, WINDOW);
}

/* A RST or a SYN that acknowledges our number. */
static gboolean is_answer(const guint8 *segment, gsize length)
{
    return length >= IBH_SYN_LENGTH && (segment[FLAGS_AT] & ACK) && (segment[FLAGS_AT] & (RST | SYN)) &&
           !(segment[FLAGS_AT] & FIN);
}

gboolean ibh_probe_syn_answered(IbhProbe *probe, const IbhProbeReply *reply)
{
    guint32 number;
    IbhProbePair *pair;

    if (!is_answer(reply->icmp, reply->length) || ibh_get16(reply->icmp) != IBH_SYN_PORT ||
        ibh_get16(reply->icmp + 2) != ibh_probe_syn_port(probe))
        return FALSE;
    number = ibh_get32(reply->icmp + 8) - 1 - first_number(probe);
    if (number >= probe->pairs->len)
        return FALSE;
    pair = ibh_probe_pair(probe, number);
    if (!ibh_ip_equal(&reply->from, ibh_probe_peer(probe, pair)) ||
        !ibh_ip_equal(&reply->to, &ibh_probe_source(probe, pair)->ip) || pair->syn.outcome == IBH_SYN_UNWANTED ||
        pair->syn.outcome == IBH_SYN_ANSWERED)
        return FALSE;
    pair->syn.outcome = IBH_SYN_ANSWERED;
    pair->syn.sender_len = MIN(reply->sender_len, IBH_LLADDR_MAX);
    memcpy(pair->syn.sender, reply->sender, pair->syn.sender_len);
    return TRUE;
}

const char *ibh_probe_syn_why(const IbhProbePair *pair)
{
    switch (pair->syn.outcome) {
    case IBH_SYN_NO_RIGHT:
        return "that needs CAP_NET_RAW";
    case IBH_SYN_UNSENT:
        return "this host does not send a TCP SYN there (its firewall?)";
    case IBH_SYN_SILENT:
        return "no answer to a TCP SYN (a firewall?)";
    case IBH_SYN_ANSWERED:
        return pair->syn.sender_len && pair->lladdr_len ? NULL : "the kernel tells no hardware addresses";
    default:
        return NULL;
    }
}

gboolean ibh_probe_syn_is_wrong(const IbhProbePair *pair)
{
    return pair->syn.outcome == IBH_SYN_ANSWERED && !ibh_probe_syn_why(pair) &&
           (pair->syn.sender_len != pair->lladdr_len || memcmp(pair->syn.sender, pair->lladdr, pair->lladdr_len) != 0);
}
