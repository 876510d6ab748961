/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fake_kernel.h"

#include "case_text.h"
#include "fib.h"

#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/if_arp.h>
#include <linux/rtnetlink.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

gconstpointer fake_keep(gconstpointer data, gsize size)
{
    static GHashTable *pool;

    pool = pool ? pool : ibh_pool_new();
    return ibh_pool_keep(pool, data, size);
}

/* ---- errors ---- */

static gboolean refuse(GError **error, int code, const char *words)
{
    g_set_error_literal(error, FAKE_ERROR, code, words ? words : g_strerror(code));
    return FALSE;
}

/* ---- whose ---- */

gboolean fake_is_our_rule(const IbhRule *rule)
{
    static const guint8 none[16];
    gboolean one = rule->from.length > 0 && rule->from.length == ibh_ip_bits(&rule->from.ip);
    gboolean unbound = one && rule->family == AF_INET && memcmp(rule->from.ip.bytes, none, 4) == 0;

    if (rule->suppress_ifgroup != 0x6962686b || rule->action != FR_ACT_TO_TBL || rule->l3mdev || rule->realms || !one ||
        rule->selectors != (rule->to.length ? (guint)IBH_SELECT_TO : 0))
        return FALSE;
    if (unbound && rule->to.length && (rule->table == 940 || rule->table == 254))
        return TRUE;
    return rule->suppress_prefixlength == (rule->table == 254 ? (gint64)rule->to.length : -1);
}

gboolean fake_is_our_route(const IbhRoute *route)
{
    return route->metric == 0x6962686b && route->protocol == RTPROT_KERNEL;
}

/* ---- links ---- */

static gboolean has_any_address4(const FakeKernel *kernel, int ifindex)
{
    IBH_EACH (const IbhAddress, address, kernel->now->addresses) {
        if (address->ifindex == ifindex && address->local.family == AF_INET)
            return TRUE;
    }
    return FALSE;
}

IbhLink *fake_link(const FakeKernel *kernel, int ifindex)
{
    IBH_EACH (IbhLink, link, kernel->now->links) {
        if (link->ifindex == ifindex)
            return link;
    }
    return NULL;
}

int fake_ifindex(const FakeKernel *kernel, const char *name)
{
    const IbhLink *link = ibh_snapshot_link_by_name(kernel->now, name);

    if (!link)
        g_error("no such link in the world: %s", name);
    return link->ifindex;
}

gboolean fake_is_up(const FakeKernel *kernel, int ifindex)
{
    const IbhLink *link = fake_link(kernel, ifindex);

    return link && (link->flags & IFF_UP);
}

/* Indexes are never used twice, as in the kernel. */
int fake_next_ifindex(const FakeKernel *kernel)
{
    int next = 1;

    for (guint i = 0; i < kernel->now->links->len; i++)
        next = MAX(next, g_array_index(kernel->now->links, IbhLink, i).ifindex + 1);
    return next;
}

gboolean fake_link_add(FakeKernel *kernel, const IbhLink *link, GError **error)
{
    if (ibh_snapshot_link_by_name(kernel->now, link->name) || ibh_snapshot_link(kernel->now, link->ifindex))
        return refuse(error, EEXIST, NULL);
    g_array_append_val(kernel->now->links, *link);
    return TRUE;
}

/* ---- rules ---- */

/* Behind those of its own priority. */
void fake_rule_was(FakeKernel *kernel, const IbhRule *rule)
{
    guint at = 0;

    while (at < kernel->now->rules->len && g_array_index(kernel->now->rules, IbhRule, at).priority <= rule->priority)
        at++;
    g_array_insert_vals(kernel->now->rules, at, rule, 1);
}

/* With NLM_F_EXCL: refused only where the complete key is there already. */
gboolean fake_rule_add(FakeKernel *kernel, const IbhRule *rule, GError **error)
{
    for (guint i = 0; i < kernel->now->rules->len; i++) {
        if (ibh_rule_compare(&g_array_index(kernel->now->rules, IbhRule, i), rule) == 0)
            return refuse(error, EEXIST, NULL);
    }
    fake_rule_was(kernel, rule);
    return TRUE;
}

/* In a delete, what is absent matches anything: this is what makes deletes dangerous. */
static gboolean rule_delete_matches(const IbhRule *wanted, const IbhRule *rule)
{
    return rule->family == wanted->family && rule->priority == wanted->priority &&
           (!wanted->action || rule->action == wanted->action) && (!wanted->table || rule->table == wanted->table) &&
           (!wanted->from.length || ibh_prefix_equal(&rule->from, &wanted->from)) &&
           (!wanted->to.length || ibh_prefix_equal(&rule->to, &wanted->to)) &&
           (!wanted->protocol || rule->protocol == wanted->protocol) &&
           (wanted->suppress_prefixlength < 0 || rule->suppress_prefixlength == wanted->suppress_prefixlength) &&
           (wanted->suppress_ifgroup < 0 || rule->suppress_ifgroup == wanted->suppress_ifgroup) &&
           (!wanted->selectors || rule->selectors == wanted->selectors);
}

gboolean fake_rule_del(FakeKernel *kernel, const IbhRule *wanted, GError **error)
{
    for (guint i = 0; i < kernel->now->rules->len; i++) {
        const IbhRule *rule = &g_array_index(kernel->now->rules, IbhRule, i);

        if (!rule_delete_matches(wanted, rule))
            continue;
        if (ibh_rule_compare(rule, wanted) != 0)
            kernel->inexact++;
        g_array_remove_index(kernel->now->rules, i);
        return TRUE;
    }
    return refuse(error, ENOENT, NULL);
}

/* ---- routes ---- */

