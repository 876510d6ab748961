/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Findings about a NIC's link, addresses and neighbours, and about who answers ARP for which address.
 */
#include "check/rows.h"

#include "plan/want.h"

#include <linux/if_arp.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

gboolean ibh_neighbour_is_unasked(const IbhLink *link, const IbhNeighbour *neighbour)
{
    const guint8 *address = neighbour->lladdr;
    /* In an Ethernet multicast address, the lowest bit of the first byte is set. In an IPoIB multicast address, the
     * three bytes after the first one, the queue pair, are 0xff; the first of the three suffices here. */
    gboolean is_group = neighbour->lladdr_len == 6 ? address[0] & 1 : address[1] == 0xff;

    return neighbour->no_arp && ((link->flags & IFF_NOARP) || !neighbour->lladdr_len || is_group);
}

/* ---- addresses ---- */

/* TRUE if a rail other than this NIC serves the address (ibh_rails_owner()), and peers may learn the hardware address
 * of either NIC. Peers may learn that of this NIC in two cases:
 * - This NIC is a rail, too.
 * - This NIC is not a rail, but is up, has the link type of that rail, and is neither lo, a dummy nor a point-to-point
 *   link. Then the finding is a warning.
 * FALSE for a NIC in a VRF: the kernel keeps the route to the NIC's address in the table of the VRF. */
gboolean ibh_address_is_duplicate(IbhSubject *about)
{
    const IbhNic *nic = about->nic, *owner = ibh_rails_owner(about->check->rails, about->ip);

    if (!owner || owner == nic || ibh_link_is_in_vrf(about->check->rails->snapshot, nic->link))
        return FALSE;
    about->other = owner;
    if (nic->status == IBH_NIC_RAIL)
        return TRUE;
    about->severity = IBH_WARNING;
    return !ibh_link_is_of_the_host(nic->link) && (nic->link->flags & IFF_UP) && owner->link->type == nic->link->type;
}

/* TRUE if the address is on an RDMA NIC, or a NIC with manage=yes, that has a master other than a VRF: a bridge, bond
 * or team, for example, takes the packets of its ports before IP sees them. FALSE if the address is outside of the
 * rails' subnets, or does not count (ibh_address_counts()). */
gboolean ibh_address_is_of_port(IbhSubject *about)
{
    const IbhLink *link = about->nic->link,
                  *master = link->master ? ibh_snapshot_link(about->check->rails->snapshot, link->master) : NULL;
    const IbhPrefix own = ibh_prefix_of_host(about->ip);

    if (!master || g_str_equal(master->kind, "vrf") ||
        !(link->rdma[0] || link->type == ARPHRD_INFINIBAND || about->nic->settings.manage == IBH_MANAGE_YES))
        return FALSE;
    ibh_subject_say(about, "master=%s", master->name);
    return ibh_address_counts(about->address) && ibh_rails_own_prefix(about->check->rails, &own);
}

/* TRUE if DAD found another host with the address, and the NIC is a candidate without manage=no. */
gboolean ibh_address_has_failed(IbhSubject *about)
{
    return about->address->failed && about->nic->rank && about->nic->status != IBH_NIC_UNMANAGED;
}

/* TRUE if the rail has global IPv6 addresses, and all such addresses of the host are deprecated, for example because
 * routers announce other prefixes now. The kernel deletes a deprecated address when its valid lifetime ends. */
gboolean ibh_rail_is_deprecated(IbhSubject *about)
{
    IBH_EACH (const IbhAddress, address, about->check->rails->snapshot->addresses) {
        if (address->local.family == AF_INET6 && !address->deprecated && ibh_address_counts(address))
            return FALSE;
    }
    return ibh_nic_serves_family(about->nic, AF_INET6);
}

/* ---- ARP and neighbours ---- */

gboolean ibh_link_has_lladdr(const IbhLink *link, const guint8 *lladdr, guint length)
{
    return length && link->lladdr_len == length && memcmp(link->lladdr, lladdr, length) == 0;
}

/* TRUE if the entry is on this NIC, has a hardware address, is about another host, and was written by a person or a
 * control plane. Entries that the kernel makes without asking (ibh_neighbour_is_unasked()) do not count. */
