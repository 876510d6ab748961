/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/wires.h"

#include <linux/if_arp.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

/* ---- addresses ---- */

static void judge_failed_addresses(IbhCheck *check, const IbhNic *nic)
{
    char ip[IBH_IP_STRLEN];

    IBH_EACH_POINTER (const IbhAddress, address, &nic->addresses) {
        if (address->failed)
            ibh_finding_add(check->findings, nic->link->name, IBH_ERROR, "address-unusable",
                            ibh_advice("find the other host that has it, then take the address away here and add it "
                                       "again"),
                            "%s failed the detection of duplicates: another host has it, so nothing is sent from it or "
                            "accepted for it here",
                            ibh_ip_format(&address->local, ip));
    }
}

/* The rails' subnet then has one NIC less, and its traffic leaves by another one. */
static void judge_scopes(IbhCheck *check, const IbhNic *nic)
{
    char ip[IBH_IP_STRLEN];

    IBH_EACH_POINTER (const IbhAddress, address, &nic->addresses) {
        if (address->local.family == AF_INET && address->scope >= RT_SCOPE_HOST && !ibh_address_is_host(address))
            ibh_finding_add(check->findings, nic->link->name, IBH_WARNING, "address-unusable",
                            ibh_advice("if it is to reach other hosts, give it scope global where its network manager "
                                       "is configured"),
                            "%s has scope host, so it counts for this host alone and is not routed",
                            ibh_ip_format(&address->local, ip));
    }
}

/* The subnet of a cable's two ends has no other hosts that a longer prefix could hide. */
static gboolean has_room(const IbhPrefix *subnet)
{
    return subnet->length + 2 < ibh_ip_bits(&subnet->ip);
}

/* The address of another rail whose subnet is larger and holds this one; NULL: none. */
static const IbhAddress *find_wider(const IbhCheck *check, const IbhNic *nic, const IbhAddress *address)
{
    IBH_EACH_POINTER (const IbhNic, other, check->rails->nics) {
        if (other == nic || !ibh_is_routed(other) || other->link->type != nic->link->type)
            continue;
        IBH_EACH_POINTER (const IbhAddress, theirs, &other->served) {
            if (ibh_prefix_is_inside(&address->subnet, &theirs->subnet) && !ibh_serves_subnet(nic, &theirs->subnet) &&
                !ibh_serves_subnet(other, &address->subnet))
                return theirs;
        }
    }
    return NULL;
}

/* One of the prefix lengths is a mistake, or the wires are different ones: this host cannot know which. */
static void judge_prefix(IbhCheck *check, const IbhNic *nic)
{
    char own[IBH_IP_STRLEN], ip[IBH_IP_STRLEN], wide[IBH_PREFIX_STRLEN];

    IBH_EACH_POINTER (const IbhAddress, address, &nic->served) {
        const IbhAddress *wider = has_room(&address->subnet) ? find_wider(check, nic, address) : NULL;

        if (!wider)
            continue;
        ibh_finding_add(
            check->findings, nic->link->name, IBH_WARNING, "prefix-differs",
            ibh_advice("give both the prefix that the subnet really has, where their network manager is "
                       "configured"),
            "it has %s/%u, and %s has %s/%u: what it sends to the rest of %s leaves as table main says, not "
            "by it",
            ibh_ip_format(&address->local, own), address->subnet.length, ibh_check_link_name(check, wider->ifindex),
            ibh_ip_format(&wider->local, ip), wider->subnet.length, ibh_prefix_format(&wider->subnet, wide));
        return;
    }
}

/* ---- hardware addresses ---- */

/* Virtual routers share theirs on purpose, and so do netdevs that are stacked on one link. */
static gboolean may_be_shared(const IbhLink *link)
{
    static const guint8 vrrp[] = {0x00, 0x00, 0x5e};

    return link->lladdr_len != 6 || memcmp(link->lladdr, vrrp, sizeof vrrp) == 0 || link->parent || link->master;
}

static gboolean share_a_subnet(const IbhNic *a, const IbhNic *b)
{
    IBH_EACH_POINTER (const IbhAddress, address, &a->served) {
        if (!ibh_address_is_host(address) && ibh_serves_subnet(b, &address->subnet))
            return TRUE;
    }
    return FALSE;
}

