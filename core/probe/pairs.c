/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decides which rail asks which peer, from which address, through which next hop. */
#include "check/check.h"
#include "plan/want.h"
#include "probe/probe.h"

#include <errno.h>
#include <linux/if.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

/* ---- who is asked, from where ---- */

/* Returns the NIC's first address whose subnet contains the peer. If there is none, returns NULL; but with `any`,
 * returns any address of the peer's family, preferably an address with a subnet. Looks only at addresses that a rail
 * would serve (IbhNic.served), and skips addresses that another NIC owns (ibh_rails_owner()). */
static const IbhIp *find_source(const IbhProbe *probe, const IbhNic *nic, const IbhIp *peer, gboolean any)
{
    const IbhAddress *fallback = NULL;

    IBH_EACH_POINTER (const IbhAddress, address, nic->served) {
        const IbhNic *owner = ibh_rails_owner(probe->rails, &address->local);
        const gboolean is_host = ibh_address_is_host(address);

        if (address->local.family != peer->family || (owner && owner != nic))
            continue;
        if (!is_host && ibh_prefix_contains(&address->subnet, peer))
            return &address->local;
        if (!fallback || (!is_host && ibh_address_is_host(fallback)))
            fallback = address;
    }
    return any && fallback ? &fallback->local : NULL;
}

/* Returns the index of this source in IbhProbe.sources. Adds the source if the list lacks it. */
static guint intern_source(IbhProbe *probe, const IbhNic *nic, const IbhIp *ip)
{
    const IbhProbeSource source = {.nic = nic, .ip = *ip};
    guint i = 0;

    IBH_EACH_SOURCE (other, probe) {
        if (other->nic == nic && ibh_ip_equal(&other->ip, ip))
            return i;
        i++;
    }
    g_array_append_val(probe->sources, source);
    return i;
}

const char *ibh_probe_keep_text(const IbhProbe *probe, const char *text)
{
    return text ? g_string_chunk_insert_const(probe->texts, text) : NULL;
}

/* Adds a rail and a peer to `list`, which is IbhProbe.unasked or IbhProbe.unfinished. */
static void add_unasked(IbhProbe *probe, GArray *list, const IbhNic *nic, guint peer, const char *why)
{
    const IbhProbeUnasked unasked = {.nic = nic, .peer = peer, .why = ibh_probe_keep_text(probe, why)};

    g_array_append_val(list, unasked);
}

/* Notes in IbhProbe.numbers that the next pair to be added is the first pair of this address. If the address gets no
 * pair, the number means nothing; see ibh_probe_find_pair(). */
static void number_peer(IbhProbe *probe, const IbhIp *ip)
{
    g_hash_table_insert(probe->numbers, g_memdup(ip, sizeof *ip), GUINT_TO_POINTER(probe->pairs->len));
}

/* Makes the pairs of a peer. The rails that have the peer's subnet ask the peer. If no rail has this subnet, all
 * rails with an address of the peer's family ask, usually through a gateway. The other rails get into
 * IbhProbe.unasked. */
static void make_pairs(IbhProbe *probe, guint peer)
{
    const IbhIp *ip = &g_array_index(probe->peers, IbhIp, peer);
    gboolean is_beyond = TRUE; /* no rail has the peer's subnet */
    guint rail = 0;

    number_peer(probe, ip);
    IBH_EACH_RAIL (nic, probe)
        is_beyond &= !find_source(probe, nic, ip, FALSE);
    IBH_EACH_RAIL (nic, probe) {
        const IbhIp *source = find_source(probe, nic, ip, is_beyond);
        IbhProbePair pair = {
            .probe = probe, .nic = nic, .peer = peer, .on_link = !is_beyond, .rtt = -1, .route.to = *ip};

        pair.rail = rail++;
        if (!source) {
            add_unasked(probe, probe->unasked, nic, peer,
                        find_source(probe, nic, ip, TRUE) ? "no common subnet" : "no address of its family");
            continue;
        }
        pair.source = intern_source(probe, nic, source);
        pair.route.from = *source;
        pair.rdma = probe->rdma ? IBH_RDMA_UNASKED : IBH_CAUSE_NONE;
        g_array_append_val(probe->pairs, pair);
    }
}

