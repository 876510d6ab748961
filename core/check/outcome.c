/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which answers of the kernel are right.
 */
#include "check/outcome.h"

#include "check/rules.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

gboolean ibh_nic_is_usable(const IbhNic *nic)
{
    return (nic->link->flags & IFF_UP) && nic->link->carrier;
}

gboolean ibh_is_routed(const IbhNic *nic)
{
    return nic->status == IBH_NIC_RAIL;
}

gboolean ibh_check_covers(const IbhRails *rails, int family)
{
    return !rails->family || rails->family == family;
}

gboolean ibh_main_has(const IbhRails *rails, const IbhPrefix *subnet)
{
    IBH_EACH (const IbhRoute, route, rails->snapshot->routes) {
        if (route->table == IBH_TABLE_MAIN && ibh_prefix_equal(&route->dst, subnet))
            return TRUE;
    }
    return FALSE;
}

const IbhRoute *ibh_find_in_main(const IbhSnapshot *snapshot, const IbhIp *to)
{
    g_autoptr(GPtrArray) routes = ibh_snapshot_routes_to(snapshot, IBH_TABLE_MAIN, to);
    const IbhRoute *best = NULL;

    IBH_EACH_POINTER (const IbhRoute, route, routes) {
        if (route->metric != G_MAXUINT32 && (!best || route->dst.length > best->dst.length ||
                                             (route->dst.length == best->dst.length && route->metric < best->metric)))
            best = route;
    }
    return best;
}

const IbhRoute *ibh_find_error_in_main(const IbhSnapshot *snapshot, const IbhIp *to)
{
    const IbhRoute *route = ibh_find_in_main(snapshot, to);

    return route && ibh_route_is_error(route) ? route : NULL;
}

/* TRUE if main has a foreign route there that sends another rail's traffic by this rail's wire. */
static gboolean leads_by_other_rail(const IbhRails *rails, const IbhQuestion *question)
{
    const IbhLookup *answer = &question->lookup;
    const IbhNic *other = answer->oif ? ibh_rails_nic(rails, answer->oif) : NULL;
    const IbhRoute *route = other ? ibh_find_in_main(rails->snapshot, &answer->to) : NULL;

    return route && other != question->nic && other->status == IBH_NIC_RAIL && route->ifindex == answer->oif &&
           route->gateway.family == AF_UNSPEC && route->protocol != RTPROT_KERNEL;
}

/* The best of our routes in the rail's table; NULL: none. */
static const IbhRoute *find_ours(const IbhRails *rails, const IbhNic *nic, const IbhIp *to)
{
    const IbhRoute *best = NULL;

    IBH_EACH (const IbhRoute, route, rails->snapshot->routes) {
        if (ibh_route_is_ours(route) && route->table == nic->table && ibh_prefix_contains(&route->dst, to) &&
            (!best || route->dst.length > best->dst.length))
            best = route;
    }
    return best;
}

/* TRUE if a foreign route in the rail's table answered, on the rail's wire, where our route has a gateway. */
static gboolean bypasses_gateway(const IbhRails *rails, const IbhQuestion *question)
{
    const IbhLookup *answer = &question->lookup;
    const IbhRoute *ours = find_ours(rails, question->nic, &answer->to);

    if (!ours || ours->gateway.family == AF_UNSPEC)
        return FALSE;
    IBH_EACH (const IbhRoute, route, rails->snapshot->routes) {
        if (!ibh_route_is_ours(route) && route->table == answer->table && route->table == question->nic->table &&
            route->ifindex == answer->oif && route->gateway.family == AF_UNSPEC &&
            route->dst.length == answer->length && ibh_prefix_contains(&route->dst, &answer->to))
            return TRUE;
    }
    return FALSE;
}

/* Ours is as exact as main's: a sibling's subnet, main's route by a gateway of the rails. */
static gboolean leads_as_ours(const IbhRails *rails, const IbhQuestion *question)
{
    const IbhRoute *ours = find_ours(rails, question->nic, &question->lookup.to);

    return ours && ours->dst.length >= question->length && question->lookup.oif == question->nic->link->ifindex;
}

/* Of a multipath route, each next hop does. */
static gboolean leaves_by(const IbhLookup *answer, int ifindex)
{
    for (const char *hop = answer->hops; hop; hop = strchr(hop + 1, ' ')) {
        if (g_ascii_strtoll(hop, NULL, 10) != ifindex)
            return FALSE;
    }
    return answer->oif == ifindex;
}

/* Longer prefixes of main inside a rail's subnet stay in force. Any other answer comes from a foreign rule. */
static gboolean leaves_right(const IbhRails *rails, const IbhQuestion *question)
{
    const IbhLookup *answer = &question->lookup;

    if (question->as_main_says && answer->error && ibh_find_error_in_main(rails->snapshot, &answer->to))
        return TRUE;
    if (question->as_main_says)
        return answer->table == IBH_TABLE_MAIN
                   ? !leads_by_other_rail(rails, question)
                   : leads_as_ours(rails, question) || !ibh_find_foreign_rule(rails, &question->lookup);
    return !answer->error && answer->type != RTN_BROADCAST && answer->type != RTN_ANYCAST &&
           !bypasses_gateway(rails, question) &&
           (leaves_by(answer, question->nic->link->ifindex) ||
            (answer->table == IBH_TABLE_MAIN && answer->length > question->length));
}

/* gateway= and remote= lead there by the rail's own gateway. */
static gboolean reaches_by_gateway(const IbhRails *rails, const IbhNic *nic, const IbhIp *to)
{
    const IbhRoute *ours = find_ours(rails, nic, to);

    return ours && ours->gateway.family != AF_UNSPEC;
}

