/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What two NICs that seem to be on one wire have to have in common: prefix, IPv6 MTU, and not the hardware address.
 */
#include "check/check.h"

#include <string.h>
#include <sys/socket.h>

/* The NIC's address whose subnet is larger and holds this one; NULL: none. */
static const IbhAddress *find_wider(const IbhNic *nic, const IbhPrefix *subnet)
{
    IBH_EACH_POINTER (const IbhAddress, address, nic->served) {
        if (ibh_prefix_is_inside(subnet, &address->subnet))
            return address;
    }
    return NULL;
}

/* What is sent to the rest of a wider subnet leaves through this NIC all the same: remote=, or others lead it there. */
static gboolean reaches_rest(const IbhCheck *check, const IbhAddress *address, const IbhPrefix *wide)
{
    IbhPiece *end, *rest = ibh_check_pieces_inside(check, wide, &end);
    IbhTrace trace;

    if (rest == end || ibh_nic_leaves_to_others(ibh_rails_nic(check->rails, address->ifindex), address, &rest->host))
        return TRUE;
    trace = ibh_fib_walk(check->actual, &(IbhLookup){.from = address->local, .to = rest->host});
    return !trace.refused && ibh_route_leads_by(trace.route, address->ifindex);
}

/* What most of the rails in this wider subnet have there, or else the wider prefix, which reaches all. */
static guint find_length(const IbhCheck *check, const IbhNic *nic, const IbhAddress *address, const IbhPrefix *wide)
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

/* One of the prefix lengths is a mistake, or the wires are different ones: this host cannot know which. All rails that
 * cannot reach the rest of a subnet are one finding of it. */
static void tell_prefix(const IbhCheck *check, const IbhNic *nic, const IbhAddress *address, const IbhNic *other,
                        const IbhAddress *wider)
{
    const gboolean single = ibh_address_is_host(address);
    char own[IBH_IP_STRLEN], ip[IBH_IP_STRLEN], wide[IBH_PREFIX_STRLEN];
    g_autofree char *text = g_strdup_printf(
        "the main table decides how its traffic to the rest of %s leaves: it has %s/%u, and %s has %s/%u",
        ibh_prefix_format(&wider->subnet, wide), ibh_ip_format(&address->local, own), address->subnet.length,
        other->link->name, ibh_ip_format(&wider->local, ip), wider->subnet.length);
    IbhRemedy remedy =
        single ? ibh_remedy_advice("give it the prefix of the subnet: %s/%u", own, wider->subnet.length)
               : ibh_remedy_advice("give all of them the prefix that the subnet really has, /%u as far as this host "
                                   "can tell, where their network manager is configured",
                                   find_length(check, nic, address, &wider->subnet));

    ibh_finding_says(ibh_check_tell(check, nic, single ? "address-unusable" : "prefix-differs", single ? own : wide,
                                    remedy, "%s", text),
                     nic->link->name, g_strdup(text));
}

/* The subnet of a cable's two ends has no other hosts that a longer prefix could hide. What main has on the NIC's link
 * around a single address is asked about. */
static void judge_prefix(const IbhCheck *check, const IbhNic *nic, const IbhAddress *address, const IbhNic *other)
{
    const IbhAddress *wider = find_wider(other, &address->subnet);
    IbhPrefix link;
    gboolean cable = !ibh_address_is_host(address) && address->subnet.length + 2 >= ibh_ip_bits(&address->local);

    if (!wider || cable || ibh_check_find_link(check, address, &link) || other->status != IBH_NIC_RAIL ||
        other->link->type != nic->link->type)
        return;
    if (!find_wider(nic, &address->subnet) && !ibh_nic_serves_subnet(other, &address->subnet) &&
        !reaches_rest(check, address, &wider->subnet))
        tell_prefix(check, nic, address, other, wider);
}

/* Virtual routers share theirs on purpose, and so do netdevs that are stacked on one link. */
static gboolean may_be_shared(const IbhLink *link)
{
    static const guint8 vrrp[] = {0x00, 0x00, 0x5e};

    return link->lladdr_len != 6 || memcmp(link->lladdr, vrrp, sizeof vrrp) == 0 || link->parent || link->master;
}

