/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One look, step by step: links, addresses, rules, routes, and of main what decides for rails. A look at what is near
 * reads at each step what concerns the candidates; its cost does not grow with the host's other links and addresses.
 */
#include "host/snapshot.h"

#include "kernel/questions.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

typedef struct {
    IbhNetlink *netlink;
    const IbhConfig *config;
    GError **error; /* of the caller: why a step failed */
    IbhSnapshot *snapshot;
    IbhTree tree;
    GPtrArray *ports;    /* of RDMA devices */
    GPtrArray *names;    /* char *: of the netdevs that they name, and */
    IbhSysfsKinds kinds; /* what else can belong to them */
    GArray *nics;        /* IbhNicFilter: of this namespace; empty until they are needed */
    IbhMainScope scope;  /* which are the candidates, and what of main decides for them */
    GArray *prefixes;    /* IbhPrefix: addresses and subnets of candidates */
} Look;

static void look_clear(Look *look)
{
    g_clear_pointer(&look->snapshot, ibh_snapshot_free);
    g_ptr_array_unref(look->ports);
    g_ptr_array_unref(look->names);
    g_array_unref(look->nics);
    ibh_main_scope_clear(&look->scope);
    g_array_unref(look->prefixes);
    ibh_tree_clear(&look->tree);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Look, look_clear)

/* ---- links ---- */

static gboolean read_link(Look *look, int ifindex)
{
    return !ifindex || ibh_snapshot_link(look->snapshot, ifindex) ||
           ibh_netlink_read_link(look->netlink, ifindex, NULL, look->snapshot->links, look->error);
}

static gboolean read_named_link(Look *look, const char *name)
{
    return !ibh_iface_name_is_valid(name) || ibh_snapshot_link_by_name(look->snapshot, name) ||
           ibh_netlink_read_link(look->netlink, 0, name, look->snapshot->links, look->error);
}

static gboolean read_named(Look *look, const GPtrArray *names)
{
    IBH_EACH_POINTER (const char, name, names) {
        if (!read_named_link(look, name))
            return FALSE;
    }
    return TRUE;
}

static gboolean read_kind(Look *look, const char *kind)
{
    g_autoptr(GArray) found = IBH_NEW_ARRAY(IbhLink);

    if (!ibh_netlink_read_links(look->netlink, kind, found, look->error))
        return FALSE;
    IBH_EACH (const IbhLink, link, found) {
        if (!ibh_snapshot_link(look->snapshot, link->ifindex))
            g_array_append_val(look->snapshot->links, *link);
    }
    return TRUE;
}

/* VLANs and macvlans, also stacked on each other. If sysfs lacks one of the links, the kernel is asked for all links.
 */
static gboolean read_stacked(Look *look)
{
    for (guint i = 0; i < look->snapshot->links->len; i++) { /* the list grows meanwhile */
        g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
        const IbhLink link = g_array_index(look->snapshot->links, IbhLink, i);

        if (!ibh_sysfs_name_upper(&look->tree, &link, names))
            return read_kind(look, "vlan") && read_kind(look, "macvlan");
        if (!read_named(look, names))
            return FALSE;
    }
    return TRUE;
}

/* The links that RDMA ports name, and those that can be stacked on them. */
static gboolean read_rdma(Look *look)
{
    return read_named(look, look->names) && (!look->kinds.infiniband || read_kind(look, "ipoib")) &&
           (!look->kinds.ethernet || read_stacked(look));
}

static gboolean read_nics(Look *look)
{
    return look->nics->len || ibh_netlink_read_nics(look->netlink, look->nics, look->error);
}

/* A name is cheap, a link is not. */
static gboolean read_managed(Look *look)
{
    if (!ibh_config_manages(look->config, NULL))
        return TRUE;
    if (!read_nics(look))
        return FALSE;
    IBH_EACH (const IbhNicFilter, nic, look->nics) {
        char name[IFNAMSIZ];

        if (ibh_netlink_name(look->netlink, nic->ifindex, name) &&
            ibh_config_settings(look->config, name).manage == IBH_MANAGE_YES && !read_link(look, nic->ifindex))
            return FALSE;
    }
    return TRUE;
}

/* NICs with an old sysctl value or a table to remember, and known rails: are they still here? */
static gboolean read_remembered(Look *look)
{
    const IbhState *state = look->snapshot->state;

    IBH_EACH (const IbhSavedSysctl, saved, state->sysctls) {
        if (!read_link(look, saved->ifindex))
            return FALSE;
    }
    IBH_EACH (const IbhSavedRail, saved, state->rails) {
        if (!read_link(look, saved->ifindex))
            return FALSE;
    }
    IBH_EACH (const IbhKnownRail, known, state->known) {
        if (!read_named_link(look, known->iface))
            return FALSE;
    }
    return TRUE;
}