static void judge_hardware_address(IbhCheck *check, const IbhNic *nic)
{
    if (may_be_shared(nic->link))
        return;
    IBH_EACH_POINTER (const IbhNic, other, check->rails->nics) {
        if (other == nic || may_be_shared(other->link) || !share_a_subnet(nic, other) ||
            memcmp(nic->link->lladdr, other->link->lladdr, nic->link->lladdr_len) != 0)
            continue;
        ibh_finding_add(
            check->findings, nic->link->name, IBH_WARNING, "duplicate-mac",
            ibh_advice("give one of the two a hardware address of its own"),
            "it has the hardware address of %s, in the same subnet: switches send what is for one of them to "
            "the port of the other",
            other->link->name);
        return;
    }
}

/* ---- what IPv6 sends at most ---- */

static gboolean is_cut(const IbhLink *link)
{
    return link->mtu6 && link->mtu6 < link->mtu;
}

/* A router's advertisement may lower it on all rails. */
static void judge_mtu6(IbhCheck *check, const IbhNic *nic)
{
    g_autofree char *setting = g_strdup_printf("net/ipv6/conf/%s/mtu=%d", nic->link->name, nic->link->mtu);
    g_autofree char *word = ibh_shell_word(setting);

    if (!is_cut(nic->link) || !ibh_serves_family(nic, AF_INET6))
        return;
    IBH_EACH_POINTER (const IbhNic, other, check->rails->nics) {
        if (other == nic || !ibh_is_routed(other) || !ibh_serves_family(other, AF_INET6) || is_cut(other->link))
            continue;
        ibh_finding_add(check->findings, nic->link->name, IBH_WARNING, "mode-mtu",
                        ibh_fix(g_strdup_printf("sysctl -w %s", word)),
                        "its IPv6 MTU is %d, below that of its link (%d), which %s uses whole: this rail sends larger "
                        "packets in fragments, or not at all",
                        nic->link->mtu6, nic->link->mtu, other->link->name);
        return;
    }
}

/* ---- MTUs of rails with subnets of their own; of those in one subnet their ports tell ---- */

/* TRUE if a route of the first one's table leads to the other's subnet by a gateway. */
static gboolean reaches(const IbhCheck *check, const IbhNic *nic, const IbhNic *other)
{
    IBH_EACH (const IbhRoute, route, check->rails->snapshot->routes) {
        if (route->table != nic->table || !ibh_route_is_ours(route) || route->gateway.family == AF_UNSPEC)
            continue;
        IBH_EACH_POINTER (const IbhAddress, address, &other->served) {
            if (ibh_prefix_contains(&route->dst, &address->local))
                return TRUE;
        }
    }
    return FALSE;
}

static gboolean is_sibling(const IbhCheck *check, const IbhNic *nic, const IbhNic *other)
{
    return other != nic && other->status == IBH_NIC_RAIL && other->link->type == nic->link->type && other->link->mtu &&
           !share_a_subnet(nic, other) && reaches(check, nic, other);
}

/* How many of its siblings, itself included, have this MTU; 0 stands for any. */
static guint count_mtu(const IbhCheck *check, const IbhNic *nic, int mtu)
{
    guint count = !mtu || nic->link->mtu == mtu;

    IBH_EACH_POINTER (const IbhNic, other, check->rails->nics)
        count += is_sibling(check, nic, other) && (!mtu || other->link->mtu == mtu);
    return count;
}

/* Names the rails that differ from the majority; without a majority, all. */
static void judge_routed_mtu(IbhCheck *check, const IbhNic *nic)
{
    guint all = count_mtu(check, nic, 0), alike = count_mtu(check, nic, nic->link->mtu);
    g_autofree char *word = ibh_shell_word(nic->link->name);
    const IbhNic *model = NULL;
    gboolean right;

    if (nic->status != IBH_NIC_RAIL || !nic->link->mtu || alike == all || alike > all / 2)
        return;
    IBH_EACH_POINTER (const IbhNic, other, check->rails->nics) {
        if (is_sibling(check, nic, other) && other->link->mtu != nic->link->mtu &&
            (!model || count_mtu(check, nic, other->link->mtu) > count_mtu(check, nic, model->link->mtu)))
            model = other;
    }
    if (!model)
        return;
    right = count_mtu(check, nic, model->link->mtu) > all / 2;
    ibh_finding_add(check->findings, nic->link->name, IBH_WARNING, "mode-mtu",
                    right ? ibh_fix(g_strdup_printf("ip link set %s mtu %d", word, model->link->mtu))
                          : ibh_advice("make them alike, as the fabric has it"),
                    "MTU %d, expected %d as %s, to whose hosts it has a gateway: what is too large for one of the two "
                    "is lost on the way",
                    nic->link->mtu, model->link->mtu, model->link->name);
}

