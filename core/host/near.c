/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/snapshot.h"

#include "host/sysfs.h"
#include "plan/want.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

/* From so many questions on, one dump of everything costs less. */
#define LINKS_MAX 32
#define TABLES_MAX 64
#define STRICT_MAX 16

typedef struct {
    IbhNetlink *netlink;
    IbhTree *tree;
    IbhSnapshot *snapshot;
    const IbhConfig *config;
    IbhNear *near;
    GArray *nics;       /* int: of this namespace; empty until they are needed */
    GArray *strict;     /* int: those whose rp_filter is strict */
    GArray *candidates; /* int */
    GArray *prefixes;   /* IbhPrefix: addresses and subnets of candidates */
    GHashTable *held;   /* IbhIp: addresses of candidates */
} Look;

void ibh_near_clear(IbhNear *near)
{
    g_clear_pointer(&near->main, g_array_unref);
    g_clear_pointer(&near->tables, g_hash_table_unref);
}

static gboolean has(const GArray *numbers, int number)
{
    IBH_EACH (const int, one, numbers) {
        if (*one == number)
            return TRUE;
    }
    return FALSE;
}

static gboolean give_up(IbhNear *near)
{
    near->enough = FALSE;
    return TRUE;
}

/* ---- links ---- */

static gboolean read_link(const Look *look, int ifindex, GError **error)
{
    return !ifindex || ibh_snapshot_link(look->snapshot, ifindex) ||
           ibh_netlink_read_link(look->netlink, ifindex, NULL, look->snapshot->links, error);
}

static gboolean read_named_link(const Look *look, const char *name, GError **error)
{
    return !ibh_is_iface_name(name) || ibh_snapshot_link_by_name(look->snapshot, name) ||
           ibh_netlink_read_link(look->netlink, 0, name, look->snapshot->links, error);
}

