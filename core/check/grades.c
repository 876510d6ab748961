/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Grades the way of a packet. For a packet to another host, compares the packet's trace (`got`) with its trace through
 * the model `ideal`: the way that the packet would go if everything were as it should be.
 */
#include "check/check.h"
#include "plan/want.h"

#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

gboolean ibh_trace_is_same_way(const IbhTrace *a, const IbhTrace *b)
{
    const IbhRoute *one = a->refused ? NULL : a->route, *other = b->refused ? NULL : b->route;

    if (!one || !other)
        return one == other;
    /* Equal lists of next hops are the same list in the pool (ibh_pool_keep()), so we compare pointers. */
    return one->type == other->type && one->ifindex == other->ifindex && one->hops == other->hops &&
           ibh_ip_equal(&one->gateway, &other->gateway);
}

gboolean ibh_route_has_same_metrics(const IbhRoute *a, const IbhRoute *b)
{
    return a->metrics_size == b->metrics_size && (!a->metrics_size || !memcmp(a->metrics, b->metrics, a->metrics_size));
}

gboolean ibh_trace_is_same_answer(const IbhTrace *a, const IbhTrace *b)
{
    return ibh_trace_is_same_way(a, b) && (a->refused || ibh_route_has_same_metrics(a->route, b->route));
}

gboolean ibh_link_has_no_wire(const IbhRails *rails, const IbhLink *link)
{
    /* `soft`: kinds of links without a wire of their own. `guests`: kinds of ports that lead to a guest, to a tunnel or
     * nowhere (dummy), and so to no wire. */
    static const char *const soft[] = {"bridge", "dummy", "ifb",    "tun", "vxlan",  "geneve", "wireguard",
                                       "ipip",   "gre",   "gretap", "sit", "ip6tnl", "vti",    NULL},
                             *const guests[] = {"dummy", "tun", "veth", "vxlan", "geneve", "gretap", NULL};

    const IbhNic *nic = ibh_rails_nic(rails, link->ifindex);

    if ((nic && nic->rank) || !g_strv_contains(soft, link->kind))
        return FALSE;
    IBH_EACH (const IbhLink, port, rails->snapshot->links) {
        if (port->master == link->ifindex && !g_strv_contains(guests, port->kind))
            return FALSE;
    }
    return TRUE;
}

/* Grades a packet that leaves through its own NIC. `ideal` is the packet's trace through the model `ideal`. `near` is
 * the NIC's address in whose subnet the destination lies; NULL if there is none. */
static IbhGrade grade_through_own_nic(const IbhCheck *check, const IbhQuestion *question, const IbhTrace *ideal,
                                      const IbhAddress *near)
{
    const IbhRoute *route = question->got.route;
    const gboolean is_ideal_way = ibh_trace_is_same_way(&question->got, ideal);
    const gboolean ideal_is_longer = near && ideal->route && ideal->route->dst.length > near->subnet.length;

    if (question->is_foreign) /* foreign rules route the packet, so they choose the gateway, too */
        return IBH_RIGHT;
    /* A route without a gateway, or a multipath route, is right if its way is the ideal one. If the destination is in
     * the NIC's subnet, such a route is right on any way, unless a longer prefix inside the subnet decides in the ideal
     * model. */
    if (route->gateway.family == AF_UNSPEC)
        return is_ideal_way || (near && !ideal_is_longer) ? IBH_RIGHT : IBH_DOUBTFUL;
    if (ibh_rails_is_own_gateway(check->rails, question->nic, &route->gateway)) /* the gateway is this host itself */
        return IBH_WRONG;
    /* On another way than the ideal one, a gateway is doubtful, unless the gateway is the destination itself. */
    if (!is_ideal_way && !ibh_ip_equal(&route->gateway, &question->lookup.to))
        return IBH_DOUBTFUL;
    return IBH_RIGHT;
}

/* Grades a packet whose route is not unicast. --check also asks about single addresses of this host on NICs that are no
 * candidates, such as lo (cut_world() in pieces.c). Such an address may belong to a service, so we only note the
 * kernel's own route to the address. We also only note AnyIP for a part of the NIC's subnet. Other routes that are not
 * unicast are wrong. `ideal` and `near`: see grade_through_own_nic(). */
