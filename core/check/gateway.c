/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gateway= and remote= that cannot be used, and rails that reach no other host without a gateway.
 */
#include "check/check.h"

#include "plan/want.h"

#include <linux/rtnetlink.h>
#include <sys/socket.h>

static gboolean leads_further(const IbhCheck *check, const IbhNic *nic, int family)
{
    IBH_EACH_ROUTE (route, check) {
        const IbhIp *to = &route->dst.ip;

        if (route->family != family || route->ifindex != nic->link->ifindex || route->type != RTN_UNICAST ||
            ibh_nic_serves_subnet(nic, &route->dst) || ibh_rails_holder(check->rails, to))
            continue;
        if (!route->dst.length || (ibh_ip_is_unicast(to) && !ibh_ip_is_link_local(to)))
            return TRUE;
    }
    return FALSE;
}

/* A cable's two ends, or single addresses: without a route by this NIC it reaches one other host, or none. NULL: it
 * reaches more. */
static const char *why_no_room(const IbhNic *nic, int family)
{
    gboolean may_have_gateway = nic->settings.manage == IBH_MANAGE_YES && nic->settings.gateway == IBH_GATEWAY_AUTO;

    IBH_EACH_POINTER (const IbhAddress, address, nic->served) {
        if (address->local.family == family && !ibh_address_is_host(address))
            return may_have_gateway && ibh_prefix_has_one_peer(&address->subnet)
                       ? "its subnets have room for one peer at most, and no route leads further through this NIC"
                       : NULL;
    }
    return "none of its addresses has a subnet, and no route leads to other hosts through this NIC";
}

/* gateway= asks for one in this family, and none is another host of its subnets. */
static gboolean is_named_in_vain(const IbhCheck *check, const IbhNic *nic, int family)
{
    const IbhSettings *settings = &nic->settings;
    gboolean named =
        settings->gateway == IBH_GATEWAY_ADDRESS
            ? settings->gateway_ip.family == family
            : settings->gateway == IBH_GATEWAY_PEER || (settings->gateway > IBH_GATEWAY_PEER && family == AF_INET);
    IbhIp gateway;

    return named && (!ibh_nic_find_gateway(nic, family, &gateway) || ibh_rails_holder(check->rails, &gateway));
}

/* A prefix of remote= goes via the rail's own gateway. */
static gboolean needs_own_gateway(const IbhNic *nic, int family)
{
    IBH_EACH (const IbhRemote, remote, nic->settings.remote) {
        if (remote->prefix.ip.family == family && remote->via.family == AF_UNSPEC)
            return TRUE;
    }
    return FALSE;
}

gboolean ibh_nic_programs_family(const IbhNic *nic, int family)
{
    IBH_EACH_POINTER (const IbhAddress, address, nic->programmed) {
        if (address->local.family == family)
            return TRUE;
    }
    return FALSE;
}

/* Why it needs a gateway that it has not; NULL: it has it, or needs none. */
static const char *why_missing(const IbhCheck *check, const IbhNic *nic, int family)
{
    IbhRoute route;

    if (is_named_in_vain(check, nic, family))
        return "gateway= does not name another host in one of its subnets";
    if (ibh_want_default(check->rails, nic, family, &route))
        return NULL;
    if (needs_own_gateway(nic, family))
        return "remote= without via needs a default route of the rail, and the rail has none";
    return leads_further(check, nic, family) ||
                   ibh_findings_find(check->findings, "address-unusable", nic->link->name, NULL)
               ? NULL
               : why_no_room(nic, family);
}

/* A host beyond all that rules and routes name; NULL: only single networks are there. */
static const IbhPiece *find_beyond(const IbhCheck *check, int family)
{
    const IbhPrefix world = ibh_prefix_of_world(family);
    IbhPiece *end, *first = ibh_check_pieces_inside(check, &world, &end);

    return first < end && !first->prefix.length ? first : NULL;
}

IbhRemedy ibh_question_advise_gateway(const IbhCheck *check, const IbhQuestion *question)
{
    const IbhRoute *route = question->got.route;
    const char *iface = question->nic->link->name, *other = ibh_check_link_name(check, route->ifindex);
    char ip[IBH_IP_STRLEN], prefix[IBH_PREFIX_STRLEN];

    ibh_ip_format(&route->gateway, ip);
    if (!route->dst.length)
        return ibh_remedy_advice("answers come in through %s, and its rp_filter=1 (arp=strict) drops what its own "
                                 "packets would reach through %s: gateway=%s for %s in the configuration, or arp=auto",
                                 iface, other, ip, iface);
    return ibh_remedy_advice("answers come in through %s, and its rp_filter=1 (arp=strict) drops what its own packets "
                             "would reach through %s: remote=%s via %s for %s in the configuration, or arp=auto",
                             iface, other, ibh_prefix_format(&route->dst, prefix), ip, iface);
}

