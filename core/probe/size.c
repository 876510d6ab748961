/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/size.h"

#include "probe/verdict.h"

#include "model/bytes.h"
#include "model/text.h"

#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <string.h>
#include <sys/socket.h>

#define LEAST 1280 /* the MTU that every IPv6 link has: a rail with it has nothing to lose */

static guint header_length(int family)
{
    return family == AF_INET6 ? 40 : 20;
}

/* ---- which sizes are tried ---- */

static guint full_size(const IbhProbe *probe, const IbhProbePair *pair)
{
    return MIN((guint)MAX(ibh_probe_link(probe, pair)->mtu, 0), IBH_PROBE_SIZE_MAX);
}

/* The largest size that came through: the small echo's at least. */
static guint passed(const IbhProbe *probe, const IbhProbePair *pair)
{
    return MAX(pair->mtu.passed, header_length(ibh_probe_peer(probe, pair)->family) + IBH_PROBE_PACKET);
}

static guint add_size(const IbhProbe *probe, const IbhProbePair *pair, guint size, guint *sizes, guint n)
{
    for (guint i = 0; i < n; i++) {
        if (sizes[i] == size)
            return n;
    }
    if (n == IBH_PROBE_SIZES_MAX || size <= passed(probe, pair) || size > pair->mtu.failed)
        return n;
    sizes[n] = size;
    return n + 1;
}

/* Wires have few sizes: the largest of these that passes is told. The full size is tried again, as the first packet may
 * have been lost. */
static guint guess(const IbhProbe *probe, const IbhProbePair *pair, guint *sizes)
{
    static const guint usual[] = {576, 1280, 1400, 1450, 1492, 1500, 2044, 4092, 4096, 8192, 9000};
    guint n = add_size(probe, pair, full_size(probe, pair), sizes, 0);

    if (pair->mtu.told)
        n = add_size(probe, pair, pair->mtu.told, sizes, n);
    for (guint i = 0; i < G_N_ELEMENTS(usual); i++)
        n = add_size(probe, pair, usual[i], sizes, n);
    return n;
}

guint ibh_probe_sizes(const IbhProbe *probe, const IbhProbePair *pair, guint round, guint sizes[IBH_PROBE_SIZES_MAX])
{
    guint full = full_size(probe, pair);

    if (!pair->received || full <= LEAST || pair->mtu.passed >= full || round > 1)
        return 0;
    if (round == 0) {
        sizes[0] = full;
        return 1;
    }
    return pair->mtu.failed ? guess(probe, pair, sizes) : 0;
}

/* ---- what comes back ---- */

void ibh_probe_size_is_lost(IbhProbePair *pair, guint size)
{
    if (size > pair->mtu.passed && (!pair->mtu.failed || size < pair->mtu.failed))
        pair->mtu.failed = size;
}

/* The pair whose reply begins with this packet, and the size of the whole; NULL: none. */
static IbhProbePair *find_request(const IbhProbe *probe, const IbhProbeReply *reply, guint *ret_size)
{
    guint type = reply->from.family == AF_INET6 ? ICMP6_ECHO_REPLY : ICMP_ECHOREPLY;
    guint8 request[IBH_PROBE_PACKET];
    IbhProbePair *pair;
    guint32 number;

    if (reply->length < IBH_PROBE_PACKET || ibh_get32(reply->icmp + 24) >= probe->pairs->len)
        return NULL;
    number = ibh_get32(reply->icmp + 24);
    *ret_size = ibh_get32(reply->icmp + 28);
    pair = ibh_probe_pair(probe, number);
    ibh_probe_packet(probe, number, *ret_size, reply->id, request);
    if (*ret_size > full_size(probe, pair) || reply->icmp[0] != type || reply->icmp[1] != 0 ||
        memcmp(reply->icmp + 4, request + 4, sizeof request - 4) != 0 ||
        !ibh_ip_equal(&reply->from, ibh_probe_peer(probe, pair)) ||
        !ibh_ip_equal(&reply->to, &ibh_probe_source(probe, pair)->ip))
        return NULL;
    return pair;
}

gboolean ibh_probe_size_received(IbhProbe *probe, const IbhProbeReply *reply)
{
    guint size;
    IbhProbePair *pair = find_request(probe, reply, &size);

    if (!pair || reply->length + header_length(reply->from.family) != size)
        return FALSE;
    for (gsize i = IBH_PROBE_PACKET; i < reply->length; i++) {
        if (reply->icmp[i])
            return FALSE;
    }
    pair->mtu.passed = MAX(pair->mtu.passed, size);
    if (pair->mtu.failed && pair->mtu.failed <= pair->mtu.passed)
        pair->mtu.failed = 0;
    return TRUE;
}

void ibh_probe_size_seen(IbhProbe *probe, const IbhProbeReply *reply)
{
    guint size;
    IbhProbePair *pair = find_request(probe, reply, &size);

    if (pair)
        pair->mtu.seen = MAX(pair->mtu.seen, size);
}