/* Returns why a rail does not ask a peer; NULL if the rail asks. A rail does not ask in two cases:
 * - Main's route to the peer leads through another rail to a gateway, and has a longer prefix than the rail's remote=
 *   for the peer (or, without such a remote=, is no default route). An administrator wants such a route.
 * - The peer is beyond the rail's subnets and remote=, the rail has no gateway of its own, and the kernel finds no
 *   route (ENETUNREACH), or a route that leaves this host through another NIC. Such a route may be right. */
static char *why_left_to_main(const IbhProbePair *pair)
{
    const IbhRails *rails = pair->probe->rails;
    const IbhLookup *route = &pair->route;
    const IbhNic *nic = pair->nic, *route_nic = ibh_rails_nic(rails, route->oif);
    const IbhPrefix peer = ibh_prefix_of_host(&route->to);
    const IbhRemote *remote = ibh_nic_find_remote(nic, &peer);
    const gboolean is_by_other_rail = route_nic && route_nic != nic && route_nic->status == IBH_NIC_RAIL,
                   is_longer = route->length > (remote ? remote->prefix.length : 0);
    const IbhLink *link = ibh_snapshot_link(rails->snapshot, route->oif);
    const char *name = link ? link->name : "another interface";
    char text[IBH_IP_STRLEN];
    IbhRoute unused;

    if (!ibh_nic_is_usable(nic)) /* the NIC's routes may be gone, so main's answer means nothing */
        return NULL;
    if (route->table == IBH_TABLE_MAIN && route->gateway.family && is_by_other_rail && is_longer)
        return g_strdup_printf("main sends it through %s via %s", name, ibh_ip_format(&route->gateway, text));
    if (pair->on_link || remote || ibh_want_default(rails, nic, route->to.family, &unused))
        return NULL;
    if (route->error == ENETUNREACH)
        return g_strdup("outside its subnets, and no route leads there");
    /* the rail asks: judge.c has to report the error or the type of the route, or the route leads through this NIC */
    if (route->error || route->oif == nic->link->ifindex || route->type > RTN_UNICAST)
        return NULL;
    if (route->table && route->table != IBH_TABLE_MAIN)
        return g_strdup_printf("no gateway of its own: table %u sends it through %s", route->table, name);
    return g_strdup_printf("no gateway of its own: main sends it through %s", name);
}

/* If the kernel accepted an ICMP redirect, it keeps the new gateway beside the route, for this destination only. So the
 * gateway of the matching route (`route`) differs from the gateway that the kernel uses (`used`). If the matching route
 * is a multipath route, `route` has all its nexthops, and no single gateway, so a difference means nothing. */
void ibh_probe_take_hop(IbhProbePair *pair, const IbhLookup *used)
{
    IbhLookup *route = &pair->route;

    if (route->error || used->error || used->type != RTN_UNICAST)
        return;
    pair->redirected = !route->hops && used->gateway.family && !ibh_ip_equal(&used->gateway, &route->gateway);
    route->gateway = used->gateway;
    route->oif = used->oif;
}

/* ---- next hops ---- */

/* Returns the hop with this address on this link. Makes the hop if there is none. */
static IbhProbeHop *intern_hop(IbhProbe *probe, const IbhLink *link, const IbhIp *ip, gboolean is_own)
{
    IbhProbeHop *hop = ibh_probe_hop(probe, link->ifindex, ip);

    if (hop)
        return hop;
    hop = g_new0(IbhProbeHop, 1);
    hop->link = link;
    hop->ip = *ip;
    hop->is_own = is_own;
    hop->next = g_hash_table_lookup(probe->hops, ip);
    (void)g_hash_table_steal(probe->hops, ip); /* to insert the new hop without freeing the others */
    g_hash_table_insert(probe->hops, &hop->ip, hop);
    return hop;
}

static void free_hops(gpointer first)
{
    for (IbhProbeHop *hop = first, *next; hop; hop = next) {
        next = hop->next;
        g_free(hop);
    }
}

