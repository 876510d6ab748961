/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a NIC's link, addresses and neighbours reveal about its wire.
 */
#include "check/check.h"

#include "plan/want.h"

#include <linux/if_arp.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

gboolean ibh_neighbour_is_unasked(const IbhLink *link, const IbhNeighbour *neighbour)
{
    const guint8 *address = neighbour->lladdr;
    gboolean group = neighbour->lladdr_len == 6 ? address[0] & 1 : address[1] == 0xff; /* an InfiniBand queue pair */

    return neighbour->no_arp && ((link->flags & IFF_NOARP) || !neighbour->lladdr_len || group);
}

/* ---- addresses ---- */

/* Two of this host's NICs have it, and peers learn either, where both are on one wire. */
static void judge_duplicate(const IbhCheck *check, const IbhNic *nic, const IbhAddress *address, const char *ip)
{
    const IbhNic *owner = ibh_rails_owner(check->rails, &address->local);
    gboolean rail = nic->status == IBH_NIC_RAIL;

    if (!owner || owner == nic ||
        (!rail &&
         (ibh_link_is_of_the_host(nic->link) || !(nic->link->flags & IFF_UP) || owner->link->type != nic->link->type)))
        return;
    ibh_check_tell(check, nic, "duplicate-address", NULL, ibh_remedy_advice("take %s from one of the two", ip),
                   "%s is also an address of the rail %s, which has the rule for it: peers learn the hardware address "
                   "of one NIC or the other",
                   ip, owner->link->name)
        ->severity = rail ? IBH_ERROR : IBH_WARNING;
}

/* A bridge, bond or team takes a packet that comes in through its port before IP does. Hosts without rails are left
 * alone.
 */
static void judge_port(const IbhCheck *check, const IbhNic *nic, const IbhAddress *address, const char *ip)
{
    const IbhLink *master = nic->link->master ? ibh_snapshot_link(check->rails->snapshot, nic->link->master) : NULL;
    const IbhPrefix own = ibh_prefix_of_host(&address->local);

    if (master && !g_str_equal(master->kind, "vrf") && (nic->link->rdma[0] || nic->link->type == ARPHRD_INFINIBAND) &&
        ibh_address_counts(address) && ibh_rails_own_prefix(check->rails, &own))
        ibh_check_tell(
            check, nic, "address-unusable", nic->link->name,
            ibh_remedy_advice("give %s to %s, or take the NIC out of it: sudo ip link set %s nomaster", ip,
                              master->name, nic->link->name),
            "it is a port of %s and has the address %s: %s takes what comes in, ARP's answers, too, so nothing "
            "reaches that address",
            master->name, ip, master->name);
}

static void judge_addresses(const IbhCheck *check, const IbhNic *nic)
{
    char ip[IBH_IP_STRLEN];

    IBH_EACH_POINTER (const IbhAddress, address, nic->addresses) {
        gboolean may_be_served = nic->rank && nic->status != IBH_NIC_UNMANAGED;

        ibh_ip_format(&address->local, ip);
        judge_duplicate(check, nic, address, ip);
        judge_port(check, nic, address, ip);
        if (may_be_served && address->failed)
            ibh_check_tell(check, nic, "address-unusable", NULL,
                           ibh_remedy_advice("find the other host that has this address, and remove it there; then "
                                             "delete the address here and add it again"),
                           "%s failed the detection of duplicates: another host has it, so nothing is sent from it or "
                           "accepted for it here",
                           ip);
    }
}

/* Of IPv6: the kernel prefers any other source, and in the end drops these. Routers that renumber announce other ones.
 */
static void judge_deprecated(const IbhCheck *check, const IbhNic *nic)
{
    IBH_EACH (const IbhAddress, address, check->rails->snapshot->addresses) {
        if (address->local.family == AF_INET6 && !address->deprecated && ibh_address_counts(address))
            return;
    }
    if (!ibh_nic_serves_family(nic, AF_INET6))
        return;
    ibh_check_tell(
        check, nic, "address-unusable", "deprecated",
        ibh_remedy_advice("see whether the router or DHCP server still announces their prefix"),
        "this host has deprecated IPv6 addresses only: new connections should not use them, and they will expire")
        ->severity = IBH_WARNING;
}

