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

/* Why it needs a gateway that it has not; NULL: it has it, or needs none. */
static const char *why_missing(const IbhCheck *check, const IbhNic *nic, int family)
{
    if (is_named_in_vain(check, nic, family))
        return "gateway= does not name another host in one of its subnets";
    if (ibh_nic_has_default(check->rails, nic, family))
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

/* Without a default of its own, main decides what it sends beyond its subnets, and through which NIC. */
static void note_way_beyond(const IbhCheck *check, const IbhNic *nic, int family)
{
    const IbhPiece *beyond = find_beyond(check, family);

    IBH_EACH_POINTER (const IbhAddress, address, nic->programmed) {
        IbhQuestion question = {.kind = IBH_ASK_LEAVES, .nic = nic};
        g_autofree char *way = NULL, *why = NULL;
        const IbhNic *through;
        IbhFinding *note;

        if (!beyond || address->local.family != family || ibh_others_lead_out(check->rails, address))
            continue;
        question.piece = beyond->prefix;
        question.lookup = (IbhLookup){.from = address->local, .to = beyond->host};
        question.got = ibh_fib_walk(check->actual, &question.lookup);
        question.owner.route = question.got.route;
        if (!ibh_question_goes_astray(&question))
            return;
        way = ibh_question_way_text(check, &question, &question.got);
        why = ibh_owner_text(check->rails->snapshot, &question.owner);
        note =
            ibh_check_tell(check, nic, "gateway-missing", why,
                           ibh_remedy_advice("nothing has to be done; gateway= gives each rail a gateway of its own"),
                           "%s: %s", way, why);
        note->severity = IBH_INFO;
        through = ibh_rails_nic(check->rails, question.got.route->ifindex);
        if (through && through->rank)
            ibh_finding_says(note, nic->link->name, ibh_question_exception_text(check, &question));
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

        if (why)
            ibh_check_tell(check, nic, "gateway-missing", NULL, (IbhRemedy){0},
                           "the main table decides how traffic beyond its subnets leaves: %s", why);
        else if (ibh_nic_programs_family(nic, *family) && !ibh_nic_has_default(check->rails, nic, *family))
            note_way_beyond(check, nic, *family);
    }
}