/* If a unicast route leads the pair's packets through the rail, the next hop is the gateway or, without a gateway, the
 * peer. If there is no such route, and the rail has the peer's subnet, the next hop is the peer. In all other cases,
 * the next hop is unknown. A route through another NIC says nothing about the pair's echoes, because --probe ties their
 * socket to the rail. */
void ibh_probe_find_hops(IbhProbe *probe)
{
    IBH_EACH_PAIR (pair, probe) {
        const IbhLookup *route = &pair->route;
        const IbhLink *link = ibh_probe_link(pair);
        const gboolean is_by_rail = !route->error && route->oif == link->ifindex;
        const IbhIp *ip = NULL;

        if (is_by_rail && route->gateway.family)
            ip = &route->gateway;
        else if (pair->on_link || (is_by_rail && route->type == RTN_UNICAST))
            ip = &route->to;
        pair->hop = ip ? intern_hop(probe, link, ip, FALSE) : NULL;
    }
    IBH_EACH_SOURCE (source, probe)
        (void)intern_hop(probe, source->nic->link, &source->ip, TRUE);
}

/* Takes out of IbhProbe.pairs each pair for which `why_not` returns a reason, and adds the pair to `list` with this
 * reason. The pairs that stay get new indexes. */
static void take_out(IbhProbe *probe, char *(*why_not)(const IbhProbePair *pair), GArray *list)
{
    g_autoptr(GArray) all = g_steal_pointer(&probe->pairs);

    probe->pairs = IBH_NEW_ARRAY(IbhProbePair);
    g_hash_table_remove_all(probe->numbers);
    IBH_EACH (const IbhProbePair, pair, all) {
        g_autofree char *why = why_not(pair);

        if (why) {
            add_unasked(probe, list, pair->nic, pair->peer, why);
            continue;
        }
        if (!g_hash_table_contains(probe->numbers, ibh_probe_peer(pair)))
            number_peer(probe, ibh_probe_peer(pair));
        g_array_append_vals(probe->pairs, pair, 1);
    }
    /* The routes decide the next hops. ibh_probe_new() found next hops before any route was known. In
     * ibh_probe_leave_to_main(), all routes are known, so find the next hops again. After a signal, they stay the same.
     */
    ibh_probe_find_hops(probe);
}

void ibh_probe_leave_to_main(IbhProbe *probe)
{
    take_out(probe, why_left_to_main, probe->unasked);
}

static char *why_unfinished(const IbhProbePair *pair)
{
    return pair->step != IBH_STEP_GONE ? g_strdup("interrupted") : NULL;
}

/* Perhaps an unfinished pair would have got its replies if the signal had come later, so it gets no verdict. */
void ibh_probe_take_out_unfinished(IbhProbe *probe)
{
    take_out(probe, why_unfinished, probe->unfinished);
}

/* ---- a probe ---- */

/* `ip` is an address of this host. TRUE if this host never says on the NIC's wire that it has the address, because
 * three things are true:
 * - The address is on a link without ARP, such as lo.
 * - The NIC itself lacks the address.
 * - The NIC does not answer for other links' addresses: in IPv6, no NIC does; in IPv4, arp_ignore can forbid it.
 * The real servers of a load balancer (LVS) have the VIP in this way, and only the director answers for the VIP. */
static gboolean is_silent_about(const IbhProbe *probe, const IbhNic *nic, const IbhIp *ip)
{
    const IbhLink *holder = ibh_rails_holder(probe->rails, ip)->link;
    const int ignore =
        ibh_sysctl_effective(probe->rails->snapshot, IBH_SYSCTL_ARP_IGNORE, nic->link->sysctl[IBH_SYSCTL_ARP_IGNORE]);

    return (holder->flags & (IFF_LOOPBACK | IFF_NOARP)) && !ibh_rails_address(probe->rails, nic, ip) &&
           (ip->family == AF_INET6 || ibh_arp_ignore_silences(ignore));
}