/* ---- ARP and neighbours ---- */

gboolean ibh_link_has_lladdr(const IbhLink *link, const guint8 *lladdr, guint length)
{
    return length && link->lladdr_len == length && memcmp(link->lladdr, lladdr, length) == 0;
}

/* Our own NIC with this hardware address; NULL: none, or it is this one. */
static const IbhLink *find_own(const IbhCheck *check, const IbhNic *nic, const IbhNeighbour *neighbour)
{
    if (ibh_link_has_lladdr(nic->link, neighbour->lladdr, neighbour->lladdr_len))
        return NULL;
    IBH_EACH_POINTER (const IbhNic, other, check->rails->nics) {
        if (other->rank && ibh_link_has_lladdr(other->link, neighbour->lladdr, neighbour->lladdr_len))
            return other->link;
    }
    return NULL;
}

/* An entry that the kernel never asks about again, for another host. */
static gboolean is_permanent(const IbhCheck *check, const IbhNic *nic, const IbhNeighbour *neighbour)
{
    return neighbour->ifindex == nic->link->ifindex && neighbour->lladdr_len && neighbour->fixed &&
           !ibh_neighbour_is_unasked(nic->link, neighbour) && ibh_ip_is_unicast(&neighbour->ip) &&
           !ibh_rails_holder(check->rails, &neighbour->ip);
}

static void judge_neighbours(const IbhCheck *check, const IbhNic *nic)
{
    gboolean written = FALSE;
    char ip[IBH_IP_STRLEN];

    IBH_EACH (const IbhNeighbour, neighbour, check->rails->snapshot->neighbours) {
        g_autofree char *command = NULL;
        const IbhLink *own;

        if (!is_permanent(check, nic, neighbour))
            continue;
        ibh_ip_format(&neighbour->ip, ip);
        if ((own = find_own(check, nic, neighbour))) {
            command = g_strdup_printf("ip neigh del %s dev", ip);
            ibh_check_tell(
                check, nic, "neighbour-static", ip, ibh_remedy_fix(command, "%s", nic->link->name),
                "%s, a neighbour, has the hardware address of %s here, in a permanent entry: what is sent to it "
                "comes back to this host",
                ip, own->name);
        } else if (ibh_nic_address_near(nic, &neighbour->ip)) {
            written = TRUE;
            ibh_check_tell(check, nic, "neighbour-static", "permanent entries",
                           ibh_remedy_advice("to test this neighbour: sudo ib-hook --probe %s", ip),
                           "neighbours have permanent entries, the first is %s: --check did not test whether they are "
                           "right, and the kernel never does",
                           ip)
                ->severity = IBH_INFO;
        }
    }
    if (!written && (nic->link->flags & (IFF_NOARP | IFF_BROADCAST)) == (IFF_NOARP | IFF_BROADCAST))
        ibh_check_tell(
            check, nic, "arp-off", NULL, ibh_remedy_fix("ip link set arp on dev", "%s", nic->link->name),
            "ARP is switched off on it: it neither asks nor answers, so it reaches only hosts whose hardware "
            "addresses were written by hand");
}

static void judge_solicitations(const IbhCheck *check, const IbhNic *nic)
{
    for (int six = 0; six <= 1; six++) {
        const char version = six ? '6' : '4';

        if (ibh_numbers_have(check->facts->mute[six], nic->link->ifindex) &&
            ibh_nic_serves_family(nic, six ? AF_INET6 : AF_INET))
            ibh_check_tell(
                check, nic, "arp-off", NULL,
                ibh_remedy_fix("sysctl -w", "net/ipv%c/neigh/%s/mcast_solicit=3", version, nic->link->name),
                "its IPv%c mcast_solicit is 0: it asks for no hardware address, so it reaches only hosts that "
                "ask for its own address",
                version);
    }
}

/* ---- ARP for others ---- */

/* The route by which what comes in for this host would be forwarded by another NIC, and rp_filter would not drop it: as
 * a proxy, it answers for the host. NULL: there is none. */