/* ---- ARP and neighbours ---- */

static gboolean is_multicast(const IbhIp *ip)
{
    return ip->family == AF_INET6 ? ip->bytes[0] == 0xff : (ip->bytes[0] & 0xf0) == 0xe0;
}

static gboolean is_in_subnet_of(const IbhNic *nic, const IbhIp *ip)
{
    IBH_EACH_POINTER (const IbhAddress, address, &nic->served) {
        if (ibh_prefix_contains(&address->subnet, ip))
            return TRUE;
    }
    return FALSE;
}

/* Where all neighbours are permanent entries, no ARP is needed. */
static gboolean has_written_neighbours(const IbhCheck *check, const IbhNic *nic)
{
    gboolean written = FALSE;

    IBH_EACH (const IbhNeighbour, neighbour, check->rails->snapshot->neighbours) {
        if (neighbour->ifindex != nic->link->ifindex || is_multicast(&neighbour->ip) ||
            !is_in_subnet_of(nic, &neighbour->ip))
            continue;
        if (ibh_neighbour_is_unasked(nic->link, neighbour))
            return FALSE;
        written |= neighbour->fixed;
    }
    return written;
}

static void judge_arp(IbhCheck *check, const IbhNic *nic)
{
    if (!(nic->link->flags & IFF_NOARP) || !(nic->link->flags & IFF_BROADCAST) || !nic->served.len ||
        has_written_neighbours(check, nic))
        return;
    ibh_finding_add(check->findings, nic->link->name, IBH_WARNING, "arp-off",
                    ibh_fix(ibh_command_for("ip link set arp on dev", nic->link->name)),
                    "ARP is switched off on it: it neither asks nor answers, so it reaches only hosts whose "
                    "hardware addresses were written by hand");
}

static void judge_solicitations(IbhCheck *check, const IbhNic *nic, int family)
{
    gboolean mute = family == AF_INET6 ? nic->link->mute6 : nic->link->mute;
    char version = ibh_ip_option(family);
    g_autofree char *setting = g_strdup_printf("net/ipv%c/neigh/%s/mcast_solicit=3", version, nic->link->name);
    g_autofree char *word = ibh_shell_word(setting);

    if (!mute)
        return;
    ibh_finding_add(check->findings, nic->link->name, IBH_WARNING, "arp-off",
                    ibh_fix(g_strdup_printf("sysctl -w %s", word)),
                    "its IPv%c mcast_solicit is 0: it asks for no hardware address, so it reaches only hosts that "
                    "ask for its own address",
                    version);
}

/* Our own NIC with this hardware address; NULL: none, or it is this one. */
static const IbhLink *find_own(const IbhCheck *check, const IbhNic *nic, const IbhNeighbour *neighbour)
{
    if (neighbour->lladdr_len == nic->link->lladdr_len &&
        memcmp(neighbour->lladdr, nic->link->lladdr, neighbour->lladdr_len) == 0)
        return NULL;
    IBH_EACH_POINTER (const IbhNic, other, check->rails->nics) {
        if (other != nic && other->rank && neighbour->lladdr_len == other->link->lladdr_len &&
            memcmp(neighbour->lladdr, other->link->lladdr, neighbour->lladdr_len) == 0)
            return other->link;
    }
    return NULL;
}

static void judge_neighbours(IbhCheck *check, const IbhNic *nic)
{
    g_autofree char *word = ibh_shell_word(nic->link->name);

    IBH_EACH (const IbhNeighbour, neighbour, check->rails->snapshot->neighbours) {
        const IbhLink *own;
        char ip[IBH_IP_STRLEN];

        if (neighbour->ifindex != nic->link->ifindex || !neighbour->lladdr_len || !neighbour->fixed ||
            ibh_neighbour_is_unasked(nic->link, neighbour) || is_multicast(&neighbour->ip) ||
            ibh_rails_holder(check->rails, &neighbour->ip) || !(own = find_own(check, nic, neighbour)))
            continue;
        ibh_ip_format(&neighbour->ip, ip);
        ibh_finding_add(check->findings, nic->link->name, IBH_WARNING, "neighbour-static",
                        ibh_fix(g_strdup_printf("ip neigh del %s dev %s", ip, word)),
                        "%s, a neighbour, has the hardware address of %s here, in a permanent entry: what is sent to "
                        "it comes back to this host",
                        ip, own->name);
        return;
    }
}