/* Adds each address once. If the user gives a list of all hosts of a fabric, this list names this host, too. --probe
 * sends no echoes to this host's own addresses (for example a VIP on lo), so they get no pairs. But another host may
 * have the same address, and --probe asks who else has each of its sources. So each of this host's addresses becomes a
 * source of the first rail that has a subnet with the address, and is not silent about the address (is_silent_about()).
 * If a rail owns the address (ibh_rails_owner()), only this rail counts. Without such a rail, there is no source. */
static void add_peers(IbhProbe *probe, const GArray *peers)
{
    IBH_EACH (const IbhIp, ip, peers) {
        const gboolean is_own = ibh_rails_holder(probe->rails, ip) != NULL;

        if (g_hash_table_contains(probe->numbers, ip))
            continue;
        number_peer(probe, ip); /* only to recognise a second copy of the address */
        g_array_append_val(is_own ? probe->own : probe->peers, *ip);
    }
    for (guint i = 0; i < probe->peers->len; i++)
        make_pairs(probe, i);
    IBH_EACH (const IbhIp, ip, probe->own) {
        const IbhNic *owner = ibh_rails_owner(probe->rails, ip);

        IBH_EACH_RAIL (nic, probe) {
            if ((owner && owner != nic) || !find_source(probe, nic, ip, FALSE) || is_silent_about(probe, nic, ip))
                continue;
            (void)intern_source(probe, nic, ip);
            break;
        }
    }
}

IbhProbe *ibh_probe_new(const IbhRails *rails, const IbhProbeRequest *request, GError **error)
{
    g_autoptr(IbhProbe) probe = g_new0(IbhProbe, 1);
    guint at = 0;

    *probe = (IbhProbe){.rails = rails,
                        .nics = g_ptr_array_new(),
                        .texts = g_string_chunk_new(1024),
                        .peers = IBH_NEW_ARRAY(IbhIp),
                        .own = IBH_NEW_ARRAY(IbhIp),
                        .sources = IBH_NEW_ARRAY(IbhProbeSource),
                        .numbers = g_hash_table_new_full(ibh_ip_hash, (GEqualFunc)ibh_ip_equal, g_free, NULL),
                        .hops = g_hash_table_new_full(ibh_ip_hash, (GEqualFunc)ibh_ip_equal, NULL, free_hops),
                        .facts = g_hash_table_new_full(NULL, NULL, NULL, g_free),
                        .pairs = IBH_NEW_ARRAY(IbhProbePair),
                        .forgeries = IBH_NEW_ARRAY(IbhProbeForgery),
                        .children = IBH_NEW_ARRAY(IbhLladdr),
                        .unasked = IBH_NEW_ARRAY(IbhProbeUnasked),
                        .unfinished = IBH_NEW_ARRAY(IbhProbeUnasked),
                        .count = (guint)request->count,
                        .rdma = request->rdma};
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) { /* all rails, or the NICs that --iface names */
        if (rails->only ? ibh_nic_is_selected(nic, rails->only) : nic->status == IBH_NIC_RAIL)
            g_ptr_array_add(probe->nics, (gpointer)(guintptr)nic);
    }
    add_peers(probe, request->peers);
    if (!probe->peers->len) {
        g_set_error_literal(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                            "--probe: none of the addresses is a peer: they are this host's own");
        return NULL;
    }
    ibh_probe_find_hops(probe); /* routes are not known yet; ibh_probe_leave_to_main() finds the hops again */
    if ((guint64)probe->pairs->len * probe->count > IBH_PROBE_PACKETS_MAX) {
        g_set_error(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                    "--probe: %u pairs of rail and peer, --count %u: more than %d packets; probe fewer peers at a time",
                    probe->pairs->len, probe->count, IBH_PROBE_PACKETS_MAX);
        return NULL;
    }
    probe->echoes = g_new0(IbhProbeEcho, probe->pairs->len * probe->count);
    IBH_EACH_PAIR (pair, probe)
        pair->echoes = &probe->echoes[at++ * probe->count];
    return g_steal_pointer(&probe);
}