static const IbhRoute *find_forwarding(const IbhCheck *check, const IbhNic *nic, const IbhIp *to)
{
    const IbhTrace way = ibh_fib_walk(check->actual, &(IbhLookup){.from = *to, .to = *to, .iif = nic->link->ifindex});
    int filter =
        ibh_sysctl_effective(check->rails->snapshot, IBH_SYSCTL_RP_FILTER, nic->link->sysctl[IBH_SYSCTL_RP_FILTER]);

    if (way.refused || way.route->type != RTN_UNICAST || ibh_route_leads_by(way.route, nic->link->ifindex))
        return NULL;
    return filter != 1 && (!filter || ibh_nic_serves_family(nic, AF_INET)) ? way.route : NULL;
}

/* `cause`: what makes it answer. */
static void tell_proxy(const IbhCheck *check, const IbhNic *nic, const IbhIp *host, const char *cause, IbhRemedy remedy)
{
    char ip[IBH_IP_STRLEN];

    ibh_check_tell(check, nic, "proxy-arp", cause, remedy,
                   "%s: it answers ARP for %s, another host of the subnet, and takes its traffic", cause,
                   ibh_ip_format(host, ip));
}

static gboolean is_rail(const IbhCheck *check, int ifindex)
{
    const IbhNic *nic = ibh_rails_nic(check->rails, ifindex);

    return nic && nic->status == IBH_NIC_RAIL;
}

/* All that it sends goes by rails, whose wire has the other hosts of the subnet, too. */
static gboolean leads_by_rails(const IbhCheck *check, const IbhRoute *route)
{
    IBH_EACH_HOP (hop, route) {
        if (!is_rail(check, hop->ifindex))
            return FALSE;
    }
    return route->hops || is_rail(check, route->ifindex);
}

#define GUESTS_NAMED 4

/* The hosts that it answers for and that are behind a NIC that is no rail, such as virtual machines and pods. Peers ask
 * for those of the rails' subnets, and may have a route to a single one. In words; NULL: there are none. */
static char *find_guests(const IbhCheck *check, const IbhNic *nic)
{
    g_autoptr(GString) text = g_string_new(NULL);
    char prefix[IBH_PREFIX_STRLEN];
    guint n = 0;

    IBH_EACH (const IbhPiece, piece, check->pieces) {
        const gboolean single = piece->prefix.length == ibh_ip_bits(&piece->host);
        const IbhRoute *way;

        if (piece->host.family != AF_INET || (!single && !ibh_rails_own_prefix(check->rails, &piece->prefix)))
            continue;
        way = find_forwarding(check, nic, &piece->host);
        if (!way || leads_by_rails(check, way) || n++ >= GUESTS_NAMED)
            continue;
        g_string_append_printf(text, "%s%s through %s", text->len ? ", " : "",
                               single ? ibh_ip_format(&piece->host, prefix) : ibh_prefix_format(&piece->prefix, prefix),
                               ibh_check_link_name(check, way->ifindex));
    }
    if (n > GUESTS_NAMED)
        g_string_append_printf(text, " and %u more", n - GUESTS_NAMED);
    return n ? g_string_free(g_steal_pointer(&text), FALSE) : NULL;
}

/* Of its own value: that of all is other NICs', too. */
static IbhRemedy stop_proxy(const IbhCheck *check, const IbhNic *nic)
{
    g_autofree char *guests = find_guests(check, nic), *word = ibh_text_shell_word(nic->link->name);

    if (!guests)
        return ibh_remedy_fix("sysctl -w", "net/ipv4/conf/%s/proxy_arp=0", nic->link->name);
    return ibh_remedy_advice("it answers for hosts behind NICs that are no rails, too (%s): for each that needs "
                             "it, sudo ip neigh add proxy ADDRESS dev %s; then sudo sysctl -w "
                             "net/ipv4/conf/%s/proxy_arp=0",
                             guests, word, word);
}

