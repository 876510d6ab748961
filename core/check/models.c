/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/check.h"

#include "plan/want.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

gboolean ibh_rule_is_expected(const IbhRule *rule)
{
    return ibh_rule_is_ours(rule) || rule->l3mdev || rule->priority >= IBH_PRIORITY_MAIN ||
           (rule->action == FR_ACT_TO_TBL && rule->table == IBH_TABLE_LOCAL);
}

/* The rules that the kernel makes on every host, and one rule that the kernel does not make: for IPv6, a rule for the
 * table default (IBH_TABLE_MAIN - 1). This table is normally empty, so the rule changes nothing. */
/* clang-format off: its versions disagree about the macro */
#define PLAIN(af, place, number)                                                                                       \
    {                                                                                                                  \
        .family = (af), .from.ip.family = (af), .priority = (place), .table = (number), .action = FR_ACT_TO_TBL,       \
        .suppress_prefixlength = -1, .suppress_ifgroup = -1                                                            \
    }
/* clang-format on */
#define PLAIN_OF(af)                                                                                                   \
    PLAIN(af, 0, IBH_TABLE_LOCAL), PLAIN(af, IBH_PRIORITY_MAIN, IBH_TABLE_MAIN), PLAIN(af, 32767, IBH_TABLE_MAIN - 1)

static const IbhRule plain[] = {PLAIN_OF(AF_INET), PLAIN_OF(AF_INET6)};

gboolean ibh_link_is_in_vrf(const IbhSnapshot *snapshot, const IbhLink *link)
{
    const IbhLink *master = link->master ? ibh_snapshot_link(snapshot, link->master) : NULL;

    return link->vrf || (master && master->vrf);
}

gboolean ibh_address_is_in_local(const IbhSnapshot *snapshot, const IbhAddress *address)
{
    const IbhLink *link = ibh_snapshot_link(snapshot, address->ifindex);

    if (address->tentative || address->failed || (link && ibh_link_is_in_vrf(snapshot, link)))
        return FALSE;
    return !link || address->local.family == AF_INET || (link->flags & IFF_UP);
}

GArray *ibh_snapshot_own_routes(const IbhSnapshot *snapshot)
{
    GArray *routes = IBH_NEW_ARRAY(IbhRoute);

    IBH_EACH (const IbhAddress, address, snapshot->addresses) {
        const IbhRoute route = {.family = address->local.family,
                                .table = IBH_TABLE_LOCAL,
                                .type = RTN_LOCAL,
                                .protocol = RTPROT_KERNEL,
                                .scope = RT_SCOPE_HOST,
                                .dst = ibh_prefix_of_host(&address->local),
                                .nexthops = 1,
                                .ifindex = address->ifindex};

        if (ibh_address_is_in_local(snapshot, address))
            g_array_append_val(routes, route);
    }
    return routes;
}

static void add_routes(IbhFib *fib, const GArray *routes, gboolean with_ours)
{
    IBH_EACH (const IbhRoute, route, routes) {
        if (with_ours || !ibh_route_is_ours(route))
            ibh_fib_add_route(fib, route);
    }
}

void ibh_fib_add_snapshot(IbhFib *fib, const IbhSnapshot *snapshot, gboolean with_ours)
{
    IBH_EACH (const IbhRule, rule, snapshot->rules) {
        if (with_ours || !ibh_rule_is_ours(rule))
            ibh_fib_add_rule(fib, rule);
    }
    add_routes(fib, snapshot->routes, with_ours);
}

/* TRUE for the routes that the model IDEAL takes over from the host: those of main and default that are not cached, and
 * AnyIP routes, except AnyIP routes to a single address. */
static gboolean is_ideal(const IbhRoute *route)
{
    if (route->table == IBH_TABLE_LOCAL)
        return route->type == RTN_LOCAL && route->protocol != RTPROT_KERNEL &&
               route->dst.length < ibh_ip_bits(&route->dst.ip);
    return !route->cached && (route->table == IBH_TABLE_MAIN || route->table == IBH_TABLE_MAIN - 1);
}

IbhFib *ibh_check_model_new(const IbhCheck *check, IbhModelKind kind)
{
    const IbhSnapshot *snapshot = check->rails->snapshot;
    IbhFib *fib = ibh_fib_new(snapshot);

    add_routes(fib, check->own, TRUE);
    if (kind != IBH_MODEL_IDEAL) {
        /* The routes of the facts come first, because the facts have whole tables in the kernel's order. Among
         * routes with one prefix and metric, the first counts (see IBH_EACH_ROUTE). */
        add_routes(fib, check->facts->routes, kind == IBH_MODEL_ACTUAL);
        ibh_fib_add_snapshot(fib, snapshot, kind == IBH_MODEL_ACTUAL);
    }
    if (kind == IBH_MODEL_ACTUAL)
        return fib;
    ibh_fib_regroup(fib);
    for (guint i = 0; kind == IBH_MODEL_IDEAL && i < G_N_ELEMENTS(plain); i++)
        ibh_fib_add_rule(fib, &plain[i]);
    /* IDEAL and REPAIRED have the rules and routes of main=spread that the host has now, not those that we want:
     * unbound traffic is right through any rail. */
    IBH_EACH (const IbhRule, rule, snapshot->rules) {
        if (ibh_rule_is_spread(rule))
            ibh_fib_add_rule(fib, rule);
    }
    IBH_EACH_ROUTE (route, check) {
        if (ibh_route_is_spread(route) || (kind == IBH_MODEL_IDEAL && is_ideal(route)))
            ibh_fib_add_route(fib, route);
    }
    IBH_EACH_POINTER (const IbhNic, nic, check->rails->nics) {
        IBH_EACH (const IbhRule, rule, nic->rules)
            ibh_fib_add_rule(fib, rule);
        add_routes(fib, nic->routes, TRUE);
    }
    return fib;
}

gboolean ibh_check_walk_into(const IbhCheck *check, const IbhNic *nic, const IbhIp *from, const IbhPrefix *prefix,
                             IbhQuestion *ret_question)
{
    IbhPiece *end, *first = ibh_check_pieces_inside(check, prefix, &end);

    if (first == end)
        return FALSE;
    *ret_question = (IbhQuestion){.kind = IBH_ASK_LEAVES, .nic = nic, .piece = first->prefix};
    ret_question->lookup = (IbhLookup){.from = *from, .to = first->host};
    ret_question->got = ibh_fib_walk(check->actual, &ret_question->lookup);
    return TRUE;
}

const char *ibh_check_link_name(const IbhCheck *check, int ifindex)
{
    const IbhLink *link = ibh_snapshot_link(check->rails->snapshot, ifindex);

    return link ? link->name : "no interface";
}