static IbhGrade grade_not_unicast(const IbhQuestion *question, const IbhTrace *ideal, const IbhAddress *near)
{
    const IbhRoute *route = question->got.route;
    const guint bits = ibh_ip_bits(&question->lookup.to);
    const gboolean is_address = route->protocol == RTPROT_KERNEL && route->dst.length == bits;
    const gboolean is_part = near && route->dst.length > near->subnet.length && route->dst.length < bits &&
                             ibh_trace_is_same_way(&question->got, ideal);

    return route->type == RTN_LOCAL && (is_address || is_part) ? IBH_NOTED : IBH_WRONG;
}

/* Grades a packet that is refused. `ideal` and `near`: see grade_through_own_nic(). */
static IbhGrade grade_refused(const IbhCheck *check, const IbhQuestion *question, const IbhTrace *ideal,
                              const IbhAddress *near)
{
    const IbhRoute *route = question->got.route; /* an error route; NULL: the packet is refused without one */
    IbhLookup from_free_socket = question->lookup;
    const IbhRemote *remote;

    /* If the look-up for a bound socket fails, IPv4 assumes that the destination is on the link of the socket's NIC,
     * and sends the packet there directly. This is right if the destination is in the NIC's subnet. */
    if (question->lookup.bound && near && question->lookup.to.family == AF_INET)
        return IBH_RIGHT;
    /* If we leave the packet to foreign rules, an error route may rightly refuse other networks, or a part of the NIC's
     * subnet. It is wrong to refuse the whole subnet, or to refuse the packet without an error route. */
    if (question->is_foreign)
        return route && (!near || route->dst.length > near->subnet.length) ? IBH_RIGHT : IBH_WRONG;
    if (!ideal->refused)
        return IBH_WRONG;
    if (!ideal->route) /* even in the ideal model, the walk finds no route */
        return IBH_RIGHT;
    /* In the ideal model, too, an error route of main or default refuses the packet. We only note an error route to a
     * part of a remote=: the route probably belongs to a program that uses this part, such as a program for pods. */
    remote = near ? NULL : ibh_nic_find_remote(question->nic, &ideal->route->dst);
    if (!remote || ideal->route->dst.length <= remote->prefix.length)
        return IBH_DOUBTFUL;
    /* But perhaps only packets of bound sockets meet the error route: for these, IPv4 ignores routes through other
     * NICs, such as the route to another rail's subnet. So it is doubtful if the ideal model routes the same packet
     * from a socket that is not bound. */
    from_free_socket.bound = 0;
    return ibh_fib_walk(check->ideal, &from_free_socket).refused ? IBH_NOTED : IBH_DOUBTFUL;
}

/* Grades a packet with a unicast route that does not lead through its own NIC alone. `ideal` and `near`: see
 * grade_through_own_nic(). */
static IbhGrade grade_through_other_nic(const IbhCheck *check, const IbhQuestion *question, const IbhTrace *ideal,
                                        const IbhAddress *near)
{
    const IbhRoute *route = question->got.route;
    const IbhNic *through = ibh_rails_nic(check->rails, route->ifindex);
    gboolean has_gateway_inside;

    if (!ibh_trace_is_same_way(&question->got, ideal))
        return IBH_WRONG;
    /* The source address has no subnet, and the route sends the whole network on the address's link (the prefix of
     * length link_length) through another NIC. */
    if (question->link_length && route->dst.length <= question->link_length)
        return IBH_WRONG;
    /* No answers arrive through a port of a bridge or bond: the master takes them. */
    if (through && through->link->master && !ibh_link_is_in_vrf(check->rails->snapshot, through->link))
        return IBH_DOUBTFUL;
    /* Outside of the NIC's subnets, a route of main with a longer prefix rightly wins over remote= and over the rail's
     * default, whatever NIC it leads through. */
    if (!near && !question->link_length)
        return IBH_NOTED;
    if (route->hops) /* a multipath route: at least some packets leave through another NIC */
        return IBH_DOUBTFUL;
    /* We only note a route through a NIC that is not a rail, and a route via a gateway: probably, somebody set the
     * route on purpose. There is one exception: a route through another rail to a part of the subnet, via a gateway
     * inside this part, leads onto that rail's link. Judge such a route like a route without a gateway. */
    has_gateway_inside =
        near && ibh_prefix_is_inside(&route->dst, &near->subnet) && ibh_prefix_contains(&route->dst, &route->gateway);
    if (!through || through->status != IBH_NIC_RAIL || (route->gateway.family && !has_gateway_inside))
        return IBH_NOTED;
    /* The route leads onto the link of another rail. If the route's destination is exactly a subnet of that rail, we
     * only note the route in three cases:
     * - That subnet has room for one peer only: the link is a direct cable.
     * - There is no `near`: the route takes no part of a subnet of the packet's own NIC.
     * - That rail does not also have the subnet of `near`: one of the two prefix lengths may be a mistake, which has a
     *   finding of its own (prefix-differs). If that rail has both subnets, its route takes a part of the subnet of
     *   `near` away from the rail that the question is about. */
    if (ibh_nic_serves_subnet(through, &route->dst) &&
        (ibh_prefix_has_one_peer(&route->dst) || !near || !ibh_nic_serves_subnet(through, &near->subnet)))
        return IBH_NOTED;
    return IBH_DOUBTFUL;
}

