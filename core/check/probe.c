#include "check/probe.h"

#include "plan/emit.h"

#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* ---- who is asked, from where ---- */

/* One list for all hosts of a fabric names this one, too. */
static void take_peers(IbhProbe *probe, const GArray *peers)
{
    IBH_EACH (const IbhIp, ip, peers) {
        GArray *list = ibh_rails_holder(probe->rails, ip) ? probe->own : probe->peers;

        if ((probe->rails->family && probe->rails->family != ip->family) || g_hash_table_contains(probe->numbers, ip))
            continue;
        g_array_append_val(list, *ip);
        g_hash_table_insert(probe->numbers, g_memdup(ip, sizeof *ip), GUINT_TO_POINTER(list->len - 1));
    }
}

/* Without names all rails; by name any NIC. */
static void take_nics(IbhProbe *probe)
{
    const IbhRails *rails = probe->rails;

    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        if (rails->only ? ibh_is_selected(nic, rails->only) : nic->status == IBH_NIC_RAIL)
            g_ptr_array_add(probe->nics, (gpointer)(guintptr)nic);
    }
}

static gboolean can_be_source(const IbhProbe *probe, const IbhNic *nic, const IbhAddress *address)
{
    const IbhNic *owner = ibh_rails_owner(probe->rails, &address->local);

    return ibh_nic_serves(nic, address) && (!owner || owner == nic);
}