/* The links above them (a bond over InfiniBand is a candidate itself), and those below them. */
static gboolean read_neighbourhood(Look *look)
{
    for (guint i = 0; i < look->snapshot->links->len; i++) { /* it grows meanwhile */
        const IbhLink link = g_array_index(look->snapshot->links, IbhLink, i);

        if (!read_link(look, link.master) || !read_link(look, link.parent))
            return FALSE;
    }
    return TRUE;
}

static gboolean read_links(Look *look)
{
    if (!look->snapshot->is_near)
        return ibh_netlink_read_links(look->netlink, NULL, look->snapshot->links, look->error);
    return read_rdma(look) && read_remembered(look) && read_managed(look) && read_neighbourhood(look);
}

static gboolean find_candidates(Look *look)
{
    ibh_netlink_check_parents(look->snapshot->links);
    if (!ibh_sysfs_find_rdma(&look->tree, look->ports, look->snapshot->links, look->error))
        return FALSE;
    ibh_sysfs_find_slots(&look->tree, look->snapshot->state->known, look->snapshot->links);
    ibh_main_scope_find(&look->scope, look->snapshot, look->config);
    return TRUE;
}

/* ---- addresses ---- */

/* Of NICs that are no candidates, those with a strict rp_filter and an address in a rail's subnet concern the rail, and
 * so does lo (want.c). */
static gboolean read_answered_for(Look *look)
{
    g_autoptr(GArray) addresses = IBH_NEW_ARRAY(IbhAddress);
    g_autoptr(GArray) others = IBH_NEW_ARRAY(int);
    const int all = look->snapshot->all[IBH_SYSCTL_RP_FILTER], lo = 1;

    if (!look->prefixes->len)
        return TRUE;
    if (all <= 1 && !read_nics(look)) /* else none is strict */
        return FALSE;
    g_array_append_val(others, lo);
    IBH_EACH (const IbhNicFilter, nic, look->nics) {
        if (nic->ifindex != lo && ibh_sysctl_effective(IBH_SYSCTL_RP_FILTER, nic->rp_filter, all) == 1 &&
            !ibh_numbers_have(look->scope.candidates, nic->ifindex))
            g_array_append_val(others, nic->ifindex);
    }
    if (!ibh_netlink_read_addresses(look->netlink, others, addresses, look->error))
        return FALSE;
    IBH_EACH (const IbhAddress, address, addresses) {
        if (ibh_ip_is_fe80(&address->local) || !ibh_prefixes_overlap(look->prefixes, &address->subnet))
            continue;
        g_array_append_val(look->snapshot->addresses, *address);
        if (!read_link(look, address->ifindex))
            return FALSE;
    }
    return TRUE;
}

static gboolean read_addresses(Look *look)
{
    GArray *addresses = look->snapshot->addresses;

    if (!look->snapshot->is_near)
        return ibh_netlink_read_addresses(look->netlink, NULL, addresses, look->error);
    if (!ibh_netlink_read_addresses(look->netlink, look->scope.candidates, addresses, look->error))
        return FALSE;
    IBH_EACH (const IbhAddress, address, addresses) {
        const IbhPrefix local = ibh_prefix_of_host(&address->local);

        ibh_prefixes_add(look->prefixes, &address->subnet);
        ibh_prefixes_add(look->prefixes, &local); /* the peer's address lies outside of the address' own */
    }
    return read_answered_for(look);
}

/* ---- rules ---- */

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
static GHashTable *find_numbers(const Look *look)
{
    GHashTable *tables = g_hash_table_new(NULL, NULL);

    add_table(tables, IBH_TABLE_SPREAD);
    for (guint i = 1; i <= look->scope.candidates->len; i++)
        add_pair(tables, IBH_TABLE_BASE + i);
    IBH_EACH (const IbhSavedRail, saved, look->snapshot->state->rails)
        add_pair(tables, saved->table);
    IBH_EACH (const IbhLink, link, look->snapshot->links)
        add_pair(tables, ibh_config_settings(look->config, link->name).table);
    return tables;
}

/* TRUE for rules for addresses of candidates, and for rules that lead to a number that a candidate may get. */
static gboolean rule_matters(gconstpointer data, const IbhPrefix *from, guint32 table)
{
    const Look *look = data;

    return ibh_prefixes_overlap(look->prefixes, from) ||
           g_hash_table_contains(look->snapshot->tables, GUINT_TO_POINTER(table));
}

static gboolean read_rules(Look *look)
{
    IbhSnapshot *snapshot = look->snapshot;

    if (!snapshot->is_near)
        return ibh_netlink_read_rules(look->netlink, NULL, NULL, snapshot->rules, look->error);
    snapshot->tables = find_numbers(look);
    if (!ibh_netlink_read_rules(look->netlink, rule_matters, look, snapshot->rules, look->error))
        return FALSE;
    IBH_EACH (const IbhRule, rule, snapshot->rules) {
        if (rule->from.length && rule->action == FR_ACT_TO_TBL)
            add_table(snapshot->tables, rule->table);
    }
    return TRUE;
}

