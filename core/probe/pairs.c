/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --probe: who is asked, from where; and what the neighbour table says of them. */
#include "check/check.h"
#include "plan/want.h"
#include "probe/probe.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

/* ---- who is asked, from where ---- */

/* A list of all hosts of a fabric contains this host, too. */
static void take_peers(IbhProbe *probe, const GArray *peers)
{
    IBH_EACH (const IbhIp, ip, peers) {
        if (g_hash_table_insert(probe->numbers, g_memdup(ip, sizeof *ip), NULL))
            g_array_append_val(ibh_rails_holder(probe->rails, ip) ? probe->own : probe->peers, *ip);
    }
}

/* Without --iface all rails; with it any NIC. */
static void take_nics(IbhProbe *probe)
{
    const IbhRails *rails = probe->rails;

    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        if (rails->only ? ibh_nic_is_selected(nic, rails->only) : nic->status == IBH_NIC_RAIL)
            g_ptr_array_add(probe->nics, (gpointer)(guintptr)nic);
    }
}

/* The NIC's address in the peer's subnet; else, with `any`, its first address in a subnet, or its first at all. */
static const IbhIp *find_source(const IbhProbe *probe, const IbhNic *nic, const IbhIp *peer, gboolean any)
{
    const IbhAddress *fallback = NULL;

    IBH_EACH_POINTER (const IbhAddress, address, nic->served) {
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

static void add_pair(IbhProbe *probe, const IbhNic *nic, guint peer, const IbhIp *source, gboolean on_link)
{
    const IbhProbePair pair = {.probe = probe,
                               .source = intern_source(probe, nic, source),
                               .peer = peer,
                               .on_link = on_link,
                               .rtt = -1,
                               .rdma = probe->rdma ? IBH_RDMA_UNASKED : IBH_CAUSE_NONE,
                               .route = {.from = *source, .to = g_array_index(probe->peers, IbhIp, peer)}};

    g_array_append_val(probe->pairs, pair);
}

static void add_unasked(GArray *all, const IbhNic *nic, guint peer, char *why)
{
    const IbhProbeUnasked unasked = {.nic = nic, .peer = peer, .why = why};

    g_array_append_val(all, unasked);
}

/* Rails that have the peer's subnet ask it; if no rail has it, all rails ask, through a gateway. */
static void make_pairs(IbhProbe *probe, guint peer)
{
    const IbhIp *ip = &g_array_index(probe->peers, IbhIp, peer);
    gboolean any = TRUE;

    g_hash_table_insert(probe->numbers, g_memdup(ip, sizeof *ip), GUINT_TO_POINTER(probe->pairs->len));
    IBH_EACH_POINTER (const IbhNic, nic, probe->nics)
        any &= !find_source(probe, nic, ip, FALSE);
    IBH_EACH_POINTER (const IbhNic, nic, probe->nics) {
        const IbhIp *source = find_source(probe, nic, ip, any);
        const char *why = find_source(probe, nic, ip, TRUE) ? "no common subnet" : "no address of its family";

        if (source)
            add_pair(probe, nic, peer, source, !any);
        else
            add_unasked(probe->unasked, nic, peer, g_strdup(why));
    }
}

/* A route of main's through a gateway by another rail, more exact than what the rail has there: somebody meant that. */
static gboolean is_meant(const IbhProbePair *pair)
{
    const IbhNic *nic = ibh_probe_source(pair)->nic, *by = ibh_rails_nic(pair->probe->rails, pair->route.oif);
    const IbhPrefix whole = ibh_prefix_of_host(ibh_probe_peer(pair));
    const IbhRemote *remote = ibh_nic_find_remote(nic, &whole);

    if (pair->route.table != IBH_TABLE_MAIN || !pair->route.gateway.family)
        return FALSE;
    return by && by != nic && by->status == IBH_NIC_RAIL && pair->route.length > (remote ? remote->prefix.length : 0);
}

/* What is beyond its subnets, main decides for a rail without a gateway of its own: another NIC is right then. NULL:
 * the rail asks. */
static char *why_left_to_main(const IbhProbePair *pair)
{
    const IbhRails *rails = pair->probe->rails;
    const IbhNic *nic = ibh_probe_source(pair)->nic;
    const IbhIp *peer = ibh_probe_peer(pair);
    const IbhPrefix whole = ibh_prefix_of_host(peer);
    const IbhLink *other = ibh_snapshot_link(rails->snapshot, pair->route.oif);
    char text[IBH_IP_STRLEN];
    IbhRoute route;

    if (!ibh_nic_is_usable(nic)) /* whose routes went away with it */
        return NULL;
    if (is_meant(pair))
        return g_strdup_printf("main sends it through %s via %s", other->name,
                               ibh_ip_format(&pair->route.gateway, text));
    if (pair->on_link || ibh_want_default(rails, nic, peer->family, &route) || ibh_nic_find_remote(nic, &whole))
        return NULL;
    if (pair->route.error)
        return pair->route.error == ENETUNREACH ? g_strdup("outside its subnets, and no route leads there") : NULL;
    return pair->route.oif == nic->link->ifindex || pair->route.type == RTN_LOCAL
               ? NULL
               : g_strdup_printf("no gateway of its own: main sends it through %s",
                                 other ? other->name : "another interface");
}

/* Pairs for which there is a reason go to `out`; the others get new numbers, and keep their echoes. */
static void leave_out(IbhProbe *probe, char *(*find_reason)(const IbhProbePair *pair), GArray *out)
{
    g_autoptr(GArray) all = g_steal_pointer(&probe->pairs);
    const gsize count = (gsize)probe->count;

    probe->pairs = g_array_new(FALSE, TRUE, sizeof(IbhProbePair));
    g_hash_table_remove_all(probe->numbers);
    for (guint i = 0; i < all->len; i++) {
        const IbhProbePair *pair = &g_array_index(all, IbhProbePair, i);
        const IbhIp *peer = ibh_probe_peer(pair);
        char *why = find_reason(pair);
        const guint number = probe->pairs->len;

        if (why) {
            add_unasked(out, ibh_probe_source(pair)->nic, pair->peer, why);
            continue;
        }
        if (!g_hash_table_contains(probe->numbers, peer))
            g_hash_table_insert(probe->numbers, g_memdup(peer, sizeof *peer), GUINT_TO_POINTER(number));
        memmove(probe->echoes + number * count, probe->echoes + i * count, count * sizeof *probe->echoes);
        g_array_append_vals(probe->pairs, pair, 1);
    }
}

void ibh_probe_leave_to_main(IbhProbe *probe)
{
    leave_out(probe, why_left_to_main, probe->unasked);
    ibh_probe_find_hops(probe);
}

/* Where an ICMP redirect was accepted, the kernel keeps its gateway beside the route, for this one destination: the
 * route that it says to have found has another one. Of a multipath route it says the first hop, whichever it uses. */
void ibh_probe_take_hop(IbhProbePair *pair, const IbhLookup *used)
{
    IbhLookup *route = &pair->route;

    if (route->error || used->error || used->type != RTN_UNICAST)
        return;
    pair->redirected = !route->hops && used->gateway.family && !ibh_ip_equal(&used->gateway, &route->gateway);
    route->gateway = used->gateway;
    route->oif = used->oif;
}

/* Of a pair whose packets were under way, no silence means anything. */
static char *why_interrupted(const IbhProbePair *pair)
{
    return pair->step == IBH_STEP_GONE ? NULL : g_strdup("interrupted");
}

void ibh_probe_interrupt(IbhProbe *probe)
{
    probe->interrupted = TRUE;
    leave_out(probe, why_interrupted, probe->unfinished);
}

/* This host's own addresses among the peers (a VIP on lo) get no echo, but are asked for: another host may have them.
 */
static void add_own(IbhProbe *probe)
{
    IBH_EACH (const IbhIp, ip, probe->own) {
        const IbhNic *owner = ibh_rails_owner(probe->rails, ip);

        IBH_EACH_POINTER (const IbhNic, nic, probe->nics) {
            if ((owner && owner != nic) || !find_source(probe, nic, ip, FALSE))
                continue;
            (void)intern_source(probe, nic, ip);
            break;
        }
    }
}

/* ---- next hops ---- */

static IbhProbeHop *intern_hop(IbhProbe *probe, const IbhLink *link, const IbhIp *ip, gboolean is_own)
{
    IbhProbeHop *first = g_hash_table_lookup(probe->hops, ip), *hop = ibh_probe_hop(probe, link->ifindex, ip);

    if (hop)
        return hop;
    hop = g_new0(IbhProbeHop, 1);
    hop->link = link;
    hop->ip = *ip;
    hop->is_own = is_own;
    if (!first) {
        g_hash_table_insert(probe->hops, &hop->ip, hop);
    } else {
        hop->next = first->next;
        first->next = hop;
    }
    return hop;
}

static void free_hops(gpointer first)
{
    for (IbhProbeHop *hop = first, *next; hop; hop = next) {
        next = hop->next;
        g_free(hop);
    }
}

/* The kernel's answer leads to a gateway, or to the peer itself, if it is the rail's. Else packets that are bound to
 * the rail can only go to a neighbour. */
void ibh_probe_find_hops(IbhProbe *probe)
{
    IBH_EACH (IbhProbePair, pair, probe->pairs) {
        const IbhLookup *route = &pair->route;
        const IbhLink *link = ibh_probe_link(pair);
        const gboolean is_way = !route->error && route->oif == link->ifindex;

        pair->hop = NULL;
        if (is_way && route->gateway.family)
            pair->hop = intern_hop(probe, link, &route->gateway, FALSE);
        else if (pair->on_link || (is_way && route->type == RTN_UNICAST))
            pair->hop = intern_hop(probe, link, ibh_probe_peer(pair), FALSE);
    }
    IBH_EACH (const IbhProbeSource, source, probe->sources)
        (void)intern_hop(probe, source->nic->link, &source->ip, TRUE);
}

static void clear_unasked(gpointer unasked)
{
    g_free(((IbhProbeUnasked *)unasked)->why);
}

static GArray *new_list_of_unasked(void)
{
    GArray *list = IBH_NEW_ARRAY(IbhProbeUnasked);

    g_array_set_clear_func(list, clear_unasked);
    return list;
}

IbhProbe *ibh_probe_new(const IbhRails *rails, const IbhProbeRequest *request, GError **error)
{
    g_autoptr(IbhProbe) probe = g_new0(IbhProbe, 1);

    probe->rails = rails;
    probe->nics = g_ptr_array_new();
    probe->peers = g_array_new(FALSE, TRUE, sizeof(IbhIp));
    probe->own = g_array_new(FALSE, TRUE, sizeof(IbhIp));
    probe->sources = g_array_new(FALSE, TRUE, sizeof(IbhProbeSource));
    probe->numbers = g_hash_table_new_full(ibh_ip_hash, (GEqualFunc)ibh_ip_equal, g_free, NULL);
    probe->hops = g_hash_table_new_full(ibh_ip_hash, (GEqualFunc)ibh_ip_equal, NULL, free_hops);
    probe->facts = g_hash_table_new(NULL, NULL);
    probe->pairs = g_array_new(FALSE, TRUE, sizeof(IbhProbePair));
    probe->forgeries = g_array_new(FALSE, TRUE, sizeof(IbhProbeForgery));
    probe->children = g_array_new(FALSE, TRUE, sizeof(IbhLladdr));
    probe->unasked = new_list_of_unasked();
    probe->unfinished = new_list_of_unasked();
    probe->count = request->count;
    probe->rdma = request->rdma;
    take_peers(probe, request->peers);
    take_nics(probe);
    if (!probe->peers->len) {
        g_set_error_literal(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                            "--probe: none of the addresses is a peer: they are this host's own");
        return NULL;
    }
    for (guint i = 0; i < probe->peers->len; i++)
        make_pairs(probe, i);
    add_own(probe);
    ibh_probe_find_hops(probe);
    if ((guint64)probe->pairs->len * (guint)probe->count > IBH_PROBE_PACKETS_MAX) {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
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
    g_array_unref(probe->forgeries);
    g_array_unref(probe->children);
    g_array_unref(probe->unasked);
    g_array_unref(probe->unfinished);
    g_hash_table_unref(probe->numbers);
    g_clear_pointer(&probe->findings, g_ptr_array_unref);
    g_hash_table_unref(probe->hops);
    g_hash_table_unref(probe->facts);
    g_free(probe->echoes);
    g_free(probe);
}

IbhProbePair *ibh_probe_pair(const IbhProbe *probe, guint i)
{
    return &g_array_index(probe->pairs, IbhProbePair, i);
}

const IbhProbeSource *ibh_probe_source(const IbhProbePair *pair)
{
    return &g_array_index(pair->probe->sources, IbhProbeSource, pair->source);
}

const IbhIp *ibh_probe_peer(const IbhProbePair *pair)
{
    return &g_array_index(pair->probe->peers, IbhIp, pair->peer);
}

const IbhLink *ibh_probe_link(const IbhProbePair *pair)
{
    return ibh_probe_source(pair)->nic->link;
}

gboolean ibh_probe_is_direct(const IbhProbePair *pair)
{
    return pair->hop && ibh_ip_equal(&pair->hop->ip, ibh_probe_peer(pair));
}

/* Pairs of one peer follow each other. */
IbhProbePair *ibh_probe_find_pair(const IbhProbe *probe, int ifindex, const IbhIp *ip)
{
    for (guint i = GPOINTER_TO_UINT(g_hash_table_lookup(probe->numbers, ip)); i < probe->pairs->len; i++) {
        IbhProbePair *pair = ibh_probe_pair(probe, i);

        if (!ibh_ip_equal(ibh_probe_peer(pair), ip))
            return NULL;
        if (ibh_probe_link(pair)->ifindex == ifindex)
            return pair;
    }
    return NULL;
}

int ibh_probe_family(const IbhProbePair *pair)
{
    return ibh_probe_peer(pair)->family == AF_INET6;
}

/* That of IPv6 may be smaller: programs send no larger packets there, nor are peers to answer such. */
guint ibh_probe_full_size(const IbhProbePair *pair)
{
    const IbhLink *link = ibh_probe_link(pair);
    const gboolean is_lowered = ibh_probe_family(pair) && link->mtu6 && link->mtu6 < link->mtu;

    return MIN((guint)MAX(is_lowered ? link->mtu6 : link->mtu, 0), IBH_PROBE_SIZE_MAX);
}

IbhProbeEcho *ibh_probe_echo(const IbhProbe *probe, guint pair, guint number)
{
    return &probe->echoes[(gsize)pair * (gsize)probe->count + number];
}

/* ---- neighbours ---- */

gboolean ibh_probe_takes_entry(const IbhProbePair *pair)
{
    return ibh_probe_is_direct(pair) && !pair->hop->in_table;
}

void ibh_probe_learn(IbhProbe *probe, const GArray *neighbours)
{
    IBH_EACH (const IbhNeighbour, neighbour, neighbours) {
        IbhProbeHop *hop = ibh_probe_hop(probe, neighbour->ifindex, &neighbour->ip);
        IbhLladdr lladdr;

        if (!hop)
            continue;
        lladdr = ibh_lladdr_from_bytes(neighbour->lladdr,
                                       ibh_neighbour_is_unasked(hop->link, neighbour) ? 0 : neighbour->lladdr_len);
        if (!hop->is_begun) {
            hop->in_table = TRUE;
            hop->entry = lladdr;
        } else if (!hop->lladdr.len) {
            hop->lladdr = lladdr;
            hop->fixed = neighbour->fixed && lladdr.len;
        }
    }
    IBH_EACH (IbhProbePair, pair, probe->pairs) {
        if (pair->step != IBH_STEP_SETTLED)
            continue;
        pair->step = IBH_STEP_QUESTIONS;
        if (pair->rdma == IBH_RDMA_UNASKED && !pair->received && !(pair->hop && pair->hop->lladdr.len))
            pair->rdma = IBH_RDMA_NO_ECHO; /* the echo's finding is enough */
    }
}
