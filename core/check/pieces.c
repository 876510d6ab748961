/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/check.h"
#include "plan/want.h"

#include <sys/socket.h>

typedef struct {
    GArray *prefixes; /* IbhPrefix: each becomes a piece, except the single addresses in `peerless`, and prefixes that
                         longer prefixes cover completely */
    GHashTable *peerless; /* IbhIp: addresses that no other host can have: those of this host (but see cut_world()), and
                             the edges of subnets (see cut_edges()) */
} Cuts;

static void cut(const Cuts *cuts, const IbhPrefix *prefix)
{
    g_array_append_vals(cuts->prefixes, prefix, 1);
}

/* Cuts out an address that no other host can have: the address becomes no piece, and no question about a larger piece
 * goes to this address (IbhPiece.host). */
static void cut_peerless(const Cuts *cuts, const IbhIp *ip)
{
    const IbhPrefix single = ibh_prefix_of_host(ip);

    g_hash_table_add(cuts->peerless, g_memdup(ip, sizeof *ip));
    cut(cuts, &single);
}

static IbhIp last_address(const IbhPrefix *prefix)
{
    IbhIp ip = prefix->ip;

    for (guint bit = prefix->length; bit < ibh_ip_bits(&ip); bit++)
        ip.bytes[bit / 8] |= (guint8)(0x80u >> (bit % 8));
    return ip;
}

/* The edges of a subnet are its first and its last address. Cuts out each edge that no host can have. In IPv4, table
 * local has a broadcast route to such an edge. Since Linux 5.14, a host can have the first address, so table local has
 * such a route only to the last. But we take a /30 for a cable with two ends (ibh_prefix_has_one_peer()), and always
 * cut out both its edges. In IPv6, the first address stands for any router, and a host can have the last. A subnet with
 * only two addresses, or one, has no edges. */
static void cut_edges(const Cuts *cuts, const IbhFib *actual, const IbhPrefix *subnet)
{
    const IbhIp edges[] = {subnet->ip, last_address(subnet)};

    if (ibh_ip_bits(&subnet->ip) - subnet->length <= 1)
        return;
    IBH_EACH_ROW (const IbhIp, edge, edges) {
        gboolean is_edge =
            subnet->ip.family == AF_INET ? ibh_fib_find(actual, IBH_TABLE_LOCAL, edge, 0) != NULL : edge == &edges[0];

        if (is_edge || ibh_prefix_has_one_peer(subnet))
            cut_peerless(cuts, edge);
    }
}

/* Makes pieces of the prefixes of routes, except those in fe80::/10, and except /0, which cut_world() always adds. */
static void cut_routes(const Cuts *cuts, const GArray *routes)
{
    IBH_EACH (const IbhRoute, route, routes) {
        if (route->dst.length && !ibh_ip_is_fe80(&route->dst.ip))
            cut(cuts, &route->dst);
    }
}

/* Cuts out this host's addresses, with one exception (see below), and the edges of its subnets. Makes pieces of
 * candidates' subnets and remote=, of the sources and destinations of foreign rules, and of the destinations of routes,
 * both of those that we have read and of those that we want. */
static void cut_world(const Cuts *cuts, const IbhCheck *check)
{
    /* The two /0 stand for all other networks. 0.0.0.0/8 and ::/3 become pieces of their own, so that the host of each
     * /0, its first address outside of the smaller pieces, is an ordinary address, and not 0.0.0.0 or ::. */
    static const char *const beyond[] = {"0.0.0.0/0", "0.0.0.0/8", "::/0", "::/3"};
    const IbhSnapshot *snapshot = check->rails->snapshot;
    IbhPrefix prefix;

    IBH_EACH (const IbhAddress, address, snapshot->addresses) {
        const IbhNic *nic = ibh_rails_nic(check->rails, address->ifindex);

        /* A single address on a NIC that is not a candidate, such as lo or a dummy, is that of a service, or somebody
         * added a peer's address here by mistake. So the address becomes a piece, and --check asks about it. */
        if (ibh_address_is_host(address) && !(nic && nic->rank))
            cut(cuts, &address->subnet);
        else
            cut_peerless(cuts, &address->local);
        cut_edges(cuts, check->actual, &address->subnet);
    }
    IBH_EACH_POINTER (const IbhNic, nic, check->rails->nics) {
        cut_routes(cuts, nic->routes);
        if (!nic->rank)
            continue;
        IBH_EACH_POINTER (const IbhAddress, address, nic->served)
            cut(cuts, &address->subnet);
        IBH_EACH (const IbhRemote, remote, nic->settings.remote)
            cut(cuts, &remote->prefix);
    }
    IBH_EACH (const IbhRule, rule, snapshot->rules) {
        if (!ibh_rule_is_ours(rule) && rule->to.length)
            cut(cuts, &rule->to);
        /* A packet that arrives (IBH_ASK_ARRIVES) has its source in a piece. */
        if (!ibh_rule_is_ours(rule) && rule->from.length)
            cut(cuts, &rule->from);
    }
    cut_routes(cuts, snapshot->routes);
    cut_routes(cuts, check->facts->routes);
    IBH_EACH_ROW (const char *const, text, beyond) {
        if (ibh_prefix_parse(*text, &prefix))
            cut(cuts, &prefix);
    }
}