/* ---- routes of the kernel: connected ones, and ours ---- */

/* All rules and routes of ours, and every connected route, have protocol kernel: the kernel picks these out of its
 * tables, so it never sends us the routes of a full BGP table. The local table's entries have other types. */
static gboolean read_tables(Look *look)
{
    IbhRouteFilter filter = {.protocol = RTPROT_KERNEL, .type = RTN_UNICAST};
    IbhSnapshot *snapshot = look->snapshot;
    GHashTableIter each;
    gpointer table;

    if (snapshot->tables && g_hash_table_size(snapshot->tables) > IBH_TABLES_ASKED)
        g_clear_pointer(&snapshot->tables, g_hash_table_unref);
    if (!snapshot->tables)
        return ibh_netlink_read_routes(look->netlink, &filter, snapshot->routes, look->error);
    g_hash_table_iter_init(&each, snapshot->tables);
    while (g_hash_table_iter_next(&each, &table, NULL)) {
        filter.table = GPOINTER_TO_UINT(table);
        if (!ibh_netlink_read_routes(look->netlink, &filter, snapshot->routes, look->error))
            return FALSE;
    }
    return TRUE;
}

/* The kernel's order, in which the first of two equal routes counts: it walks its tables by their last eight bits. */
static gint compare_places(gconstpointer left, gconstpointer right)
{
    const IbhRoute *a = left, *b = right;

    IBH_COMPARE(a->family, b->family);
    IBH_COMPARE(a->table & 255, b->table & 255);
    IBH_COMPARE(a->table, b->table);
    return 0;
}

/* ---- main, as the candidates have it ---- */

/* Of main with single tables also connected routes, which others' tables are compared with: they were not read. */
static gboolean is_connected(const IbhSnapshot *snapshot, const IbhRoute *route)
{
    return snapshot->tables && route->protocol == RTPROT_KERNEL;
}

static gboolean route_matters(gconstpointer data, const IbhRoute *route)
{
    const Look *look = data;

    return is_connected(look->snapshot, route) || ibh_main_scope_has(&look->scope, route);
}

static gboolean leads_to_one(gconstpointer subnets, const IbhRoute *route)
{
    return ibh_prefixes_have(subnets, &route->dst);
}

/* What the scope lacks, once the candidates' own routes are known. */
static gboolean read_main_to_subnets(Look *look)
{
    g_autoptr(GArray) subnets = ibh_main_scope_lacks(&look->scope, look->snapshot);
    const IbhRouteFilter filter = {.table = IBH_TABLE_MAIN, .type = RTN_UNICAST, .keep = leads_to_one, .of = subnets};

    return !subnets->len ||
           ibh_netlink_read_routes(look->netlink, &filter, look->snapshot->main_to_subnets, look->error);
}

/* A connected multipath route counts whole, and nothing of ours lies in main. */
static void add_connected(IbhSnapshot *snapshot, const IbhRoute *route)
{
    if (route->is_part || ibh_route_is_ours(route))
        ibh_snapshot_needs_everything(snapshot);
    else
        g_array_append_vals(snapshot->routes, route, 1);
}

/* The kernel goes through all of main for each NIC: IPv6's is asked only where a candidate has a global address. */
static gboolean read_main(Look *look)
{
    IbhSnapshot *snapshot = look->snapshot;
    IbhMainScope *scope = &look->scope;
    g_autoptr(GArray) parts = IBH_NEW_ARRAY(IbhRoute);

    ibh_main_scope_add_places(scope, snapshot);
    if (scope->candidates->len &&
        !ibh_netlink_read_main(look->netlink, scope->candidates, scope->has_ipv6 ? AF_UNSPEC : AF_INET, route_matters,
                               look, parts, look->error))
        return FALSE;
    IBH_EACH (const IbhRoute, part, parts) {
        if (is_connected(snapshot, part))
            add_connected(snapshot, part);
        if (ibh_main_scope_has(scope, part))
            g_array_append_val(snapshot->main_by_nic, *part);
    }
    if (snapshot->tables)
        g_array_sort(snapshot->routes, compare_places); /* it keeps the order of equals */
    return read_main_to_subnets(look);
}

/* ---- others' routes, of any protocol ---- */

/* Of protocol kernel, they have been read. */
static gboolean is_new(gconstpointer of G_GNUC_UNUSED, const IbhRoute *route)
{
    return route->protocol != RTPROT_KERNEL || route->type != RTN_UNICAST;
}

