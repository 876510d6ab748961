/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/check.h"

#include <linux/rtnetlink.h>
#include <sys/socket.h>

/* ---- the prefixes ---- */

static void add_piece(GArray *pieces, const IbhPrefix *prefix, gboolean ours)
{
    const IbhPiece piece = {.prefix = *prefix, .ours = ours};

    if (prefix->ip.family == AF_INET || prefix->ip.family == AF_INET6)
        g_array_append_val(pieces, piece);
}

static IbhIp last_of(const IbhPrefix *prefix)
{
    IbhIp ip = prefix->ip;

    for (guint bit = prefix->length; bit < ibh_ip_bits(&ip); bit++)
        ip.bytes[bit / 8] |= (guint8)(0x80u >> (bit % 8));
    return ip;
}

/* The network and broadcast address of a subnet; in IPv6 the first is any router's. */
static void add_edges(GArray *pieces, const IbhPrefix *subnet)
{
    guint bits = ibh_ip_bits(&subnet->ip);
    const IbhIp last = last_of(subnet);
    const IbhPrefix first = ibh_prefix(&subnet->ip, bits), broadcast = ibh_prefix(&last, bits);

    if (bits - subnet->length <= 1)
        return;
    add_piece(pieces, &first, TRUE);
    if (subnet->ip.family == AF_INET)
        add_piece(pieces, &broadcast, TRUE);
}

static void add_routes(GArray *pieces, const GArray *routes)
{
    IBH_EACH (const IbhRoute, route, routes) {
        if (route->dst.length && ibh_ip_is_unicast(&route->dst.ip) && !ibh_ip_is_fe80(&route->dst.ip))
            add_piece(pieces, &route->dst, FALSE);
    }
}

static void add_rules(GArray *pieces, const GArray *rules)
{
    IBH_EACH (const IbhRule, rule, rules) {
        if (ibh_rule_is_ours(rule))
            continue;
        if (rule->to.length)
            add_piece(pieces, &rule->to, FALSE);
        if (rule->from.length)
            add_piece(pieces, &rule->from, FALSE);
    }
}

/* What only a default route reaches, but for what no host can have. */
static void add_beyond(GArray *pieces)
{
    static const char *const nobodys[] = {"0.0.0.0/8", "::/3"};

    IBH_EACH_ROW (const char *const, text, nobodys) {
        IbhPrefix prefix;

        if (ibh_prefix_parse(*text, &prefix))
            add_piece(pieces, &prefix, TRUE);
        prefix = ibh_prefix(&prefix.ip, 0);
        add_piece(pieces, &prefix, FALSE);
    }
}

/* ---- in order ---- */

/* Of equal ones, that of our own comes last: it covers the others. */
static gint by_place(gconstpointer a, gconstpointer b)
{
    const IbhPiece *one = a, *other = b;
    int order = one->prefix.ip.family - other->prefix.ip.family;

    order = order ? order : ibh_ip_compare(&one->prefix.ip, &other->prefix.ip);
    order = order ? order : (int)one->prefix.length - (int)other->prefix.length;
    return order ? order : one->ours - other->ours;
}

/* The first address that lies in none of the pieces inside, which follow in order. */
static gboolean find_host(const GArray *pieces, const IbhPrefix *prefix, guint first, IbhIp *ret_ip)
{
    IbhIp ip = prefix->ip;

    for (guint i = first; i < pieces->len; i++) {
        const IbhPrefix *inner = &g_array_index(pieces, IbhPiece, i).prefix;

        if (!ibh_prefix_contains(prefix, &inner->ip) || ibh_ip_compare(&ip, &inner->ip) < 0)
            break;
        if (!ibh_prefix_contains(inner, &ip))
            continue;
        ip = last_of(inner);
        for (guint byte = ibh_ip_bits(&ip) / 8; byte-- && !++ip.bytes[byte];)
            ;
        if (!ibh_prefix_contains(prefix, &ip))
            return FALSE;
    }
    *ret_ip = ip;
    return TRUE;
}

static void keep_those_with_hosts(GArray *pieces)
{
    guint kept = 0;

    for (guint i = 0; i < pieces->len; i++) {
        IbhPiece piece = g_array_index(pieces, IbhPiece, i);

        if (!piece.ours && find_host(pieces, &piece.prefix, i + 1, &piece.host))
            g_array_index(pieces, IbhPiece, kept++) = piece;
    }
    g_array_set_size(pieces, kept);
}

/* Subnets, those of candidates with their edges, and what remote= names. */
static void add_networks(GArray *pieces, const IbhRails *rails)
{
    IBH_EACH (const IbhAddress, address, rails->snapshot->addresses) {
        const IbhPrefix own = ibh_prefix(&address->local, ibh_ip_bits(&address->local));
        const IbhNic *nic = ibh_rails_nic(rails, address->ifindex);

        /* A single one on lo or a dummy is a service's, or by mistake a peer's: it is asked, and noted. */
        add_piece(pieces, &own, !ibh_address_is_host(address) || (nic && nic->rank));
        add_edges(pieces, &address->subnet);
    }
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        const GArray *remote = nic->settings.remote;

        if (!nic->rank)
            continue;
        IBH_EACH_POINTER (const IbhAddress, address, &nic->served)
            add_piece(pieces, &address->subnet, FALSE);
        for (guint i = 0; remote && i < remote->len; i++)
            add_piece(pieces, &g_array_index(remote, IbhPrefix, i), FALSE);
    }
}

void ibh_check_cut(IbhCheck *check)
{
    const IbhSnapshot *snapshot = check->rails->snapshot;
    GArray *pieces = check->pieces = g_array_new(FALSE, TRUE, sizeof(IbhPiece));

    add_networks(pieces, check->rails);
    add_rules(pieces, snapshot->rules);
    add_routes(pieces, snapshot->routes);
    add_routes(pieces, snapshot->more);
    add_routes(pieces, check->routes);
    add_beyond(pieces);
    g_array_sort(pieces, by_place);
    keep_those_with_hosts(pieces);
}

IbhPiece *ibh_pieces_inside(const IbhCheck *check, const IbhPrefix *prefix, IbhPiece **ret_end)
{
    const IbhPiece start = {.prefix = *prefix};
    IbhPiece *pieces = (IbhPiece *)(void *)check->pieces->data;
    guint low = 0, high = check->pieces->len;

    while (low < high) {
        guint middle = (low + high) / 2;

        if (by_place(&pieces[middle], &start) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    while (high < check->pieces->len && ibh_prefix_contains(prefix, &pieces[high].prefix.ip))
        high++;
    *ret_end = pieces + high;
    return pieces + low;
}