void ibh_probe_free(IbhProbe *probe)
{
    GArray *const arrays[] = {probe->peers,     probe->own,      probe->sources, probe->pairs,
                              probe->forgeries, probe->children, probe->unasked, probe->unfinished};

    for (guint i = 0; i < G_N_ELEMENTS(arrays); i++)
        g_array_unref(arrays[i]);
    g_ptr_array_unref(probe->nics);
    g_string_chunk_free(probe->texts);
    g_hash_table_unref(probe->numbers);
    g_hash_table_unref(probe->hops);
    g_hash_table_unref(probe->facts);
    g_clear_pointer(&probe->findings, g_ptr_array_unref);
    g_free(probe->echoes);
    g_free(probe);
}

IbhProbePair *ibh_probe_pair(const IbhProbe *probe, guint i)
{
    return i < probe->pairs->len ? &g_array_index(probe->pairs, IbhProbePair, i) : NULL;
}

const IbhProbeSource *ibh_probe_source(const IbhProbePair *pair)
{
    return &g_array_index(pair->probe->sources, IbhProbeSource, pair->source);
}

const IbhIp *ibh_probe_peer(const IbhProbePair *pair)
{
    return &pair->route.to;
}

const IbhLink *ibh_probe_link(const IbhProbePair *pair)
{
    return pair->nic->link;
}

gboolean ibh_probe_is_direct(const IbhProbePair *pair)
{
    return pair->hop && ibh_ip_equal(&pair->hop->ip, &pair->route.to);
}

/* The pairs of one peer are adjacent. For an address without pairs, the number from the hash table means nothing: no
 * pair has this index, or the pair with this index has another peer. So the loop ends at once. */
IbhProbePair *ibh_probe_find_pair(const IbhProbe *probe, int ifindex, const IbhIp *ip)
{
    guint i = GPOINTER_TO_UINT(g_hash_table_lookup(probe->numbers, ip));
    IbhProbePair *pair = ibh_probe_pair(probe, i);

    for (; pair && ibh_ip_equal(&pair->route.to, ip); pair = ibh_probe_pair(probe, ++i)) {
        if (ibh_probe_link(pair)->ifindex == ifindex)
            return pair;
    }
    return NULL;
}

int ibh_probe_is_ipv6(const IbhProbePair *pair)
{
    return pair->route.to.family == AF_INET6;
}

/* If IPv6 has a smaller MTU than the link, the MTU of IPv6 counts: by default, programs send no larger IPv6 packets. */
guint ibh_probe_full_size(const IbhProbePair *pair)
{
    const IbhLink *link = ibh_probe_link(pair);
    const gboolean is_lowered = ibh_probe_is_ipv6(pair) && link->mtu6 && link->mtu6 < link->mtu;

    return MIN((guint)MAX(is_lowered ? link->mtu6 : link->mtu, 0), IBH_PROBE_SIZE_MAX);
}

/* ---- neighbours ---- */

gboolean ibh_probe_adds_entry(const IbhProbePair *pair)
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
        /* the hardware address of an entry that the kernel made without asking comes from no neighbour */
        lladdr = ibh_lladdr_from_bytes(neighbour->lladdr,
                                       ibh_neighbour_is_unasked(hop->link, neighbour) ? 0 : neighbour->lladdr_len);
        /* Before a pair with this next hop begins, note that the entry is not ours. Afterwards, note the hardware
         * address that echoes use, but only once: the answer to --probe's own question may change the entry later. */
        if (!hop->is_begun) {
            hop->in_table = TRUE;
            hop->entry = lladdr;
        } else if (!hop->lladdr.len) {
            hop->lladdr = lladdr;
            hop->fixed = neighbour->fixed && lladdr.len;
        }
    }
    IBH_EACH_PAIR (pair, probe) {
        if (pair->step != IBH_STEP_SETTLED)
            continue;
        pair->step = IBH_STEP_QUESTIONS;
        if (pair->rdma == IBH_RDMA_UNASKED && !pair->received && !(pair->hop && pair->hop->lladdr.len))
            pair->rdma = IBH_RDMA_NO_ECHO; /* the finding about lost echoes is enough */
    }
}
