/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hosts to ask about: addresses of other hosts, in a subnet or a piece of one.
 */
#include "check/neighbours.h"

#include <sys/socket.h>

/* The network or broadcast address of a subnet: the last bits are all 0 or all 1. In IPv6 all 0 is any router. */
static gboolean is_edge(const IbhPrefix *subnet, const IbhIp *ip)
{
    guint bits = ibh_ip_bits(ip);
    gboolean zeros = TRUE, ones = TRUE;

    for (guint bit = subnet->length; bit < bits; bit++) {
        gboolean set = (ip->bytes[bit / 8] & (0x80u >> (bit % 8))) != 0;

        zeros &= !set;
        ones &= set;
    }
    return bits - subnet->length > 1 && ibh_prefix_contains(subnet, ip) &&
           (zeros || (ones && subnet->ip.family == AF_INET));
}

/* An address of ours, or one that stands for a whole subnet of ours. */
static gboolean is_special(const IbhNeighbours *all, const IbhIp *ip)
{
    if (ibh_rails_holder(all->rails, ip))
        return TRUE;
    IBH_EACH (const IbhPrefix, subnet, all->subnets) {
        if (is_edge(subnet, ip))
            return TRUE;
    }
    return FALSE;
}

gboolean ibh_add_once(GArray *prefixes, const IbhPrefix *prefix)
{
    IBH_EACH (const IbhPrefix, other, prefixes) {
        if (ibh_prefix_equal(other, prefix))
            return FALSE;
    }
    g_array_append_val(prefixes, *prefix);
    return TRUE;
}

/* Longer prefixes that main has inside this subnet. */
GArray *ibh_find_holes(const IbhRails *rails, const IbhPrefix *subnet)
{
    g_autoptr(GPtrArray) inside = ibh_snapshot_routes_inside(rails->snapshot, IBH_TABLE_MAIN, subnet);
    GArray *holes = g_array_new(FALSE, TRUE, sizeof(IbhPrefix));

    IBH_EACH_POINTER (const IbhRoute, route, inside)
        ibh_add_once(holes, &route->dst);
    return holes;
}

static const IbhPrefix *find_hole(const GArray *holes, const IbhIp *ip)
{
    if (!holes)
        return NULL;
    IBH_EACH (const IbhPrefix, hole, holes) {
        if (ibh_prefix_contains(hole, ip))
            return hole;
    }
    return NULL;
}

/* The first address after this prefix. */
static IbhIp next_after(const IbhPrefix *prefix)
{
    IbhIp ip = prefix->ip;

    for (guint at = prefix->length; at-- > 0;) {
        const guint8 bit = (guint8)(0x80u >> (at % 8));

        ip.bytes[at / 8] ^= bit;
        if (ip.bytes[at / 8] & bit)
            break;
    }
    return ip;
}

#define TRIES_MAX 4096

static gboolean is_usable(const IbhNeighbours *all, const IbhIp *ip, gboolean edges)
{
    return edges ? !ibh_rails_holder(all->rails, ip) : !is_special(all, ip);
}

static gboolean find_host(const IbhNeighbours *all, const IbhPrefix *piece, const GArray *holes, gboolean edges,
                          IbhIp *ret_ip)
{
    IbhPrefix host = ibh_prefix(&piece->ip, ibh_ip_bits(&piece->ip));

    if (host.length - piece->length > 1 && !edges)
        host.ip = next_after(&host); /* the first one is the network's */
    for (int i = 0; i < TRIES_MAX && ibh_prefix_contains(piece, &host.ip); i++) {
        const IbhPrefix *hole = find_hole(holes, &host.ip);

        if (!hole && is_usable(all, &host.ip, edges)) {
            *ret_ip = host.ip;
            return TRUE;
        }
        host.ip = next_after(hole ? hole : &host);
        if (ibh_ip_compare(&host.ip, &piece->ip) <= 0) /* beyond the last address */
            break;
    }
    return FALSE;
}

/* Another host of this subnet, outside of main's longer prefixes (`holes`). */
gboolean ibh_find_neighbour(const IbhNeighbours *all, const IbhPrefix *subnet, const GArray *holes, IbhIp *ret_ip)
{
    return find_host(all, subnet, holes, FALSE, ret_ip);
}

/* The same for a route or a rule, which may be about a single address, also one that stands for a subnet of ours. */
gboolean ibh_find_in_piece(const IbhNeighbours *all, const IbhPrefix *piece, const GArray *holes, IbhIp *ret_ip)
{
    return find_host(all, piece, holes, FALSE, ret_ip) || find_host(all, piece, holes, TRUE, ret_ip);
}

void ibh_neighbours_init(IbhNeighbours *all, const IbhRails *rails)
{
    all->rails = rails;
    all->subnets = g_array_new(FALSE, TRUE, sizeof(IbhPrefix));
    IBH_EACH (const IbhAddress, address, rails->snapshot->addresses)
        ibh_add_once(all->subnets, &address->subnet);
}

void ibh_neighbours_clear(IbhNeighbours *all)
{
    g_array_unref(all->subnets);
}
