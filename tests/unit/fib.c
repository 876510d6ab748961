/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fib.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

guint64 fib_bit(int ifindex)
{
    return G_GUINT64_CONSTANT(1) << (ifindex & 63);
}

/* `from 0.0.0.0/32` */
static gboolean is_unspecified(const IbhPrefix *from)
{
    static const guint8 none[16];

    return from->length > 0 && from->length == ibh_ip_bits(&from->ip) &&
           memcmp(from->ip.bytes, none, ibh_ip_bits(&from->ip) / 8) == 0;
}

static gboolean has_prefixes(const IbhRule *rule, const IbhIp *from, const IbhIp *to)
{
    if (rule->to.length && to && !ibh_prefix_contains(&rule->to, to))
        return FALSE;
    if (is_unspecified(&rule->from)) /* what has no source yet */
        return !from;
    return !rule->from.length || (from && ibh_prefix_contains(&rule->from, from));
}

/* What is sent from here, with no mark, bound to no NIC. */
gboolean fib_rule_matches(const IbhRule *rule, int family, const IbhIp *from, const IbhIp *to)
{
    guint other = rule->selectors & ~(guint)(IBH_SELECT_NOT | IBH_SELECT_TO);

    if (rule->family != family || (rule->selectors & IBH_SELECT_TO && !rule->to.length))
        return FALSE;
    if (rule->selectors & IBH_SELECT_NOT)
        return other || !to || !has_prefixes(rule, from, to);
    return !other && has_prefixes(rule, from, to);
}

/* The rule that a goto leads to: the first one of that priority. Without one it is as if it were not there. */
static guint follow(const IbhSnapshot *world, guint at)
{
    const IbhRule *rule = &g_array_index(world->rules, IbhRule, at);

    for (guint i = at + 1; i < world->rules->len; i++) {
        const IbhRule *other = &g_array_index(world->rules, IbhRule, i);

        if (other->family == rule->family && other->priority == rule->target)
            return i;
    }
    return at + 1;
}

/* The routes are sorted by table: the first one that does not come before it. */
static guint lower_bound(const GArray *routes, guint32 table)
{
    guint low = 0, high = routes->len;

    while (low < high) {
        guint middle = low + (high - low) / 2;

        if (g_array_index(routes, IbhRoute, middle).table < table)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const IbhRoute *route_at(const IbhSnapshot *world, guint32 table, guint at)
{
    const IbhRoute *route = at < world->routes->len ? &g_array_index(world->routes, IbhRoute, at) : NULL;

    return route && route->table == table ? route : NULL;
}

const IbhRoute *fib_first(const IbhSnapshot *world, guint32 table)
{
    return route_at(world, table, lower_bound(world->routes, table));
}

const IbhRoute *fib_next(const IbhSnapshot *world, const IbhRoute *route)
{
    return route_at(world, route->table, (guint)(route - (const IbhRoute *)(gpointer)world->routes->data) + 1);
}

/* A dead nexthop is as good as no route. Local routes outlive the link going down. */
static gboolean is_alive(const IbhSnapshot *world, const IbhRoute *route)
{
    const IbhLink *link;

    if (!route->ifindex || route->type == RTN_LOCAL || route->hops) /* with all nexthops dead, it is gone */
        return TRUE;
    link = ibh_snapshot_link(world, route->ifindex);
    return link && (link->flags & IFF_UP);
}

/* Longest prefixes come first, so the first that matches is the answer. */
static const IbhRoute *find_route(const IbhSnapshot *world, guint32 table, const IbhIp *to)
{
    for (const IbhRoute *route = fib_first(world, table); route; route = fib_next(world, route)) {
        /* One for a TOS or a source alone is for none of these packets. */
        if (!route->special && ibh_prefix_contains(&route->dst, to) && is_alive(world, route))
            return route;
    }
    return NULL;
}

static FibKind kind_of(const IbhRoute *route)
{
    switch (route->type) {
    case RTN_LOCAL:
        return FIB_LOCAL;
    case RTN_BROADCAST:
        return FIB_BROADCAST;
    case RTN_UNICAST:
        return FIB_DEVICE;
    default:
        return FIB_UNREACHABLE;
    }
}

static void find_devices(const IbhRoute *route, FibAnswer *answer)
{
    if (!route->hops) {
        answer->ifindex = route->ifindex;
        answer->devices |= fib_bit(route->ifindex);
    }
    IBH_EACH_HOP (hop, route) {
        if (hop->dead)
            continue;
        answer->ifindex = answer->devices ? answer->ifindex : hop->ifindex;
        answer->devices |= fib_bit(hop->ifindex);
    }
}

/* Looks into the rule's table; FALSE: go on with the next rule. */
static gboolean ask_table(const IbhSnapshot *world, const IbhRule *rule, const IbhIp *to, FibAnswer *answer)
{
    const IbhRoute *route = find_route(world, rule->table, to);
    FibKind kind;

    if (!route || route->type == RTN_THROW)
        return FALSE;
    kind = kind_of(route);
    /* Error routes answer at once: what is suppressed is a result, and an error is none. */
    if (kind != FIB_UNREACHABLE && (gint64)route->dst.length <= rule->suppress_prefixlength)
        return FALSE;
    /* suppress_ifgroup does nothing here: no link has the group of the mark. */
    answer->kind = kind;
    answer->route = route;
    if (kind != FIB_UNREACHABLE)
        find_devices(route, answer);
    return TRUE;
}

FibAnswer fib_lookup(const IbhSnapshot *world, const IbhIp *from, const IbhIp *to)
{
    FibAnswer answer = {.kind = FIB_UNREACHABLE};

    for (guint i = 0, next; i < world->rules->len; i = next) {
        const IbhRule *rule = &g_array_index(world->rules, IbhRule, i);

        next = i + 1;
        if (!fib_rule_matches(rule, to->family, from, to))
            continue;
        if (rule->action == FR_ACT_GOTO) {
            next = follow(world, i);
            answer.jump = answer.jump ? answer.jump : rule;
            continue;
        }
        answer.rule = rule;
        if (rule->action == FR_ACT_UNREACHABLE || rule->action == FR_ACT_BLACKHOLE || rule->action == FR_ACT_PROHIBIT)
            break;
        /* An l3mdev rule leads to the table of the packet's VRF, and this packet is in none. */
        if (rule->action == FR_ACT_TO_TBL && !rule->l3mdev && ask_table(world, rule, to, &answer))
            break;
        answer.rule = NULL;
    }
    return answer;
}

char *fib_describe(const IbhSnapshot *world, const FibAnswer *answer)
{
    static const char *const kinds[] = {"unreachable", "local", "broadcast", "dev"};
    const IbhLink *link = answer->ifindex ? ibh_snapshot_link(world, answer->ifindex) : NULL;
    char dst[IBH_PREFIX_STRLEN];
    GString *text = g_string_new(kinds[answer->kind]);

    if (link)
        g_string_append_printf(text, " %s", link->name);
    if (answer->rule)
        g_string_append_printf(text, " by rule %u lookup %u", answer->rule->priority, answer->rule->table);
    if (answer->route)
        g_string_append_printf(text, ", route %s metric %u", ibh_prefix_format(&answer->route->dst, dst),
                               answer->route->metric);
    return g_string_free(text, FALSE);
}
