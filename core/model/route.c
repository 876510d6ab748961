/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Routes: their nexthops and metrics, their order, and what they mean. */
#include "model/model.h"

#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

/* ---- pools ---- */

GHashTable *ibh_pool_new(void)
{
    return g_hash_table_new_full(g_bytes_hash, g_bytes_equal, (GDestroyNotify)g_bytes_unref, NULL);
}

gconstpointer ibh_pool_keep(GHashTable *pool, gconstpointer data, gsize size)
{
    g_autoptr(GBytes) bytes = g_bytes_new(data, size);

    if (!size)
        return NULL;
    if (!g_hash_table_contains(pool, bytes))
        g_hash_table_add(pool, g_bytes_ref(bytes));
    return g_bytes_get_data(g_hash_table_lookup(pool, bytes), NULL);
}

/* ---- metrics ---- */

/* ip(8)'s words for RTAX_*. We copy metrics as bytes, including those without a word here. */
static const char *const metric_words[] = {
    [RTAX_MTU] = "mtu",           [RTAX_WINDOW] = "window",
    [RTAX_RTT] = "rtt",           [RTAX_RTTVAR] = "rttvar",
    [RTAX_SSTHRESH] = "ssthresh", [RTAX_CWND] = "cwnd",
    [RTAX_ADVMSS] = "advmss",     [RTAX_REORDERING] = "reordering",
    [RTAX_HOPLIMIT] = "hoplimit", [RTAX_INITCWND] = "initcwnd",
    [RTAX_RTO_MIN] = "rto_min",   [RTAX_INITRWND] = "initrwnd",
    [RTAX_QUICKACK] = "quickack", [RTAX_FASTOPEN_NO_COOKIE] = "fastopen_no_cookie",
};

void ibh_route_set_metrics(IbhRoute *route, const IbhRoute *from)
{
    route->metrics = from->metrics;
    route->metrics_size = from->metrics_size;
}

#define FIRST_METRIC(route) ((gpointer)(guintptr)(route)->metrics) /* RTA_NEXT takes no const pointer */

guint32 ibh_route_metric(const IbhRoute *route, guint wanted)
{
    gint64 left = route->metrics_size;
    guint32 number = 0;

    for (struct rtattr *metric = FIRST_METRIC(route); RTA_OK(metric, left); metric = RTA_NEXT(metric, left)) {
        if ((metric->rta_type & (guint)NLA_TYPE_MASK) == wanted && RTA_PAYLOAD(metric) == sizeof number)
            memcpy(&number, RTA_DATA(metric), sizeof number);
    }
    return number;
}

void ibh_route_put_metrics(GString *text, const IbhRoute *route)
{
    const guint32 locks = ibh_route_metric(route, RTAX_LOCK);
    gint64 left = route->metrics_size;

    for (struct rtattr *metric = FIRST_METRIC(route); RTA_OK(metric, left); metric = RTA_NEXT(metric, left)) {
        const guint type = metric->rta_type & (guint)NLA_TYPE_MASK;
        /* ip and NetworkManager always lock rto_min; neither accepts "lock" before the value. */
        const gboolean is_locked = type < 32 && type != RTAX_RTO_MIN && locks & (1u << type);
        const char *lock = is_locked ? " lock" : "";

        if (type == RTAX_CC_ALGO)
            g_string_append_printf(text, " congctl%s %.*s", lock, (int)RTA_PAYLOAD(metric), (char *)RTA_DATA(metric));
        else if (type == RTAX_FEATURES && ibh_route_metric(route, type) & RTAX_FEATURE_ECN)
            g_string_append(text, " features ecn");
        else if (type < G_N_ELEMENTS(metric_words) && metric_words[type])
            g_string_append_printf(text, " %s%s %u", metric_words[type], lock, ibh_route_metric(route, type));
    }
}

/* ---- routes ---- */