static void judge_proxy_entries(const IbhCheck *check, const IbhNic *nic, const IbhQuestion *question,
                                const IbhRoute *way)
{
    IBH_EACH (const IbhNeighbour, other, check->rails->snapshot->neighbours) {
        g_autofree char *entry = NULL, *command = NULL;
        char ip[IBH_IP_STRLEN];
        IbhRemedy remedy;

        if (!other->proxied || other->ifindex != nic->link->ifindex ||
            !ibh_prefix_contains(&question->piece, &other->ip) || find_forwarding(check, nic, &other->ip) != way)
            continue;
        entry = g_strdup_printf("proxy entry for %s", ibh_ip_format(&other->ip, ip));
        command = g_strdup_printf("ip neigh del proxy %s dev", ip);
        remedy = ibh_remedy_fix(command, "%s", nic->link->name);
        if (!leads_by_rails(check, way)) {
            g_autofree char *fix = g_steal_pointer(&remedy.fix);

            remedy =
                ibh_remedy_advice("if %s is not behind %s: sudo %s", ip, ibh_check_link_name(check, way->ifindex), fix);
        }
        tell_proxy(check, nic, &other->ip, entry, remedy);
    }
}

/* proxy_arp_pvlan is for switches that isolate their ports: on any other wire it attracts all traffic. Single hosts
 * that the rest of the subnet's route does not lead to are not on this wire. */
static void judge_proxy(const IbhCheck *check, const IbhNic *nic, const IbhQuestion *question)
{
    const char *iface = nic->link->name;
    const IbhIp *to = &question->lookup.to;
    const IbhRoute *way = find_forwarding(check, nic, to);
    g_autofree char *own = g_strdup_printf("net.ipv4.conf.%s.proxy_arp", iface),
                    *pvlan = g_strdup_printf("net.ipv4.conf.%s.proxy_arp_pvlan", iface);

    if (way && check->facts->proxy_arp)
        tell_proxy(check, nic, to, "net.ipv4.conf.all.proxy_arp",
                   ibh_remedy_advice("set proxy_arp=1 on each other NIC that needs it, then: sudo sysctl -w "
                                     "net.ipv4.conf.all.proxy_arp=0"));
    if (way && nic->link->proxy_arp)
        tell_proxy(check, nic, to, own, stop_proxy(check, nic));
    if (nic->link->proxy_arp_pvlan)
        tell_proxy(check, nic, to, pvlan, ibh_remedy_fix("sysctl -w", "net/ipv4/conf/%s/proxy_arp_pvlan=0", iface));
    if (way)
        judge_proxy_entries(check, nic, question, way);
}

/* Rails, and NICs that are kept silent on the rails' wire, for the hosts that unbound traffic is asked about. A bridge
 * inside may have a proxy on purpose: only the rest of a subnet counts. */
static void judge_proxies(const IbhCheck *check, const IbhNic *nic)
{
    if (!nic->link->forwarding)
        return;
    IBH_EACH (const IbhQuestion, question, check->questions) {
        const IbhNic *rail = question->nic;

        if (question->kind == IBH_ASK_UNBOUND && question->lookup.to.family == AF_INET &&
            ibh_nic_serves_subnet(rail, &question->piece) &&
            (nic->status == IBH_NIC_RAIL
                 ? ibh_nic_serves_subnet(nic, &question->piece)
                 : nic->link->type == rail->link->type && ibh_nic_must_be_silent(check->rails, nic)))
            judge_proxy(check, nic, question);
    }
}

/* ---- who answers ARP for whom, on the rails' wire ---- */

/* A NIC in a VRF answers for addresses outside of it only as long as the local table is asked before the VRF's. */
static gboolean answers_by_local(const IbhCheck *check, const IbhLink *link)
{
    const IbhLink *master = link->master ? ibh_snapshot_link(check->rails->snapshot, link->master) : NULL;

    return !link->master || (master && g_str_equal(master->kind, "vrf") && !check->before_local);
}

/* With this own value of a sysctl, and that of all. */
static int get_effective(const IbhCheck *check, const int *values, IbhSysctl key)
{
    return ibh_sysctl_effective(check->rails->snapshot, key, values[key]);
}