static gboolean is_written(const IbhSubject *about)
{
    const IbhNeighbour *neighbour = about->neighbour;

    return neighbour->ifindex == about->nic->link->ifindex && neighbour->lladdr_len && neighbour->fixed &&
           !ibh_neighbour_is_unasked(about->nic->link, neighbour) && ibh_ip_is_unicast(&neighbour->ip) &&
           !ibh_rails_holder(about->check->rails, &neighbour->ip);
}

/* TRUE for a written entry (is_written()) that has the hardware address of another candidate of this host. FALSE if
 * this NIC has the same hardware address as that candidate. */
gboolean ibh_neighbour_is_own(IbhSubject *about)
{
    const IbhNeighbour *neighbour = about->neighbour;

    if (!is_written(about) || ibh_link_has_lladdr(about->nic->link, neighbour->lladdr, neighbour->lladdr_len))
        return FALSE;
    IBH_EACH_POINTER (const IbhNic, other, about->check->rails->nics) {
        if (other->rank && ibh_link_has_lladdr(other->link, neighbour->lladdr, neighbour->lladdr_len)) {
            about->other = other;
            return TRUE;
        }
    }
    return FALSE;
}

/* TRUE for a written entry about a host in a subnet of the NIC, unless ibh_neighbour_is_own() is TRUE for the entry. */
gboolean ibh_neighbour_is_written(IbhSubject *about)
{
    return is_written(about) && ibh_nic_address_near(about->nic, about->ip) && !ibh_neighbour_is_own(about);
}

/* TRUE if ARP is off on a link with broadcast. On a link without broadcast, such as a point-to-point tunnel, it is
 * normal that ARP is off. FALSE if the NIC has the finding of ibh_neighbour_is_written(), whose owner is "permanent
 * entries": if somebody wrote entries for neighbours, ARP is off on purpose. */
gboolean ibh_rail_lacks_arp(IbhSubject *about)
{
    return (about->nic->link->flags & (IFF_NOARP | IFF_BROADCAST)) == (IFF_NOARP | IFF_BROADCAST) &&
           !ibh_findings_find(about->findings, "neighbour-static", about->iface, "permanent entries");
}

/* TRUE if the rail serves the family, but never asks for a neighbour's hardware address (IbhFacts.mute). */
gboolean ibh_rail_is_mute(IbhSubject *about)
{
    return ibh_numbers_have(about->check->facts->mute[about->family == AF_INET6], about->nic->link->ifindex) &&
           ibh_nic_serves_family(about->nic, about->family);
}

/* ---- ARP for others ---- */

/* Returns the value that the kernel would use if the NIC had these values: the kernel combines the NIC's value with
 * that of conf/all. `values` are the NIC's present values, the administrator's (IbhNic.base), or those that we want. */
static int get_effective(const IbhCheck *check, const int *values, IbhSysctl key)
{
    return ibh_sysctl_effective(check->rails->snapshot, key, values[key]);
}

/* Returns the route by which the kernel would forward a packet that comes in through this NIC for the host `to`. The
 * route must lead through another NIC, as for proxy_arp, or, if `same_nic`, through this NIC, as for proxy_arp_pvlan.
 * NULL if there is no such route, or if rp_filter drops the packet. */
static const IbhRoute *find_forwarding(const IbhCheck *check, const IbhNic *nic, const IbhIp *to, gboolean same_nic)
{
    /* We do not know the address of the peer that asks, so we take `to` as the source, too. Both are most often in the
     * rails' subnet, where the kernel routes all addresses alike. */
    const IbhTrace way = ibh_fib_walk(check->actual, &(IbhLookup){.from = *to, .to = *to, .iif = nic->link->ifindex});
    const int filter = get_effective(check, nic->link->sysctl, IBH_SYSCTL_RP_FILTER);
    gboolean is_strict;

    if (way.refused || way.route->type != RTN_UNICAST ||
        ibh_route_leads_through(way.route, nic->link->ifindex) != same_nic)
        return NULL;
    /* As `to` stands for the peer, too, `way` is also our way back to the peer. A strict rp_filter drops the peer's
     * packets if this way leads through another NIC. A loose rp_filter (2) is strict on a NIC that has no IPv4
     * address. */
    is_strict = filter == 1 || (filter && !ibh_nic_serves_family(nic, AF_INET));
    return is_strict && !same_nic ? NULL : way.route;
}