/* Sets the first address behind the prefix. FALSE if the prefix ends with the last address of the family. */
static gboolean find_next_address(const IbhPrefix *prefix, IbhIp *ret_ip)
{
    *ret_ip = last_address(prefix);
    for (guint byte = ibh_ip_bits(ret_ip) / 8; byte-- > 0;) {
        if (++ret_ip->bytes[byte])
            return TRUE;
    }
    return FALSE;
}

/* Sets the first address of `prefix` that is in none of the longer prefixes inside `prefix`. In `sorted`, the longer
 * prefixes follow the element `first`, which is `prefix` itself. FALSE if the longer prefixes cover all of `prefix`. */
static gboolean find_gap(const GArray *sorted, guint first, const IbhPrefix *prefix, IbhIp *ret_ip)
{
    *ret_ip = prefix->ip;
    for (guint i = first; i < sorted->len; i++) {
        const IbhPrefix *inner = &g_array_index(sorted, IbhPrefix, i);

        if (ibh_ip_compare(&inner->ip, ret_ip) > 0)
            break; /* this prefix and all that follow begin behind `ret_ip`: none of them contains it */
        /* skip `prefix` itself, which may be listed several times, and longer prefixes that end before `ret_ip` */
        if (!ibh_prefix_is_inside(inner, prefix) || !ibh_prefix_contains(inner, ret_ip))
            continue;
        if (!find_next_address(inner, ret_ip) || !ibh_prefix_contains(prefix, ret_ip))
            return FALSE;
    }
    return TRUE;
}

void ibh_check_cut_pieces(IbhCheck *check)
{
    g_autoptr(GArray) prefixes = g_array_new(FALSE, FALSE, sizeof(IbhPrefix));
    g_autoptr(GHashTable) peerless = g_hash_table_new_full(ibh_ip_hash, (GEqualFunc)ibh_ip_equal, g_free, NULL);

    cut_world(&(Cuts){prefixes, peerless}, check);
    g_array_sort(prefixes, (GCompareFunc)ibh_prefix_compare);
    check->pieces = IBH_NEW_ARRAY(IbhPiece);
    for (guint i = 0; i < prefixes->len; i++) {
        IbhPiece piece = {.prefix = g_array_index(prefixes, IbhPrefix, i)};
        gboolean is_single = piece.prefix.length == ibh_ip_bits(&piece.prefix.ip),
                 is_repeated = i && ibh_prefix_equal(&piece.prefix, &g_array_index(prefixes, IbhPrefix, i - 1));

        if (!is_repeated && !(is_single && g_hash_table_contains(peerless, &piece.prefix.ip)) &&
            find_gap(prefixes, i, &piece.prefix, &piece.host))
            g_array_append_val(check->pieces, piece);
    }
}

IbhPiece *ibh_check_pieces_inside(const IbhCheck *check, const IbhPrefix *prefix, IbhPiece **ret_end)
{
    IbhPiece *pieces = (IbhPiece *)(void *)check->pieces->data;
    guint low = 0, high = check->pieces->len;

    /* Find the place of the prefix in the order: the pieces inside the prefix begin there. */
    while (low < high) {
        guint middle = (low + high) / 2;

        if (ibh_prefix_compare(&pieces[middle].prefix, prefix) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    /* In the order, a shorter prefix with the same first address comes before `prefix`. So from that place on, a piece
     * that has its first address in `prefix` is inside as a whole. */
    while (high < check->pieces->len && ibh_prefix_contains(prefix, &pieces[high].prefix.ip))
        high++;
    *ret_end = pieces + high;
    return pieces + low;
}