static gboolean takes_requests(const IbhCheck *check, const IbhNic *nic)
{
    return ibh_nic_is_usable(nic) && answers_by_local(check, nic->link) &&
           !(nic->link->flags & (IFF_LOOPBACK | IFF_NOARP)) && !ibh_link_has_no_wire(check->rails, nic->link);
}

/* Rails do so only if the configuration keeps their values. */
static gboolean answers_for_all(const IbhCheck *check, const IbhNic *nic)
{
    const int *own = nic->link->sysctl;

    return (nic->status != IBH_NIC_RAIL || nic->settings.arp == IBH_ARP_KEEP) && takes_requests(check, nic) &&
           get_effective(check, nic->base, IBH_SYSCTL_RP_FILTER) != 1 &&
           !get_effective(check, own, IBH_SYSCTL_ARP_IGNORE) && !get_effective(check, own, IBH_SYSCTL_ARP_FILTER);
}

/* It has an address in the rail's subnet, and not of a smaller one inside it, which is another wire; or it is stacked
 * on the rail, but for VLANs. A candidate without an address is where the rails are. */
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
        const IbhAddress *theirs = ibh_nic_address_near(rail, &address->local);

        if (theirs && theirs->local.family == AF_INET && !ibh_address_is_host(theirs) &&
            (ibh_address_is_host(address) || address->subnet.length <= theirs->subnet.length))
            return TRUE;
    }
    return FALSE;
}

static void judge_foreign_nic(const IbhCheck *check, const IbhNic *nic)
{
    if (!answers_for_all(check, nic) || ibh_nic_must_be_silent(check->rails, nic))
        return;
    IBH_EACH_POINTER (const IbhNic, rail, check->rails->nics) {
        if (rail != nic && rail->status == IBH_NIC_RAIL && is_on_wire_of(nic, rail))
            ibh_check_tell(
                check, nic, "foreign-nic-answers", nic->link->name, (IbhRemedy){0},
                "peers may send to it what is for %s: it is on the same wire and answers ARP for all addresses of "
                "this host (%s)",
                rail->link->name,
                nic->status == IBH_NIC_RAIL ? "arp=keep, arp_ignore=0" : "it is no rail, arp_ignore=0");
    }
}

/* ARP requests for this address of the host, on no NIC of the wire. With arp_filter, a NIC answers for what its answer
 * leaves through; with a strict rp_filter it does not even take another request. */
static gboolean would_answer(const IbhCheck *check, const IbhNic *nic, const int *values, const IbhAddress *address,
                             const IbhPrefix *subnet)
{
    const int ignore = get_effective(check, values, IBH_SYSCTL_ARP_IGNORE);
    IbhPiece *end, *rest = ibh_check_pieces_inside(check, subnet, &end);
    const IbhNic *leads;
    IbhTrace way;

    if (!takes_requests(check, nic) || ignore == 1 || ignore == 2 || ignore == 8)
        return FALSE;
    if (rest == end)
        return TRUE;
    way = ibh_fib_walk(check->actual, &(IbhLookup){.from = address->local, .to = rest->host});
    leads = way.route ? ibh_rails_nic(check->rails, way.route->ifindex) : NULL;
    if (way.refused || !leads || !ibh_nic_address_near(leads, &rest->host)) /* its replies would not get there */
        return FALSE;
    if (way.route->hops || leads == nic)
        return TRUE;
    return !get_effective(check, values, IBH_SYSCTL_ARP_FILTER) &&
           get_effective(check, values, IBH_SYSCTL_RP_FILTER) != 1;
}

/* The rail's subnet that peers ask for it in; NULL: it names a network of its own, or none of a rail's. */
static const IbhPrefix *find_asked_in(const IbhNic *rail, const IbhAddress *address)
{
    const IbhAddress *near = ibh_nic_address_near(rail, &address->local);

    return near && rail->status == IBH_NIC_RAIL && !ibh_address_is_host(near) &&
                   (ibh_address_is_host(address) || address->subnet.length <= near->subnet.length)
               ? &near->subnet
               : NULL;
}