static gboolean is_link_of_rail(const IbhCheck *check, int ifindex)
{
    const IbhNic *nic = ibh_rails_nic(check->rails, ifindex);

    return nic && nic->status == IBH_NIC_RAIL;
}

/* TRUE if the route leads through rails only. The hosts to which it leads are then on the rails' wires, so nobody needs
 * a proxy. */
static gboolean leads_through_rails(const IbhCheck *check, const IbhRoute *route)
{
    IBH_EACH_HOP (hop, route) {
        if (!is_link_of_rail(check, hop->ifindex))
            return FALSE;
    }
    return is_link_of_rail(check, route->ifindex);
}

#define GUESTS_NAMED 4 /* the text names at most this many, and counts the others */

/* Returns, in words, the guests of this NIC, which may be virtual machines or pods: the hosts and prefixes for which
 * the NIC answers ARP as a proxy, except those that this host reaches through rails only. NULL if there are none. The
 * caller frees the text. Peers ask only for addresses that they take to be on link. So we name pieces in the rails'
 * subnets, and single hosts, to which peers may have on-link routes. The text names no other networks, but a peer may
 * have an on-link route to one of these, too: sets `ret_network` to the first of these networks, or leaves its length 0
 * if there is none. */
static char *find_guests(const IbhCheck *check, const IbhNic *nic, IbhPrefix *ret_network)
{
    g_autoptr(GString) text = g_string_new(NULL);
    char prefix[IBH_PREFIX_STRLEN];
    guint n = 0;

    IBH_EACH (const IbhPiece, piece, check->pieces) {
        const gboolean is_single = piece->prefix.length == ibh_ip_bits(&piece->host);
        const IbhRoute *way;

        if (piece->host.family != AF_INET)
            continue;
        way = find_forwarding(check, nic, &piece->host, FALSE);
        if (!way || leads_through_rails(check, way))
            continue;
        if (!is_single && !ibh_rails_own_prefix(check->rails, &piece->prefix)) {
            if (!ret_network->length)
                *ret_network = piece->prefix;
            continue;
        }
        n++;
        if (n > GUESTS_NAMED)
            continue;
        g_string_append_printf(text, "%s%s through %s", text->len ? ", " : "",
                               is_single ? ibh_ip_format(&piece->host, prefix)
                                         : ibh_prefix_format(&piece->prefix, prefix),
                               ibh_check_link_name(check, way->ifindex));
    }
    if (n > GUESTS_NAMED)
        g_string_append_printf(text, " and %u more", n - GUESTS_NAMED);
    return n ? g_string_free(g_steal_pointer(&text), FALSE) : NULL;
}

/* TRUE if the NIC would answer as a proxy, because proxy_arp of conf/all is on. `route` (ibh_subject_find_proxied()) is
 * the route by which the kernel would forward packets for the host; without a route, the kernel does not answer. */
gboolean ibh_proxy_is_of_all(IbhSubject *about)
{
    return about->route && about->check->facts->proxy_arp;
}

/* TRUE if the NIC would answer as a proxy, because its own proxy_arp is on. */
gboolean ibh_proxy_is_own(IbhSubject *about)
{
    g_autofree char *guests = NULL;
    IbhPrefix network = {0};
    char prefix[IBH_PREFIX_STRLEN];

    if (!about->route || !about->nic->link->proxy_arp)
        return FALSE;
    guests = find_guests(about->check, about->nic, &network);
    /* Some guests may need the proxy, so we advise proxy entries for them before proxy_arp is switched off. */
    if (guests) {
        ibh_subject_say(about, "guests=%s", guests);
        about->remedy = "it answers for hosts behind NICs that are no rails, too ({guests}): for each that needs it, "
                        "sudo ip neigh add proxy ADDRESS dev {iface}; then sudo sysctl -w "
                        "net/ipv4/conf/{iface}/proxy_arp=0";
    } else if (network.length) {
        ibh_subject_say(about, "network=%s", ibh_prefix_format(&network, prefix));
        about->remedy = "if no peer needs it to reach other networks behind this host, such as {network}: sudo sysctl "
                        "-w net/ipv4/conf/{iface}/proxy_arp=0";
    }
    return TRUE;
}