/* Grades a packet from a rail's address to another host. `ideal` and `near`: see grade_through_own_nic(). */
static IbhGrade grade_leaving(const IbhCheck *check, const IbhQuestion *question, const IbhTrace *ideal,
                              const IbhAddress *near)
{
    const IbhTrace *got = &question->got;

    if (got->refused)
        return grade_refused(check, question, ideal, near);
    if (got->route->type != RTN_UNICAST)
        return grade_not_unicast(question, ideal, near);
    if (ibh_route_leads_through(got->route, question->nic->link->ifindex))
        return grade_through_own_nic(check, question, ideal, near);
    return grade_through_other_nic(check, question, ideal, near);
}

/* Grades one next hop of traffic without a source address to a rail's subnet. `ideal`: see grade_through_own_nic(). */
static IbhGrade grade_unbound_hop(const IbhCheck *check, const IbhQuestion *question, const IbhTrace *ideal,
                                  int ifindex, const IbhIp *gateway)
{
    const IbhTrace *got = &question->got;
    const IbhPrefix host = ibh_prefix_of_host(&question->lookup.to);
    const IbhNic *nic = ibh_rails_nic(check->rails, ifindex);

    if (!nic || got->route->type != RTN_UNICAST || ibh_link_has_no_wire(check->rails, nic->link))
        return IBH_DOUBTFUL;
    /* The NIC that the packet leaves through has to reach the host, in one of its subnets or, if it is a rail, in its
     * remote=. */
    if (!ibh_nic_address_near(nic, &host.ip) && !(nic->status == IBH_NIC_RAIL && ibh_nic_find_remote(nic, &host)))
        return IBH_DOUBTFUL;
    /* On another way than the ideal one, a gateway that is not the destination itself is a detour at best: few hosts of
     * a subnet forward for their neighbours. */
    if (gateway->family && !ibh_trace_is_same_way(got, ideal) && !ibh_ip_equal(gateway, &question->lookup.to))
        return IBH_DOUBTFUL;
    return nic->status == IBH_NIC_RAIL ? IBH_RIGHT : IBH_NOTED;
}

/* Grades traffic without a source address to a rail's subnet (that of `near`). For this traffic, the model `ideal` has
 * the routes of main, and perhaps those of main=spread. The first of these cases that applies decides:
 * - `ideal` has no route to the subnet, or only a route with a shorter prefix, such as a default route: we note that,
 *   because the network manager chose so. But no manager chooses an error route, or a throw route that hides another
 *   route (IbhTrace.thrown). If the error route or the hidden route has any prefix but /0, this case does not apply.
 * - The traffic is refused: wrong, or only doubtful if `ideal` refuses the traffic, too.
 * - A longer prefix than the subnet decides in `ideal`, and the traffic goes the same way: right, through any NIC; but
 *   wrong if the gateway is this host itself.
 * - Any other traffic should go to a wire: through a rail, or through another NIC, which we note. */
