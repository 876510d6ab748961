/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/snapshot.h"

#include "plan/want.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#define TABLES_MAX 64 /* from so many questions on, one dump of everything costs less */

void ibh_near_clear(IbhNear *near)
{
    GArray **arrays[] = {&near->nics, &near->candidates, &near->prefixes};

    for (guint i = 0; i < G_N_ELEMENTS(arrays); i++)
        g_clear_pointer(arrays[i], g_array_unref);
    g_clear_pointer(&near->ports, g_ptr_array_unref);
    g_clear_pointer(&near->tables, g_hash_table_unref);
    ibh_tree_clear(&near->tree);
}

static gboolean give_up(IbhNear *near)
{
    near->enough = FALSE;
    return TRUE;
}

/* ---- links ---- */

static gboolean read_link(IbhNear *near, int ifindex, GError **error)
{
    return !ifindex || ibh_snapshot_link(near->snapshot, ifindex) ||
           ibh_netlink_read_link(near->netlink, ifindex, NULL, near->snapshot->links, error);
}

static gboolean read_named_link(IbhNear *near, const char *name, GError **error)
{
    return !ibh_is_iface_name(name) || ibh_snapshot_link_by_name(near->snapshot, name) ||
           ibh_netlink_read_link(near->netlink, 0, name, near->snapshot->links, error);
}