/* TRUE if proxy_arp_pvlan is on, and a packet for the question's host that comes in through this NIC would leave
 * through this NIC again. proxy_arp_pvlan is for switches that isolate their ports. On any other wire, the NIC answers
 * for each host that this host reaches through the NIC, and so attracts the traffic between the hosts of the wire. */
gboolean ibh_proxy_is_of_vlan(IbhSubject *about)
{
    return about->nic->link->proxy_arp_pvlan && find_forwarding(about->check, about->nic, about->ip, TRUE);
}

/* TRUE if the NIC has a proxy entry for the address of a host in the question's subnet, and the kernel would forward
 * packets for this address by about->route, as it does for the rest of the subnet. Then the host is probably on the
 * rails' wire, and the remedy deletes the entry. But if about->route leads through a NIC that is not a rail, the host
 * may be behind that NIC, so the remedy is advice. */
gboolean ibh_proxy_is_entry(IbhSubject *about)
{
    const IbhCheck *check = about->check;
    const IbhNeighbour *entry = about->neighbour;

    if (!about->route || !entry->proxied || entry->ifindex != about->nic->link->ifindex ||
        !ibh_prefix_contains(&about->question->piece, &entry->ip))
        return FALSE;
    if (!leads_through_rails(check, about->route)) {
        ibh_subject_say(about, "guest=%s", ibh_check_link_name(check, about->route->ifindex));
        about->remedy = "if {ip} is not behind {guest}: sudo ip neigh del proxy {ip} dev {iface}";
    }
    return find_forwarding(check, about->nic, &entry->ip, FALSE) == about->route;
}

/* The question must be about unbound traffic to a rail's subnet as a whole, not to a smaller prefix inside: a bridge
 * with such a prefix may need a proxy. The NIC must be a rail in the subnet, or a NIC of the same type that has to
 * be silent. */
gboolean ibh_subject_find_proxied(IbhSubject *about)
{
    const IbhQuestion *question = about->question;
    const IbhNic *nic = about->nic, *rail = question->nic;

    if (!nic->link->forwarding || question->kind != IBH_ASK_UNBOUND || question->lookup.to.family != AF_INET ||
        !ibh_nic_serves_subnet(rail, &question->piece))
        return FALSE;
    if (nic->status == IBH_NIC_RAIL && !ibh_nic_serves_subnet(nic, &question->piece))
        return FALSE;
    if (nic->status != IBH_NIC_RAIL &&
        (nic->link->type != rail->link->type || !ibh_nic_must_be_silent(about->check->rails, nic)))
        return FALSE;
    about->ip = &question->lookup.to;
    about->route = find_forwarding(about->check, nic, about->ip, FALSE);
    return TRUE;
}

/* ---- who answers ARP for whom, on the rails' wire ---- */

/* TRUE if the kernel's ARP sees the requests that come in through this NIC, and finds the addresses of this host for
 * which they ask. Whether it then answers depends on sysctls, which the callers check. For a NIC in a VRF, ARP finds
 * the addresses outside of the VRF only if the rule for table local is the first, and so comes before the rule for
 * VRFs. */
static gboolean takes_requests(const IbhCheck *check, const IbhNic *nic)
{
    const IbhLink *link = nic->link;

    if (link->master) { /* a bridge or bond takes what reaches its ports */
        const IbhLink *master = ibh_snapshot_link(check->rails->snapshot, link->master);

        if (!master || !g_str_equal(master->kind, "vrf") || check->has_rule_before_local)
            return FALSE;
    }
    return ibh_nic_is_usable(nic) && !(link->flags & (IFF_LOOPBACK | IFF_NOARP)) &&
           !ibh_link_has_no_wire(check->rails, link);
}