static gboolean read_named(const Look *look, const GPtrArray *names, GError **error)
{
    IBH_EACH_POINTER (const char, name, names) {
        if (!read_named_link(look, name, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean read_kind(const Look *look, const char *kind, GError **error)
{
    g_autoptr(GArray) found = g_array_new(FALSE, TRUE, sizeof(IbhLink));

    if (!ibh_netlink_read_links_of_kind(look->netlink, kind, found, error))
        return FALSE;
    IBH_EACH (const IbhLink, link, found) {
        if (!ibh_snapshot_link(look->snapshot, link->ifindex))
            g_array_append_val(look->snapshot->links, *link);
    }
    return TRUE;
}

/* VLANs and macvlans, also stacked on each other. If sysfs lacks one of the links, the kernel is asked for all links.
 */
static gboolean read_stacked(const Look *look, GError **error)
{
    for (guint i = 0; i < look->snapshot->links->len; i++) { /* the list grows meanwhile */
        g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
        const IbhLink link = g_array_index(look->snapshot->links, IbhLink, i);

        if (!ibh_sysfs_name_upper(look->tree, &link, names))
            return read_kind(look, "vlan", error) && read_kind(look, "macvlan", error);
        if (!read_named(look, names, error))
            return FALSE;
    }
    return TRUE;
}

/* The links that RDMA ports name, and those that can be stacked on them. */
static gboolean read_rdma(const Look *look, GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    IbhSysfsKinds kinds = {.infiniband = FALSE};

    if (!ibh_sysfs_name_links(look->tree, names, &kinds))
        return give_up(look->near);
    return read_named(look, names, error) && (!kinds.infiniband || read_kind(look, "ipoib", error)) &&
           (!kinds.ethernet || read_stacked(look, error));
}

static gboolean read_nics(const Look *look, GError **error)
{
    return look->nics->len || ibh_netlink_read_nics(look->netlink, look->snapshot->all[IBH_SYSCTL_RP_FILTER],
                                                    look->nics, look->strict, error);
}

/* A name is cheap, a link is not. */
static gboolean read_managed(const Look *look, GError **error)
{
    if (!ibh_config_manages(look->config, NULL))
        return TRUE;
    if (!read_nics(look, error))
        return FALSE;
    IBH_EACH (const int, ifindex, look->nics) {
        char name[IFNAMSIZ];

        if (ibh_netlink_name(look->netlink, *ifindex, name) &&
            ibh_config_settings(look->config, name).manage == IBH_MANAGE_YES && !read_link(look, *ifindex, error))
            return FALSE;
    }
    return TRUE;
}

/* NICs with an old sysctl value or a table to remember: are they still here? */
static gboolean read_remembered(const Look *look, GError **error)
{
    const IbhState *state = look->snapshot->state;

    IBH_EACH (const IbhSavedSysctl, saved, state->sysctls) {
        if (!read_link(look, saved->ifindex, error))
            return FALSE;
    }
    IBH_EACH (const IbhSavedRail, saved, state->rails) {
        if (!read_link(look, saved->ifindex, error) || !read_named_link(look, saved->iface, error))
            return FALSE;
    }
    return TRUE;
}

/* The links above them (a bond over InfiniBand is a candidate itself), and those below them. */
static gboolean read_neighbourhood(const Look *look, GError **error)
{
    for (guint i = 0; i < look->snapshot->links->len; i++) { /* it grows meanwhile */
        const IbhLink link = g_array_index(look->snapshot->links, IbhLink, i);

        if (!read_link(look, link.master, error) || !read_link(look, link.parent, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean find_candidates(const Look *look, GError **error)
{
    const IbhSnapshot *snapshot = look->snapshot;

    ibh_netlink_check_parents(snapshot->links);
    if (!ibh_sysfs_find_rdma_in(look->tree, snapshot->links, error))
        return FALSE;
    IBH_EACH (const IbhLink, link, snapshot->links) {
        if (ibh_is_candidate(snapshot, link, ibh_config_settings(look->config, link->name).manage))
            g_array_append_val(look->candidates, link->ifindex);
    }
    return TRUE;
}

/* ---- addresses ---- */

static void keep_addresses_of(const Look *look, const GArray *ifindexes, guint from)
{
    GArray *addresses = look->snapshot->addresses;
    guint kept = from;

    for (guint i = from; i < addresses->len; i++) {
        const IbhAddress *address = &g_array_index(addresses, IbhAddress, i);

        if (has(ifindexes, address->ifindex))
            g_array_index(addresses, IbhAddress, kept++) = *address;
    }
    g_array_set_size(addresses, kept);
}

static gboolean read_addresses_of(const Look *look, const GArray *ifindexes, guint max, GError **error)
{
    GArray *addresses = look->snapshot->addresses;
    guint before = addresses->len;

    if (ifindexes->len > max) {
        if (!ibh_netlink_read_addresses(look->netlink, 0, addresses, error))
            return FALSE;
        keep_addresses_of(look, ifindexes, before);
        return TRUE;
    }
    IBH_EACH (const int, ifindex, ifindexes) {
        if (!ibh_netlink_read_addresses(look->netlink, *ifindex, addresses, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean read_addresses(const Look *look, GError **error)
{
    if (!read_addresses_of(look, look->candidates, LINKS_MAX, error))
        return FALSE;
    IBH_EACH (const IbhAddress, address, look->snapshot->addresses) {
        const IbhPrefix local = {.ip = address->local, .length = ibh_ip_bits(&address->local)};

        ibh_prefixes_add(look->prefixes, &address->subnet);
        ibh_prefixes_add(look->prefixes, &local); /* the peer's address lies outside of the address' own */
        g_hash_table_add(look->held, g_memdup(&address->local, sizeof address->local));
    }
    return TRUE;
}

/* Of NICs that are no candidates, those with a strict rp_filter and an address in a rail's subnet concern the rail
 * (want.c). */
static gboolean read_strict(const Look *look, GError **error)
{
    GArray *addresses = look->snapshot->addresses;
    const guint before = addresses->len;
    g_autoptr(GArray) near = g_array_new(FALSE, FALSE, sizeof(int));

    if (look->snapshot->all[IBH_SYSCTL_RP_FILTER] > 1 || !look->prefixes->len)
        return TRUE; /* then none is */
    if (!read_nics(look, error))
        return FALSE;
    IBH_EACH_BACK (const int, ifindex, look->strict) {
        if (has(look->candidates, *ifindex))
            IBH_REMOVE(const int, ifindex, look->strict);
    }
    if (!read_addresses_of(look, look->strict, STRICT_MAX, error))
        return FALSE;
    for (guint i = before; i < addresses->len; i++) {
        const IbhAddress *address = &g_array_index(addresses, IbhAddress, i);

        if (!has(near, address->ifindex) &&
            !(address->local.family == AF_INET6 && ibh_ip_is_link_local(&address->local)) &&
            ibh_prefixes_overlap(look->prefixes, &address->subnet))
            g_array_append_val(near, address->ifindex);
    }
    keep_addresses_of(look, near, before);
    IBH_EACH (const int, ifindex, near) {
        if (!read_link(look, *ifindex, error))
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
static void find_numbers(const Look *look)
{
    GHashTable *tables = look->near->tables = g_hash_table_new(NULL, NULL);

    add_table(tables, IBH_TABLE_SPREAD);
    for (guint i = 1; i <= look->candidates->len; i++)
        add_pair(tables, IBH_TABLE_BASE + i);
    IBH_EACH (const IbhSavedRail, saved, look->snapshot->state->rails)
        add_pair(tables, saved->table);
    IBH_EACH (const IbhLink, link, look->snapshot->links)
        add_pair(tables, ibh_config_settings(look->config, link->name).table);
}

/* TRUE for rules for addresses of candidates, and for rules that lead to a number that a candidate may get. */
static gboolean rule_matters(gconstpointer data, const IbhPrefix *from, guint32 table)
{
    const Look *look = data;

    return ibh_prefixes_overlap(look->prefixes, from) ||
           g_hash_table_contains(look->near->tables, GUINT_TO_POINTER(table));
}

/* A rule of ours without a candidate's address may be a leftover of any NIC, and any NIC may have the address. */
static gboolean read_rules(const Look *look, GError **error)
{
    find_numbers(look);
    if (!ibh_netlink_read_rules(look->netlink, rule_matters, look, look->snapshot->rules, error))
        return FALSE;
    IBH_EACH (const IbhRule, rule, look->snapshot->rules) {
        if (rule->from.length && rule->action == FR_ACT_TO_TBL)
            add_table(look->near->tables, rule->table);
        if (ibh_rule_is_ours(rule) && (ibh_rule_is_spread(rule) || !g_hash_table_contains(look->held, &rule->from.ip)))
            return give_up(look->near);
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
static gboolean read_tables(const Look *look, GError **error)
{
    IbhRouteFilter filter = {.protocol = RTPROT_KERNEL, .type = RTN_UNICAST};
    GArray *routes = look->snapshot->routes;
    GHashTableIter each;
    gpointer table;

    look->near->all_tables = g_hash_table_size(look->near->tables) > TABLES_MAX;
    if (look->near->all_tables)
        return ibh_netlink_read_routes(look->netlink, &filter, routes, error);
    g_hash_table_iter_init(&each, look->near->tables);
    while (g_hash_table_iter_next(&each, &table, NULL)) {
        filter.table = GPOINTER_TO_UINT(table);
        if (!ibh_netlink_read_routes(look->netlink, &filter, routes, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean read_main(const Look *look, GError **error)
{
    GArray *routes = look->snapshot->routes;
    g_autoptr(GArray) all = g_array_new(FALSE, TRUE, sizeof(IbhRoute));

    if (look->candidates->len && !ibh_netlink_read_main(look->netlink, look->candidates, all, error))
        return FALSE;
    look->near->main = g_array_new(FALSE, TRUE, sizeof(IbhRoute));
    IBH_EACH (const IbhRoute, route, all) {
        if (route->nexthops != 1 || ibh_route_is_ours(route))
            return give_up(look->near);
        g_array_append_val(look->near->main, *route);
        if (route->protocol == RTPROT_KERNEL && !look->near->all_tables)
            g_array_append_val(routes, *route);
    }
    g_array_sort(routes, compare_places); /* it keeps the order of equals */
    return TRUE;
}

static gboolean read_all(const Look *look, GError **error)
{
    static gboolean (*const steps[])(const Look *, GError **) = {
        read_rdma,      read_remembered, read_managed, read_neighbourhood, find_candidates,
        read_addresses, read_strict,     read_rules,   read_tables,        read_main};

    look->near->enough =
        ibh_config_settings(look->config, "").main == IBH_MAIN_KEEP; /* any NIC may be a reason not to spread */
    for (guint i = 0; i < G_N_ELEMENTS(steps) && look->near->enough; i++) {
        if (!steps[i](look, error))
            return FALSE;
    }
    return TRUE;
}

IbhSnapshot *ibh_near_take(IbhNetlink *netlink, const char *sysfs, IbhState *state, const int all[IBH_N_SYSCTLS],
                           const IbhConfig *config, IbhNear *near, GError **error)
{
    g_autoptr(IbhSnapshot) snapshot = ibh_snapshot_new();
    g_auto(IbhTree) tree = {0};
    g_autoptr(GArray) nics = g_array_new(FALSE, FALSE, sizeof(int)), strict = g_array_new(FALSE, FALSE, sizeof(int));
    g_autoptr(GArray) candidates = g_array_new(FALSE, FALSE, sizeof(int));
    g_autoptr(GArray) prefixes = g_array_new(FALSE, FALSE, sizeof(IbhPrefix));
    g_autoptr(GHashTable) held = g_hash_table_new_full(ibh_ip_hash, ibh_ip_equals, g_free, NULL);
    const Look look = {netlink, &tree, snapshot, config, near, nics, strict, candidates, prefixes, held};

    ibh_state_free(snapshot->state);
    snapshot->state = state;
    memcpy(snapshot->all, all, sizeof snapshot->all);
    ibh_tree_open(&tree, sysfs);
    return read_all(&look, error) ? g_steal_pointer(&snapshot) : NULL;
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
        if (ibh_rule_is_ours(rule) && !is_of_a_rail(ibh_rule_owner(rails, rule)))
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
static gboolean check_gateway(IbhNear *near, IbhNetlink *netlink, const IbhIp *gateway, GError **error)
{
    IbhLookup lookup = {.from = {.family = gateway->family}, .to = *gateway};

    if (!ibh_netlink_lookup(netlink, &lookup, error))
        return FALSE;
    near->enough &= lookup.type != RTN_LOCAL;
    return TRUE;
}

static gboolean check_configured(IbhNear *near, IbhNetlink *netlink, const IbhNic *nic, GError **error)
{
    static const int families[] = {AF_INET, AF_INET6};
    IbhIp gateway;

    for (guint i = 0; i < G_N_ELEMENTS(families); i++) {
        if (ibh_find_gateway(nic, families[i], &gateway) && !check_gateway(near, netlink, &gateway, error))
            return FALSE;
    }
    return TRUE;
}

/* Main may prefer another NIC's connected route to what a rail reaches by a gateway, but for its default. */
static gboolean add_main_of(IbhNear *near, IbhNetlink *netlink, const IbhNic *nic, IbhSnapshot *snapshot,
                            GError **error)
{
    IBH_EACH (const IbhRoute, route, near->main) {
        if (!near->enough || route->ifindex != nic->link->ifindex)
            continue;
        if (route->gateway.family != AF_UNSPEC && !check_gateway(near, netlink, &route->gateway, error))
            return FALSE;
        near->enough &= route->gateway.family == AF_UNSPEC || ibh_route_is_default(route);
        if (route->protocol != RTPROT_KERNEL) /* those are there */
            g_array_append_val(snapshot->routes, *route);
    }
    return TRUE;
}

/* NIC by NIC, as main is asked where everything is read: of two equal routes the first one counts. */
gboolean ibh_near_finish(IbhNear *near, IbhNetlink *netlink, const IbhRails *rails, IbhSnapshot *snapshot,
                         GError **error)
{
    near->enough = is_enough(near, rails);
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        if (near->enough && nic->status == IBH_NIC_RAIL && !check_configured(near, netlink, nic, error))
            return FALSE;
    }
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        if (is_of_a_rail(nic) && !add_main_of(near, netlink, nic, snapshot, error))
            return FALSE;
    }
    return TRUE;
}