/* It is this NIC's own address: arp_ignore=1 does not silence that. */
static gboolean answers_for_itself(const IbhCheck *check, const IbhNic *nic, const IbhAddress *address)
{
    return ibh_rails_address(check->rails, nic, &address->local) && takes_requests(check, nic) &&
           get_effective(check, nic->link->sysctl, IBH_SYSCTL_ARP_IGNORE) != 8;
}

/* A NIC of the rail's wire that is no rail answers for it. */
static gboolean is_answered_beside(const IbhCheck *check, const IbhNic *rail, const IbhAddress *address,
                                   const IbhPrefix *subnet)
{
    IBH_EACH_POINTER (const IbhNic, nic, check->rails->nics) {
        if (nic->status != IBH_NIC_RAIL && is_on_wire_of(nic, rail) &&
            would_answer(check, nic, nic->link->sysctl, address, subnet))
            return TRUE;
    }
    return FALSE;
}

/* A NIC answered for it with the administrator's values, and no NIC answers with the present ones. */
static gboolean is_silenced(const IbhCheck *check, const IbhAddress *address)
{
    gboolean was_answered = FALSE;

    IBH_EACH_POINTER (const IbhNic, nic, check->rails->nics) {
        const IbhPrefix *subnet = find_asked_in(nic, address);
        int wanted[IBH_N_SYSCTLS];

        if (nic->status == IBH_NIC_RAIL && answers_for_itself(check, nic, address))
            return FALSE;
        if (!subnet)
            continue;
        for (IbhSysctl key = 0; key < IBH_N_SYSCTLS; key++)
            wanted[key] = ibh_want_sysctl(check->rails, nic, key);
        /* What --apply would change is said of the values. */
        if (would_answer(check, nic, nic->link->sysctl, address, subnet) ||
            would_answer(check, nic, wanted, address, subnet) || is_answered_beside(check, nic, address, subnet))
            return FALSE;
        was_answered |= nic->settings.arp != IBH_ARP_KEEP && would_answer(check, nic, nic->base, address, subnet);
    }
    return was_answered;
}

/* A NIC that is no rail takes no request where its own packets leave through another one: with a strict rp_filter. */
static gboolean answers_nobody(const IbhCheck *check, const IbhNic *nic, const IbhAddress *address)
{
    IbhPiece *end, *rest = ibh_check_pieces_inside(check, &address->subnet, &end);
    IbhTrace way;

    if ((nic->link->flags & IFF_LOOPBACK) || ibh_link_has_no_wire(check->rails, nic->link))
        return TRUE;
    if (nic->status == IBH_NIC_RAIL || nic->link->master || !ibh_nic_is_usable(nic) || rest == end ||
        get_effective(check, nic->link->sysctl, IBH_SYSCTL_RP_FILTER) != 1)
        return FALSE;
    way = ibh_fib_walk(check->actual, &(IbhLookup){.from = address->local, .to = rest->host});
    return !way.refused && !ibh_route_leads_by(way.route, nic->link->ifindex);
}

/* A virtual address on a bridge or dummy, or one of a NIC beside the rails: peers ask the rails' wire for it. */
static void judge_silence(const IbhCheck *check, const IbhNic *nic)
{
    char ip[IBH_IP_STRLEN];

    IBH_EACH_POINTER (const IbhAddress, address, nic->addresses) {
        if (address->local.family == AF_INET && answers_nobody(check, nic, address) && is_silenced(check, address))
            ibh_check_tell(
                check, nic, "address-silent", ibh_ip_format(&address->local, ip), (IbhRemedy){0},
                "peers cannot reach %s: no NIC answers ARP for it, because of the rails' arp_ignore or arp_filter", ip);
    }
}

void ibh_check_judge_wire(const IbhCheck *check, const IbhNic *nic)
{
    judge_foreign_nic(check, nic);
    judge_silence(check, nic);
    judge_proxies(check, nic);
    judge_addresses(check, nic);
    if (nic->status != IBH_NIC_RAIL)
        return;
    judge_deprecated(check, nic);
    judge_solicitations(check, nic);
    judge_neighbours(check, nic);
}