/* Returns the IPv4 subnet of this NIC in which peers ask for the address; NULL if there is none, or if the NIC is not a
 * rail. Also NULL if the address has a subnet of its own that is smaller than the rail's: that subnet is on another
 * wire. */
static const IbhPrefix *find_subnet_asked_in(const IbhNic *nic, const IbhAddress *address)
{
    const IbhAddress *near = ibh_nic_address_near(nic, &address->local);

    if (!near || near->local.family != AF_INET || nic->status != IBH_NIC_RAIL || ibh_address_is_host(near))
        return NULL;
    return ibh_address_is_host(address) || address->subnet.length <= near->subnet.length ? &near->subnet : NULL;
}

/* TRUE if the NIC is probably on the wire of the rail. These cases are tried in this order:
 * - The rail has no IPv4 address, or the NIC has another link type: FALSE.
 * - The NIC is stacked on the rail: TRUE for a macvlan, macvtap or ipvlan, FALSE for a VLAN or a P_Key child.
 * - The NIC is a candidate without an address: TRUE. But FALSE with arp=keep, which also exempts such a NIC from
 *   ibh_nic_must_be_silent().
 * - Any other NIC: TRUE if it has an address for which peers ask in a subnet of the rail (find_subnet_asked_in()). */
static gboolean is_on_wire_of(const IbhNic *nic, const IbhNic *rail)
{
    static const char *const kinds[] = {"macvlan", "macvtap", "ipvlan", NULL};

    if (!ibh_nic_serves_family(rail, AF_INET) || rail->link->type != nic->link->type)
        return FALSE;
    if (nic->link->parent == rail->link->ifindex)
        return g_strv_contains(kinds, nic->link->kind);
    if (nic->rank && nic->status == IBH_NIC_NO_ADDRESS)
        return nic->settings.arp != IBH_ARP_KEEP;
    IBH_EACH_POINTER (const IbhAddress, address, nic->addresses) {
        if (find_subnet_asked_in(rail, address))
            return TRUE;
    }
    return FALSE;
}

/* TRUE if the NIC is on the wire of another NIC that is a rail, and answers ARP for all addresses of this host. FALSE
 * in these cases:
 * - The NIC is a rail without arp=keep: ib-hook sets its values.
 * - The administrator's rp_filter is 1: the kernel drops requests whose answer would leave through another NIC.
 * - The NIC must be silent: --apply silences the NIC. */
gboolean ibh_nic_answers_for_rails(IbhSubject *about)
{
    const IbhCheck *check = about->check;
    const IbhNic *nic = about->nic;
    const gboolean is_rail = nic->status == IBH_NIC_RAIL;
    int ignore;

    if ((is_rail && nic->settings.arp != IBH_ARP_KEEP) || !takes_requests(check, nic) ||
        get_effective(check, nic->base, IBH_SYSCTL_RP_FILTER) == 1 || ibh_nic_must_be_silent(check->rails, nic))
        return FALSE;
    ignore = get_effective(check, nic->link->sysctl, IBH_SYSCTL_ARP_IGNORE);
    if (ibh_arp_ignore_silences(ignore) || get_effective(check, nic->link->sysctl, IBH_SYSCTL_ARP_FILTER))
        return FALSE;
    ibh_subject_say(about, "because=%s, arp_ignore=%d", is_rail ? "arp=keep" : "it is not a rail", ignore);
    IBH_EACH_POINTER (const IbhNic, rail, check->rails->nics) {
        if (rail != nic && rail->status == IBH_NIC_RAIL && is_on_wire_of(nic, rail)) {
            about->other = rail;
            return TRUE;
        }
    }
    return FALSE;
}

/* TRUE if the NIC, with these sysctl values, would answer ARP requests from this subnet for an address of another NIC,
 * and IP packets from the address would reach the peer that asks. With arp_filter, a NIC answers only if these packets
 * leave through the NIC itself. With a strict rp_filter, the kernel drops the request if these packets leave through
 * another NIC. We assume that the NIC answers if the subnet has no piece to ask about, or if the packets take a
 * multipath route whose first NIC reaches the peer. */