#define COMPARE(a, b)                                                                                                  \
    do {                                                                                                               \
        if ((a) != (b))                                                                                                \
            return (a) < (b) ? -1 : 1;                                                                                 \
    } while (0)

static int compare_places(const IbhRoute *a, const IbhRoute *b)
{
    int order;

    COMPARE(a->table, b->table);
    COMPARE(a->family, b->family);
    COMPARE(b->dst.length, a->dst.length); /* the longest first */
    if ((order = ibh_ip_compare(&a->dst.ip, &b->dst.ip)))
        return order;
    COMPARE(a->metric, b->metric);
    return 0;
}

/* Where a new route goes: behind all that share its place. */
static guint upper_bound(const GArray *routes, const IbhRoute *route)
{
    guint low = 0, high = routes->len;

    while (low < high) {
        guint middle = low + (high - low) / 2;

        if (compare_places(&g_array_index(routes, IbhRoute, middle), route) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Its lists are copied: those of a plan go with it. */
static IbhRoute own_copy(const IbhRoute *route)
{
    IbhRoute own = *route;

    own.hops = fake_keep(route->hops, route->hops ? route->nexthops * sizeof *route->hops : 0);
    own.metrics = fake_keep(route->metrics, route->metrics_size);
    return own;
}

void fake_route_was(FakeKernel *kernel, const IbhRoute *route)
{
    const IbhRoute own = own_copy(route);

    g_array_insert_vals(kernel->now->routes, upper_bound(kernel->now->routes, route), &own, 1);
}

/* The first route in the same place, -1: none. */
static int find_place(const FakeKernel *kernel, const IbhRoute *route)
{
    int found = -1;

    for (guint at = upper_bound(kernel->now->routes, route); at > 0; at--) {
        if (compare_places(&g_array_index(kernel->now->routes, IbhRoute, at - 1), route) != 0)
            break;
        found = (int)at - 1;
    }
    return found;
}

static gboolean is_local(const FakeKernel *kernel, const IbhIp *ip)
{
    for (guint i = kernel->now->routes->len; i > 0; i--) {
        const IbhRoute *route = &g_array_index(kernel->now->routes, IbhRoute, i - 1);

        if (route->table < IBH_TABLE_LOCAL)
            break;
        if (route->table == IBH_TABLE_LOCAL && route->type == RTN_LOCAL && ibh_prefix_contains(&route->dst, ip))
            return TRUE;
    }
    return FALSE;
}

/* On the same device, and in the route's own table or in main. */
static gboolean is_on_link(const FakeKernel *kernel, const IbhRoute *route)
{
    IBH_EACH (const IbhRoute, other, kernel->now->routes) {
        if ((other->table == route->table || other->table == IBH_TABLE_MAIN) && other->ifindex == route->ifindex &&
            other->type == RTN_UNICAST && other->gateway.family == AF_UNSPEC &&
            ibh_prefix_contains(&other->dst, &route->gateway))
            return TRUE;
    }
    return FALSE;
}

static gboolean is_link_local6(const IbhIp *ip)
{
    return ip->family == AF_INET6 && ip->bytes[0] == 0xfe && (ip->bytes[1] & 0xc0) == 0x80;
}

/* Other words than IPv4's; a router may have an address of the link alone; nobody is his own gateway; a tentative
 * address is not there yet. What the kernel accepts of a gateway with onlink depends on main: no plan relies on it. */
static gboolean route6_is_valid(const FakeKernel *kernel, const IbhRoute *route, GError **error)
{
    if (route->type != RTN_UNICAST)
        return TRUE;
    if (!fake_link(kernel, route->ifindex))
        return refuse(error, ENODEV, NULL);
    if (!fake_is_up(kernel, route->ifindex))
        return refuse(error, ENETDOWN, "Nexthop device is not up");
    if (route->src.family != AF_UNSPEC && !is_local(kernel, &route->src))
        return refuse(error, EINVAL, "Invalid source address");
    if (route->gateway.family == AF_UNSPEC || is_link_local6(&route->gateway))
        return TRUE;
    if (is_local(kernel, &route->gateway))
        return refuse(error, EINVAL, "Gateway can not be a local address");
    return is_on_link(kernel, route) || refuse(error, EHOSTUNREACH, NULL);
}

static gboolean route_is_valid(const FakeKernel *kernel, const IbhRoute *route, GError **error)
{
    if (route->family == AF_INET6)
        return route6_is_valid(kernel, route, error);
    IBH_EACH_HOP (hop, route) {
        IbhRoute one = *route;

        one.ifindex = hop->ifindex;
        one.gateway = hop->gateway;
        if (!fake_is_up(kernel, hop->ifindex))
            return refuse(error, ENETDOWN, "Device for nexthop is not up");
        if (hop->dead || (hop->gateway.family != AF_UNSPEC && !is_on_link(kernel, &one)))
            return refuse(error, ENETUNREACH, "Nexthop has invalid gateway");
    }
    if (route->ifindex && !fake_link(kernel, route->ifindex))
        return refuse(error, ENODEV, NULL);
    if (route->ifindex && route->type == RTN_UNICAST && !fake_is_up(kernel, route->ifindex))
        return refuse(error, ENETDOWN, "Device for nexthop is not up");
    if (route->type == RTN_UNICAST && !route->ifindex)
        return refuse(error, ENODEV, NULL);
    if (route->src.family != AF_UNSPEC && !is_local(kernel, &route->src))
        return refuse(error, EINVAL, "Invalid prefsrc address");
    if (route->gateway.family != AF_UNSPEC && !route->onlink && !is_on_link(kernel, route))
        return refuse(error, ENETUNREACH, "Nexthop has invalid gateway");
    return TRUE;
}

gboolean fake_route_add(FakeKernel *kernel, const IbhRoute *route, GError **error)
{
    if (!route_is_valid(kernel, route, error))
        return FALSE;
    if (find_place(kernel, route) >= 0)
        return refuse(error, EEXIST, NULL);
    fake_route_was(kernel, route);
    return TRUE;
}

static gboolean has_route(const FakeKernel *kernel, const IbhRoute *route)
{
    for (guint i = 0; i < kernel->now->routes->len; i++) {
        if (ibh_route_compare(&g_array_index(kernel->now->routes, IbhRoute, i), route) == 0)
            return TRUE;
    }
    return FALSE;
}

gboolean fake_route_append(FakeKernel *kernel, const IbhRoute *route, GError **error)
{
    if (!route_is_valid(kernel, route, error))
        return FALSE;
    if (has_route(kernel, route))
        return refuse(error, EEXIST, NULL);
    fake_route_was(kernel, route);
    return TRUE;
}

/* Takes the place of the first that is there, whatever it is; adds where there is none. */
gboolean fake_route_replace(FakeKernel *kernel, const IbhRoute *route, const IbhRoute *replaced, GError **error)
{
    int at = find_place(kernel, route);
    IbhRoute *there = at < 0 ? NULL : &g_array_index(kernel->now->routes, IbhRoute, (guint)at);

    if (!route_is_valid(kernel, route, error))
        return FALSE;
    if (replaced && (!there || ibh_route_compare(there, replaced) != 0))
        kernel->inexact++;
    if (there)
        *there = own_copy(route);
    else
        fake_route_was(kernel, route);
    return TRUE;
}

/* Dead or alive; which names only one NIC does not match. */
static gboolean same_hops(const IbhRoute *a, const IbhRoute *b)
{
    if (a->nexthops != b->nexthops || !a->hops != !b->hops)
        return !a->ifindex;
    for (guint i = 0; a->hops && i < a->nexthops; i++) {
        if (a->hops[i].ifindex != b->hops[i].ifindex)
            return FALSE;
    }
    return TRUE;
}

/* Here too what is absent (metric 0, no source, protocol or type) matches anything. IPv6 does not even look at the type
 * and the source. */
static gboolean route_delete_matches(const IbhRoute *wanted, const IbhRoute *route)
{
    gboolean whole = wanted->family == AF_INET;

    return route->family == wanted->family && route->table == wanted->table &&
           ibh_prefix_equal(&route->dst, &wanted->dst) && (!whole || !wanted->type || route->type == wanted->type) &&
           (!wanted->metric || route->metric == wanted->metric) &&
           (!wanted->protocol || route->protocol == wanted->protocol) &&
           (!whole || wanted->scope == RT_SCOPE_NOWHERE || route->scope == wanted->scope) &&
           (!wanted->ifindex || route->ifindex == wanted->ifindex) && same_hops(wanted, route) &&
           (wanted->gateway.family == AF_UNSPEC || ibh_ip_equal(&route->gateway, &wanted->gateway)) &&
           (!whole || wanted->src.family == AF_UNSPEC || ibh_ip_equal(&route->src, &wanted->src));
}

gboolean fake_route_del(FakeKernel *kernel, const IbhRoute *wanted, GError **error)
{
    for (guint i = 0; i < kernel->now->routes->len; i++) {
        const IbhRoute *route = &g_array_index(kernel->now->routes, IbhRoute, i);

        if (!route_delete_matches(wanted, route))
            continue;
        if (ibh_route_compare(route, wanted) != 0)
            kernel->inexact++;
        g_array_remove_index(kernel->now->routes, i);
        return TRUE;
    }
    return refuse(error, ESRCH, NULL);
}

typedef gboolean (*RouteTest)(const FakeKernel *kernel, const IbhRoute *route, gconstpointer data);

static void routes_remove(FakeKernel *kernel, RouteTest test, gconstpointer data)
{
    for (guint i = kernel->now->routes->len; i > 0; i--) {
        if (test(kernel, &g_array_index(kernel->now->routes, IbhRoute, i - 1), data))
            g_array_remove_index(kernel->now->routes, i - 1);
    }
}

/* A NIC that is deleted takes the whole of a multipath route with it. */
static gboolean has_hop(const FakeKernel *kernel, const IbhRoute *route, gconstpointer data)
{
    const int *ifindex = data;

    (void)kernel;
    IBH_EACH_HOP (hop, route) {
        if (hop->ifindex == *ifindex)
            return TRUE;
    }
    return FALSE;
}

static gboolean has_no_hop_alive(const FakeKernel *kernel, const IbhRoute *route, gconstpointer data)
{
    (void)kernel;
    (void)data;
    IBH_EACH_HOP (hop, route) {
        if (!hop->dead)
            return FALSE;
    }
    return route->hops != NULL;
}

/* Its nexthops die with the link or its last address, and live again; with all of them dead, the route goes. */
static void mark_hops(FakeKernel *kernel, int ifindex, gboolean dead)
{
    for (guint i = 0; i < kernel->now->routes->len; i++) {
        IbhRoute *route = &g_array_index(kernel->now->routes, IbhRoute, i);
        g_autoptr(GArray) hops = g_array_new(FALSE, TRUE, sizeof(IbhHop));

        if (!has_hop(kernel, route, &ifindex))
            continue;
        g_array_append_vals(hops, route->hops, route->nexthops);
        IBH_EACH (IbhHop, hop, hops)
            hop->dead = hop->ifindex == ifindex ? dead != FALSE : hop->dead;
        route->hops = fake_keep(hops->data, hops->len * sizeof(IbhHop));
    }
    routes_remove(kernel, has_no_hop_alive, NULL);
}

/* Dead where the link is down, or has lost its last address. */
void fake_add_hop(const FakeKernel *kernel, IbhRoute *route, int ifindex, const IbhIp *gateway)
{
    gboolean alive = fake_is_up(kernel, ifindex) && (route->family == AF_INET6 || has_any_address4(kernel, ifindex));
    g_autoptr(GArray) hops = g_array_new(FALSE, TRUE, sizeof(IbhHop));
    const IbhHop hop = {.ifindex = ifindex, .dead = !alive, .gateway = *gateway};

    if (route->hops)
        g_array_append_vals(hops, route->hops, route->nexthops);
    g_array_append_val(hops, hop);
    route->hops = fake_keep(hops->data, hops->len * sizeof(IbhHop));
    route->nexthops = hops->len;
    route->ifindex = route->hops->ifindex;
}

/* Its source and its gateway may have gone since, but with the link or its last address it would have gone, too. */
gboolean fake_could_be_left(const FakeKernel *kernel, const IbhRoute *route)
{
    if (route->hops ? has_no_hop_alive(kernel, route, NULL)
                    : route->ifindex && route->type != RTN_LOCAL && !fake_is_up(kernel, route->ifindex))
        return FALSE;
    if (route->family == AF_INET && route->ifindex && !route->hops && !has_any_address4(kernel, route->ifindex))
        return FALSE;
    return !fake_is_our_route(route) || find_place(kernel, route) < 0; /* ours are never appended */
}

/* All of a family but the first, as ip does it. */
void fake_rule_flush(FakeKernel *kernel, int family)
{
    for (guint i = kernel->now->rules->len; i > 0; i--) {
        const IbhRule *rule = &g_array_index(kernel->now->rules, IbhRule, i - 1);

        if (rule->priority && rule->family == family)
            g_array_remove_index(kernel->now->rules, i - 1);
    }
}

void fake_route_flush(FakeKernel *kernel, guint32 table)
{
    for (guint i = kernel->now->routes->len; i > 0; i--) {
        if (!table || g_array_index(kernel->now->routes, IbhRoute, i - 1).table == table)
            g_array_remove_index(kernel->now->routes, i - 1);
    }
}

/* ---- addresses: what the kernel does by itself when they come and go ---- */

static IbhRoute own_route(const IbhAddress *address, guint8 type, const IbhPrefix *dst)
{
    gboolean local = type != RTN_UNICAST;

    return (IbhRoute){.family = address->local.family,
                      .table = local ? IBH_TABLE_LOCAL : IBH_TABLE_MAIN,
                      .dst = *dst,
                      .type = type,
                      .protocol = RTPROT_KERNEL,
                      .scope = type == RTN_LOCAL ? RT_SCOPE_HOST : RT_SCOPE_LINK,
                      .ifindex = address->ifindex,
                      .src = address->local,
                      .nexthops = 1};
}

/* ---- the same in IPv6: no source in routes, no primary address; the link going down takes all with it ---- */

#define METRIC6_CONNECTED 256

static IbhRoute own_route6(const IbhAddress *address, guint8 type, const IbhPrefix *dst, guint32 metric)
{
    IbhRoute route = own_route(address, type, dst);

    route.scope = RT_SCOPE_UNIVERSE;
    route.metric = metric;
    route.src.family = AF_UNSPEC;
    return route;
}

/* The connected route is there at once, also of a /128; the local one when nobody else has the address. */
static void add_routes_of6(FakeKernel *kernel, const IbhAddress *address)
{
    IbhPrefix host = ibh_prefix_of(&address->local, 128);
    IbhRoute connected = own_route6(address, RTN_UNICAST, &address->subnet, METRIC6_CONNECTED),
             local = own_route6(address, RTN_LOCAL, &host, 0);

    if (!fake_is_up(kernel, address->ifindex))
        return;
    if (!address->noprefixroute && !has_route(kernel, &connected))
        fake_route_was(kernel, &connected);
    if (!address->tentative && !has_route(kernel, &local))
        fake_route_was(kernel, &local);
}

static gboolean is_connected_of6(const FakeKernel *kernel, const IbhRoute *route, gconstpointer data)
{
    const IbhAddress *gone = data;

    IBH_EACH (const IbhAddress, other, kernel->now->addresses) {
        if (other->ifindex == gone->ifindex && !other->noprefixroute && ibh_prefix_equal(&other->subnet, &gone->subnet))
            return FALSE;
    }
    return route->ifindex == gone->ifindex && route->table == IBH_TABLE_MAIN && route->protocol == RTPROT_KERNEL &&
           route->type == RTN_UNICAST && ibh_prefix_equal(&route->dst, &gone->subnet);
}

static gboolean is_local_of6(const FakeKernel *kernel, const IbhRoute *route, gconstpointer data)
{
    const IbhAddress *gone = data;

    (void)kernel;
    return route->ifindex == gone->ifindex && route->type == RTN_LOCAL && route->dst.length == 128 &&
           ibh_ip_equal(&route->dst.ip, &gone->local);
}

/* Routes stay without the source that is gone, even when it was the last address. */
static void address6_has_gone(FakeKernel *kernel, const IbhAddress *gone)
{
    if (!gone->noprefixroute)
        routes_remove(kernel, is_connected_of6, gone);
    routes_remove(kernel, is_local_of6, gone);
    IBH_EACH (IbhRoute, route, kernel->now->routes) {
        if (ibh_ip_equal(&route->src, &gone->local))
            route->src = (IbhIp){.family = AF_UNSPEC};
    }
}

/* The check for duplicates came to its end. */
gboolean fake_address_ready(FakeKernel *kernel, const IbhAddress *like, GError **error)
{
    IBH_EACH (IbhAddress, address, kernel->now->addresses) {
        if (address->ifindex != like->ifindex || !ibh_ip_equal(&address->local, &like->local))
            continue;
        address->tentative = !fake_is_up(kernel, address->ifindex);
        add_routes_of6(kernel, address);
        return TRUE;
    }
    return refuse(error, EADDRNOTAVAIL, NULL);
}

/* Only the link's own addresses come back by themselves. */
static void link_goes_down6(FakeKernel *kernel, const IbhLink *link)
{
    for (guint i = kernel->now->addresses->len; i > 0; i--) {
        const IbhAddress *address = &g_array_index(kernel->now->addresses, IbhAddress, i - 1);

        if (address->ifindex == link->ifindex && address->local.family == AF_INET6 &&
            address->scope == RT_SCOPE_UNIVERSE)
            g_array_remove_index(kernel->now->addresses, i - 1);
    }
}

/* ---- and in IPv4 ---- */

/* The addresses of a prefix that share it: the first is the primary one. */
static gboolean same_subnet(const IbhAddress *a, const IbhAddress *b)
{
    return a->ifindex == b->ifindex && ibh_prefix_equal(&a->subnet, &b->subnet);
}

static IbhAddress *find_primary(const FakeKernel *kernel, const IbhAddress *like)
{
    IBH_EACH (IbhAddress, address, kernel->now->addresses) {
        if (same_subnet(address, like) && !address->secondary)
            return address;
    }
    return NULL;
}

static void add_local_route(FakeKernel *kernel, const IbhAddress *address)
{
    const IbhAddress *primary = find_primary(kernel, address);
    IbhPrefix host = ibh_prefix_of(&address->local, ibh_ip_bits(&address->local));
    IbhRoute route = own_route(address, RTN_LOCAL, &host);

    if (primary)
        route.src = primary->local;
    for (guint i = kernel->now->routes->len; i > 0; i--) { /* the same address with another length */
        const IbhRoute *other = &g_array_index(kernel->now->routes, IbhRoute, i - 1);

        if (other->type == RTN_LOCAL && other->ifindex == route.ifindex && ibh_prefix_equal(&other->dst, &route.dst))
            return;
    }
    fake_route_was(kernel, &route);
}

static void add_connected_routes(FakeKernel *kernel, const IbhAddress *address)
{
    gboolean loopback = (fake_link(kernel, address->ifindex)->flags & IFF_LOOPBACK) != 0;
    IbhRoute route = own_route(address, loopback ? RTN_LOCAL : RTN_UNICAST, &address->subnet);
    IbhPrefix last = address->subnet;

    if (address->local.family == AF_INET6) {
        add_routes_of6(kernel, address);
        return;
    }
    if (!fake_is_up(kernel, address->ifindex) || address->secondary || ibh_address_is_host(address))
        return;
    if (!address->noprefixroute)
        fake_route_was(kernel, &route);
    if (address->subnet.length >= 31)
        return;
    for (guint bit = last.length; bit < 32; bit++)
        last.ip.bytes[bit / 8] |= (guint8)(0x80u >> (bit % 8));
    last.length = 32;
    route = own_route(address, RTN_BROADCAST, &last);
    fake_route_was(kernel, &route);
}

/* It has the flags that it was given when it came. */
void fake_address_was(FakeKernel *kernel, const IbhAddress *address)
{
    g_array_append_val(kernel->now->addresses, *address);
    if (address->local.family == AF_INET)
        add_local_route(kernel, address);
    add_connected_routes(kernel, address);
    if (address->local.family == AF_INET && fake_is_up(kernel, address->ifindex))
        mark_hops(kernel, address->ifindex, FALSE);
}

gboolean fake_address_add(FakeKernel *kernel, IbhAddress *address, GError **error)
{
    IBH_EACH (const IbhAddress, other, kernel->now->addresses) {
        if (address->ifindex == other->ifindex && ibh_ip_equal(&address->local, &other->local) &&
            (address->local.family == AF_INET6 || same_subnet(address, other)))
            return refuse(error, EEXIST, NULL);
    }
    if (address->local.family == AF_INET)
        address->secondary = find_primary(kernel, address) != NULL;
    else
        address->tentative |= !fake_is_up(kernel, address->ifindex);
    fake_address_was(kernel, address);
    return TRUE;
}

static gboolean uses_device(const FakeKernel *kernel, const IbhRoute *route, gconstpointer data)
{
    const int *ifindex = data;

    (void)kernel;
    return route->ifindex == *ifindex;
}

static gboolean uses_device4(const FakeKernel *kernel, const IbhRoute *route, gconstpointer data)
{
    return uses_device(kernel, route, data) && route->family == AF_INET && !route->hops;
}

static gboolean uses_device_beyond_host(const FakeKernel *kernel, const IbhRoute *route, gconstpointer data)
{
    return uses_device(kernel, route, data) && !route->hops && (route->type != RTN_LOCAL || route->family == AF_INET6);
}

static gboolean has_address(const FakeKernel *kernel, int ifindex, const IbhIp *ip)
{
    IBH_EACH (const IbhAddress, address, kernel->now->addresses) {
        if (address->ifindex == ifindex && ibh_ip_equal(&address->local, ip))
            return TRUE;
    }
    return FALSE;
}

/* What goes with an address. The same address with another length keeps what names no subnet; routes in tables of
 * one's own keep even a source that is gone. */
static gboolean is_of_address(const FakeKernel *kernel, const IbhRoute *route, gconstpointer data)
{
    const IbhAddress *address = data;

    if (route->ifindex != address->ifindex)
        return FALSE;
    if (has_address(kernel, address->ifindex, &address->local))
        return route->type == RTN_UNICAST && route->protocol == RTPROT_KERNEL && route->table == IBH_TABLE_MAIN &&
               ibh_ip_equal(&route->src, &address->local) && ibh_prefix_equal(&route->dst, &address->subnet);
    if (route->type == RTN_LOCAL)
        return ibh_ip_equal(&route->dst.ip, &address->local);
    return ibh_ip_equal(&route->src, &address->local) &&
           (route->table == IBH_TABLE_MAIN || route->table == IBH_TABLE_LOCAL);
}

/* As with promote_secondaries, which systemd sets: the next one of the subnet moves up. */
static void promote(FakeKernel *kernel, const IbhAddress *gone)
{
    IBH_EACH (IbhAddress, address, kernel->now->addresses) {
        if (!same_subnet(address, gone))
            continue;
        address->secondary = FALSE;
        add_connected_routes(kernel, address);
        return;
    }
}

gboolean fake_address_del(FakeKernel *kernel, const IbhAddress *like, GError **error)
{
    for (guint i = 0; i < kernel->now->addresses->len; i++) {
        IbhAddress address = g_array_index(kernel->now->addresses, IbhAddress, i);

        if (address.ifindex != like->ifindex || !ibh_ip_equal(&address.local, &like->local))
            continue;
        g_array_remove_index(kernel->now->addresses, i);
        if (address.local.family == AF_INET6) {
            address6_has_gone(kernel, &address);
            return TRUE;
        }
        routes_remove(kernel, is_of_address, &address);
        if (!has_any_address4(kernel, address.ifindex)) {
            routes_remove(kernel, uses_device4, &address.ifindex);
            mark_hops(kernel, address.ifindex, TRUE);
        } else if (!address.secondary)
            promote(kernel, &address);
        return TRUE;
    }
    return refuse(error, EADDRNOTAVAIL, NULL);
}

void fake_link_set_up(FakeKernel *kernel, IbhLink *link, gboolean up)
{
    if (up == !!(link->flags & IFF_UP))
        return;
    if (!up) {
        link->flags &= ~(guint)IFF_UP;
        link->carrier = FALSE;
        link_goes_down6(kernel, link);
        routes_remove(kernel, uses_device_beyond_host, &link->ifindex);
        mark_hops(kernel, link->ifindex, TRUE);
        return;
    }
    link->flags |= IFF_UP;
    link->carrier = TRUE;
    if (has_any_address4(kernel, link->ifindex))
        mark_hops(kernel, link->ifindex, FALSE);
    IBH_EACH (const IbhAddress, address, kernel->now->addresses) {
        if (address->ifindex == link->ifindex)
            add_connected_routes(kernel, address);
    }
}

void fake_link_del(FakeKernel *kernel, int ifindex)
{
    routes_remove(kernel, uses_device, &ifindex);
    routes_remove(kernel, has_hop, &ifindex);
    for (guint i = kernel->now->addresses->len; i > 0; i--) {
        if (g_array_index(kernel->now->addresses, IbhAddress, i - 1).ifindex == ifindex)
            g_array_remove_index(kernel->now->addresses, i - 1);
    }
    for (guint i = kernel->now->neighbours->len; i > 0; i--) {
        if (g_array_index(kernel->now->neighbours, IbhNeighbour, i - 1).ifindex == ifindex)
            g_array_remove_index(kernel->now->neighbours, i - 1);
    }
    for (guint i = kernel->now->links->len; i > 0; i--) {
        if (g_array_index(kernel->now->links, IbhLink, i - 1).ifindex == ifindex)
            g_array_remove_index(kernel->now->links, i - 1);
    }
    g_hash_table_remove_all(kernel->now->places);
}

/* ---- sysctls, announcements, neighbours ---- */

gboolean fake_sysctl_set(FakeKernel *kernel, int ifindex, IbhSysctl key, int value, GError **error)
{
    IbhLink *link = fake_link(kernel, ifindex);

    if (!link)
        return refuse(error, ENOENT, NULL);
    link->sysctl[key] = value;
    return TRUE;
}

const FakeLearned *fake_learned(const FakeKernel *kernel, const IbhIp *ip)
{
    IBH_EACH (const FakeLearned, learned, kernel->learned) {
        if (ibh_ip_equal(&learned->ip, ip))
            return learned;
    }
    return NULL;
}

gboolean fake_announce(FakeKernel *kernel, int ifindex, const IbhIp *ip, GError **error)
{
    FakeLearned learned = {.ip = *ip, .ifindex = ifindex};

    if (!fake_is_up(kernel, ifindex))
        return refuse(error, ENETDOWN, NULL);
    if (!is_local(kernel, ip))
        return refuse(error, EADDRNOTAVAIL, NULL);
    for (guint i = 0; i < kernel->learned->len; i++) {
        if (ibh_ip_equal(&g_array_index(kernel->learned, FakeLearned, i).ip, ip)) {
            g_array_index(kernel->learned, FakeLearned, i).ifindex = ifindex;
            return TRUE;
        }
    }
    g_array_append_val(kernel->learned, learned);
    return TRUE;
}

void fake_neigh_flush(const FakeKernel *kernel, int ifindex)
{
    IBH_EACH_BACK (const IbhNeighbour, neighbour, kernel->now->neighbours) {
        if (neighbour->ifindex == ifindex)
            IBH_REMOVE(const IbhNeighbour, neighbour, kernel->now->neighbours);
    }
}

/* ---- operations ---- */

void fake_fail_at(FakeKernel *kernel, guint k, int fail_errno)
{
    kernel->executed = 0;
    kernel->fail_at = k;
    kernel->fail_errno = fail_errno;
    kernel->fail_on = FALSE;
}

gboolean fake_execute(gpointer data, const IbhOp *op, GError **error)
{
    FakeKernel *kernel = data;

    if (++kernel->executed == kernel->fail_at || (kernel->fail_on && kernel->executed > kernel->fail_at))
        return refuse(error, kernel->fail_errno, NULL);
    switch (op->type) {
    case IBH_OP_RULE_ADD:
        return fake_rule_add(kernel, &op->rule, error);
    case IBH_OP_RULE_DEL:
        return fake_rule_del(kernel, &op->rule, error);
    case IBH_OP_ROUTE_ADD:
        return fake_route_add(kernel, &op->route, error);
    case IBH_OP_ROUTE_REPLACE:
        return fake_route_replace(kernel, &op->route, &op->replaced, error);
    case IBH_OP_ROUTE_DEL:
        return fake_route_del(kernel, &op->route, error);
    case IBH_OP_SYSCTL_SET:
        return fake_sysctl_set(kernel, op->ifindex, op->key, op->to, error);
    case IBH_OP_ANNOUNCE:
        return fake_announce(kernel, op->ifindex, &op->ip, error);
    case IBH_OP_NEIGH_DEL:
        fake_neigh_flush(kernel, op->ifindex);
        return TRUE;
    }
    g_error("an operation of unknown type %d", (int)op->type);
}

/* ---- life and copies ---- */

FakeKernel *fake_kernel_new(void)
{
    FakeKernel *kernel = g_new0(FakeKernel, 1);

    kernel->now = ibh_snapshot_new();
    kernel->learned = g_array_new(FALSE, TRUE, sizeof(FakeLearned));
    fake_do(kernel, "nic lo loopback", "ip address add 127.0.0.1/8 dev lo scope host",
            "ip rule add lookup local priority 0 protocol kernel",
            "ip rule add lookup main priority 32766 protocol kernel",
            "ip rule add lookup default priority 32767 protocol kernel",
            "ip -6 rule add lookup local priority 0 protocol kernel",
            "ip -6 rule add lookup main priority 32766 protocol kernel", NULL);
    return kernel;
}

static void copy_array(GArray *to, const GArray *from)
{
    if (from->len)
        g_array_append_vals(to, from->data, from->len);
}

static void copy_without_routes(IbhSnapshot *to, const IbhSnapshot *from)
{
    copy_array(to->links, from->links);
    copy_array(to->addresses, from->addresses);
    copy_array(to->rules, from->rules);
    copy_array(to->neighbours, from->neighbours);
    memcpy(to->all, from->all, sizeof to->all);
    copy_array(to->state->sysctls, from->state->sysctls);
    for (guint i = 0; i < from->state->holds->len; i++)
        g_ptr_array_add(to->state->holds, g_strdup(g_ptr_array_index(from->state->holds, i)));
    for (guint i = 0; i < from->state->kept->len; i++)
        ibh_state_keep(to->state, g_ptr_array_index(from->state->kept, i));
    copy_array(to->state->rails, from->state->rails);
    copy_array(to->state->known, from->state->known);
}

FakeKernel *fake_kernel_clone(const FakeKernel *kernel)
{
    FakeKernel *clone = g_new0(FakeKernel, 1);

    clone->now = ibh_snapshot_new();
    clone->learned = g_array_new(FALSE, TRUE, sizeof(FakeLearned));
    copy_without_routes(clone->now, kernel->now);
    copy_array(clone->now->routes, kernel->now->routes);
    copy_array(clone->learned, kernel->learned);
    return clone;
}

void fake_kernel_free(FakeKernel *kernel)
{
    if (!kernel)
        return;
    ibh_snapshot_free(kernel->now);
    g_array_unref(kernel->learned);
    g_free(kernel);
}

IbhSnapshot *fake_snapshot(const FakeKernel *kernel)
{
    IbhSnapshot *snapshot = ibh_snapshot_new();

    copy_without_routes(snapshot, kernel->now);
    IBH_EACH (const IbhRoute, route, kernel->now->routes) {
        if (route->protocol == RTPROT_KERNEL && route->type == RTN_UNICAST)
            g_array_append_vals(snapshot->routes, route, 1);
    }
    return snapshot;
}

/* As host/snapshot.c reads them. */
static void read_main(const GArray *routes, const IbhScope *scope, IbhSnapshot *snapshot)
{
    g_autoptr(GArray) subnets = NULL;

    IBH_EACH (const int, ifindex, scope->candidates) {
        IBH_EACH (const IbhRoute, route, routes) {
            IbhRoute part;

            if (route->table == IBH_TABLE_MAIN && route->type == RTN_UNICAST && !route->cached &&
                (scope->has_ipv6 || route->family == AF_INET) && ibh_scope_needs_route(scope, route) &&
                ibh_route_part(route, *ifindex, &part))
                g_array_append_val(snapshot->main_by_nic, part);
        }
    }
    IBH_EACH (const IbhRoute, route, routes) {
        if (route->table == IBH_TABLE_LOCAL && route->type == RTN_LOCAL && route->family == AF_INET &&
            route->protocol != RTPROT_KERNEL)
            g_array_append_val(snapshot->local, route->dst);
    }
    subnets = ibh_scope_unreached_subnets(scope, snapshot);
    IBH_EACH (const IbhRoute, route, routes) {
        if (ibh_prefixes_have(subnets, &route->dst) && route->table == IBH_TABLE_MAIN && route->type == RTN_UNICAST)
            g_array_append_vals(snapshot->main_to_subnets, route, 1);
    }
}

void fake_snapshot_add_main(const GArray *routes, IbhSnapshot *snapshot, const IbhConfig *config)
{
    g_auto(IbhScope) scope = {.candidates = NULL};

    ibh_scope_init(&scope, snapshot, config);
    read_main(routes, &scope, snapshot);
}

IbhSnapshot *fake_look(const FakeKernel *kernel, const IbhConfig *config)
{
    IbhSnapshot *snapshot = fake_snapshot(kernel);
    g_auto(IbhScope) scope = {.candidates = NULL};
    g_autoptr(GArray) tables = NULL;

    ibh_scope_init(&scope, snapshot, config);
    read_main(kernel->now->routes, &scope, snapshot);
    tables = ibh_scope_tables(&scope, snapshot, config);
    IBH_EACH (const IbhRoute, route, kernel->now->routes) {
        if ((route->protocol != RTPROT_KERNEL || route->type != RTN_UNICAST) &&
            ibh_numbers_have(tables, (int)route->table))
            g_array_append_vals(snapshot->routes, route, 1);
    }
    return snapshot;
}

/* ---- what differs ---- */

/* Rules of one priority are in an order of their own; it matters among those that ask for the same packets. */
static gint compare_rules(gconstpointer left, gconstpointer right)
{
    const IbhRule *a = *(const IbhRule *const *)left, *b = *(const IbhRule *const *)right;
    int order;

    COMPARE(a->priority, b->priority);
    if ((order = ibh_prefix_compare(&a->from, &b->from)))
        return order;
    if ((order = ibh_prefix_compare(&a->to, &b->to)))
        return order;
    COMPARE(a->selectors, b->selectors);
    COMPARE(fake_is_our_rule(a), fake_is_our_rule(b));
    if (fake_is_our_rule(a))
        return ibh_rule_compare(a, b);
    COMPARE(a, b); /* both in one array: the order they have there */
    return 0;
}

static GPtrArray *sorted_rules(const FakeKernel *kernel, FakeScope scope)
{
    GPtrArray *sorted = g_ptr_array_new();

    for (guint i = 0; i < kernel->now->rules->len; i++) {
        IbhRule *rule = &g_array_index(kernel->now->rules, IbhRule, i);

        if (scope != FAKE_FOREIGN || !fake_is_our_rule(rule))
            g_ptr_array_add(sorted, rule);
    }
    g_ptr_array_sort(sorted, compare_rules);
    return sorted;
}

static GPtrArray *sorted_routes(const FakeKernel *kernel, FakeScope scope)
{
    GPtrArray *sorted = g_ptr_array_new();

    for (guint i = 0; i < kernel->now->routes->len; i++) {
        IbhRoute *route = &g_array_index(kernel->now->routes, IbhRoute, i);

        if (scope != FAKE_FOREIGN || !fake_is_our_route(route))
            g_ptr_array_add(sorted, route);
    }
    return sorted;
}

static void report_rules(GString *text, const FakeKernel *before, const FakeKernel *after, FakeScope scope)
{
    g_autoptr(GPtrArray) a = sorted_rules(before, scope), b = sorted_rules(after, scope);
    guint i = 0;

    while (i < a->len && i < b->len && ibh_rule_compare(g_ptr_array_index(a, i), g_ptr_array_index(b, i)) == 0)
        i++;
    for (guint j = i; j < a->len; j++) {
        g_autofree char *line = fake_print_rule(g_ptr_array_index(a, j));

        g_string_append_printf(text, "  - %s\n", line);
    }
    for (guint j = i; j < b->len; j++) {
        g_autofree char *line = fake_print_rule(g_ptr_array_index(b, j));

        g_string_append_printf(text, "  + %s\n", line);
    }
}

static void report_routes(GString *text, const FakeKernel *before, const FakeKernel *after, FakeScope scope)
{
    g_autoptr(GPtrArray) a = sorted_routes(before, scope), b = sorted_routes(after, scope);
    guint i = 0;

    while (i < a->len && i < b->len && ibh_route_compare(g_ptr_array_index(a, i), g_ptr_array_index(b, i)) == 0)
        i++;
    while (a->len > i && b->len > i &&
           ibh_route_compare(g_ptr_array_index(a, a->len - 1), g_ptr_array_index(b, b->len - 1)) == 0) {
        g_ptr_array_set_size(a, (int)a->len - 1);
        g_ptr_array_set_size(b, (int)b->len - 1);
    }
    for (guint j = i; j < a->len; j++) {
        g_autofree char *line = fake_print_route(before->now, g_ptr_array_index(a, j));

        g_string_append_printf(text, "  - %s\n", line);
    }
    for (guint j = i; j < b->len; j++) {
        g_autofree char *line = fake_print_route(after->now, g_ptr_array_index(b, j));

        g_string_append_printf(text, "  + %s\n", line);
    }
}

static void report_sysctls(GString *text, const FakeKernel *before, const FakeKernel *after)
{
    for (guint i = 0; i < before->now->links->len; i++) {
        const IbhLink *link = &g_array_index(before->now->links, IbhLink, i);
        const IbhLink *other = ibh_snapshot_link(after->now, link->ifindex);

        for (int key = 0; other && key < IBH_N_SYSCTLS; key++) {
            if (link->sysctl[key] != other->sysctl[key])
                g_string_append_printf(text, "  %s %s: %d, now %d\n", link->name, ibh_sysctl_name((IbhSysctl)key),
                                       link->sysctl[key], other->sysctl[key]);
        }
    }
}

char *fake_difference(const FakeKernel *before, const FakeKernel *after, FakeScope scope)
{
    GString *text = g_string_new(NULL);

    report_rules(text, before, after, scope);
    report_routes(text, before, after, scope);
    if (scope != FAKE_FOREIGN)
        report_sysctls(text, before, after);
    return g_string_free(text, text->len == 0);
}