/* Main leads there by a NIC with carrier, and no route of ours refuses: a foreign rule, or route in the rail's table.
 */
static gboolean is_refused(const IbhRails *rails, const IbhQuestion *question, const IbhRoute *in_main)
{
    const IbhLink *link = in_main ? ibh_snapshot_link(rails->snapshot, in_main->ifindex) : NULL;
    const IbhRoute *ours = find_ours(rails, question->nic, &question->lookup.to);

    return link && link->carrier && !ibh_route_is_error(in_main) && !(ours && ibh_route_is_error(ours));
}

/* No route of ours leads to another NIC's network, unless main has one. */
static gboolean leaves_as_main_says(const IbhRails *rails, const IbhQuestion *question)
{
    const IbhLookup *answer = &question->lookup;
    const IbhNic *nic = answer->oif ? ibh_rails_nic(rails, answer->oif) : NULL;
    const IbhRoute *route = ibh_find_in_main(rails->snapshot, &answer->to);

    if (answer->error)
        return !is_refused(rails, question, route);
    if (route && route->ifindex && nic && nic != question->nic && ibh_nic_has_table(question->nic, answer->table))
        return route->ifindex == answer->oif;
    return answer->table == IBH_TABLE_MAIN || !nic || nic->status != IBH_NIC_RAIL ||
           (route ? route->ifindex == answer->oif : question->as_main_says) ||
           (nic == question->nic && (question->as_main_says || reaches_by_gateway(rails, nic, &answer->to)));
}

/* A foreign rule leads it to a rail's table, and so to that rail's gateway. */
static gboolean is_led_by_rail(const IbhRails *rails, const IbhLookup *answer)
{
    const IbhNic *rail = ibh_rails_nic_by_table(rails, answer->table);

    return rail && rail->link->ifindex == answer->oif && reaches_by_gateway(rails, rail, &answer->to);
}

const IbhAddress *ibh_find_address_near(const IbhRails *rails, int ifindex, const IbhIp *ip)
{
    IBH_EACH (const IbhAddress, address, rails->snapshot->addresses) {
        if (address->ifindex == ifindex && ibh_prefix_contains(&address->subnet, ip))
            return address;
    }
    return NULL;
}

static gboolean is_loopback(const IbhRails *rails, int ifindex)
{
    const IbhNic *nic = ibh_rails_nic(rails, ifindex);

    return nic && (nic->link->flags & IFF_LOOPBACK);
}

/* A transparent proxy (Cilium, Istio, HAProxy, Squid): its own firewall marks the traffic that it wants to receive
 * here. */
static gboolean is_taken_by_proxy(const IbhLookup *answer)
{
    return (answer->selectors & IBH_SELECT_FWMARK) && !answer->error && answer->type == RTN_LOCAL;
}

gboolean ibh_is_led_astray(const IbhRails *rails, const IbhLookup *answer)
{
    g_autoptr(GPtrArray) routes = NULL;
    const IbhNic *nic = ibh_rails_nic(rails, answer->oif);

    if (!nic || ibh_is_routed(nic) || ibh_find_address_near(rails, answer->oif, &answer->to))
        return FALSE;
    routes = ibh_snapshot_routes_to(rails->snapshot, IBH_TABLE_MAIN, &answer->to);
    IBH_EACH_POINTER (const IbhRoute, route, routes) {
        if (route->ifindex == answer->oif && route->nexthops == 1 && route->gateway.family == AF_UNSPEC &&
            route->dst.length == answer->length)
            return TRUE;
    }
    return FALSE;
}

/* Main's connected route has a source address that lies in no subnet there. */
gboolean ibh_has_source_of_elsewhere(const IbhRails *rails, const IbhLookup *answer)
{
    const IbhNic *holder = answer->src.family != AF_UNSPEC ? ibh_rails_holder(rails, &answer->src) : NULL;

    return holder && answer->table == IBH_TABLE_MAIN && holder->link->ifindex != answer->oif &&
           ibh_find_address_near(rails, answer->oif, &answer->to) &&
           !ibh_find_address_near(rails, holder->link->ifindex, &answer->to);
}

gboolean ibh_question_is_well_answered(const IbhRails *rails, const IbhQuestion *question)
{
    const IbhLookup *answer = &question->lookup;
    const IbhAddress *near;

    switch (question->kind) {
    case IBH_ASK_LEAVES:
        return is_taken_by_proxy(answer) || leaves_right(rails, question);
    case IBH_ASK_ELSEWHERE:
        return is_taken_by_proxy(answer) || leaves_as_main_says(rails, question);
    case IBH_ASK_ARRIVES:
        return answer->error != EINVAL && answer->error != EXDEV &&
               !(answer->error && ibh_find_refusing_rule(rails, answer));
    case IBH_ASK_UNBOUND: /* main has the subnet, so its answer is expected */
        if (question->as_main_says)
            return answer->error ? ibh_find_error_in_main(rails->snapshot, &answer->to) != NULL
                                 : answer->type != RTN_UNICAST || answer->table == IBH_TABLE_MAIN ||
                                       !is_loopback(rails, answer->oif);
        near = ibh_find_address_near(rails, question->nic->link->ifindex, &answer->to);
        return !answer->error && !ibh_has_source_of_elsewhere(rails, answer) &&
               (ibh_find_address_near(rails, answer->oif, &answer->to) || is_led_by_rail(rails, answer) ||
                (answer->table == IBH_TABLE_MAIN && near && ibh_main_has(rails, &near->subnet) &&
                 !ibh_is_led_astray(rails, answer)));
    case IBH_ASK_PROXIES:
        return answer->error || answer->type != RTN_UNICAST || answer->oif == question->nic->link->ifindex;
    default:
        return !answer->error && answer->type == RTN_LOCAL;
    }
}