static gboolean would_answer(const IbhCheck *check, const IbhNic *nic, const int *values, const IbhAddress *address,
                             const IbhPrefix *subnet)
{
    const int ignore = get_effective(check, values, IBH_SYSCTL_ARP_IGNORE);
    const IbhNic *through;
    IbhQuestion way;

    if (!takes_requests(check, nic) || ibh_arp_ignore_silences(ignore))
        return FALSE;
    if (!ibh_check_walk_into(check, nic, &address->local, subnet, &way))
        return TRUE;
    if (way.got.refused)
        return FALSE;
    through = ibh_rails_nic(check->rails, way.got.route->ifindex);
    if (!through || !ibh_nic_address_near(through, &way.lookup.to)) /* the packets would not reach the peer */
        return FALSE;
    if (through == nic || way.got.route->hops)
        return TRUE;
    return !get_effective(check, values, IBH_SYSCTL_ARP_FILTER) &&
           get_effective(check, values, IBH_SYSCTL_RP_FILTER) != 1;
}

/* TRUE if a rail without arp=keep would answer ARP for the address with the administrator's sysctl values, but no NIC
 * answers with the present values, and no rail would answer with the values that we want. */
static gboolean is_silenced(const IbhCheck *check, const IbhAddress *address)
{
    gboolean was_answered = FALSE;

    IBH_EACH_POINTER (const IbhNic, nic, check->rails->nics) {
        const IbhPrefix *subnet = find_subnet_asked_in(nic, address);
        int wanted[IBH_N_SYSCTLS];

        /* A rail answers for its own address, unless its arp_ignore makes it answer no request at all. */
        if (nic->status == IBH_NIC_RAIL && ibh_rails_address(check->rails, nic, &address->local) &&
            takes_requests(check, nic) &&
            get_effective(check, nic->link->sysctl, IBH_SYSCTL_ARP_IGNORE) != IBH_ANSWERS_NOTHING)
            return FALSE;
        if (!subnet) /* only a rail has such a subnet, so `nic` is a rail below */
            continue;
        for (IbhSysctl key = 0; key < IBH_N_SYSCTLS; key++)
            wanted[key] = ibh_want_sysctl(check->rails, nic, key);
        /* Another NIC on the rail's wire, which is not a rail, may answer. */
        IBH_EACH_POINTER (const IbhNic, beside, check->rails->nics) {
            if (beside->status != IBH_NIC_RAIL && is_on_wire_of(beside, nic) &&
                would_answer(check, beside, beside->link->sysctl, address, subnet))
                return FALSE;
        }
        /* A rail answers now; or it will answer after --apply, and then a finding of ours.c says that --apply is
         * needed. */
        if (would_answer(check, nic, nic->link->sysctl, address, subnet) ||
            would_answer(check, nic, wanted, address, subnet))
            return FALSE;
        was_answered |= nic->settings.arp != IBH_ARP_KEEP && would_answer(check, nic, nic->base, address, subnet);
    }
    return was_answered;
}

/* TRUE if peers ask for the address on the rails' wire, and only our sysctl values keep NICs from answering
 * (is_silenced()). The address must be an IPv4 address of one of two kinds. Either it is on lo or another link without
 * a wire (ibh_link_has_no_wire()). Or it is on a NIC that is usable, is not a rail and has no master, and that drops
 * requests, because its rp_filter is strict and its answers would leave through another NIC. */
gboolean ibh_address_is_silenced(IbhSubject *about)
{
    const IbhCheck *check = about->check;
    const IbhNic *nic = about->nic;
    IbhQuestion way;

    if (about->ip->family != AF_INET)
        return FALSE;
    if ((nic->link->flags & IFF_LOOPBACK) || ibh_link_has_no_wire(check->rails, nic->link))
        return is_silenced(check, about->address);
    if (nic->status == IBH_NIC_RAIL || nic->link->master || !ibh_nic_is_usable(nic) ||
        get_effective(check, nic->link->sysctl, IBH_SYSCTL_RP_FILTER) != 1)
        return FALSE;
    return ibh_check_walk_into(check, nic, about->ip, &about->address->subnet, &way) && !way.got.refused &&
           !ibh_route_leads_through(way.got.route, nic->link->ifindex) && is_silenced(check, about->address);
}
