/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Findings about two NICs that seem to be on one wire: they need the same prefix length and IPv6 MTU, and different
 * hardware addresses. In this file, a pair is a rail (about->nic) and another NIC (about->other).
 */
#include "check/rows.h"

#include <string.h>
#include <sys/socket.h>

/* Returns the NIC's first address whose subnet is larger than this one and contains it, or NULL. */
static const IbhAddress *find_wider(const IbhNic *nic, const IbhPrefix *subnet)
{
    IBH_EACH_POINTER (const IbhAddress, address, nic->served) {
        if (ibh_prefix_is_inside(subnet, &address->subnet))
            return address;
    }
    return NULL;
}

/* TRUE if packets to the rest of the wider subnet leave through this NIC anyway, such as with remote=, if foreign rules
 * route them, or if the rest has no piece to ask about. */
static gboolean reaches_rest(const IbhSubject *about, const IbhPrefix *wide)
{
    IbhPiece *end, *piece = ibh_check_pieces_inside(about->check, wide, &end);
    IbhQuestion rest;

    while (piece < end && ibh_prefix_covers(&about->address->subnet, &piece->prefix))
        piece++;
    if (piece == end || !ibh_check_walk_into(about->check, about->nic, about->ip, &piece->prefix, &rest) ||
        ibh_nic_leaves_to_others(about->nic, about->address, &rest.lookup.to))
        return TRUE;
    return !rest.got.refused && ibh_route_leads_through(rest.got.route, about->nic->link->ifindex);
}

/* Returns the prefix length that the subnet probably has. If more than half of the rails' addresses in the wider subnet
 * have the length of this address, returns this length; else the length of the wider subnet, because rails that all
 * have that length reach each other. Rails with another type of link do not count, nor do addresses with a shorter
 * length than the wider subnet's. */
static guint find_likely_length(const IbhCheck *check, const IbhNic *nic, const IbhAddress *address,
                                const IbhPrefix *wide)
{
    guint all = 0, alike = 0;

    IBH_EACH_POINTER (const IbhNic, other, check->rails->nics) {
        IBH_EACH_POINTER (const IbhAddress, its, other->served) {
            if (other->status != IBH_NIC_RAIL || other->link->type != nic->link->type ||
                its->subnet.length < wide->length || !ibh_prefix_contains(wide, &its->local))
                continue;
            all++;
            alike += its->subnet.length == address->subnet.length ? 1 : 0;
        }
    }
    return 2 * alike > all ? address->subnet.length : wide->length;
}

/* TRUE if a subnet of the other rail contains this subnet and more, and this NIC does not reach the rest of the wider
 * subnet. Either one prefix length is a mistake, or the rails are on different wires; this host cannot know. FALSE if
 * the links have different types, if this NIC also has a wider subnet, or if the other rail also has this subnet. Also
 * FALSE if this address has no subnet, but the main table has an on-link route through this NIC to a prefix around the
 * address: then questions.c asks about that prefix. */
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

/* TRUE if the address has no subnet, but the other rail has a subnet around the address. FALSE if the other rail has
 * the same address, because the finding duplicate-address says so. */
gboolean ibh_pair_lacks_subnet(IbhSubject *about)
{
    return ibh_address_is_host(about->address) && !ibh_rails_address(about->check->rails, about->other, about->ip) &&
           has_other_length(about);
}

/* TRUE if the address has a subnet, but a smaller one than the other rail has. A subnet with at most four addresses is
 * that of a cable with two ends, so it may be smaller. All rails that cannot reach the rest of one subnet share a
 * finding. */
gboolean ibh_pair_has_other_length(IbhSubject *about)
{
    const gboolean is_cable = about->address->subnet.length + 2 >= ibh_ip_bits(about->ip);

    return !is_cable && !ibh_address_is_host(about->address) && has_other_length(about);
}

/* TRUE if the link may share its hardware address, as virtual routers, the ports of a bond, and netdevs stacked on one
 * link do on purpose, or if its hardware address is not a MAC. */
static gboolean may_share_mac(const IbhLink *link)
{
    static const guint8 vrrp[] = {0x00, 0x00, 0x5e};

    return link->lladdr_len != 6 || memcmp(link->lladdr, vrrp, sizeof vrrp) == 0 || link->parent || link->master;
}

gboolean ibh_pair_has_one_mac(IbhSubject *about)
{
    const IbhLink *link = about->nic->link, *its = about->other->link;
    const guint8 *mac = link->lladdr;

    if (may_share_mac(link) || may_share_mac(its) || !ibh_link_has_lladdr(its, mac, 6))
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

/* TRUE if the other rail is in the same subnet and has a larger IPv6 MTU, and this NIC's link allows more than the
 * NIC's IPv6 MTU, too. The larger MTU may be too large for the wire, so the remedy is advice. */
gboolean ibh_pair_has_other_mtu6(IbhSubject *about)
{
    const IbhLink *link = about->nic->link, *its = about->other->link;
    const int mtu = MIN(link->mtu, its->mtu6);

    if (!link->mtu6 || link->mtu6 >= mtu || about->other->status != IBH_NIC_RAIL ||
        !ibh_nic_serves_family(about->other, AF_INET6))
        return FALSE;
    ibh_subject_say(about, "mtu6=%d\nlink=%d\nits=%d\nmtu=%d", link->mtu6, link->mtu, its->mtu6, mtu);
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

/* TRUE if a rail with IPv6 has a smaller IPv6 MTU than its link, accepts MTUs from routers, and is not the subject of
 * mode-mtu. A router's advertisement may lower the MTU of all NICs on the wire: then they do not differ, and mode-mtu
 * says nothing. All rails with the same lowered MTU share a finding. */
gboolean ibh_rail_has_lowered_mtu6(IbhSubject *about)
{
    const IbhLink *link = about->nic->link;

    ibh_subject_say(about, "mtu6=%d\nmtu=%d", link->mtu6, link->mtu);
    return ibh_link_has_lowered_mtu6(link) && ibh_nic_serves_family(about->nic, AF_INET6) &&
           !ibh_findings_find(about->findings, "mode-mtu", link->name, link->name);
}
