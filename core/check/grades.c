/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/check.h"
#include "plan/want.h"

#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

gboolean ibh_trace_is_same_way(const IbhTrace *a, const IbhTrace *b)
{
    if (a->refused || b->refused)
        return a->refused == b->refused;
    return a->route->type == b->route->type && a->route->ifindex == b->route->ifindex &&
           a->route->hops == b->route->hops && ibh_ip_equal(&a->route->gateway, &b->route->gateway);
}

gboolean ibh_route_has_same_metrics(const IbhRoute *a, const IbhRoute *b)
{
    return a->metrics_size == b->metrics_size && (!a->metrics_size || !memcmp(a->metrics, b->metrics, a->metrics_size));
}

gboolean ibh_trace_is_same_answer(const IbhTrace *a, const IbhTrace *b)
{
    return ibh_trace_is_same_way(a, b) && (a->refused || ibh_route_has_same_metrics(a->route, b->route));
}

typedef struct {
    const IbhRails *rails;
    const IbhQuestion *question;
    const IbhIp *to;
    const IbhTrace *got, *ideal;
    const IbhAddress *near; /* the NIC's own, in whose subnet the packet is sent; NULL: none */
} Answer;

/* The subnet of another rail inside this one's: the two ends of a cable, or prefix-differs. One that is in this one's
 * subnet, too, leads a part of it. */
static gboolean is_connected(const Answer *answer)
{
    const IbhRoute *route = answer->got->route;
    const IbhNic *nic = ibh_rails_nic(answer->rails, route->ifindex);

    return nic && route->gateway.family == AF_UNSPEC && ibh_nic_serves_subnet(nic, &route->dst) &&
           (ibh_prefix_has_one_peer(&route->dst) || !answer->near ||
            !ibh_nic_serves_subnet(nic, &answer->near->subnet));
}

static IbhGrade grade_by_itself(const Answer *answer)
{
    const IbhRoute *route = answer->got->route, *ideal = answer->ideal->route;
    gboolean same = ibh_trace_is_same_way(answer->got, answer->ideal);

    if (answer->question->theirs)
        return IBH_RIGHT;
    /* On the rail's own wire, unless main has something more exact inside its subnet. */
    if (route->gateway.family == AF_UNSPEC)
        return same || (answer->near && !(ideal && ideal->dst.length > answer->near->subnet.length)) ? IBH_RIGHT
                                                                                                     : IBH_DOUBTFUL;
    if (ibh_rails_holder(answer->rails, &route->gateway))
        return IBH_WRONG;
    if (!same && !ibh_ip_equal(&route->gateway, answer->to))
        return IBH_DOUBTFUL;
    return answer->near && ibh_route_is_ours(route) ? IBH_NOTED : IBH_RIGHT;
}

static IbhGrade grade_leaving(const Answer *answer)
{
    const IbhTrace *got = answer->got, *ideal = answer->ideal;
    const IbhAddress *near = answer->near;
    gboolean others = answer->question->theirs;
    const IbhNic *by;

    /* Where nothing leads, IPv4 sends what is bound to a NIC on its link. */
    if (got->refused && answer->question->lookup.bound && near && answer->to->family == AF_INET)
        return IBH_RIGHT;
    /* Others may refuse a part of the subnet, or what is beyond; not all of it. */
    if (got->refused && (others ? got->route && (!near || got->route->dst.length > near->subnet.length)
                                : ideal->refused && !ideal->route))
        return IBH_RIGHT;
    if (got->refused)
        return ideal->refused && !others ? IBH_DOUBTFUL : IBH_WRONG;
    if (got->route->type != RTN_UNICAST) /* a single address of lo may be a service's */
        return got->route->type == RTN_LOCAL && got->route->protocol == RTPROT_KERNEL &&
                       got->route->dst.length == ibh_ip_bits(answer->to)
                   ? IBH_NOTED
                   : IBH_WRONG;
    by = ibh_rails_nic(answer->rails, got->route->ifindex);
    if (ibh_route_leads_by(got->route, answer->question->nic->link->ifindex))
        return grade_by_itself(answer);
    if (!ibh_trace_is_same_way(got, ideal))
        return IBH_WRONG;
    /* Main, the table of all NICs, leads all that is on its link through another one. */
    if (answer->question->on_link && got->route->dst.length <= answer->question->on_link)
        return IBH_WRONG;
    if (!near && !answer->question->on_link) /* in remote= what main has more exactly wins, through any NIC */
        return IBH_NOTED;
    if (got->route->hops)
        return IBH_DOUBTFUL;
    /* By a gateway: somebody has meant that, for what is behind a host of the subnet. */
    return by && by->status == IBH_NIC_RAIL && !got->route->gateway.family && !is_connected(answer) ? IBH_DOUBTFUL
                                                                                                    : IBH_NOTED;
}

