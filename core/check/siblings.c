/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Findings about two NICs that seem to be on one wire: they need the same prefix length and IPv6 MTU, both should use
 * IPv6 if one does, and their hardware addresses must differ. Also the finding router-mtu, about a single rail. In this
 * file, a pair is a rail (about->nic) and another NIC (about->other).
 */
#include "check/rows.h"

#include <string.h>
#include <sys/socket.h>

/* Returns the NIC's first served address with a subnet that is larger than `subnet` and contains it; NULL if there is
 * none. */
static const IbhAddress *find_wider(const IbhNic *nic, const IbhPrefix *subnet)
{
    IBH_EACH_POINTER (const IbhAddress, address, nic->served) {
        if (ibh_prefix_is_inside(subnet, &address->subnet))
            return address;
    }
    return NULL;
}

/* `wide` is a larger subnet around the subnet of about->address. The rest of `wide` is what lies outside of the
 * address's subnet. TRUE in three cases: the rest has no piece to ask about; foreign rules route the packet from the
 * address to the first piece of the rest; or that packet leaves through this NIC, for example because of remote=. */
static gboolean reaches_rest(const IbhSubject *about, const IbhPrefix *wide)
{
    IbhPiece *end, *piece = ibh_check_pieces_inside(about->check, wide, &end);
    IbhQuestion rest;

    while (piece < end && ibh_prefix_covers(&about->address->subnet, &piece->prefix))
        piece++;
    /* The second test cannot be true, because the piece covers itself. The call is there to set `rest`. */
    if (piece == end || !ibh_check_walk_into(about->check, about->nic, about->ip, &piece->prefix, &rest) ||
        ibh_nic_leaves_to_others(about->nic, about->address, &rest.lookup.to))
        return TRUE;
    return !rest.got.refused && ibh_route_leads_through(rest.got.route, about->nic->link->ifindex);
}

/* Returns the prefix length that `address` probably should have. Looks at the rails whose link type is that of `nic`,
 * and counts their served addresses in `wide`, the wider subnet, except addresses with a shorter prefix length than
 * `wide`. If more than half of the counted addresses have the prefix length of `address`, returns this length. If not,
 * returns the length of `wide`, because rails that all have this length reach each other. */
static guint find_likely_length(const IbhCheck *check, const IbhNic *nic, const IbhAddress *address,
                                const IbhPrefix *wide)
{
    guint all = 0, alike = 0;

    IBH_EACH_POINTER (const IbhNic, other, check->rails->nics) {
        IBH_EACH_POINTER (const IbhAddress, counted, other->served) {
            if (other->status != IBH_NIC_RAIL || other->link->type != nic->link->type ||
                counted->subnet.length < wide->length || !ibh_prefix_contains(wide, &counted->local))
                continue;
            all++;
            alike += counted->subnet.length == address->subnet.length ? 1 : 0;
        }
    }
    return 2 * alike > all ? address->subnet.length : wide->length;
}

/* TRUE if the other NIC is a rail with a wider subnet around the subnet of about->address, and packets from the address
 * to the rest of the wider subnet do not leave through this NIC. Either one of the two prefix lengths is a mistake, or
 * the rails are on different wires; this host cannot know which. FALSE in these cases:
 * - The links have different types.
 * - The address has no subnet, but the main table has an on-link route through this NIC to a prefix around the address.
 *   Then questions.c asks about that prefix.
 * - This NIC also has a wider subnet around the subnet of the address.
 * - The other rail also has the subnet of the address.
 * - Foreign rules route the packets to the rest of the wider subnet, or the rest has no piece to ask about. */
static gboolean has_other_length(IbhSubject *about)
{
    const IbhCheck *check = about->check;
    const IbhAddress *address = about->address, *wider = find_wider(about->other, &address->subnet);
    char ip[IBH_IP_STRLEN], wide[IBH_PREFIX_STRLEN];
    IbhPrefix link_prefix;

    if (!wider || about->other->status != IBH_NIC_RAIL || about->other->link->type != about->nic->link->type ||
        ibh_check_find_link_prefix(check, address, &link_prefix))
        return FALSE;
    if (find_wider(about->nic, &address->subnet) || ibh_nic_serves_subnet(about->other, &address->subnet) ||
        reaches_rest(about, &wider->subnet))
        return FALSE;
    ibh_subject_say(about, "wide=%s\nlength=%u\nwider=%s\nits=%u\nlikely=%u", ibh_prefix_format(&wider->subnet, wide),
                    address->subnet.length, ibh_ip_format(&wider->local, ip), wider->subnet.length,
                    find_likely_length(check, about->nic, address, &wider->subnet));
    return TRUE;
}

/* TRUE if the address has no subnet, but the other rail has a subnet around the address; has_other_length() lists the
 * exceptions. Also FALSE if the other rail has the same address, because the finding duplicate-address says so. */
gboolean ibh_pair_lacks_subnet(IbhSubject *about)
{
    return ibh_address_is_host(about->address) && !ibh_rails_address(about->check->rails, about->other, about->ip) &&
           has_other_length(about);
}

