/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Findings about gateway= and remote= that cannot be used, about rails that need a gateway and have none, and about
 * rails whose packets to other networks leave through another NIC.
 */
#include "check/rows.h"

#include "plan/want.h"

#include <linux/rtnetlink.h>
#include <sys/socket.h>

/* TRUE if a unicast route of this family leads through this NIC to a prefix, such as /0, that is none of the NIC's
 * subnets. The prefix of a single address of this host does not count: for IPv6, the kernel makes a unicast route even
 * to the host's own address, if the address has the prefix length 128. Link-local prefixes do not count.
 * Prefixes that are not unicast (ibh_ip_is_unicast()) do not count, either, except for /0. */
static gboolean leads_further(const IbhCheck *check, const IbhNic *nic, int family)
{
    IBH_EACH_ROUTE (route, check) {
        const IbhIp *to = &route->dst.ip;
        const IbhPrefix host = ibh_prefix_of_host(to);
        IbhRoute part;

        if (route->family != family || !ibh_route_part(route, nic->link->ifindex, &part) ||
            route->type != RTN_UNICAST || ibh_nic_serves_subnet(nic, &route->dst) ||
            (ibh_prefix_equal(&route->dst, &host) && ibh_rails_holder(check->rails, to)))
            continue;
        if (!route->dst.length || (ibh_ip_is_unicast(to) && !ibh_ip_is_link_local(to)))
            return TRUE;
    }
    return FALSE;
}

/* Returns why a NIC through which no route leads further (leads_further()) needs a gateway; NULL for no reason. There
 * are two reasons:
 * - None of the NIC's addresses of this family has a subnet.
 * - With manage=yes and gateway=auto, each subnet of these addresses has room for one peer only
 *   (ibh_prefix_has_one_peer()). With other settings, we take such a subnet to be that of an ordinary cable. */
static const char *why_no_room(const IbhNic *nic, int family)
{
    gboolean expects_gateway = nic->settings.manage == IBH_MANAGE_YES && nic->settings.gateway == IBH_GATEWAY_AUTO;
    const char *why = "none of its addresses has a subnet, and no route leads to other hosts through this NIC";

    IBH_EACH_POINTER (const IbhAddress, address, nic->served) {
        if (address->local.family != family || ibh_address_is_host(address))
            continue;
        if (!expects_gateway || !ibh_prefix_has_one_peer(&address->subnet))
            return NULL;
        why = "its subnets have room for one peer at most, and no route leads to other networks through this NIC";
    }
    return why;
}

gboolean ibh_nic_programs_family(const IbhNic *nic, int family)
{
    IBH_EACH_POINTER (const IbhAddress, address, nic->programmed) {
        if (address->local.family == family)
            return TRUE;
    }
    return FALSE;
}

/* TRUE if a served address of this family has a subnet with room for one peer only. gateway=peer names this peer. */
static gboolean has_one_peer(const IbhNic *nic, int family)
{
    IBH_EACH_POINTER (const IbhAddress, address, nic->served) {
        if (address->local.family == family && ibh_prefix_has_one_peer(&address->subnet))
            return TRUE;
    }
    return FALSE;
}

/* TRUE if the NIC is up, we want rules of this family for the NIC (ibh_nic_programs_family()), and gateway= names a
 * gateway of this family. It does not matter here whether the NIC can reach that gateway. gateway=peer names no gateway
 * of this family if only the other family has a subnet with one peer: on a routed IPv4 rail, for example, a router's
 * advertisement may add an IPv6 address of a /64. */
static gboolean has_named_gateway(const IbhSubject *about)
{
    const IbhNic *nic = about->nic;
    const IbhSettings *settings = &nic->settings;
    const int family = about->family, other_family = family == AF_INET ? AF_INET6 : AF_INET;
    const gboolean is_edge = settings->gateway == IBH_GATEWAY_FIRST || settings->gateway == IBH_GATEWAY_LAST;
    const gboolean is_address = settings->gateway == IBH_GATEWAY_ADDRESS && settings->gateway_ip.family == family;
    const gboolean is_peer =
        settings->gateway == IBH_GATEWAY_PEER && (has_one_peer(nic, family) || !has_one_peer(nic, other_family));

    return nic->link->flags & IFF_UP && ibh_nic_programs_family(nic, family) &&
           (is_address || is_peer || (is_edge && family == AF_INET));
}

/* TRUE if the gateway that gateway= names is an address of this host: for example, this host is the router, and has
 * the same configuration file as the hosts around it. */
