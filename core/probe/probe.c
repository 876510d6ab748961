/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/probe.h"

#include "model/bytes.h"
#include "plan/emit.h"

#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* ---- who is asked, from where ---- */

/* A list of all hosts of a fabric contains this host, too. */
static void take_peers(IbhProbe *probe, const GArray *peers)
{
    IBH_EACH (const IbhIp, ip, peers) {
        GArray *list = ibh_rails_holder(probe->rails, ip) ? probe->own : probe->peers;

        if (g_hash_table_contains(probe->numbers, ip))
            continue;
        g_array_append_val(list, *ip);
        g_hash_table_insert(probe->numbers, g_memdup(ip, sizeof *ip), GUINT_TO_POINTER(list->len - 1));
    }
}

/* Without --iface all rails; with it any NIC. */
static void take_nics(IbhProbe *probe)
{
    const IbhRails *rails = probe->rails;

    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        if (rails->only ? ibh_is_selected(nic, rails->only) : nic->status == IBH_NIC_RAIL)
            g_ptr_array_add(probe->nics, (gpointer)(guintptr)nic);
    }
}

/* The NIC's address in the peer's subnet; else, with `any`, its first address in a subnet, or its first at all. */
static const IbhIp *find_source(const IbhProbe *probe, const IbhNic *nic, const IbhIp *peer, gboolean any)
{
    const IbhAddress *fallback = NULL;

    IBH_EACH_POINTER (const IbhAddress, address, &nic->served) {
        const IbhNic *owner = ibh_rails_owner(probe->rails, &address->local);

        if (address->local.family != peer->family || (owner && owner != nic))
            continue;
        if (!ibh_address_is_host(address) && ibh_prefix_contains(&address->subnet, peer))
            return &address->local;
        if (!fallback || (ibh_address_is_host(fallback) && !ibh_address_is_host(address)))
            fallback = address;
    }
    return any && fallback ? &fallback->local : NULL;
}

static guint intern_source(IbhProbe *probe, const IbhNic *nic, const IbhIp *ip)
{
    const IbhProbeSource source = {.nic = nic, .ip = *ip};

    for (guint i = 0; i < probe->sources->len; i++) {
        const IbhProbeSource *other = &g_array_index(probe->sources, IbhProbeSource, i);

        if (other->nic == nic && ibh_ip_equal(&other->ip, ip))
            return i;
    }
    g_array_append_val(probe->sources, source);
    return probe->sources->len - 1;
}

/* Rails that have the peer's subnet ask it; if no rail has it, all rails ask, through a gateway. */
static void make_pairs(IbhProbe *probe, guint peer)
{
    const IbhIp *ip = &g_array_index(probe->peers, IbhIp, peer);
    guint before = probe->pairs->len;

    for (int any = 0; any <= 1 && probe->pairs->len == before; any++) {
        IBH_EACH_POINTER (const IbhNic, nic, probe->nics) {
            const IbhIp *source = find_source(probe, nic, ip, any);
            IbhProbePair pair = {.peer = peer, .on_link = !any, .rtt = -1};

            if (!source)
                continue;
            pair.source = intern_source(probe, nic, source);
            pair.rdma.outcome = probe->rdma ? IBH_RDMA_UNASKED : IBH_RDMA_UNWANTED;
            pair.route = (IbhLookup){.from = *source, .to = *ip};
            g_array_append_val(probe->pairs, pair);
        }
    }
}

static gboolean is_source(const IbhProbe *probe, const IbhIp *ip)
{
    IBH_EACH (const IbhProbeSource, source, probe->sources) {
        if (ibh_ip_equal(&source->ip, ip))
            return TRUE;
    }
    return FALSE;
}

/* This host's own addresses among the peers (a VIP on lo) get no echo, but are asked for: another host may have them.
 */
static void add_own(IbhProbe *probe)
{
    IBH_EACH (const IbhIp, ip, probe->own) {
        IBH_EACH_POINTER (const IbhNic, nic, probe->nics) {
            if (!is_source(probe, ip) && find_source(probe, nic, ip, FALSE))
                (void)intern_source(probe, nic, ip);
        }
    }
}