static void judge_hardware_address(const IbhCheck *check, const IbhNic *nic, const IbhAddress *address,
                                   const IbhNic *other)
{
    const guint8 *mac = nic->link->lladdr;
    g_autofree char *owner = NULL;

    if (may_be_shared(nic->link) || may_be_shared(other->link) || !ibh_link_has_lladdr(other->link, mac, 6) ||
        ibh_address_is_host(address) || !ibh_nic_serves_subnet(other, &address->subnet))
        return;
    owner = g_strdup_printf("%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
    ibh_check_tell(
        check, nic, "duplicate-mac", owner, (IbhRemedy){0},
        "%s and %s have one hardware address, in the same subnet: switches send what is for one of them to the "
        "port of the other",
        nic->link->name, other->link->name);
}

/* What one of them says of its wire concerns only what is on the same one. */
static gboolean share_subnet(const IbhNic *nic, const IbhNic *other, int family)
{
    IBH_EACH_POINTER (const IbhAddress, address, nic->served) {
        if (address->local.family == family && !ibh_address_is_host(address) &&
            ibh_nic_serves_subnet(other, &address->subnet))
            return TRUE;
    }
    return FALSE;
}

/* The other's may as well be too large for the wire: no command is right for sure. */
static void tell_mtu6(const IbhCheck *check, const IbhNic *nic, const IbhNic *other)
{
    const IbhLink *link = nic->link, *theirs = other->link;
    const int mtu = MIN(link->mtu, theirs->mtu6);
    g_autofree char *word = ibh_text_shell_word(link->name);

    ibh_check_tell(check, nic, "mode-mtu", link->name,
                   ibh_remedy_advice("if every switch and host of their subnet carries %d bytes: sudo sysctl -w "
                                     "net/ipv6/conf/%s/mtu=%d; otherwise give %s the smaller IPv6 MTU, too",
                                     mtu, word, mtu, theirs->name),
                   "its IPv6 MTU is %d, below that of its link (%d) and that of %s (%d): it sends larger packets in "
                   "fragments, or not at all",
                   link->mtu6, link->mtu, theirs->name, theirs->mtu6);
}

gboolean ibh_link_has_lowered_mtu6(const IbhLink *link)
{
    return link->mtu6 && link->mtu6 < link->mtu && !link->keeps_mtu6;
}

/* An option of a router's advertisement lowers the MTU of IPv6 on all NICs of the wire, and nothing else shows it. All
 * rails that it has lowered to the same are one finding. */
static void judge_router_mtu(const IbhCheck *check, const IbhNic *nic)
{
    const IbhLink *link = nic->link;
    g_autofree char *word = ibh_text_shell_word(link->name),
                    *owner = g_strdup_printf("IPv6 MTU %d of %d", link->mtu6, link->mtu),
                    *text = g_strdup_printf("IPv6 has the MTU %d here, and the link %d: a router's advertisement or a "
                                            "sysctl has lowered it, and IPv6 sends no larger packets",
                                            link->mtu6, link->mtu);
    IbhFinding *finding;

    if (!ibh_link_has_lowered_mtu6(link) || !ibh_nic_serves_family(nic, AF_INET6) ||
        ibh_findings_find(check->findings, "mode-mtu", link->name, link->name))
        return;
    finding = ibh_check_tell(
        check, nic, "router-mtu", owner,
        ibh_remedy_advice(
            "tcpdump -vni %s 'icmp6[0] == 134' shows the router: take the MTU option out there; then sudo "
            "sysctl -w net/ipv6/conf/%s/mtu=%d; if IPv6 is to have %d: sudo sysctl -w "
            "net/ipv6/conf/%s/accept_ra_mtu=0 says so",
            word, word, link->mtu, link->mtu6, word),
        "%s", text);
    ibh_finding_says(finding, link->name, g_steal_pointer(&text));
}

/* Without IPv6, which may be on purpose, it is a rail all the same. */
static void judge_ipv6(const IbhCheck *check, const IbhNic *nic, const IbhNic *other)
{
    const IbhLink *link = nic->link, *theirs = other->link;

    if (other->status != IBH_NIC_RAIL || !ibh_nic_serves_family(other, AF_INET6))
        return;
    if (link->mtu6 && link->mtu6 < MIN(link->mtu, theirs->mtu6) && share_subnet(nic, other, AF_INET6))
        tell_mtu6(check, nic, other);
    if (ibh_numbers_have(check->facts->no_ipv6, link->ifindex) && share_subnet(nic, other, AF_INET))
        ibh_check_tell(
            check, nic, "address-unusable", link->name,
            ibh_remedy_fix("sysctl -w", "net/ipv6/conf/%s/disable_ipv6=0", link->name),
            "IPv6 is switched off on this NIC (disable_ipv6), but not on %s: this NIC cannot keep an IPv6 address",
            theirs->name)
            ->severity = IBH_INFO;
}

void ibh_check_judge_siblings(const IbhCheck *check, const IbhNic *nic)
{
    IBH_EACH_POINTER (const IbhNic, other, check->rails->nics) {
        if (other == nic)
            continue;
        judge_ipv6(check, nic, other);
        IBH_EACH_POINTER (const IbhAddress, address, nic->served) {
            judge_prefix(check, nic, address, other);
            judge_hardware_address(check, nic, address, other);
        }
    }
    judge_router_mtu(check, nic);
}