static gboolean is_gateway_itself(const IbhSubject *about)
{
    IbhIp gateway;

    return has_named_gateway(about) && ibh_nic_find_gateway(about->nic, about->family, &gateway) &&
           ibh_rails_is_own_gateway(about->check->rails, about->nic, &gateway);
}

/* Returns why the rail lacks a gateway that it needs in this family; NULL if it lacks none. The first case that applies
 * decides, and if none applies, why_no_room():
 * - The rail is down, or we want no rules of this family for the rail: NULL.
 * - gateway= should name a gateway (has_named_gateway()), but names none that the NIC can reach: a reason.
 * - The rail should have a default route of its own, so it has a gateway: NULL.
 * - A remote= of this family has no via: a reason.
 * - This host is itself the gateway that gateway= names: NULL.
 * - A route leads further; or the NIC has a finding address-unusable, whose cause may be the missing subnet that
 *   why_no_room() would report: NULL. */
static const char *why_no_gateway(const IbhSubject *about)
{
    const IbhCheck *check = about->check;
    const IbhNic *nic = about->nic;
    const IbhSettings *settings = &nic->settings;
    const int family = about->family;
    IbhRoute by_default;
    IbhIp gateway;

    if (!(nic->link->flags & IFF_UP) || !ibh_nic_programs_family(nic, family))
        return NULL;
    if (has_named_gateway(about) && !ibh_nic_find_gateway(nic, family, &gateway))
        return "gateway= does not name a host in one of its subnets";
    if (ibh_want_default(check->rails, nic, family, &by_default))
        return NULL;
    IBH_EACH (const IbhRemote, remote, settings->remote) {
        if (remote->prefix.ip.family == family && remote->via.family == AF_UNSPEC)
            return "remote= without \"via\" needs a default route of the rail, and the rail has none";
    }
    if (is_gateway_itself(about))
        return NULL;
    if (leads_further(check, nic, family) ||
        ibh_findings_find(check->findings, "address-unusable", nic->link->name, NULL))
        return NULL;
    return why_no_room(nic, family);
}

/* If why_no_gateway() has a reason, ibh_gateway_is_missing() reports that reason instead. */
gboolean ibh_gateway_is_this_host(IbhSubject *about)
{
    return is_gateway_itself(about) && !why_no_gateway(about);
}

gboolean ibh_gateway_is_missing(IbhSubject *about)
{
    const char *why = why_no_gateway(about);

    ibh_subject_say(about, "why=%s", why ? why : "");
    return why != NULL;
}

/* Names the gateway of the packet's route if this gateway is in one of the rail's subnets. Otherwise the rail cannot
 * use the gateway, and the advice says ROUTER instead. */
IbhRemedy ibh_question_advise_gateway(const IbhCheck *check, const IbhQuestion *question)
{
    const IbhRoute *route = question->got.route;
    const IbhNic *nic = question->nic;
    const gboolean is_in_subnet = route->gateway.family && ibh_nic_address_near(nic, &route->gateway);
    const char *iface = nic->link->name;
    char ip[IBH_IP_STRLEN] = "ROUTER", prefix[IBH_PREFIX_STRLEN];
    g_autofree char *setting = NULL;

    if (is_in_subnet)
        ibh_ip_format(&route->gateway, ip);
    setting = route->dst.length ? g_strdup_printf("remote=%s via %s", ibh_prefix_format(&route->dst, prefix), ip)
                                : g_strconcat("gateway=", ip, NULL);
    return ibh_remedy_advice("packets leave through %s; if the answers come in through %s, its rp_filter=1 "
                             "(arp=strict) drops the answers: set %s for %s in the configuration%s, or arp=auto",
                             ibh_check_link_name(check, route->ifindex), iface, setting, iface,
                             is_in_subnet ? "" : ", with a ROUTER in one of its subnets");
}

/* Sets words and severity of the subject, and the question's owner, for a packet that leaves through another NIC. If
 * rp_filter drops the answers, the severity is warning, and the remedy is set, too; if not, the severity is info. */
static void judge_way(IbhSubject *about, IbhQuestion *question)
{
    const IbhCheck *check = about->check;
    const gboolean loses_answers = ibh_question_loses_answers(check, question);
    const IbhNic *through = ibh_rails_nic(check->rails, question->got.route->ifindex);
    g_autofree char *way = NULL, *why = NULL, *says = NULL;

    question->owner.route = question->got.route;
    way = ibh_question_way_text(check, question);
    why = ibh_owner_text(check->rails->snapshot, &question->owner);
    /* `says` is the rail's text (IbhFinding.says). With severity info, the text is an exception in the rail's line of
     * the report, and the rail gets this text only if the route, or its first next hop, leads through a candidate. */
    says = loses_answers              ? g_strdup_printf("%s: %s", way, why)
           : through && through->rank ? ibh_question_exception_text(check, question)
                                      : NULL;
    ibh_subject_say(about, "way=%s\nwhy=%s\nsays=%s", way, why, says ? says : "");
    about->severity = loses_answers ? IBH_WARNING : IBH_INFO;
    if (loses_answers) {
        IbhRemedy remedy = ibh_question_advise_gateway(check, question);
        g_autofree char *advice = remedy.advice;

        ibh_subject_say(about, "advice=%s", advice);
        about->remedy = "{advice}";
    }
}

