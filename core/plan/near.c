/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/near.h"

#include "plan/want.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

/* From so many questions on, one dump of everything costs less. */
#define LINKS_MAX 32
#define TABLES_MAX 64
#define STRICT_MAX 16

typedef struct {
    const IbhSource *source;
    IbhSnapshot *snapshot;
    const IbhConfig *config;
    GPtrArray *managed; /* names with manage=yes */
    IbhNear *near;
    GArray *candidates; /* int */
    GArray *prefixes;   /* IbhPrefix: addresses and subnets of candidates */
    GHashTable *held;   /* IbhIp: addresses of candidates */
    GArray *gateways;   /* IbhIp: that of gateway= for each candidate that has one; no family: a place in its subnet */
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

static gboolean give_up(const Look *look)
{
    look->near->enough = FALSE;
    return TRUE;
}

/* ---- links ---- */

static gboolean read_link(const Look *look, int ifindex, GError **error)
{
    return !ifindex || ibh_snapshot_link(look->snapshot, ifindex) ||
           look->source->read_link(look->source->data, ifindex, NULL, look->snapshot->links, error);
}

static gboolean read_named_link(const Look *look, const char *name, GError **error)
{
    return ibh_snapshot_link_by_name(look->snapshot, name) ||
           look->source->read_link(look->source->data, 0, name, look->snapshot->links, error);
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

static gboolean read_managed(const Look *look, GError **error)
{
    IBH_EACH_POINTER (const char, name, look->managed) {
        if (!read_named_link(look, name, error))
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

static void find_candidates(const Look *look)
{
    IBH_EACH (const IbhLink, link, look->snapshot->links) {
        const IbhSettings settings = ibh_config_settings(look->config, link->name);

        if (!ibh_is_candidate(look->snapshot, link, settings.manage))
            continue;
        g_array_append_val(look->candidates, link->ifindex);
        if (settings.gateway > IBH_GATEWAY_AUTO)
            g_array_append_val(look->gateways, settings.gateway_ip);
    }
}

static gboolean read_links(const Look *look, GError **error)
{
    const IbhSource *source = look->source;
    gboolean all = TRUE;

    if (!source->read_candidates(source->data, look->snapshot->links, &all, error))
        return FALSE;
    if (!all)
        return give_up(look);
    if (!read_remembered(look, error) || !read_managed(look, error) || !read_neighbourhood(look, error) ||
        !source->find_rdma(source->data, look->snapshot->links, error))
        return FALSE;
    find_candidates(look);
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
    const IbhSource *source = look->source;
    guint before = look->snapshot->addresses->len;

    if (ifindexes->len > max) {
        if (!source->read_addresses(source->data, 0, look->snapshot->addresses, error))
            return FALSE;
        keep_addresses_of(look, ifindexes, before);
        return TRUE;
    }
    IBH_EACH (const int, ifindex, ifindexes) {
        if (!source->read_addresses(source->data, *ifindex, look->snapshot->addresses, error))
            return FALSE;
    }
    return TRUE;
}

static IbhIp *copy_ip(const IbhIp *ip)
{
    IbhIp *copy = g_new(IbhIp, 1);

    *copy = *ip;
    return copy;
}

static void find_prefixes(const Look *look)
{
    IBH_EACH (const IbhAddress, address, look->snapshot->addresses) {
        const IbhPrefix local = {.ip = address->local, .length = ibh_ip_bits(&address->local)};

        ibh_prefixes_add(look->prefixes, &address->subnet);
        ibh_prefixes_add(look->prefixes, &local); /* the peer's address lies outside of the address' own */
        g_hash_table_add(look->held, copy_ip(&address->local));
    }
}

/* TRUE for rules for addresses of candidates, and for rules that lead to a number that a candidate may get. */
static gboolean rule_matters(gconstpointer data, const IbhPrefix *from, guint32 table)
{
    const Look *look = data;

    return ibh_prefixes_overlap(look->prefixes, from) ||
           g_hash_table_contains(look->near->tables, GUINT_TO_POINTER(table));
}

static gboolean is_gateway(const Look *look, const IbhIp *ip)
{
    IBH_EACH (const IbhIp, gateway, look->gateways) {
        if (ibh_ip_equal(gateway, ip))
            return TRUE;
    }
    return FALSE;
}

/* Many links have such a subnet: it does not make them neighbours. */
static gboolean is_on_every_link(const IbhIp *ip)
{
    return ip->family == AF_INET6 && ibh_ip_is_link_local(ip);
}

/* Keeps, of NICs that are no rails, all addresses of one that has an address in a rail's subnet. A strict one concerns
 * the rail then (want.c), and a gateway is unusable if any NIC here has its address. */
static void keep_others_in_subnets(const Look *look, guint from)
{
    GArray *addresses = look->snapshot->addresses;
    g_autoptr(GArray) near = g_array_new(FALSE, FALSE, sizeof(int));

    for (guint i = from; i < addresses->len; i++) {
        const IbhAddress *address = &g_array_index(addresses, IbhAddress, i);

        if (!has(look->candidates, address->ifindex) && !has(near, address->ifindex) &&
            (is_on_every_link(&address->local) ? is_gateway(look, &address->local)
                                               : ibh_prefixes_overlap(look->prefixes, &address->subnet)))
            g_array_append_val(near, address->ifindex);
    }
    keep_addresses_of(look, near, from);
}

static gboolean read_strict(const Look *look, GError **error)
{
    const IbhSource *source = look->source;
    const int all = look->snapshot->all[IBH_SYSCTL_RP_FILTER];
    g_autoptr(GArray) strict = NULL, others = NULL;

    if (all > 1 || !look->prefixes->len)
        return TRUE; /* then none is */
    strict = g_array_new(FALSE, FALSE, sizeof(int));
    others = g_array_new(FALSE, FALSE, sizeof(int));
    if (!source->read_strict(source->data, all, strict, error))
        return FALSE;
    IBH_EACH (const int, ifindex, strict) {
        if (!has(look->candidates, *ifindex))
            g_array_append_val(others, *ifindex);
    }
    return read_addresses_of(look, others, STRICT_MAX, error);
}

static gboolean read_others(const Look *look, GError **error)
{
    const IbhSource *source = look->source;
    const guint before = look->snapshot->addresses->len;

    if (look->gateways->len ? !source->read_addresses(source->data, 0, look->snapshot->addresses, error)
                            : !read_strict(look, error))
        return FALSE;
    keep_others_in_subnets(look, before);
    for (guint i = before; i < look->snapshot->addresses->len; i++) {
        if (!read_link(look, g_array_index(look->snapshot->addresses, IbhAddress, i).ifindex, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean read_addresses(const Look *look, GError **error)
{
    if (!read_addresses_of(look, look->candidates, LINKS_MAX, error))
        return FALSE;
    find_prefixes(look);
    return read_others(look, error);
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

/* A rule of ours without a candidate's address may be a leftover of any NIC, and any NIC may have the address. */
static gboolean read_rules(const Look *look, GError **error)
{
    const IbhSource *source = look->source;

    find_numbers(look);
    if (!source->read_rules(source->data, rule_matters, look, look->snapshot->rules, error))
        return FALSE;
    IBH_EACH (const IbhRule, rule, look->snapshot->rules) {
        if (rule->from.length && rule->action == FR_ACT_TO_TBL)
            add_table(look->near->tables, rule->table);
        if (ibh_rule_is_ours(rule) && (ibh_rule_is_spread(rule) || !g_hash_table_contains(look->held, &rule->from.ip)))
            return give_up(look);
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

static gboolean read_tables(const Look *look, GError **error)
{
    const IbhSource *source = look->source;
    GArray *routes = look->snapshot->routes;
    GHashTableIter each;
    gpointer table;

    look->near->all_tables = g_hash_table_size(look->near->tables) > TABLES_MAX;
    if (look->near->all_tables)
        return source->read_table(source->data, 0, routes, error);
    g_hash_table_iter_init(&each, look->near->tables);
    while (g_hash_table_iter_next(&each, &table, NULL)) {
        if (!source->read_table(source->data, GPOINTER_TO_UINT(table), routes, error))
            return FALSE;
    }
    return TRUE;
}

/* As if it had been asked for: connected routes, and what is ours. */
static void keep_unicast(GArray *routes)
{
    guint kept = 0;

    IBH_EACH (const IbhRoute, route, routes) {
        if (route->type == RTN_UNICAST)
            g_array_index(routes, IbhRoute, kept++) = *route;
    }
    g_array_set_size(routes, kept);
}

/* An address that any NIC of this host has is no gateway, and main may prefer another NIC's route. */
static gboolean read_main(const Look *look, GError **error)
{
    const IbhSource *source = look->source;
    g_autoptr(GArray) all = g_array_new(FALSE, TRUE, sizeof(IbhRoute));

    if (look->candidates->len && !source->read_main(source->data, look->candidates, all, error))
        return FALSE;
    look->near->main = g_array_new(FALSE, TRUE, sizeof(IbhRoute));
    keep_unicast(look->snapshot->routes);
    IBH_EACH (const IbhRoute, route, all) {
        if (route->gateway.family != AF_UNSPEC || route->nexthops != 1 || ibh_route_is_ours(route))
            return give_up(look);
        if (route->protocol != RTPROT_KERNEL)
            g_array_append_val(look->near->main, *route);
        else if (!look->near->all_tables)
            g_array_append_val(look->snapshot->routes, *route);
    }
    g_array_sort(look->snapshot->routes, compare_places); /* it keeps the order of equals */
    return TRUE;
}

gboolean ibh_near_read(const IbhSource *source, IbhSnapshot *snapshot, const IbhConfig *config, IbhNear *near,
                       GError **error)
{
    static gboolean (*const steps[])(const Look *, GError **) = {read_links, read_addresses, read_rules, read_tables,
                                                                 read_main};
    g_autoptr(GArray) candidates = g_array_new(FALSE, FALSE, sizeof(int));
    g_autoptr(GArray) prefixes = g_array_new(FALSE, FALSE, sizeof(IbhPrefix));
    g_autoptr(GHashTable) held = g_hash_table_new_full(ibh_ip_hash, ibh_ip_equals, g_free, NULL);
    g_autoptr(GPtrArray) managed = g_ptr_array_new();
    g_autoptr(GArray) gateways = g_array_new(FALSE, FALSE, sizeof(IbhIp));
    const Look look = {source, snapshot, config, managed, near, candidates, prefixes, held, gateways};

    /* main=spread can be refused because of any NIC; and a glob may manage any NIC. */
    near->enough = ibh_config_main(config) == IBH_MAIN_KEEP && ibh_config_managed_names(config, managed);
    for (guint i = 0; i < G_N_ELEMENTS(steps) && near->enough; i++) {
        if (!steps[i](&look, error))
            return FALSE;
    }
    return TRUE;
}

void ibh_near_add_main(const IbhNear *near, const IbhRails *rails, IbhSnapshot *snapshot)
{
    IBH_EACH (const IbhRoute, route, near->main) {
        const IbhNic *nic = ibh_rails_nic(rails, route->ifindex);

        if (nic && nic->status == IBH_NIC_RAIL)
            g_array_append_val(snapshot->routes, *route);
    }
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

gboolean ibh_near_is_enough(const IbhNear *near, const IbhRails *rails)
{
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        if (nic->rank && !is_table_known(near, nic))
            return FALSE;
        if (nic->status != IBH_NIC_RAIL && !is_left_alone(nic))
            return FALSE;
    }
    return is_what_is_ours_of_rails(rails);
}