/* Main sends what it says there through another NIC than the rail's: right, unless the answers are dropped. */
static void note_way(const IbhCheck *check, IbhQuestion *question, const char *owner, const char *setting)
{
    const gboolean in_vain = ibh_question_is_answered_in_vain(check, question);
    const IbhNic *through = ibh_rails_nic(check->rails, question->got.route->ifindex);
    g_autofree char *way = ibh_question_way_text(check, question),
                    *why = ibh_owner_text(check->rails->snapshot, &question->owner);
    IbhFinding *note = ibh_check_tell(check, question->nic, "gateway-missing", owner,
                                      in_vain ? ibh_question_advise_gateway(check, question)
                                              : ibh_remedy_advice("nothing has to be done; %s gives each rail a "
                                                                  "gateway of its own",
                                                                  setting),
                                      "%s: %s", way, why);

    note->severity = in_vain ? IBH_WARNING : IBH_INFO;
    if (through && through->rank)
        ibh_finding_says(note, question->nic->link->name, ibh_question_exception_text(check, question));
}

#define GATEWAYS_NAMED 4 /* of one rail: a routing protocol may have hundreds */

/* It is asked about elsewhere. */
static gboolean is_asked(const IbhNic *nic, const IbhPrefix *dst)
{
    return ibh_nic_address_near(nic, &dst->ip) || ibh_nic_find_remote(nic, dst);
}

/* What main's route decides of this address's packets. FALSE: nothing. */
static gboolean find_decided(const IbhCheck *check, const IbhRoute *route, const IbhAddress *address,
                             IbhQuestion *question)
{
    IbhPiece *end, *first = ibh_check_pieces_inside(check, &route->dst, &end);

    for (const IbhPiece *piece = first; piece < end; piece++) {
        question->piece = piece->prefix;
        question->lookup = (IbhLookup){.from = address->local, .to = piece->host};
        question->got = ibh_fib_walk(check->actual, &question->lookup);
        question->owner.route = question->got.route;
        if (question->got.route && ibh_route_compare(question->got.route, route) == 0)
            return TRUE;
    }
    return FALSE;
}

/* Networks behind a host of another rail's subnet. Those by one gateway are one note. */
static void note_ways_of_siblings(const IbhCheck *check, const IbhNic *nic, const IbhAddress *address)
{
    guint named = 0;

    IBH_EACH_ROUTE (route, check) {
        const IbhNic *by = ibh_rails_nic(check->rails, route->ifindex);
        IbhQuestion question = {.kind = IBH_ASK_LEAVES, .nic = nic};
        g_autofree char *owner = NULL;
        char ip[IBH_IP_STRLEN];

        if (route->table != IBH_TABLE_MAIN || route->family != address->local.family || !route->dst.length ||
            !route->gateway.family || route->cached || !by)
            continue;
        if (by == nic || by->status != IBH_NIC_RAIL || route->hops || is_asked(nic, &route->dst))
            continue;
        owner = g_strdup_printf("gateway %s of %s", ibh_ip_format(&route->gateway, ip), by->link->name);
        if (ibh_findings_find(check->findings, "gateway-missing", nic->link->name, owner) || named >= GATEWAYS_NAMED ||
            !find_decided(check, route, address, &question))
            continue;
        note_way(check, &question, owner, "remote=");
        named++;
    }
}

/* Without a default of its own, main decides what it sends beyond its subnets, and through which NIC. */
static void note_way_beyond(const IbhCheck *check, const IbhNic *nic, int family)
{
    const IbhPiece *beyond = find_beyond(check, family);

    IBH_EACH_POINTER (const IbhAddress, address, nic->programmed) {
        IbhQuestion question = {.kind = IBH_ASK_LEAVES, .nic = nic};
        g_autofree char *owner = NULL;

        if (!beyond || address->local.family != family || ibh_others_lead_out(check->rails, address))
            continue;
        question.piece = beyond->prefix;
        question.lookup = (IbhLookup){.from = address->local, .to = beyond->host};
        question.got = ibh_fib_walk(check->actual, &question.lookup);
        question.owner.route = question.got.route;
        if (!ibh_question_goes_astray(&question))
            return;
        owner = ibh_owner_text(check->rails->snapshot, &question.owner);
        note_way(check, &question, owner, "gateway=");
        return;
    }
}

void ibh_check_judge_gateway(const IbhCheck *check, const IbhNic *nic)
{
    static const int families[] = {AF_INET, AF_INET6};

    IBH_EACH_ROW (const int, family, families) {
        const char *why = (nic->link->flags & IFF_UP) && ibh_nic_programs_family(nic, *family)
                              ? why_missing(check, nic, *family)
                              : NULL;
        IbhRoute route;

        if (why)
            ibh_check_tell(check, nic, "gateway-missing", NULL, (IbhRemedy){0},
                           "the main table decides how traffic beyond its subnets leaves: %s", why);
        else if (ibh_nic_programs_family(nic, *family) && !ibh_want_default(check->rails, nic, *family, &route))
            note_way_beyond(check, nic, *family);
        IBH_EACH_POINTER (const IbhAddress, address, nic->programmed) {
            if (address->local.family == *family && ibh_nic_is_usable(nic))
                note_ways_of_siblings(check, nic, address);
        }
    }
}