/* TRUE if the rail's packets to other networks leave through another NIC: by the main table, or by a foreign rule, such
 * as a VPN's, that comes before the rule for main or before the rail's own default. To find out, walks one packet to a
 * host that no rule or route names (the piece /0). The packet is from the rail's first address for which
 * ibh_others_lead_out() is FALSE: foreign rules route what the skipped addresses send. FALSE without a walk if:
 * - we want no rules of this family for the rail;
 * - another row has a finding about the gateway;
 * - the rail should have a default of its own, and --apply has something to do, which may change the way;
 * - the rail should have a default of its own via gateway=, about which questions.c asks. */
gboolean ibh_rail_leaves_through_other(IbhSubject *about)
{
    const IbhCheck *check = about->check;
    const IbhPrefix world = ibh_prefix_of_world(about->family);
    IbhQuestion beyond;
    IbhRoute by_default;
    IbhIp gateway;

    if (!ibh_nic_programs_family(about->nic, about->family) || why_no_gateway(about) || is_gateway_itself(about))
        return FALSE;
    if ((check->plan->len || ibh_nic_find_gateway(about->nic, about->family, &gateway)) &&
        ibh_want_default(check->rails, about->nic, about->family, &by_default))
        return FALSE;
    IBH_EACH_POINTER (const IbhAddress, address, about->nic->programmed) {
        if (address->local.family != about->family || ibh_others_lead_out(check->rails, address))
            continue;
        if (!ibh_check_walk_into(check, about->nic, &address->local, &world, &beyond) || beyond.piece.length ||
            !ibh_question_goes_astray(&beyond))
            return FALSE;
        judge_way(about, &beyond);
        return TRUE;
    }
    return FALSE;
}

#define GATEWAYS_NAMED 4 /* we name at most this many for one address: a routing protocol may use hundreds */

/* TRUE if the subject's route, a route of main, sends packets from the subject's address to a network behind a gateway
 * of another rail. Defaults, multipath and cached routes do not count. Networks in the subnets or remote= of the
 * subject's rail do not count, either, because --check asks about them anyway. Also FALSE if a finding about the
 * subject's rail has named the gateway already, or if GATEWAYS_NAMED gateways have been named for the address. */
gboolean ibh_route_leads_through_sibling(IbhSubject *about)
{
    const IbhCheck *check = about->check;
    const IbhRoute *route = about->route;
    const IbhNic *nic = about->nic, *through = ibh_rails_nic(check->rails, route->ifindex);
    IbhQuestion question = {.kind = IBH_ASK_LEAVES, .nic = nic};
    g_autofree char *owner = NULL;
    char ip[IBH_IP_STRLEN];
    IbhPiece *end;
    gboolean is_asked = ibh_nic_find_remote(nic, &route->dst) != NULL;

    if (!through || through == nic || through->status != IBH_NIC_RAIL || route->hops || !route->dst.length ||
        route->cached)
        return FALSE;
    IBH_EACH_POINTER (const IbhAddress, address, nic->addresses)
        is_asked |= ibh_prefix_covers(&address->subnet, &route->dst);
    if (is_asked)
        return FALSE;
    owner = g_strdup_printf("gateway %s of %s", ibh_ip_format(&route->gateway, ip), through->link->name);
    if (ibh_findings_find(check->findings, "gateway-missing", nic->link->name, owner) || about->named >= GATEWAYS_NAMED)
        return FALSE;
    /* Other rules or routes may decide in some pieces of the network: look for a piece in which this route decides. */
    for (IbhPiece *piece = ibh_check_pieces_inside(check, &route->dst, &end); piece < end; piece++) {
        question.piece = piece->prefix;
        question.lookup = (IbhLookup){.from = *about->ip, .to = piece->host};
        question.got = ibh_fib_walk(check->actual, &question.lookup);
        if (!question.got.route || ibh_route_compare(question.got.route, route) != 0)
            continue;
        ibh_subject_say(about, "owner=%s", owner);
        judge_way(about, &question);
        about->named++;
        return TRUE;
    }
    return FALSE;
}