/* TRUE if the address has a subnet, but the other rail has a wider one around it; has_other_length() lists the
 * exceptions. Also FALSE if the subnet of the address has at most four addresses: such a subnet belongs to a cable with
 * two ends, and may be smaller than the other rail's. All rails that cannot reach the rest of the same wider subnet
 * share one finding. */
gboolean ibh_pair_has_other_length(IbhSubject *about)
{
    const gboolean is_cable_or_host = about->address->subnet.length + 2 >= ibh_ip_bits(about->ip);

    return !is_cable_or_host && has_other_length(about);
}

/* TRUE if the link's hardware address is not a MAC, or if another link may rightly have the same MAC: the MAC is that
 * of a virtual router (VRRP), the link is stacked on another link, or the link is a port of a master such as a bond. */
static gboolean may_share_mac(const IbhLink *link)
{
    static const guint8 vrrp[] = {0x00, 0x00, 0x5e};

    return link->lladdr_len != 6 || memcmp(link->lladdr, vrrp, sizeof vrrp) == 0 || link->parent || link->master;
}

/* TRUE if both NICs have the same MAC, neither of them may share it (may_share_mac()), and both have the subnet of
 * about->address. */
gboolean ibh_pair_has_one_mac(IbhSubject *about)
{
    const IbhLink *link = about->nic->link, *other_link = about->other->link;
    const guint8 *mac = link->lladdr;

    if (may_share_mac(link) || may_share_mac(other_link) || !ibh_link_has_lladdr(other_link, mac, 6))
        return FALSE;
    ibh_subject_say(about, "mac=%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
    return !ibh_address_is_host(about->address) && ibh_nic_serves_subnet(about->other, &about->address->subnet);
}

/* TRUE if both NICs are in one subnet of this family. Only then do we compare them: otherwise they may be on different
 * wires. */
static gboolean share_subnet(const IbhNic *nic, const IbhNic *other, int family)
{
    IBH_EACH_POINTER (const IbhAddress, address, nic->served) {
        if (address->local.family == family && !ibh_address_is_host(address) &&
            ibh_nic_serves_subnet(other, &address->subnet))
            return TRUE;
    }
    return FALSE;
}

/* TRUE if this NIC's IPv6 MTU is smaller than `mtu`, and both NICs are rails in one IPv6 subnet. `mtu` is the smaller
 * of two values: the MTU of this NIC's link, and the IPv6 MTU of the other rail. An unknown MTU is 0: then FALSE. The
 * wire may not carry packets as large as `mtu`, so the remedy is advice. */
gboolean ibh_pair_has_other_mtu6(IbhSubject *about)
{
    const IbhLink *link = about->nic->link, *other_link = about->other->link;
    const int mtu = MIN(link->mtu, other_link->mtu6);

    if (!link->mtu6 || link->mtu6 >= mtu || about->other->status != IBH_NIC_RAIL ||
        !ibh_nic_serves_family(about->other, AF_INET6))
        return FALSE;
    ibh_subject_say(about, "mtu6=%d\nlink=%d\nits=%d\nmtu=%d", link->mtu6, link->mtu, other_link->mtu6, mtu);
    return share_subnet(about->nic, about->other, AF_INET6);
}

/* TRUE if IPv6 is switched off on this rail, but the other rail, in the same IPv4 subnet, uses IPv6. The difference may
 * be on purpose, so the severity is info. */
gboolean ibh_pair_lacks_ipv6(IbhSubject *about)
{
    return ibh_numbers_have(about->check->facts->no_ipv6, about->nic->link->ifindex) &&
           about->other->status == IBH_NIC_RAIL && ibh_nic_serves_family(about->other, AF_INET6) &&
           share_subnet(about->nic, about->other, AF_INET);
}

gboolean ibh_link_has_lowered_mtu6(const IbhLink *link)
{
    return link->mtu6 && link->mtu6 < link->mtu && !link->keeps_mtu6;
}

/* TRUE if a rail with IPv6 has a smaller IPv6 MTU than its link, accepts MTUs from routers, and has no finding mode-mtu
 * about its IPv6 MTU. (Such a finding has the NIC's name as its owner; a finding mode-mtu about RDMA has no owner.) A
 * router's advertisement may lower the IPv6 MTU of all NICs on the wire: then these MTUs do not differ, and no NIC has
 * a finding mode-mtu. All rails whose IPv6 MTUs are equal, and whose links' MTUs are equal, share one finding. */
gboolean ibh_rail_has_lowered_mtu6(IbhSubject *about)
{
    const IbhLink *link = about->nic->link;

    ibh_subject_say(about, "mtu6=%d\nmtu=%d", link->mtu6, link->mtu);
    return ibh_link_has_lowered_mtu6(link) && ibh_nic_serves_family(about->nic, AF_INET6) &&
           !ibh_findings_find(about->findings, "mode-mtu", link->name, link->name);
}
