/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/rails.h"

#include "plan/fib.h"
#include "plan/want.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

struct IbhOthers {
    const IbhRails *rails;
    GPtrArray *rules; /* const IbhRule *: that lead a source to a table of theirs */
    IbhFib *fib;      /* the host without us; without such a rule it has no routes */
    GArray *cuts;     /* IbhPrefix, in order: each that a rule or a route names */
};

/* ---- the host without us ---- */

/* An event does not read all of main, nor tables that no source rule leads to. */
static gboolean is_read(GHashTable *tables, const IbhRoute *route)
{
    return !ibh_route_is_ours(route) &&
           (route->table == IBH_TABLE_MAIN ? route->protocol == RTPROT_KERNEL && route->type == RTN_UNICAST
                                           : g_hash_table_contains(tables, GUINT_TO_POINTER(route->table)));
}

IbhOthers *ibh_others_new(const IbhRails *rails)
{
    g_autoptr(GHashTable) tables = g_hash_table_new(NULL, NULL);
    IbhOthers *others = g_new0(IbhOthers, 1);

    others->rails = rails;
    others->rules = g_ptr_array_new();
    others->fib = ibh_fib_new(rails->snapshot);
    others->cuts = IBH_NEW_ARRAY(IbhPrefix);
    IBH_EACH (IbhRule, rule, rails->snapshot->rules) {
        if (ibh_rule_is_ours(rule))
            continue;
        ibh_fib_add_rule(others->fib, rule);
        if (rule->to.length)
            g_array_append_val(others->cuts, rule->to);
        if (!ibh_rule_is_of_a_source(rule))
            continue;
        g_ptr_array_add(others->rules, rule);
        g_hash_table_add(tables, GUINT_TO_POINTER(rule->table));
    }
    IBH_EACH (const IbhRoute, route, rails->snapshot->routes) {
        if (!others->rules->len || !is_read(tables, route))
            continue;
        ibh_fib_add_route(others->fib, route);
        g_array_append_val(others->cuts, route->dst);
    }
    g_array_sort(others->cuts, (GCompareFunc)ibh_prefix_compare);
    return others;
}

void ibh_others_free(IbhOthers *others)
{
    g_ptr_array_unref(others->rules);
    ibh_fib_free(others->fib);
    g_array_unref(others->cuts);
    g_free(others);
}

/* ---- who leads them ---- */

typedef struct {
    const IbhNic *nic;
    const IbhAddress *address;
    const IbhRule *rule; /* the first of theirs that decided */
} Asked;

/* In their table, an error is meant; and a route by a gateway is one to the subnet, not a default: IPoIB cannot resolve
 * an address of the own wire by a gateway. In main, what is more exact stays so with rules of ours, too. */
static gboolean is_routed_to(const IbhOthers *others, Asked *asked, const IbhPrefix *whole, const IbhIp *to)
{
    const IbhLookup packet = {.from = asked->address->local, .to = *to};
    const IbhTrace trace = ibh_fib_walk(others->fib, &packet);
    const IbhRoute *route = trace.route;
    const gboolean is_theirs = route && ibh_rule_is_of_a_source(trace.rule);

    if (is_theirs && !asked->rule)
        asked->rule = trace.rule;
    if (!is_theirs)
        return route && route->table == IBH_TABLE_MAIN && route->dst.length > whole->length;
    return ibh_route_is_error(route) ||
           (route->type == RTN_UNICAST && ibh_route_leads_by(route, asked->nic->link->ifindex) &&
            ((route->gateway.family == AF_UNSPEC && route->nexthops < 2) || route->dst.length >= whole->length));
}

static gboolean is_whole_routed(const IbhOthers *others, Asked *asked, const IbhPrefix *whole)
{
    IbhIp ip;

    if (whole->ip.family != asked->address->local.family)
        return TRUE;
    /* The rest of the world is in no prefix of main but its default. */
    if (ibh_prefixes_find_gap(others->cuts, 0, whole, &ip) && !is_routed_to(others, asked, whole, &ip))
        return FALSE;
    for (guint i = 0; i < others->cuts->len; i++) {
        const IbhPrefix *cut = &g_array_index(others->cuts, IbhPrefix, i);

        /* What lies inside it comes after it. */
        if (ibh_prefix_is_inside(cut, whole) && ibh_prefixes_find_gap(others->cuts, i + 1, cut, &ip) &&
            !is_routed_to(others, asked, whole, &ip))
            return FALSE;
    }
    return TRUE;
}

/* The subnets of the NIC, for an address that has none of its own. */
static gboolean are_subnets_routed(const IbhOthers *others, Asked *asked)
{
    if (!ibh_address_is_host(asked->address))
        return is_whole_routed(others, asked, &asked->address->subnet);
    IBH_EACH_POINTER (const IbhAddress, other, asked->nic->served) {
        if (!ibh_address_is_host(other) && !is_whole_routed(others, asked, &other->subnet))
            return FALSE;
    }
    return TRUE;
}

/* What remote= names, its siblings' subnets there, and the world beyond where gateway= names a gateway. */
static gboolean is_beyond_routed(const IbhOthers *others, Asked *asked)
{
    const IbhNic *nic = asked->nic;
    const int family = asked->address->local.family;
    const IbhPrefix world = ibh_prefix_of_world(family);
    IbhIp gateway;

    if (ibh_nic_find_gateway(nic, family, &gateway) && !is_whole_routed(others, asked, &world))
        return FALSE;
    IBH_EACH (const IbhRemote, remote, nic->settings.remote) {
        if (!is_whole_routed(others, asked, &remote->prefix))
            return FALSE;
    }
    IBH_EACH_POINTER (const IbhNic, other, others->rails->nics) {
        IBH_EACH_POINTER (const IbhAddress, address, other->served) {
            if (other != nic && other->rank && !ibh_address_is_host(address) &&
                ibh_nic_find_remote(nic, &address->subnet) && !is_whole_routed(others, asked, &address->subnet))
                return FALSE;
        }
    }
    return TRUE;
}

static gboolean is_named(const IbhOthers *others, const IbhAddress *address)
{
    IBH_EACH_POINTER (const IbhRule, rule, others->rules) {
        if (ibh_prefix_contains(&rule->from, &address->local))
            return TRUE;
    }
    return FALSE;
}

const IbhRule *ibh_others_route(const IbhOthers *others, const IbhNic *nic, const IbhAddress *address)
{
    Asked asked = {.nic = nic, .address = address};

    if (!is_named(others, address) || !are_subnets_routed(others, &asked) || !is_beyond_routed(others, &asked))
        return NULL;
    return asked.rule;
}

gboolean ibh_others_lead_out(const IbhOthers *others, const IbhAddress *address)
{
    IBH_EACH_POINTER (const IbhRule, rule, others->rules) {
        const IbhRoute *route = ibh_prefix_contains(&rule->from, &address->local) && !rule->to.length
                                    ? ibh_fib_default(others->fib, rule->table, rule->family)
                                    : NULL;

        /* A throw is no default, but the way to the next rule; no rule suppresses an error. */
        if (route && route->type != RTN_THROW && (rule->suppress_prefixlength < 0 || ibh_route_is_error(route)))
            return TRUE;
    }
    return FALSE;
}