IbhProbe *ibh_probe_new(const IbhRails *rails, const IbhProbeRequest *request, GError **error)
{
    g_autoptr(IbhProbe) probe = g_new0(IbhProbe, 1);

    probe->rails = rails;
    probe->nics = g_ptr_array_new();
    probe->peers = g_array_new(FALSE, TRUE, sizeof(IbhIp));
    probe->own = g_array_new(FALSE, TRUE, sizeof(IbhIp));
    probe->sources = g_array_new(FALSE, TRUE, sizeof(IbhProbeSource));
    probe->numbers = g_hash_table_new_full(ibh_ip_hash, ibh_ip_equals, g_free, NULL);
    probe->pairs = g_array_new(FALSE, TRUE, sizeof(IbhProbePair));
    probe->strangers = g_array_new(FALSE, TRUE, sizeof(IbhProbeStranger));
    probe->missed = g_array_new(FALSE, TRUE, sizeof(IbhProbePair));
    probe->count = request->count;
    probe->interval = IBH_PROBE_INTERVAL;
    probe->timeout = IBH_PROBE_TIMEOUT;
    probe->rdma = request->rdma;
    take_peers(probe, request->peers);
    take_nics(probe);
    if (!probe->peers->len) {
        g_set_error_literal(error, IBH_PROBE_ERROR, 0,
                            "--probe: none of the addresses is a peer: they are this host's own");
        return NULL;
    }
    for (guint i = 0; i < probe->peers->len; i++)
        make_pairs(probe, i);
    add_own(probe);
    if ((guint64)probe->pairs->len * (guint)probe->count > IBH_PROBE_PACKETS_MAX) {
        g_set_error(error, IBH_PROBE_ERROR, 0,
                    "--probe: %u pairs of rail and peer, --count %d: more than %d packets; probe fewer peers at a time",
                    probe->pairs->len, probe->count, IBH_PROBE_PACKETS_MAX);
        return NULL;
    }
    probe->echoes = g_new0(IbhProbeEcho, (gsize)probe->pairs->len * (gsize)probe->count);
    return g_steal_pointer(&probe);
}

void ibh_probe_free(IbhProbe *probe)
{
    g_ptr_array_unref(probe->nics);
    g_array_unref(probe->peers);
    g_array_unref(probe->own);
    g_array_unref(probe->sources);
    g_array_unref(probe->pairs);
    g_array_unref(probe->strangers);
    g_array_unref(probe->missed);
    g_hash_table_unref(probe->numbers);
    g_clear_pointer(&probe->findings, g_ptr_array_unref);
    g_clear_pointer(&probe->local, g_array_unref);
    g_free(probe->echoes);
    g_free(probe);
}

IbhProbePair *ibh_probe_pair(const IbhProbe *probe, guint i)
{
    return &g_array_index(probe->pairs, IbhProbePair, i);
}

const IbhProbeSource *ibh_probe_source(const IbhProbe *probe, const IbhProbePair *pair)
{
    return &g_array_index(probe->sources, IbhProbeSource, pair->source);
}

const IbhIp *ibh_probe_peer(const IbhProbe *probe, const IbhProbePair *pair)
{
    return &g_array_index(probe->peers, IbhIp, pair->peer);
}

const IbhLink *ibh_probe_link(const IbhProbe *probe, const IbhProbePair *pair)
{
    return ibh_probe_source(probe, pair)->nic->link;
}

const IbhIp *ibh_probe_via(const IbhProbe *probe, const IbhProbePair *pair)
{
    if (pair->route.gateway.family != AF_UNSPEC && pair->route.oif == ibh_probe_link(probe, pair)->ifindex)
        return &pair->route.gateway;
    return pair->on_link ? ibh_probe_peer(probe, pair) : NULL;
}