static IbhGrade grade_unbound(const IbhCheck *check, const IbhQuestion *question, const IbhTrace *ideal,
                              const IbhAddress *near)
{
    const IbhTrace *got = &question->got;
    const guint ideal_length = ideal->route ? ideal->route->dst.length : 0, subnet_length = near->subnet.length;
    const gboolean has_route = (ideal->route && ideal_length >= subnet_length) || (ideal->refused && ideal_length) ||
                               (ideal->thrown && ideal->thrown->dst.length);
    IbhGrade worst = IBH_RIGHT;

    if (!has_route)
        return IBH_NOTED;
    if (got->refused)
        return ideal->refused ? IBH_DOUBTFUL : IBH_WRONG;
    if (ideal_length > subnet_length && ibh_trace_is_same_way(got, ideal))
        return ibh_rails_is_own_gateway(check->rails, ibh_rails_nic(check->rails, got->route->ifindex),
                                        &got->route->gateway)
                   ? IBH_WRONG
                   : IBH_RIGHT;
    if (!got->route->hops)
        return grade_unbound_hop(check, question, ideal, got->route->ifindex, &got->route->gateway);
    IBH_EACH_HOP (hop, got->route) {
        if (!hop->dead)
            worst = MAX(worst, grade_unbound_hop(check, question, ideal, hop->ifindex, &hop->gateway));
    }
    return worst;
}

gboolean ibh_question_loses_answers(const IbhCheck *check, const IbhQuestion *question)
{
    const IbhSysctl key = IBH_SYSCTL_RP_FILTER;
    const IbhTrace *got = &question->got;
    const IbhNic *through = got->refused ? NULL : ibh_rails_nic(check->rails, got->route->ifindex);

    if (question->kind != IBH_ASK_LEAVES || question->lookup.to.family != AF_INET || question->is_foreign || !through)
        return FALSE;
    return through != question->nic && through->status == IBH_NIC_RAIL && got->route->gateway.family &&
           !got->route->hops &&
           ibh_sysctl_effective(check->rails->snapshot, key, question->nic->link->sysctl[key]) == 1;
}

/* See IbhQuestion.small_mtu. */
static gboolean has_small_mtu(const IbhQuestion *question, const IbhTrace *ideal)
{
    const IbhRoute *route = question->got.route;
    const IbhLink *link = question->nic->link;
    const guint32 mtu = route ? ibh_route_metric(route, RTAX_MTU) : 0,
                  ideal_mtu = ideal->route ? ibh_route_metric(ideal->route, RTAX_MTU) : 0,
                  nic_mtu = (guint32)(question->lookup.to.family == AF_INET6 && link->mtu6 ? link->mtu6 : link->mtu);

    return mtu && mtu < (ideal_mtu ? ideal_mtu : nic_mtu) && ibh_route_leads_through(route, link->ifindex) &&
           !ibh_route_is_ours(route) && !route->cached; /* the kernel learned the MTU of a cached route */
}

void ibh_question_grade(const IbhCheck *check, IbhQuestion *question)
{
    const IbhTrace *got = &question->got;
    const IbhAddress *near = ibh_nic_address_near(question->nic, &question->lookup.to);
    IbhTrace ideal;

    question->small_mtu = FALSE;
    if (question->kind == IBH_ASK_LOCAL || question->kind == IBH_ASK_ARRIVES) {
        question->grade = got->refused || got->route->type != RTN_LOCAL ? IBH_WRONG : IBH_RIGHT;
        return;
    }
    ideal = ibh_fib_walk(check->ideal, &question->lookup);
    if (question->kind == IBH_ASK_UNBOUND) {
        question->grade = grade_unbound(check, question, &ideal, near);
        return;
    }
    question->grade = grade_leaving(check, question, &ideal, near);
    if (question->grade == IBH_RIGHT && has_small_mtu(question, &ideal)) {
        /* Whoever set the MTU may know what the wire carries, so we only note the MTU. But other programs should not
         * write into T or D of a candidate, so there, a small MTU is doubtful. */
        question->small_mtu = TRUE;
        question->grade = ibh_rails_nic_by_table(check->rails, got->route->table) ? IBH_DOUBTFUL : IBH_NOTED;
    } else if (question->grade == IBH_NOTED && ibh_question_loses_answers(check, question)) {
        question->grade = IBH_DOUBTFUL;
    }
}