/* The NIC's address in the peer's subnet; with `any`, if there is none, its first in a subnet, or its first. */
static const IbhIp *find_source(const IbhProbe *probe, const IbhNic *nic, const IbhIp *peer, gboolean any)
{
    const GArray *addresses = probe->rails->snapshot->addresses;
    const IbhAddress *fallback = NULL;

    IBH_EACH (const IbhAddress, address, addresses) {
        if (address->local.family != peer->family || !can_be_source(probe, nic, address))
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

/* A peer is asked by the rails that have its subnet; one that is in nobody's, through a gateway, by all of them. */
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
            pair.route = (IbhLookup){.from = *source, .to = *ip};
            g_array_append_val(probe->pairs, pair);
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
    probe->count = request->count;
    probe->interval = request->interval;
    probe->timeout = request->timeout;
    take_peers(probe, request->peers);
    take_nics(probe);
    if (!probe->peers->len) {
        g_set_error(error, IBH_PROBE_ERROR, 0, "--probe: none of the addresses is a peer: %s",
                    probe->own->len ? "they are this host's own" : "they are not of the --family that was asked for");
        return NULL;
    }
    for (guint i = 0; i < probe->peers->len; i++)
        make_pairs(probe, i);
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
    g_hash_table_unref(probe->numbers);
    g_clear_pointer(&probe->findings, g_ptr_array_unref);
    g_free(probe->echoes);
    g_free(probe);
}

static IbhProbePair *pair_at(const IbhProbe *probe, guint i)
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

static const IbhLink *link_of(const IbhProbe *probe, const IbhProbePair *pair)
{
    return ibh_probe_source(probe, pair)->nic->link;
}

static guint first_pair(const IbhProbe *probe, guint peer)
{
    guint low = 0, high = probe->pairs->len;

    while (low < high) { /* the pairs are in the order of the peers */
        guint middle = low + (high - low) / 2;

        if (pair_at(probe, middle)->peer < peer)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static IbhProbePair *find_pair(const IbhProbe *probe, int ifindex, guint peer)
{
    for (guint i = first_pair(probe, peer); i < probe->pairs->len && pair_at(probe, i)->peer == peer; i++) {
        if (link_of(probe, pair_at(probe, i))->ifindex == ifindex)
            return pair_at(probe, i);
    }
    return NULL;
}

const IbhProbePair *ibh_probe_find(const IbhProbe *probe, const IbhNic *nic, guint peer)
{
    return find_pair(probe, nic->link->ifindex, peer);
}

/* ---- the schedule ---- */

static int family_index(const IbhIp *ip)
{
    return ip->family == AF_INET6;
}

/* Of what is free, half: the entries of one wave may still stand while those of the next one come. */
static guint wave_budget(int table_size, guint used)
{
    guint size = table_size > 0 ? (guint)table_size : IBH_PROBE_TABLE;

    return size > used ? (size - used) / 2 : 0;
}

guint ibh_probe_wave(const IbhProbe *probe, guint first, const guint used[2])
{
    guint neighbours[2] = {0, 0}, i;

    for (i = first; i < probe->pairs->len; i++) {
        const IbhProbePair *pair = pair_at(probe, i);
        int family = family_index(ibh_probe_peer(probe, pair));

        if (pair->on_link && ++neighbours[family] > wave_budget(probe->table_size[family], used[family]) && i > first)
            break;
    }
    return i - first;
}

gint64 ibh_probe_slot(const IbhProbe *probe, guint pairs, guint k)
{
    gint64 round = MAX(probe->interval, (gint64)pairs * IBH_PROBE_SPACING);

    return k / pairs * round + k % pairs * IBH_PROBE_SPACING;
}

/* ---- echoes ---- */

static void put16(guint8 *at, guint value)
{
    at[0] = (guint8)(value >> 8);
    at[1] = (guint8)value;
}

static void put32(guint8 *at, guint32 value)
{
    put16(at, value >> 16);
    put16(at + 2, value & 0xffff);
}

static guint32 get32(const guint8 *at)
{
    return (guint32)at[0] << 24 | (guint32)at[1] << 16 | (guint32)at[2] << 8 | at[3];
}

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
    gboolean six = ibh_probe_peer(probe, pair_at(probe, pair))->family == AF_INET6;

    memset(packet, 0, IBH_PROBE_PACKET);
    packet[0] = six ? ICMP6_ECHO_REQUEST : ICMP_ECHO;
    put16(packet + 4, id);
    put16(packet + 6, number & 0xffff);
    memcpy(packet + 8, probe->cookie, sizeof probe->cookie);
    put32(packet + 24, pair);
    put32(packet + 28, number);
    if (!six)
        put16(packet + 2, checksum(packet, IBH_PROBE_PACKET));
}

static IbhProbeEcho *echo_at(const IbhProbe *probe, guint pair, guint number)
{
    return &probe->echoes[(gsize)pair * (gsize)probe->count + number];
}

void ibh_probe_sent(IbhProbe *probe, guint pair, guint number, gint64 now)
{
    *echo_at(probe, pair, number) = (IbhProbeEcho){.sent = TRUE, .sent_at = now};
    pair_at(probe, pair)->sent++;
}

/* Whatever the wire brings: it is the answer to a request of ours if it is that request, byte for byte, sent back to
 * its source by the peer it went to. */
static gboolean find_request(const IbhProbe *probe, const IbhProbeReply *reply, guint *ret_pair, guint *ret_number)
{
    guint8 request[IBH_PROBE_PACKET];
    guint type = reply->from.family == AF_INET6 ? ICMP6_ECHO_REPLY : ICMP_ECHOREPLY;
    guint32 pair, number;

    if (reply->length != IBH_PROBE_PACKET)
        return FALSE;
    pair = get32(reply->icmp + 24);
    number = get32(reply->icmp + 28);
    if (pair >= probe->pairs->len || number >= (guint)probe->count || !echo_at(probe, pair, number)->sent ||
        !ibh_ip_equal(&reply->from, ibh_probe_peer(probe, pair_at(probe, pair))) ||
        !ibh_ip_equal(&reply->to, &ibh_probe_source(probe, pair_at(probe, pair))->ip))
        return FALSE;
    ibh_probe_packet(probe, pair, number, reply->id, request);
    if (reply->icmp[0] != type || reply->icmp[1] != 0 || memcmp(reply->icmp + 4, request + 4, sizeof request - 4) != 0)
        return FALSE;
    *ret_pair = pair;
    *ret_number = number;
    return TRUE;
}

/* Of several replies one that went wrong is remembered. */
static void note_way(const IbhProbe *probe, IbhProbePair *pair, const IbhProbeReply *reply)
{
    int right = link_of(probe, pair)->ifindex;

    if (!pair->reply_ifindex || pair->reply_ifindex == right)
        pair->reply_ifindex = reply->ifindex;
}

gboolean ibh_probe_received(IbhProbe *probe, const IbhProbeReply *reply, gint64 now)
{
    IbhProbePair *pair;
    IbhProbeEcho *echo;
    guint i, number;

    if (!find_request(probe, reply, &i, &number))
        return FALSE;
    pair = pair_at(probe, i);
    echo = echo_at(probe, i, number);
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
    pair = pair_at(probe, i);
    note_way(probe, pair, reply);
    echo_at(probe, i, number)->seen = TRUE;
    if (reply->ifindex == link_of(probe, pair)->ifindex && reply->sender_len &&
        reply->sender_len <= sizeof pair->sender) {
        memcpy(pair->sender, reply->sender, reply->sender_len);
        pair->sender_len = reply->sender_len;
    }
}

/* ---- neighbours ---- */

static gboolean has_answer(const IbhProbePair *pair, const IbhArpReply *reply)
{
    for (guint i = 0; i < pair->answers; i++) {
        if (memcmp(pair->answer[i], reply->lladdr, reply->lladdr_len) == 0)
            return TRUE;
    }
    return FALSE;
}

void ibh_probe_answered(IbhProbe *probe, int ifindex, const IbhArpReply *reply)
{
    gpointer number;
    IbhProbePair *pair;

    if (!g_hash_table_lookup_extended(probe->numbers, &reply->from, NULL, &number) ||
        ibh_rails_holder(probe->rails, &reply->from))
        return;
    pair = find_pair(probe, ifindex, GPOINTER_TO_UINT(number));
    if (!pair || !ibh_ip_equal(&ibh_probe_source(probe, pair)->ip, &reply->to) ||
        reply->lladdr_len != link_of(probe, pair)->lladdr_len || has_answer(pair, reply) ||
        pair->answers == G_N_ELEMENTS(pair->answer))
        return;
    pair->answer_len = reply->lladdr_len;
    memcpy(pair->answer[pair->answers++], reply->lladdr, reply->lladdr_len);
}

static int compare_neighbours(gconstpointer a, gconstpointer b)
{
    const IbhNeighbour *one = a, *other = b;

    if (one->ifindex != other->ifindex)
        return one->ifindex < other->ifindex ? -1 : 1;
    return ibh_ip_compare(&one->ip, &other->ip);
}

void ibh_probe_learn(IbhProbe *probe, guint first, guint pairs, GArray *neighbours)
{
    g_array_sort(neighbours, compare_neighbours);
    for (guint i = first; neighbours->len && i < first + pairs; i++) {
        IbhProbePair *pair = pair_at(probe, i);
        const IbhNeighbour key = {.ifindex = link_of(probe, pair)->ifindex, .ip = *ibh_probe_peer(probe, pair)};
        const IbhNeighbour *found =
            bsearch(&key, neighbours->data, neighbours->len, sizeof(IbhNeighbour), compare_neighbours);

        if (found && found->lladdr_len) {
            memcpy(pair->lladdr, found->lladdr, found->lladdr_len);
            pair->lladdr_len = found->lladdr_len;
        }
    }
}

/* ---- the verdict: what is wrong with each pair ---- */

/* What each fault is called, and what it means. */
static const struct {
    IbhSeverity severity;
    const char *code;
    const char *meaning;
} faults[IBH_PROBE_N_FAULTS] = {
    [IBH_PROBE_UNSENT] = {IBH_ERROR, "probe-not-sent",
                          "the kernel does not send the echo by this NIC, so nothing else gets there by it"},
    [IBH_PROBE_DROPPED] = {IBH_ERROR, "reply-dropped",
                           "the reply came to this host by the NIC named, and this host dropped it: rp_filter or a "
                           "firewall"},
    [IBH_PROBE_LOST] = {IBH_ERROR, "probe-lost", "no reply: the peer is down, on another wire, or drops it"},
    [IBH_PROBE_ROUTE] = {IBH_ERROR, "routed-other-nic",
                         "the echo was sent by this NIC, but what this address sends by itself leaves by the one "
                         "named"},
    [IBH_PROBE_REPLY] = {IBH_ERROR, "reply-other-nic",
                         "the reply came in by the NIC named: the peer holds its hardware address for this one's"},
    [IBH_PROBE_FLUX] = {IBH_WARNING, "peer-flux",
                        "ARP flux on the peer's side: several hardware addresses answer for one address, or one "
                        "answers for several, so peers use the wrong NIC (unless those addresses are all of one NIC)"},
    [IBH_PROBE_PEER_SENDER] = {IBH_WARNING, "peer-replies-other-nic",
                               "the peer replies by another NIC than the one that has the address: its own routing "
                               "mixes its rails"},
};

const char *ibh_probe_fault_name(IbhProbeFault fault)
{
    return faults[fault].code;
}

static void blame(IbhProbePair *pair, IbhProbeFault fault)
{
    pair->faults |= 1u << fault;
}

static void judge_echoes(const IbhProbe *probe, guint i)
{
    IbhProbePair *pair = pair_at(probe, i);

    for (guint number = 0; number < (guint)probe->count; number++)
        pair->dropped |= echo_at(probe, i, number)->seen && !echo_at(probe, i, number)->received;
    if (pair->send_error || !pair->sent)
        blame(pair, IBH_PROBE_UNSENT);
    if (pair->received < pair->sent)
        blame(pair, pair->dropped ? IBH_PROBE_DROPPED : IBH_PROBE_LOST);
}

static void judge_way(const IbhProbe *probe, IbhProbePair *pair)
{
    int right = link_of(probe, pair)->ifindex;

    if (pair->route.error || pair->route.oif != right)
        blame(pair, IBH_PROBE_ROUTE);
    if (pair->reply_ifindex && pair->reply_ifindex != right)
        blame(pair, IBH_PROBE_REPLY);
    if (pair->on_link && pair->lladdr_len && pair->sender_len &&
        (pair->lladdr_len != pair->sender_len || memcmp(pair->lladdr, pair->sender, pair->sender_len) != 0))
        blame(pair, IBH_PROBE_PEER_SENDER);
}

/* By NIC, family and hardware address. */
static int compare_lladdrs(gconstpointer a, gconstpointer b)
{
    const IbhProbePair *one = *(const IbhProbePair *const *)a, *other = *(const IbhProbePair *const *)b;

    if (one->source != other->source)
        return one->source < other->source ? -1 : 1;
    if (one->lladdr_len != other->lladdr_len)
        return one->lladdr_len < other->lladdr_len ? -1 : 1;
    return memcmp(one->lladdr, other->lladdr, one->lladdr_len);
}

/* In IPv6 nobody answers for another NIC's address: one hardware address is one NIC. */
static void judge_flux(const IbhProbe *probe)
{
    g_autoptr(GPtrArray) known = g_ptr_array_new();

    for (guint i = 0; i < probe->pairs->len; i++) {
        IbhProbePair *pair = pair_at(probe, i);

        if (pair->answers > 1)
            blame(pair, IBH_PROBE_FLUX);
        if (pair->on_link && pair->lladdr_len && ibh_probe_peer(probe, pair)->family == AF_INET)
            g_ptr_array_add(known, pair);
    }
    g_ptr_array_sort(known, compare_lladdrs);
    for (guint i = 1; i < known->len; i++) {
        if (compare_lladdrs(&known->pdata[i - 1], &known->pdata[i]) == 0) {
            blame(known->pdata[i - 1], IBH_PROBE_FLUX);
            blame(known->pdata[i], IBH_PROBE_FLUX);
        }
    }
}

/* ---- the verdict: findings ---- */

#define NAMED 4 /* peers that a finding names */

/* What is said of one peer. */
static char *describe(const IbhProbe *probe, const IbhProbePair *pair, IbhProbeFault fault)
{
    const IbhLink *link;
    char ip[IBH_IP_STRLEN];
    int ifindex = fault == IBH_PROBE_ROUTE ? pair->route.oif : pair->reply_ifindex;

    ibh_ip_format(ibh_probe_peer(probe, pair), ip);
    switch (fault) {
    case IBH_PROBE_UNSENT:
        return g_strdup_printf("%s (%s)", ip, pair->send_error ? g_strerror(pair->send_error) : "never tried");
    case IBH_PROBE_LOST:
        return g_strdup_printf("%s (%d of %d%s)", ip, pair->sent - pair->received, pair->sent,
                               pair->on_link && !pair->received && !pair->lladdr_len ? ", no hardware address" : "");
    case IBH_PROBE_ROUTE:
    case IBH_PROBE_REPLY:
    case IBH_PROBE_DROPPED:
        if (fault == IBH_PROBE_ROUTE && pair->route.error)
            return g_strdup_printf("%s (%s)", ip, g_strerror(pair->route.error));
        link = ibh_snapshot_link(probe->rails->snapshot, ifindex);
        return g_strdup_printf("%s (%s)", ip, link ? link->name : "another interface");
    case IBH_PROBE_FLUX:
        if (pair->answers > 1)
            return g_strdup_printf("%s (several)", ip);
        return g_strdup(ip);
    default:
        return g_strdup(ip);
    }
}

/* Lost on every rail: that is one thing to say, not one of each rail. */
static gboolean is_down(const IbhProbe *probe, guint peer)
{
    guint asked = 0;

    for (guint i = first_pair(probe, peer); i < probe->pairs->len && pair_at(probe, i)->peer == peer; i++) {
        if (!(pair_at(probe, i)->faults & 1u << IBH_PROBE_LOST) || pair_at(probe, i)->received)
            return FALSE;
        asked++;
    }
    return asked > 1;
}

static gboolean is_told(const IbhProbePair *pair, IbhProbeFault fault, const gboolean *down)
{
    return (pair->faults & 1u << fault) && (fault != IBH_PROBE_LOST || !down[pair->peer]);
}

/* "2 of 8 peers: 172.16.34.1 (ib0), 172.16.34.2 (ib0)"; NULL: none has this fault. */
static char *describe_all(const IbhProbe *probe, const IbhNic *nic, IbhProbeFault fault, const gboolean *down,
                          const IbhProbePair **ret_first)
{
    g_autoptr(GString) text = g_string_new(NULL);
    guint bad = 0, all = 0;

    for (guint i = 0; i < probe->pairs->len; i++) {
        const IbhProbePair *pair = pair_at(probe, i);

        if (ibh_probe_source(probe, pair)->nic != nic)
            continue;
        all++;
        if (!is_told(pair, fault, down))
            continue;
        if (!bad++)
            *ret_first = pair;
        if (bad <= NAMED) {
            g_autofree char *one = describe(probe, pair, fault);

            g_string_append_printf(text, "%s%s", bad > 1 ? ", " : "", one);
        }
    }
    if (!bad)
        return NULL;
    if (bad > NAMED)
        g_string_append_printf(text, " and %u more", bad - NAMED);
    return g_strdup_printf("%u of %u peers: %s", bad, all, text->str);
}

static char *fix_for(const IbhProbe *probe, const IbhProbePair *pair, IbhProbeFault fault)
{
    g_autofree char *iface = ibh_shell_word(link_of(probe, pair)->name);
    char from[IBH_IP_STRLEN], to[IBH_IP_STRLEN];

    ibh_ip_format(&ibh_probe_source(probe, pair)->ip, from);
    ibh_ip_format(ibh_probe_peer(probe, pair), to);
    switch (fault) {
    case IBH_PROBE_UNSENT:
        return g_strdup_printf("ip route get %s from %s oif %s", to, from, iface);
    case IBH_PROBE_LOST:
        return g_strdup_printf("ip neigh show to %s dev %s; is the peer up, and on the same wire?", to, iface);
    case IBH_PROBE_FLUX:
    case IBH_PROBE_PEER_SENDER:
        return g_strdup_printf("on the peer (%s): ib-hook --check, ib-hook --apply", to);
    case IBH_PROBE_REPLY:
    case IBH_PROBE_DROPPED:
        return g_strdup_printf("ib-hook --check --iface %s; if that is ok, on the peer: ip neigh flush to %s", iface,
                               from);
    default:
        return g_strdup_printf("ib-hook --check --iface %s", iface);
    }
}

static void find_faults(IbhProbe *probe, const IbhNic *nic, const gboolean *down)
{
    for (int fault = 0; fault < IBH_PROBE_N_FAULTS; fault++) {
        const IbhProbePair *first = NULL;
        g_autofree char *peers = describe_all(probe, nic, (IbhProbeFault)fault, down, &first);

        if (peers)
            ibh_finding_add(probe->findings, nic->link->name, faults[fault].severity, faults[fault].code,
                            fix_for(probe, first, (IbhProbeFault)fault), "%s; %s", peers, faults[fault].meaning);
    }
}

static void find_down(IbhProbe *probe, gboolean *down)
{
    g_autoptr(GString) text = g_string_new(NULL);
    char ip[IBH_IP_STRLEN];
    guint count = 0;

    for (guint peer = 0; peer < probe->peers->len; peer++) {
        down[peer] = is_down(probe, peer);
        if (down[peer] && ++count <= NAMED)
            g_string_append_printf(text, "%s%s", count > 1 ? ", " : "",
                                   ibh_ip_format(&g_array_index(probe->peers, IbhIp, peer), ip));
    }
    if (count > NAMED)
        g_string_append_printf(text, " and %u more", count - NAMED);
    if (count)
        ibh_finding_add(probe->findings, "", IBH_ERROR, "peer-down",
                        g_strdup("see whether they are up, and answer pings at all"),
                        "%u of %u peers reply to no rail: %s", count, probe->peers->len, text->str);
}

static void find_carrier(IbhProbe *probe, const IbhNic *nic)
{
    if (!(nic->link->flags & IFF_UP) || !nic->link->carrier) {
        g_autofree char *iface = ibh_shell_word(nic->link->name);

        ibh_finding_add(probe->findings, nic->link->name, IBH_ERROR, "carrier-down",
                        nic->link->flags & IFF_UP ? g_strdup_printf("ip link show %s # cable, switch port", iface)
                                                  : g_strdup_printf("ip link set %s up", iface),
                        "the link %s: nothing can leave or arrive by it",
                        nic->link->flags & IFF_UP ? "has no carrier" : "is administratively down");
    }
}

/* An address nobody could ask from would look as if it were all right. */
static void find_unasked(IbhProbe *probe)
{
    guint unasked = 0, first = 0;
    char ip[IBH_IP_STRLEN];

    for (guint peer = probe->peers->len; probe->nics->len && peer-- > 0;) {
        gboolean asked = FALSE;

        IBH_EACH_POINTER (const IbhNic, nic, probe->nics)
            asked |= ibh_probe_find(probe, nic, peer) != NULL;
        if (asked)
            continue;
        unasked++;
        first = peer;
    }
    if (unasked)
        ibh_finding_add(probe->findings, "", IBH_ERROR, "no-source",
                        g_strdup("ib-hook --show # which addresses the rails have; or leave these peers out"),
                        "%u of %u peers were not asked, %s is the first: no rail has an address of its family, so they "
                        "are not reached",
                        unasked, probe->peers->len, ibh_ip_format(&g_array_index(probe->peers, IbhIp, first), ip));
}

/* ---- the verdict: wires ---- */

static gboolean is_reached(const IbhProbe *probe, const IbhNic *nic, guint peer)
{
    const IbhProbePair *pair = ibh_probe_find(probe, nic, peer);

    return pair && (pair->received || pair->dropped);
}

/* Each peer is reached by one rail at most, each rail reaches some and is asked about others. */
static gboolean are_apart(const IbhProbe *probe)
{
    for (guint peer = 0; peer < probe->peers->len; peer++) {
        guint by = 0, asked = 0;

        IBH_EACH_POINTER (const IbhNic, nic, probe->nics) {
            by += is_reached(probe, nic, peer) ? 1 : 0;
            asked += ibh_probe_find(probe, nic, peer) ? 1 : 0;
        }
        if (by > 1 || asked != probe->nics->len)
            return FALSE;
    }
    IBH_EACH_POINTER (const IbhNic, nic, probe->nics) {
        guint reached = 0;

        for (guint peer = 0; peer < probe->peers->len; peer++)
            reached += is_reached(probe, nic, peer) ? 1 : 0;
        if (!reached)
            return FALSE;
    }
    return probe->nics->len > 1;
}

/* The rails are on wires of their own. Whether the cables are as they should be, only names can tell. */
static void find_wires(IbhProbe *probe)
{
    g_autoptr(GString) text = g_string_new(NULL);

    if (!are_apart(probe))
        return;
    for (guint i = 0; i < probe->nics->len; i++) {
        const IbhNic *nic = g_ptr_array_index(probe->nics, i);
        guint reached = 0;

        g_string_append_printf(text, "%s%s reaches ", i ? "; " : "", nic->link->name);
        for (guint peer = 0; peer < probe->peers->len; peer++) {
            char ip[IBH_IP_STRLEN];

            if (is_reached(probe, nic, peer) && ++reached <= NAMED)
                g_string_append_printf(text, "%s%s", reached > 1 ? ", " : "",
                                       ibh_ip_format(&g_array_index(probe->peers, IbhIp, peer), ip));
        }
        if (reached > NAMED)
            g_string_append_printf(text, " and %u more", reached - NAMED);
    }
    ibh_finding_add(
        probe->findings, "", IBH_WARNING, "separate-wires", g_strdup("compare the cables with the plan of the fabric"),
        "no peer is reached by two rails: the rails are on separate wires, and if one reaches what another one should, "
        "their cables are swapped: %s",
        text->str);
}

/* ---- the verdict: the neighbour table ---- */

static guint round_up(guint value)
{
    guint power = IBH_PROBE_TABLE;

    while (power < value)
        power *= 2;
    return power;
}

static void find_small_table(IbhProbe *probe, int family)
{
    guint needed = 0, size;

    for (guint i = 0; i < probe->pairs->len; i++)
        needed += pair_at(probe, i)->on_link && family_index(ibh_probe_peer(probe, pair_at(probe, i))) == family;
    if (!probe->table_size[family] || needed <= (guint)probe->table_size[family])
        return;
    size = round_up(2 * needed);
    ibh_finding_add(
        probe->findings, "", IBH_WARNING, "neighbour-table-small",
        g_strdup_printf("sysctl -w net.ipv%c.neigh.default.gc_thresh3=%u net.ipv%c.neigh.default.gc_thresh2=%u "
                        "net.ipv%c.neigh.default.gc_thresh1=%u",
                        family ? '6' : '4', size, family ? '6' : '4', size / 2, family ? '6' : '4', size / 4),
        "the kernel keeps %d neighbours (net.ipv%c.neigh.default.gc_thresh3), these rails and peers need %u: when all "
        "of them talk, some get \"neighbour table overflow\"",
        probe->table_size[family], family ? '6' : '4', needed);
}

void ibh_probe_judge(IbhProbe *probe)
{
    g_autofree gboolean *down = g_new0(gboolean, probe->peers->len);

    probe->findings = ibh_findings_new();
    for (guint i = 0; i < probe->pairs->len; i++) {
        judge_echoes(probe, i);
        judge_way(probe, pair_at(probe, i));
    }
    judge_flux(probe);
    find_down(probe, down);
    IBH_EACH_POINTER (const IbhNic, nic, probe->nics) {
        find_carrier(probe, nic);
        find_faults(probe, nic, down);
    }
    find_unasked(probe);
    find_wires(probe);
    find_small_table(probe, 0);
    find_small_table(probe, 1);
}