/* Pairs are in the order of the peers. */
static guint first_of(const GArray *pairs, guint peer)
{
    guint low = 0, high = pairs->len;

    while (low < high) {
        guint middle = low + (high - low) / 2;

        if (g_array_index(pairs, IbhProbePair, middle).peer < peer)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

guint ibh_probe_first_pair(const IbhProbe *probe, guint peer)
{
    return first_of(probe->pairs, peer);
}

IbhProbePair *ibh_probe_find_pair(const IbhProbe *probe, int ifindex, guint peer)
{
    for (guint i = ibh_probe_first_pair(probe, peer); i < probe->pairs->len && ibh_probe_pair(probe, i)->peer == peer;
         i++) {
        if (ibh_probe_link(probe, ibh_probe_pair(probe, i))->ifindex == ifindex)
            return ibh_probe_pair(probe, i);
    }
    return NULL;
}

const IbhProbePair *ibh_probe_find(const IbhProbe *probe, const IbhNic *nic, guint peer)
{
    return ibh_probe_find_pair(probe, nic->link->ifindex, peer);
}

const char *ibh_probe_why_unasked(const IbhProbe *probe, const IbhNic *nic, guint peer)
{
    if (ibh_probe_find(probe, nic, peer))
        return NULL;
    if (ibh_probe_was_missed(probe, nic, peer))
        return "interrupted";
    return find_source(probe, nic, &g_array_index(probe->peers, IbhIp, peer), TRUE) ? "no common subnet"
                                                                                    : "no address of its family";
}

/* ---- waves ---- */

int ibh_probe_family(const IbhIp *ip)
{
    return ip->family == AF_INET6;
}

guint ibh_probe_wave(const IbhProbe *probe, guint first, const guint room[2])
{
    guint neighbours[2] = {0, 0}, i;

    for (i = first; i < probe->pairs->len; i++) {
        const IbhProbePair *pair = ibh_probe_pair(probe, i);
        int family = ibh_probe_family(ibh_probe_peer(probe, pair));

        if (pair->on_link && !pair->known_before && ++neighbours[family] > room[family] && i > first)
            break;
    }
    return i - first;
}

/* ---- echoes ---- */

static guint checksum(const guint8 *bytes, gsize length)
{
    guint32 sum = 0;

    for (gsize i = 0; i < length; i += 2) /* an even number of them */
        sum += (guint32)(bytes[i] << 8 | bytes[i + 1]);
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return ~sum & 0xffff;
}

/* type, code, checksum, id, sequence; cookie, pair, number, zeros. In IPv6 the kernel writes the checksum. */
void ibh_probe_packet(const IbhProbe *probe, guint pair, guint number, guint16 id, guint8 packet[IBH_PROBE_PACKET])
{
    gboolean six = ibh_probe_peer(probe, ibh_probe_pair(probe, pair))->family == AF_INET6;

    memset(packet, 0, IBH_PROBE_PACKET);
    packet[0] = six ? ICMP6_ECHO_REQUEST : ICMP_ECHO;
    ibh_put16(packet + 4, id);
    ibh_put16(packet + 6, number & 0xffff);
    memcpy(packet + 8, probe->cookie, sizeof probe->cookie);
    ibh_put32(packet + 24, pair);
    ibh_put32(packet + 28, number);
    if (!six)
        ibh_put16(packet + 2, checksum(packet, IBH_PROBE_PACKET));
}

IbhProbeEcho *ibh_probe_echo(const IbhProbe *probe, guint pair, guint number)
{
    return &probe->echoes[(gsize)pair * (gsize)probe->count + number];
}

void ibh_probe_sent(IbhProbe *probe, guint pair, guint number, gint64 now)
{
    *ibh_probe_echo(probe, pair, number) = (IbhProbeEcho){.sent = TRUE, .sent_at = now};
    ibh_probe_pair(probe, pair)->sent++;
}

gsize ibh_icmp_offset(int family, const guint8 *bytes, gsize length)
{
    gsize header = length ? (gsize)(bytes[0] & 0xf) * 4 : 0;

    if (family == AF_INET6)
        return length > 40 && bytes[6] == IPPROTO_ICMPV6 ? 40 : 0;
    return header >= 20 && header < length && bytes[0] >> 4 == 4 && bytes[9] == IPPROTO_ICMP ? header : 0;
}

/* A packet answers a request of ours if it is that request, byte for byte, sent back to its source by the peer that it
 * went to. */
static gboolean find_request(const IbhProbe *probe, const IbhProbeReply *reply, guint *ret_pair, guint *ret_number)
{
    guint8 request[IBH_PROBE_PACKET];
    guint type = reply->from.family == AF_INET6 ? ICMP6_ECHO_REPLY : ICMP_ECHOREPLY;
    guint32 pair, number;

    if (reply->length != IBH_PROBE_PACKET)
        return FALSE;
    pair = ibh_get32(reply->icmp + 24);
    number = ibh_get32(reply->icmp + 28);
    if (pair >= probe->pairs->len || number >= (guint)probe->count || !ibh_probe_echo(probe, pair, number)->sent ||
        !ibh_ip_equal(&reply->from, ibh_probe_peer(probe, ibh_probe_pair(probe, pair))) ||
        !ibh_ip_equal(&reply->to, &ibh_probe_source(probe, ibh_probe_pair(probe, pair))->ip))
        return FALSE;
    ibh_probe_packet(probe, pair, number, reply->id, request);
    if (reply->icmp[0] != type || reply->icmp[1] != 0 || memcmp(reply->icmp + 4, request + 4, sizeof request - 4) != 0)
        return FALSE;
    *ret_pair = pair;
    *ret_number = number;
    return TRUE;
}

/* Of several replies, one that came by a wrong NIC is remembered. */
static void note_way(const IbhProbe *probe, IbhProbePair *pair, const IbhProbeReply *reply)
{
    int right = ibh_probe_link(probe, pair)->ifindex;

    if (!pair->reply_ifindex || pair->reply_ifindex == right)
        pair->reply_ifindex = reply->ifindex;
}

/* By a later packet of ours, an entry of the neighbour table may be mended, and old echoes leave. */
static gboolean comes_too_late(const IbhProbePair *pair)
{
    return pair->is_over && pair->received < pair->sent;
}

gboolean ibh_probe_received(IbhProbe *probe, const IbhProbeReply *reply, gint64 now)
{
    IbhProbePair *pair;
    IbhProbeEcho *echo;
    guint i, number;

    if (!find_request(probe, reply, &i, &number))
        return FALSE;
    pair = ibh_probe_pair(probe, i);
    echo = ibh_probe_echo(probe, i, number);
    if (comes_too_late(pair)) {
        pair->trace.delivered |= pair->trace.asked;
        return FALSE;
    }
    note_way(probe, pair, reply);
    if (echo->received)
        return FALSE;
    echo->received = TRUE;
    pair->received++;
    if (pair->rtt < 0 || now - echo->sent_at < pair->rtt)
        pair->rtt = MAX(now - echo->sent_at, 0);
    return TRUE;
}

void ibh_probe_seen(IbhProbe *probe, const IbhProbeReply *reply)
{
    IbhProbePair *pair;
    guint i, number;

    if (!find_request(probe, reply, &i, &number))
        return;
    pair = ibh_probe_pair(probe, i);
    if (comes_too_late(pair))
        return;
    note_way(probe, pair, reply);
    ibh_probe_echo(probe, i, number)->seen = TRUE;
    if (reply->ifindex == ibh_probe_link(probe, pair)->ifindex && reply->sender_len &&
        reply->sender_len <= sizeof pair->sender) {
        memcpy(pair->sender, reply->sender, reply->sender_len);
        pair->sender_len = reply->sender_len;
    }
}

/* ---- a signal ---- */

static void take_back(IbhProbe *probe, guint i, gint64 now)
{
    IbhProbePair *pair = ibh_probe_pair(probe, i);

    for (guint number = 0; number < (guint)probe->count; number++) {
        IbhProbeEcho *echo = ibh_probe_echo(probe, i, number);

        if (!echo->sent || echo->received || now >= echo->sent_at + probe->timeout)
            continue;
        echo->sent = FALSE;
        pair->sent--;
    }
}

void ibh_probe_interrupt(IbhProbe *probe, gint64 now)
{
    guint kept = 0;

    probe->interrupted = TRUE;
    for (guint i = 0; i < probe->pairs->len; i++) {
        IbhProbePair *pair = ibh_probe_pair(probe, i);

        take_back(probe, i, now);
        if (!pair->sent && !pair->send_error) {
            g_array_append_val(probe->missed, *pair);
            continue;
        }
        if (kept != i) {
            *ibh_probe_pair(probe, kept) = *pair;
            memcpy(ibh_probe_echo(probe, kept, 0), ibh_probe_echo(probe, i, 0),
                   (gsize)probe->count * sizeof(IbhProbeEcho));
        }
        kept++;
    }
    g_array_set_size(probe->pairs, kept);
}

gboolean ibh_probe_was_missed(const IbhProbe *probe, const IbhNic *nic, guint peer)
{
    for (guint i = first_of(probe->missed, peer); i < probe->missed->len; i++) {
        const IbhProbePair *pair = &g_array_index(probe->missed, IbhProbePair, i);

        if (pair->peer != peer)
            return FALSE;
        if (ibh_probe_source(probe, pair)->nic == nic)
            return TRUE;
    }
    return FALSE;
}

/* ---- neighbours ---- */

static int compare_neighbours(gconstpointer a, gconstpointer b)
{
    const IbhNeighbour *one = a, *other = b;

    if (one->ifindex != other->ifindex)
        return one->ifindex < other->ifindex ? -1 : 1;
    return ibh_ip_compare(&one->ip, &other->ip);
}

static const IbhNeighbour *find_neighbour(const IbhProbe *probe, const IbhProbePair *pair, const GArray *sorted)
{
    const IbhNeighbour key = {.ifindex = ibh_probe_link(probe, pair)->ifindex, .ip = *ibh_probe_peer(probe, pair)};

    return sorted->len ? bsearch(&key, sorted->data, sorted->len, sizeof key, compare_neighbours) : NULL;
}

void ibh_probe_note_known(IbhProbe *probe, GArray *neighbours)
{
    g_array_sort(neighbours, compare_neighbours);
    IBH_EACH (IbhProbePair, pair, probe->pairs)
        pair->known_before = find_neighbour(probe, pair, neighbours) != NULL;
}

gboolean ibh_probe_owns_entry(const IbhProbePair *pair)
{
    return pair->on_link && !pair->known_before && !pair->fixed;
}

void ibh_probe_learn(IbhProbe *probe, const GArray *pairs, GArray *neighbours)
{
    g_array_sort(neighbours, compare_neighbours);
    IBH_EACH (const guint, i, pairs) {
        IbhProbePair *pair = ibh_probe_pair(probe, *i);
        const IbhNeighbour *found = find_neighbour(probe, pair, neighbours);

        if (found && found->lladdr_len && !ibh_neighbour_is_unasked(ibh_probe_link(probe, pair), found)) {
            memcpy(pair->lladdr, found->lladdr, found->lladdr_len);
            pair->lladdr_len = found->lladdr_len;
            pair->fixed = found->fixed;
        }
    }
}