/* The kernel never asks again for a permanent entry. */
static void report_written_neighbours(IbhCheck *check, const IbhNic *nic)
{
    const IbhNeighbour *first = NULL;
    char ip[IBH_IP_STRLEN];
    guint count = 0;

    IBH_EACH (const IbhNeighbour, neighbour, check->rails->snapshot->neighbours) {
        if (neighbour->ifindex != nic->link->ifindex || !neighbour->fixed ||
            ibh_neighbour_is_unasked(nic->link, neighbour) || !neighbour->lladdr_len ||
            !is_in_subnet_of(nic, &neighbour->ip) || find_own(check, nic, neighbour))
            continue;
        first = first ? first : neighbour;
        count++;
    }
    if (first)
        ibh_finding_add(check->findings, nic->link->name, IBH_INFO, "neighbour-static",
                        ibh_advice("ib-hook --probe %s asks the wire", ibh_ip_format(&first->ip, ip)),
                        "%u of its neighbours have permanent entries, %s is the first: whether these are right was not "
                        "asked, and the kernel does not ask either",
                        count, ibh_ip_format(&first->ip, ip));
}

/* ---- ARP for others ---- */

static gboolean is_proxied(const IbhCheck *check, const IbhQuestion *question)
{
    IBH_EACH (const IbhNeighbour, neighbour, check->rails->snapshot->neighbours) {
        if (neighbour->proxied && neighbour->ifindex == question->nic->link->ifindex &&
            ibh_ip_equal(&neighbour->ip, &question->lookup.to))
            return TRUE;
    }
    return FALSE;
}

void ibh_judge_proxy_arp(IbhCheck *check, const IbhQuestion *question)
{
    const IbhLink *link = question->nic->link;
    gboolean all = check->rails->snapshot->proxy_arp;
    g_autofree char *setting = g_strdup_printf("net/ipv4/conf/%s/proxy_arp=0", all ? "all" : link->name);
    g_autofree char *word = ibh_shell_word(setting), *iface = ibh_shell_word(link->name);
    char ip[IBH_IP_STRLEN];

    ibh_ip_format(&question->lookup.to, ip);
    if (is_proxied(check, question)) {
        ibh_finding_add(
            check->findings, link->name, IBH_WARNING, "proxy-arp",
            ibh_fix(g_strdup_printf("ip neigh del proxy %s dev %s", ip, iface)),
            "it answers ARP for %s, another host of the subnet (ip neigh show proxy), and takes its traffic", ip);
        return;
    }
    ibh_finding_add(
        check->findings, link->name, IBH_WARNING, "proxy-arp", ibh_fix(g_strdup_printf("sysctl -w %s", word)),
        "%sproxy_arp=1 applies to it, and what comes in for %s would be forwarded by %s: it answers ARP for "
        "hosts of the same subnet, and takes their traffic",
        all ? "all." : "", ip, ibh_check_link_name(check, question->lookup.oif));
}

/* For switches that isolate their ports: on any other wire it attracts all traffic. */
static void judge_private_vlan(IbhCheck *check, const IbhNic *nic)
{
    g_autofree char *setting = g_strdup_printf("net/ipv4/conf/%s/proxy_arp_pvlan=0", nic->link->name);
    g_autofree char *word = ibh_shell_word(setting);

    if (!nic->link->forwarding || !nic->link->proxy_arp_pvlan || !ibh_serves_family(nic, AF_INET))
        return;
    ibh_finding_add(check->findings, nic->link->name, IBH_WARNING, "proxy-arp",
                    ibh_fix(g_strdup_printf("sysctl -w %s", word)),
                    "proxy_arp_pvlan=1 and forwarding: it answers ARP for each host of its own subnet, and takes their "
                    "traffic");
}

void ibh_judge_wire(IbhCheck *check, const IbhNic *nic)
{
    if (nic->rank && nic->status != IBH_NIC_UNMANAGED) {
        judge_failed_addresses(check, nic);
        judge_scopes(check, nic);
    }
    if (!ibh_is_routed(nic))
        return;
    judge_prefix(check, nic);
    judge_hardware_address(check, nic);
    judge_mtu6(check, nic);
    judge_routed_mtu(check, nic);
    judge_arp(check, nic);
    judge_solicitations(check, nic, AF_INET);
    judge_solicitations(check, nic, AF_INET6);
    judge_private_vlan(check, nic);
    judge_neighbours(check, nic);
    report_written_neighbours(check, nic);
}