gboolean ibh_snapshot_read_tables(IbhSnapshot *snapshot, IbhNetlink *netlink, GError **error)
{
    IbhAsked *asked = snapshot->asked;
    IbhRouteFilter filter = {.keep = is_new};

    for (; asked->n_tables_read < asked->tables->len; asked->n_tables_read++) {
        filter.table = g_array_index(asked->tables, guint32, asked->n_tables_read);
        if (!ibh_netlink_read_routes(netlink, &filter, snapshot->routes, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean is_for_a_candidate(const Look *look, const IbhPrefix *from)
{
    IBH_EACH (const IbhAddress, address, look->snapshot->addresses) {
        if (ibh_prefix_contains(from, &address->local) && ibh_numbers_have(look->scope.candidates, address->ifindex))
            return TRUE;
    }
    return FALSE;
}

/* The tables that rules of others lead addresses of candidates to: they may be routed there already. */
static gboolean read_tables_of_others(Look *look)
{
    IBH_EACH (const IbhRule, rule, look->snapshot->rules) {
        if (ibh_rule_is_of_a_source(rule) && is_for_a_candidate(look, &rule->from))
            ibh_snapshot_needs_table(look->snapshot, rule->table);
    }
    return ibh_snapshot_read_tables(look->snapshot, look->netlink, look->error);
}

/* ---- the whole ---- */

typedef gboolean Step(Look *look);

/* Routes of ours are in known tables, no NIC is a reason not to spread, and RDMA ports name theirs. */
static gboolean can_be_near(Look *look)
{
    return look->snapshot->state->whole && ibh_netlink_is_strict(look->netlink) &&
           ibh_config_settings(look->config, "").main == IBH_MAIN_KEEP &&
           ibh_sysfs_name_links(look->ports, look->names, &look->kinds);
}

IbhSnapshot *ibh_snapshot_take(IbhNetlink *netlink, const IbhConfig *config, const char *sysfs, IbhScope scope,
                               IbhState *state, GError **error)
{
    static Step *const steps[] = {read_links,  find_candidates, read_addresses,       read_rules,
                                  read_tables, read_main,       read_tables_of_others};
    g_auto(Look) look = {.netlink = netlink,
                         .config = config,
                         .error = error,
                         .snapshot = ibh_snapshot_new(),
                         .tree = ibh_tree_of(sysfs),
                         .names = g_ptr_array_new_with_free_func(g_free),
                         .nics = IBH_NEW_ARRAY(IbhNicFilter),
                         .prefixes = IBH_NEW_ARRAY(IbhPrefix)};

    ibh_state_free(look.snapshot->state);
    look.snapshot->state = state;
    look.ports = ibh_sysfs_ports(&look.tree);
    look.snapshot->is_near = scope == IBH_NEAR && can_be_near(&look);
    if (!ibh_sysctl_read_all(look.snapshot->all, error))
        return NULL;
    IBH_EACH_ROW (Step *const, step, steps) {
        if (!(*step)(&look))
            return NULL;
    }
    return g_steal_pointer(&look.snapshot);
}

/* ---- what was asked for ---- */

/* Where one of these addresses is of this host, any NIC may have it: that needs everything. */
static gboolean find_holders(const IbhSnapshot *snapshot, IbhNetlink *netlink, GError **error)
{
    IbhAsked *asked = snapshot->asked;

    for (; !asked->everything && asked->n_holders_found < asked->holders->len; asked->n_holders_found++) {
        const IbhIp *ip = &g_array_index(asked->holders, IbhIp, asked->n_holders_found);
        IbhLookup lookup = {.from = {.family = ip->family}, .to = *ip};

        if (!ibh_netlink_lookup(netlink, &lookup, error))
            return FALSE;
        if (lookup.type == RTN_LOCAL)
            ibh_snapshot_needs_everything(snapshot);
    }
    return TRUE;
}

gboolean ibh_snapshot_read_asked(IbhSnapshot *snapshot, IbhNetlink *netlink, gboolean *ret_knows_more, GError **error)
{
    IbhAsked *asked = snapshot->asked;
    const guint before = snapshot->routes->len;

    *ret_knows_more = asked->neighbours;
    if (!find_holders(snapshot, netlink, error))
        return FALSE;
    if (asked->everything) /* and then all is asked for again */
        return TRUE;
    if (asked->neighbours) { /* a fabric has thousands. Those that cannot be read age out */
        snapshot->has_neighbours = TRUE;
        asked->neighbours = FALSE;
        (void)ibh_netlink_read_neighbours(netlink, AF_INET, IBH_NEIGHBOURS_FOUND, snapshot->neighbours, NULL);
    }
    if (!ibh_snapshot_read_tables(snapshot, netlink, error))
        return FALSE;
    *ret_knows_more |= snapshot->routes->len > before;
    return TRUE;
}