gboolean ibh_route_part(const IbhRoute *route, int ifindex, IbhRoute *ret_part)
{
    IbhRoute part = *route;

    if (route->hops) {
        part.hops = NULL;
        part.nexthops = 0;
        part.ifindex = ifindex;
    }
    IBH_EACH_HOP (hop, route) {
        if (hop->ifindex != ifindex || hop->dead)
            continue;
        part.nexthops++;
        part.gateway = hop->gateway;
        part.encapsulated |= hop->encapsulated;
    }
    *ret_part = part;
    /* Without `hops`, the route's own ifindex decides. With `hops`, part.ifindex always matches, so the number of
     * nexthops that the loop counted decides. */
    return part.ifindex == ifindex && part.nexthops;
}

int ibh_route_compare(const IbhRoute *a, const IbhRoute *b)
{
    IBH_COMPARE_MEMBER(a, b, family);
    IBH_COMPARE_MEMBER(a, b, table);
    IBH_COMPARE(ibh_prefix_compare(&a->dst, &b->dst), 0);
    IBH_COMPARE_MEMBER(a, b, metric);
    IBH_COMPARE_MEMBER(a, b, type);
    IBH_COMPARE_MEMBER(a, b, protocol);
    IBH_COMPARE_MEMBER(a, b, scope);
    IBH_COMPARE_MEMBER(a, b, ifindex);
    IBH_COMPARE(ibh_ip_compare(&a->gateway, &b->gateway), 0);
    IBH_COMPARE(ibh_ip_compare(&a->src, &b->src), 0);
    IBH_COMPARE_MEMBER(a, b, nexthops);
    IBH_COMPARE_MEMBER(a, b, onlink);
    IBH_COMPARE_MEMBER(a, b, special);
    IBH_COMPARE_MEMBER(a, b, encapsulated);
    IBH_COMPARE_MEMBER(a, b, cached);
    IBH_COMPARE_MEMBER(a, b, metrics_size);
    if (a->metrics_size)
        IBH_COMPARE(memcmp(a->metrics, b->metrics, a->metrics_size), 0);
    IBH_COMPARE(a->hops != NULL, b->hops != NULL);
    return a->hops ? memcmp(a->hops, b->hops, a->nexthops * sizeof *a->hops) : 0;
}

gboolean ibh_route_is_ours(const IbhRoute *route)
{
    return route->metric == IBH_MARK && route->protocol == RTPROT_KERNEL && route->type == RTN_UNICAST &&
           !route->special && !route->object;
}

gboolean ibh_route_is_spread(const IbhRoute *route)
{
    return ibh_route_is_ours(route) && route->table == IBH_TABLE_SPREAD;
}

gboolean ibh_route_is_advertised(const IbhRoute *route)
{
    return route->protocol == RTPROT_RA || (route->protocol == RTPROT_KERNEL && route->expires);
}

/* For IPv6, old kernels list their null entry as an unreachable route with metric 0xffffffff. The entry only says that
 * a table has no other route: the kernel goes on to the next rule. */
gboolean ibh_route_is_error(const IbhRoute *route)
{
    const gboolean is_null_entry = route->family == AF_INET6 && route->metric == G_MAXUINT32;

    return (route->type == RTN_UNREACHABLE || route->type == RTN_BLACKHOLE || route->type == RTN_PROHIBIT) &&
           !is_null_entry;
}

gboolean ibh_route_is_better(const IbhRoute *route, const IbhRoute *than)
{
    if (!than)
        return TRUE;
    return route->dst.length != than->dst.length ? route->dst.length > than->dst.length : route->metric < than->metric;
}

const IbhRoute *ibh_routes_find_best(const GArray *routes, int ifindex, const IbhPrefix *subnet)
{
    const IbhRoute *best = NULL;

    IBH_EACH (const IbhRoute, route, routes) {
        if ((!ifindex || route->ifindex == ifindex) && !route->special && ibh_prefix_equal(&route->dst, subnet) &&
            ibh_route_is_better(route, best))
            best = route;
    }
    return best;
}

gboolean ibh_route_same_place(const IbhRoute *a, const IbhRoute *b)
{
    return a->family == b->family && a->table == b->table && a->metric == b->metric &&
           ibh_prefix_equal(&a->dst, &b->dst);
}