static gboolean read_named(IbhNear *near, const GPtrArray *names, GError **error)
{
    IBH_EACH_POINTER (const char, name, names) {
        if (!read_named_link(near, name, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean read_kind(IbhNear *near, const char *kind, GError **error)
{
    g_autoptr(GArray) found = g_array_new(FALSE, TRUE, sizeof(IbhLink));

    if (!ibh_netlink_read_links(near->netlink, kind, found, error))
        return FALSE;
    IBH_EACH (const IbhLink, link, found) {
        if (!ibh_snapshot_link(near->snapshot, link->ifindex))
            g_array_append_val(near->snapshot->links, *link);
    }
    return TRUE;
}

/* VLANs and macvlans, also stacked on each other. If sysfs lacks one of the links, the kernel is asked for all links.
 */
static gboolean read_stacked(IbhNear *near, GError **error)
{
    for (guint i = 0; i < near->snapshot->links->len; i++) { /* the list grows meanwhile */
        g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
        const IbhLink link = g_array_index(near->snapshot->links, IbhLink, i);

        if (!ibh_sysfs_name_upper(&near->tree, &link, names))
            return read_kind(near, "vlan", error) && read_kind(near, "macvlan", error);
        if (!read_named(near, names, error))
            return FALSE;
    }
    return TRUE;
}

/* The links that RDMA ports name, and those that can be stacked on them. */
static gboolean read_rdma(IbhNear *near, GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    IbhSysfsKinds kinds = {.infiniband = FALSE};

    if (!ibh_sysfs_name_links(near->ports, names, &kinds))
        return give_up(near);
    return read_named(near, names, error) && (!kinds.infiniband || read_kind(near, "ipoib", error)) &&
           (!kinds.ethernet || read_stacked(near, error));
}

static gboolean read_nics(IbhNear *near, GError **error)
{
    return near->nics->len || ibh_netlink_read_nics(near->netlink, near->nics, error);
}

/* A name is cheap, a link is not. */
static gboolean read_managed(IbhNear *near, GError **error)
{
    if (!ibh_config_manages(near->config, NULL))
        return TRUE;
    if (!read_nics(near, error))
        return FALSE;
    IBH_EACH (const IbhNicFilter, nic, near->nics) {
        char name[IFNAMSIZ];

        if (ibh_netlink_name(near->netlink, nic->ifindex, name) &&
            ibh_config_settings(near->config, name).manage == IBH_MANAGE_YES && !read_link(near, nic->ifindex, error))
            return FALSE;
    }
    return TRUE;
}

/* NICs with an old sysctl value or a table to remember, and known rails: are they still here? */
static gboolean read_remembered(IbhNear *near, GError **error)
{
    const IbhState *state = near->snapshot->state;

    IBH_EACH (const IbhSavedSysctl, saved, state->sysctls) {
        if (!read_link(near, saved->ifindex, error))
            return FALSE;
    }
    IBH_EACH (const IbhSavedRail, saved, state->rails) {
        if (!read_link(near, saved->ifindex, error))
            return FALSE;
    }
    IBH_EACH (const IbhKnownRail, known, state->known) {
        if (!read_named_link(near, known->iface, error))
            return FALSE;
    }
    return TRUE;
}

/* The links above them (a bond over InfiniBand is a candidate itself), and those below them. */
static gboolean read_neighbourhood(IbhNear *near, GError **error)
{
    for (guint i = 0; i < near->snapshot->links->len; i++) { /* it grows meanwhile */
        const IbhLink link = g_array_index(near->snapshot->links, IbhLink, i);

        if (!read_link(near, link.master, error) || !read_link(near, link.parent, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean find_candidates(IbhNear *near, GError **error)
{
    const IbhSnapshot *snapshot = near->snapshot;

    ibh_netlink_check_parents(snapshot->links);
    if (!ibh_sysfs_find_rdma(&near->tree, near->ports, snapshot->links, error))
        return FALSE;
    IBH_EACH (const IbhLink, link, snapshot->links) {
        if (ibh_is_candidate(snapshot, link, ibh_config_settings(near->config, link->name).manage))
            g_array_append_val(near->candidates, link->ifindex);
    }
    return TRUE;
}

/* ---- addresses ---- */

static gboolean read_addresses(IbhNear *near, GError **error)
{
    if (!ibh_netlink_read_addresses(near->netlink, near->candidates, near->snapshot->addresses, error))
        return FALSE;
    IBH_EACH (const IbhAddress, address, near->snapshot->addresses) {
        const IbhPrefix local = {.ip = address->local, .length = ibh_ip_bits(&address->local)};

        ibh_prefixes_add(near->prefixes, &address->subnet);
        ibh_prefixes_add(near->prefixes, &local); /* the peer's address lies outside of the address' own */
    }
    return TRUE;
}

/* Of NICs that are no candidates, those with a strict rp_filter and an address in a rail's subnet concern the rail, and
 * so does lo (want.c). */
static gboolean read_answered_for(IbhNear *near, GError **error)
{
    g_autoptr(GArray) addresses = g_array_new(FALSE, TRUE, sizeof(IbhAddress));
    g_autoptr(GArray) others = g_array_new(FALSE, FALSE, sizeof(int)), nearby = g_array_new(FALSE, FALSE, sizeof(int));
    const int all = near->snapshot->all[IBH_SYSCTL_RP_FILTER], lo = 1;

    if (!near->prefixes->len)
        return TRUE;
    if (all <= 1 && !read_nics(near, error)) /* else none is strict */
        return FALSE;
    g_array_append_val(others, lo);
    IBH_EACH (const IbhNicFilter, nic, near->nics) {
        if (nic->ifindex != lo && ibh_sysctl_effective(IBH_SYSCTL_RP_FILTER, nic->rp_filter, all) == 1 &&
            !ibh_has(near->candidates, nic->ifindex))
            g_array_append_val(others, nic->ifindex);
    }
    if (!ibh_netlink_read_addresses(near->netlink, others, addresses, error))
        return FALSE;
    IBH_EACH (const IbhAddress, address, addresses) {
        if (!ibh_ip_is_fe80(&address->local) && ibh_prefixes_overlap(near->prefixes, &address->subnet) &&
            !ibh_has(nearby, address->ifindex))
            g_array_append_val(nearby, address->ifindex);
    }
    IBH_EACH (const IbhAddress, address, addresses) {
        if (ibh_has(nearby, address->ifindex))
            g_array_append_val(near->snapshot->addresses, *address);
    }
    IBH_EACH (const int, ifindex, nearby) {
        if (!read_link(near, *ifindex, error))
            return FALSE;
    }
    return TRUE;
}

/* ---- rules and routes ---- */

static void add_table(GHashTable *tables, guint32 table)
{
    if (table && table != IBH_TABLE_MAIN && table != IBH_TABLE_LOCAL)
        g_hash_table_add(tables, GUINT_TO_POINTER(table));
}

static void add_pair(GHashTable *tables, guint32 table)
{
    if (table == IBH_TABLE_AUTO)
        return;
    add_table(tables, table);
    add_table(tables, table + IBH_TABLE_DEFAULTS);
}

/* Every number that a candidate has, had or may get. */
static void find_numbers(IbhNear *near)
{
    GHashTable *tables = near->tables = g_hash_table_new(NULL, NULL);

    add_table(tables, IBH_TABLE_SPREAD);
    for (guint i = 1; i <= near->candidates->len; i++)
        add_pair(tables, IBH_TABLE_BASE + i);
    IBH_EACH (const IbhSavedRail, saved, near->snapshot->state->rails)
        add_pair(tables, saved->table);
    IBH_EACH (const IbhLink, link, near->snapshot->links)
        add_pair(tables, ibh_config_settings(near->config, link->name).table);
}

/* TRUE for rules for addresses of candidates, and for rules that lead to a number that a candidate may get. */
static gboolean rule_matters(gconstpointer data, const IbhPrefix *from, guint32 table)
{
    const IbhNear *near = data;

    return ibh_prefixes_overlap(near->prefixes, from) || g_hash_table_contains(near->tables, GUINT_TO_POINTER(table));
}

static gboolean read_rules(IbhNear *near, GError **error)
{
    find_numbers(near);
    if (!ibh_netlink_read_rules(near->netlink, rule_matters, near, near->snapshot->rules, error))
        return FALSE;
    IBH_EACH (const IbhRule, rule, near->snapshot->rules) {
        if (rule->from.length && rule->action == FR_ACT_TO_TBL)
            add_table(near->tables, rule->table);
    }
    return TRUE;
}

/* The kernel's order, in which the first of two equal routes counts: it walks its tables by their last eight bits. */
static gint compare_places(gconstpointer left, gconstpointer right)
{
    const IbhRoute *a = left, *b = right;

    if (a->family != b->family)
        return a->family < b->family ? -1 : 1;
    if ((a->table & 255) != (b->table & 255))
        return (a->table & 255) < (b->table & 255) ? -1 : 1;
    return a->table == b->table ? 0 : a->table < b->table ? -1 : 1;
}

/* Connected routes, and what is ours. In a dump of all tables, the type leaves out the entries of the local table. */
static gboolean read_tables(IbhNear *near, GError **error)
{
    IbhRouteFilter filter = {.protocol = RTPROT_KERNEL, .type = RTN_UNICAST};
    GArray *routes = near->snapshot->routes;
    GHashTableIter each;
    gpointer table;

    near->all_tables = g_hash_table_size(near->tables) > TABLES_MAX;
    if (near->all_tables)
        return ibh_netlink_read_routes(near->netlink, &filter, routes, error);
    g_hash_table_iter_init(&each, near->tables);
    while (g_hash_table_iter_next(&each, &table, NULL)) {
        filter.table = GPOINTER_TO_UINT(table);
        if (!ibh_netlink_read_routes(near->netlink, &filter, routes, error))
            return FALSE;
    }
    return TRUE;
}

/* Connected routes, which others' tables are compared with, and what decides for a rail. */
static gboolean is_near(gconstpointer scope, const IbhRoute *route)
{
    return route->protocol == RTPROT_KERNEL || ibh_main_scope_has(scope, route);
}

/* A connected multipath route counts whole, and nothing of ours lies in main. */
static gboolean read_main(IbhNear *near, GError **error)
{
    GArray *routes = near->snapshot->routes;
    g_autoptr(GArray) parts = g_array_new(FALSE, TRUE, sizeof(IbhRoute));
    g_auto(IbhMainScope) scope = {0};

    ibh_main_scope_find(&scope, near->snapshot, near->config);
    if (!ibh_snapshot_read_main(&scope, near->netlink, is_near, parts, error))
        return FALSE;
    IBH_EACH (const IbhRoute, route, parts) {
        const gboolean is_kernels = route->protocol == RTPROT_KERNEL;

        if (is_kernels && (route->is_part || ibh_route_is_ours(route)))
            return give_up(near);
        if (is_kernels && !near->all_tables)
            g_array_append_val(routes, *route);
        if (ibh_main_scope_has(&scope, route))
            g_array_append_val(near->snapshot->main_by_nic, *route);
    }
    g_array_sort(routes, compare_places); /* it keeps the order of equals */
    return ibh_snapshot_read_main_to_subnets(&scope, near->snapshot, near->netlink, error);
}

static gboolean read_all(IbhNear *near, GError **error)
{
    static gboolean (*const steps[])(IbhNear *, GError **) = {
        read_rdma,      read_remembered,   read_managed, read_neighbourhood, find_candidates,
        read_addresses, read_answered_for, read_rules,   read_tables,        read_main};

    near->enough =
        ibh_config_settings(near->config, "").main == IBH_MAIN_KEEP; /* any NIC may be a reason not to spread */
    for (guint i = 0; i < G_N_ELEMENTS(steps) && near->enough; i++) {
        if (!steps[i](near, error))
            return FALSE;
    }
    return TRUE;
}

IbhSnapshot *ibh_near_take(IbhNear *near, const char *sysfs, IbhState *state, GError **error)
{
    g_autoptr(IbhSnapshot) snapshot = near->snapshot = ibh_snapshot_new();

    ibh_state_free(snapshot->state);
    snapshot->state = state;
    near->nics = g_array_new(FALSE, FALSE, sizeof(IbhNicFilter));
    near->candidates = g_array_new(FALSE, FALSE, sizeof(int));
    near->prefixes = g_array_new(FALSE, FALSE, sizeof(IbhPrefix));
    ibh_tree_open(&near->tree, sysfs);
    near->ports = ibh_sysfs_ports(&near->tree);
    return ibh_sysctl_read_all(snapshot->all, error) && read_all(near, error) ? g_steal_pointer(&snapshot) : NULL;
}

/* ---- was it enough? ---- */

/* TRUE if its table numbers are known to be free, or its own. */
static gboolean is_table_known(const IbhNear *near, const IbhNic *nic)
{
    return g_hash_table_contains(near->tables, GUINT_TO_POINTER(nic->table)) &&
           g_hash_table_contains(near->tables, GUINT_TO_POINTER(ibh_nic_defaults(nic)));
}

/* After --undo, and for a NIC that is no rail any more, traffic follows main's routes to all of its subnets. A NIC
 * without an IPv4 address may have to be silent, unless the host itself has addresses. */
static gboolean is_left_alone(const IbhNic *nic)
{
    for (int key = 0; key < IBH_N_SYSCTLS; key++) {
        if (nic->base[key] != nic->link->sysctl[key])
            return FALSE;
    }
    return !nic->rank || nic->status == IBH_NIC_UNMANAGED || !(nic->link->flags & IFF_UP) ||
           ibh_serves_family(nic, AF_INET);
}

static gboolean is_of_a_rail(const IbhNic *owner)
{
    return owner && owner->status == IBH_NIC_RAIL;
}

static gboolean is_what_is_ours_of_rails(const IbhRails *rails)
{
    IBH_EACH (const IbhRule, rule, rails->snapshot->rules) {
        if (ibh_rule_is_ours(rule) && (!is_of_a_rail(ibh_rule_owner(rails, rule)) ||
                                       !ibh_rails_holder(rails, &rule->from.ip))) /* any NIC may have it */
            return FALSE;
    }
    IBH_EACH (const IbhRoute, route, rails->snapshot->routes) {
        if (!ibh_route_is_ours(route))
            continue;
        if (ibh_route_is_spread(route) || !is_of_a_rail(ibh_route_owner(rails, route)) ||
            (route->ifindex && !is_of_a_rail(ibh_rails_nic(rails, route->ifindex))) ||
            (route->src.family != AF_UNSPEC && !ibh_rails_holder(rails, &route->src)))
            return FALSE;
    }
    return TRUE;
}

static gboolean is_enough(const IbhNear *near, const IbhRails *rails)
{
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        if ((nic->rank && !is_table_known(near, nic)) || (nic->status != IBH_NIC_RAIL && !is_left_alone(nic)))
            return FALSE;
    }
    return is_what_is_ours_of_rails(rails);
}

/* An address that any NIC of this host has is no gateway. */
static gboolean check_gateway(IbhNear *near, const IbhIp *gateway, GError **error)
{
    IbhLookup lookup = {.from = {.family = gateway->family}, .to = *gateway};

    if (!ibh_netlink_lookup(near->netlink, &lookup, error))
        return FALSE;
    near->enough &= lookup.type != RTN_LOCAL;
    return TRUE;
}

gboolean ibh_near_finish(IbhNear *near, const IbhRails *rails, GError **error)
{
    near->enough = is_enough(near, rails);
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        g_autoptr(GArray) routes = NULL;

        if (!near->enough || !is_of_a_rail(nic))
            continue;
        routes = ibh_want_routes(rails, nic);
        IBH_EACH (const IbhRoute, route, routes) {
            if (route->gateway.family != AF_UNSPEC && !check_gateway(near, &route->gateway, error))
                return FALSE;
        }
    }
    return TRUE;
}