gboolean ibh_question_is_answered_in_vain(const IbhCheck *check, const IbhQuestion *question, const IbhTrace *got)
{
    const IbhSysctl key = IBH_SYSCTL_RP_FILTER;
    const IbhNic *by = got->refused ? NULL : ibh_rails_nic(check->rails, got->route->ifindex);

    if (question->kind != IBH_ASK_LEAVES || question->lookup.to.family != AF_INET || question->theirs || !by)
        return FALSE;
    return by != question->nic && by->status == IBH_NIC_RAIL && got->route->gateway.family && !got->route->hops &&
           ibh_sysctl_effective(check->rails->snapshot, key, question->nic->link->sysctl[key]) == 1;
}

/* In a subnet of it, or by its gateway in its remote=. */
static gboolean reaches(const IbhNic *nic, const IbhIp *to)
{
    const IbhPrefix host = ibh_prefix_of_host(to);

    return nic && (ibh_nic_address_near(nic, to) || (nic->status == IBH_NIC_RAIL && ibh_nic_find_remote(nic, &host)));
}

gboolean ibh_link_has_no_wire(const IbhRails *rails, const IbhLink *link)
{
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

/* Main is to have the subnet, and its first route to lead to a wire: best by a rail, and another NIC is noted. That it
 * has none is its manager's choice, and so is a default that refuses the rest of the world. What it has more exactly
 * stays so. */
static IbhGrade grade_unbound(const Answer *answer)
{
    const IbhTrace *got = answer->got, *ideal = answer->ideal;
    guint length = ideal->route ? ideal->route->dst.length : 0, own = answer->near->subnet.length;
    const IbhNic *nic;

    if ((length < own || !ideal->route) && !(ideal->refused && length) && !(ideal->thrown && ideal->thrown->dst.length))
        return IBH_NOTED;
    if (got->refused)
        return ideal->refused ? IBH_DOUBTFUL : IBH_WRONG;
    if ((length > own && ibh_trace_is_same_way(got, ideal)) || got->route->hops)
        return IBH_RIGHT;
    nic = ibh_rails_nic(answer->rails, got->route->ifindex);
    if (got->route->type != RTN_UNICAST || !reaches(nic, answer->to) || ibh_link_has_no_wire(answer->rails, nic->link))
        return IBH_DOUBTFUL;
    return nic->status == IBH_NIC_RAIL ? IBH_RIGHT : IBH_NOTED;
}

/* Where it goes; with which metrics is another question. */
static IbhGrade grade_way(const IbhCheck *check, const IbhQuestion *question, const IbhTrace *got)
{
    const IbhRails *rails = check->rails;
    const IbhIp *to = &question->lookup.to;
    IbhTrace ideal;
    Answer answer = {.rails = rails, .question = question, .to = to, .got = got, .ideal = &ideal};

    if (question->kind == IBH_ASK_LOCAL || question->kind == IBH_ASK_ARRIVES)
        return got->refused || got->route->type != RTN_LOCAL ? IBH_WRONG : IBH_RIGHT;
    ideal = ibh_fib_walk(check->ideal, &question->lookup);
    answer.near = ibh_nic_address_near(question->nic, to);
    return question->kind == IBH_ASK_UNBOUND ? grade_unbound(&answer) : grade_leaving(&answer);
}

/* The largest packet without the routes of others: what main gives the rail's own, else the NIC's. */
static guint32 find_full_mtu(const IbhCheck *check, const IbhQuestion *question)
{
    const IbhLink *link = question->nic->link;
    const IbhTrace ideal = ibh_fib_walk(check->ideal, &question->lookup);
    const guint32 given = ideal.route ? ibh_route_metric(ideal.route, RTAX_MTU) : 0;
    const gboolean six = question->lookup.to.family == AF_INET6;

    return given ? given : (guint32)(six && link->mtu6 ? link->mtu6 : link->mtu);
}

gboolean ibh_question_has_small_mtu(const IbhCheck *check, const IbhQuestion *question, const IbhTrace *got)
{
    const IbhRoute *route = got->route;
    const guint32 mtu = route ? ibh_route_metric(route, RTAX_MTU) : 0;

    if (question->kind != IBH_ASK_LEAVES || !question->nic || !mtu)
        return FALSE;
    if (ibh_route_is_ours(route) || route->cached) /* which the kernel has learned */
        return FALSE;
    return ibh_route_leads_by(route, question->nic->link->ifindex) && mtu < find_full_mtu(check, question) &&
           grade_way(check, question, got) == IBH_RIGHT;
}

/* A small MTU is its author's word about the wire, which no model knows: a note. In a rail's own table it is not
 * expected. */
IbhGrade ibh_question_grade(const IbhCheck *check, const IbhQuestion *question, const IbhTrace *got)
{
    IbhGrade grade;

    if (ibh_question_has_small_mtu(check, question, got))
        return ibh_rails_nic_by_table(check->rails, got->route->table) ? IBH_DOUBTFUL : IBH_NOTED;
    grade = grade_way(check, question, got);
    return grade == IBH_NOTED && ibh_question_is_answered_in_vain(check, question, got) ? IBH_DOUBTFUL : grade;
}
