/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/judge.h"

#include <linux/rtnetlink.h>
#include <sys/socket.h>

static gboolean same_answer(const IbhTrace *a, const IbhTrace *b)
{
    if (a->refused || b->refused)
        return a->refused == b->refused;
    return a->route->type == b->route->type && a->route->ifindex == b->route->ifindex &&
           a->route->hops == b->route->hops && ibh_ip_equal(&a->route->gateway, &b->route->gateway);
}

/* The subnet of another rail inside this one's: the two ends of a cable, or prefix-differs. */
static gboolean is_connected(const IbhRails *rails, const IbhQuestion *question, const IbhRoute *route)
{
    const IbhNic *nic = ibh_rails_nic(rails, route->ifindex);
    const IbhAddress *near = ibh_find_address_near(rails, question->nic->link->ifindex, &question->lookup.to);

    return nic && !(near && near->subnet.length >= route->dst.length) && route->gateway.family == AF_UNSPEC &&
           ibh_serves_subnet(nic, &route->dst);
}

/* On the rail's own wire, unless main has something more exact inside its subnet. */
static gboolean is_on_the_wire(const IbhRails *rails, const IbhQuestion *question, const IbhTrace *ideal)
{
    const IbhAddress *near = ibh_find_address_near(rails, question->nic->link->ifindex, &question->lookup.to);

    return near && !(ideal->route && ideal->route->dst.length > near->subnet.length);
}

static IbhGrade grade_by_itself(const IbhJudging *judging, const IbhQuestion *question, const IbhTrace *got,
                                const IbhTrace *ideal)
{
    const IbhRails *rails = judging->check->rails;
    const IbhIp *gateway = &got->route->gateway, *to = &question->lookup.to;
    gboolean same = same_answer(got, ideal);

    if (question->theirs)
        return IBH_RIGHT;
    if (gateway->family == AF_UNSPEC)
        return same || is_on_the_wire(rails, question, ideal) ? IBH_RIGHT : IBH_DOUBTFUL;
    if (ibh_rails_holder(rails, gateway))
        return IBH_WRONG;
    if (!same && !ibh_ip_equal(gateway, to))
        return IBH_DOUBTFUL;
    return ibh_find_address_near(rails, question->nic->link->ifindex, to) && ibh_route_is_ours(got->route) ? IBH_NOTED
                                                                                                           : IBH_RIGHT;
}

/* A part of the subnet, or what is beyond; not all of it. */
static gboolean is_theirs_to_refuse(const IbhRails *rails, const IbhQuestion *question, const IbhTrace *got)
{
    const IbhAddress *near = ibh_find_address_near(rails, question->nic->link->ifindex, &question->lookup.to);

    return got->route && (!near || got->route->dst.length > near->subnet.length);
}

static IbhGrade grade_leaving(const IbhJudging *judging, const IbhQuestion *question, const IbhTrace *got,
                              const IbhTrace *ideal)
{
    const IbhRails *rails = judging->check->rails;
    gboolean others = question->theirs;
    const IbhNic *by;

    if (got->refused && (others ? is_theirs_to_refuse(rails, question, got) : ideal->refused && !ideal->route))
        return IBH_RIGHT;
    if (got->refused)
        return ideal->refused && !others ? IBH_DOUBTFUL : IBH_WRONG;
    if (got->route->type != RTN_UNICAST)
        return IBH_WRONG;
    by = ibh_rails_nic(rails, got->route->ifindex);
    if (ibh_route_leads_by(got->route, question->nic->link->ifindex))
        return grade_by_itself(judging, question, got, ideal);
    if (!same_answer(got, ideal) || (others && got->route->table != IBH_TABLE_MAIN))
        return IBH_WRONG;
    return got->route->hops || (by && by->status == IBH_NIC_RAIL && !is_connected(rails, question, got->route))
               ? IBH_DOUBTFUL
               : IBH_NOTED;
}

/* In a subnet of it, or by its gateway in its remote=. */
static gboolean reaches(const IbhRails *rails, int ifindex, const IbhIp *to)
{
    const IbhNic *nic = ibh_rails_nic(rails, ifindex);
    const IbhPrefix host = ibh_prefix(to, ibh_ip_bits(to));

    return ibh_find_address_near(rails, ifindex, to) ||
           (nic && ibh_is_routed(nic) && nic->settings.remote && ibh_prefixes_overlap(nic->settings.remote, &host));
}

/* Main is to have the subnet: any of its NICs will do. That it has none is its manager's choice. */
static IbhGrade grade_unbound(const IbhJudging *judging, const IbhQuestion *question, const IbhTrace *got,
                              const IbhTrace *ideal)
{
    const IbhRails *rails = judging->check->rails;
    const IbhIp *to = &question->lookup.to;
    const IbhAddress *near = ibh_find_address_near(rails, question->nic->link->ifindex, to);
    gboolean lacks = !ideal->route || !near || ideal->route->dst.length < near->subnet.length;

    if (lacks && !(ideal->refused && ideal->route) && !ideal->thrown)
        return IBH_NOTED;
    if (got->refused || ideal->refused || !ideal->route)
        return got->refused && ideal->refused ? IBH_DOUBTFUL : got->refused ? IBH_WRONG : IBH_RIGHT;
    if (same_answer(got, ideal) || got->route->hops ||
        (got->route->type == RTN_UNICAST && reaches(rails, got->route->ifindex, to)))
        return IBH_RIGHT;
    return IBH_DOUBTFUL;
}

IbhGrade ibh_grade(const IbhJudging *judging, const IbhQuestion *question, const IbhTrace *got)
{
    IbhTrace ideal;

    switch (question->kind) {
    case IBH_ASK_LEAVES:
        ideal = ibh_fib_walk(judging->ideal, &question->lookup);
        return grade_leaving(judging, question, got, &ideal);
    case IBH_ASK_UNBOUND:
        ideal = ibh_fib_walk(judging->ideal, &question->lookup);
        return grade_unbound(judging, question, got, &ideal);
    case IBH_ASK_LOCAL:
    case IBH_ASK_ARRIVES:
        return got->refused || got->route->type != RTN_LOCAL ? IBH_WRONG : IBH_RIGHT;
    }
    return IBH_RIGHT;
}