void ibh_probe_size_fragment(IbhProbe *probe, const IbhProbeReply *reply, guint bytes)
{
    guint size;
    IbhProbePair *pair = find_request(probe, reply, &size);

    if (pair)
        pair->mtu.fragment = bytes;
}

void ibh_probe_size_refused(IbhProbe *probe, guint source, const IbhIp *to, const IbhIp *by, guint limit)
{
    IBH_EACH (IbhProbePair, pair, probe->pairs) {
        if (pair->source == source && ibh_ip_equal(ibh_probe_peer(probe, pair), to)) {
            pair->mtu.told_by = *by;
            pair->mtu.told = limit <= full_size(probe, pair) ? limit : 0;
        }
    }
}

/* ---- the verdict ---- */

static gboolean is_short(const IbhProbePair *pair)
{
    return pair->mtu.failed || pair->mtu.fragment;
}

/* Beyond a router that reports it, a smaller MTU is no fault. */
static gboolean is_right(const IbhProbePair *pair)
{
    return !is_short(pair) || (!pair->on_link && pair->mtu.told_by.family && !pair->mtu.fragment);
}

static gboolean is_dropped_here(const IbhProbePair *pair)
{
    return pair->mtu.failed && pair->mtu.seen >= pair->mtu.failed;
}

static char *explain(const IbhProbe *probe, const IbhProbePair *pair)
{
    char ip[IBH_IP_STRLEN];

    if (pair->mtu.fragment && !pair->mtu.failed)
        return g_strdup_printf(
            "packets of %u bytes, as the rail's MTU allows, arrive, but replies of that size come in "
            "pieces of %u: the peer's MTU is smaller",
            full_size(probe, pair), pair->mtu.fragment);
    if (pair->mtu.told_by.family)
        return g_strdup_printf("packets of %u bytes come through, but not %u, as the rail's MTU allows: %s says "
                               "that they are too long",
                               passed(probe, pair), full_size(probe, pair), ibh_ip_format(&pair->mtu.told_by, ip));
    if (pair->mtu.held || is_dropped_here(pair))
        return g_strdup_printf("packets of %u bytes come through, but not %u, as the rail's MTU allows: this "
                               "host's own firewall drops %s",
                               passed(probe, pair), full_size(probe, pair),
                               pair->mtu.held ? "them" : "the replies, which come in whole");
    return g_strdup_printf("packets of %u bytes come through, but not %u, as the rail's MTU allows, without an "
                           "ICMP error: connections open, and hang once they send more",
                           passed(probe, pair), full_size(probe, pair));
}

static IbhRemedy remedy_for(const IbhProbe *probe, const IbhProbePair *pair)
{
    char ip[IBH_IP_STRLEN];

    if (pair->mtu.fragment && !pair->mtu.failed)
        return ibh_advice("one MTU on both sides: here %u; there: ip link, ip route show to %s", full_size(probe, pair),
                          ibh_ip_format(&ibh_probe_source(probe, pair)->ip, ip));
    if (pair->mtu.told_by.family)
        return ibh_advice("look at the MTU of the next link of %s", ibh_ip_format(&pair->mtu.told_by, ip));
    if (pair->mtu.held || is_dropped_here(pair))
        return ibh_advice("on this host: nft list ruleset, iptables-save");
    return ibh_advice(
        "look at the MTU of the switch ports on the way, of the peer's NIC (ip link), at firewalls there");
}

/* What is wrong with the pair's size, once it is known what passed. */
static IbhProbeCharge charge_for(const IbhProbe *probe, guint i)
{
    const IbhProbePair *pair = ibh_probe_pair(probe, i);

    return (IbhProbeCharge){
        .pair = i,
        .code = "path-mtu",
        .place = pair->mtu.held || is_dropped_here(pair) ? IBH_AT_HOME : IBH_AT_EITHER,
        .severity = is_right(pair)     ? IBH_INFO
                    : pair->mtu.failed ? IBH_ERROR
                                       : IBH_WARNING,
        .why = explain(probe, pair),
        .advice = remedy_for(probe, pair).advice,
    };
}

void ibh_probe_judge_size(const IbhProbe *probe, guint i, GArray *charges)
{
    IbhProbePair *pair = ibh_probe_pair(probe, i);
    IbhProbeCharge charge;

    if (pair->received < pair->sent) /* what is lost at any size says nothing of one */
        pair->mtu = (IbhProbeSize){.passed = pair->mtu.passed};
    if (!is_short(pair))
        return;
    pair->mtu.passed = passed(probe, pair);
    if (!is_right(pair))
        pair->faults |= 1u << IBH_PROBE_MTU;
    charge = charge_for(probe, i);
    g_array_append_val(charges, charge);
}
