/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/snapshot.h"

#include <linux/rtnetlink.h>
#include <sys/socket.h>

/* From here on, routes of protocol kernel have been read. */
static void keep_foreign_routes(IbhSnapshot *snapshot, guint from)
{
    guint kept = from;

    for (guint i = from; i < snapshot->routes->len; i++) { /* in order: of two equal routes the first counts */
        const IbhRoute *route = &g_array_index(snapshot->routes, IbhRoute, i);

        if (route->protocol != RTPROT_KERNEL || route->type != RTN_UNICAST)
            g_array_index(snapshot->routes, IbhRoute, kept++) = *route;
    }
    g_array_set_size(snapshot->routes, kept);
}

gboolean ibh_snapshot_add_table(IbhSnapshot *snapshot, IbhNetlink *netlink, guint32 table, GError **error)
{
    const IbhRouteFilter filter = {.table = table};
    guint before = snapshot->routes->len;

    if (!ibh_netlink_read_routes(netlink, &filter, snapshot->routes, error))
        return FALSE;
    keep_foreign_routes(snapshot, before);
    return TRUE;
}

/* ---- main, as the candidates have it ---- */

/* The kernel goes through all of main for each NIC: IPv6's is asked only where a candidate has a global address. */
gboolean ibh_snapshot_read_main(const IbhMainScope *scope, IbhNetlink *netlink, IbhRouteMatters keep, GArray *parts,
                                GError **error)
{
    return !scope->candidates->len ||
           ibh_netlink_read_main(netlink, scope->candidates, scope->has_ipv6 ? AF_UNSPEC : AF_INET, keep, scope, parts,
                                 error);
}

static gboolean leads_to_one(gconstpointer subnets, const IbhRoute *route)
{
    IBH_EACH (const IbhPrefix, subnet, (const GArray *)subnets) {
        if (ibh_prefix_equal(&route->dst, subnet))
            return TRUE;
    }
    return FALSE;
}

gboolean ibh_snapshot_read_main_to_subnets(const IbhMainScope *scope, IbhSnapshot *snapshot, IbhNetlink *netlink,
                                           GError **error)
{
    g_autoptr(GArray) subnets = ibh_main_scope_lacks(scope, snapshot);
    const IbhRouteFilter filter = {.table = IBH_TABLE_MAIN, .type = RTN_UNICAST, .keep = leads_to_one, .of = subnets};

    return !subnets->len || ibh_netlink_read_routes(netlink, &filter, snapshot->main_to_subnets, error);
}

static gboolean has(gconstpointer scope, const IbhRoute *route)
{
    return ibh_main_scope_has(scope, route);
}

gboolean ibh_snapshot_add_main(IbhSnapshot *snapshot, IbhNetlink *netlink, const IbhConfig *config, GError **error)
{
    g_auto(IbhMainScope) scope = {0};

    ibh_main_scope_find(&scope, snapshot, config);
    return ibh_snapshot_read_main(&scope, netlink, has, snapshot->main_by_nic, error) &&
           ibh_snapshot_read_main_to_subnets(&scope, snapshot, netlink, error);
}

gboolean ibh_snapshot_add_errors(IbhSnapshot *snapshot, IbhNetlink *netlink, GError **error)
{
    static const guint8 types[] = {RTN_UNREACHABLE, RTN_BLACKHOLE, RTN_PROHIBIT};

    IBH_EACH_ROW (const guint8, type, types) {
        const IbhRouteFilter filter = {.table = IBH_TABLE_MAIN, .type = *type};

        if (!ibh_netlink_read_routes(netlink, &filter, snapshot->routes, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean is_for_a_candidate(const IbhSnapshot *snapshot, const IbhConfig *config, const IbhPrefix *from)
{
    IBH_EACH (const IbhAddress, address, snapshot->addresses) {
        const IbhLink *link =
            ibh_prefix_contains(from, &address->local) ? ibh_snapshot_link(snapshot, address->ifindex) : NULL;

        if (link && ibh_is_candidate(snapshot, link, ibh_config_settings(config, link->name).manage))
            return TRUE;
    }
    return FALSE;
}

gboolean ibh_snapshot_add_tables_of_foreign_rules(IbhSnapshot *snapshot, IbhNetlink *netlink, const IbhConfig *config,
                                                  GError **error)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);

    IBH_EACH (const IbhRule, rule, snapshot->rules) {
        if (ibh_rule_is_of_a_source(rule) && !g_hash_table_contains(seen, GUINT_TO_POINTER(rule->table)) &&
            is_for_a_candidate(snapshot, config, &rule->from) &&
            g_hash_table_add(seen, GUINT_TO_POINTER(rule->table)) &&
            !ibh_snapshot_add_table(snapshot, netlink, rule->table, error))
            return FALSE;
    }
    return TRUE;
}

/* All rules and routes of ours, and every connected route, have protocol kernel: the kernel picks these out of its
 * tables, so it never sends us the routes of a full BGP table. The local table's entries have other types. */
IbhSnapshot *ibh_snapshot_take(IbhNetlink *netlink, const char *sysfs, IbhState *state, GError **error)
{
    static const IbhRouteFilter kernels = {.protocol = RTPROT_KERNEL, .type = RTN_UNICAST};
    g_autoptr(IbhSnapshot) snapshot = ibh_snapshot_new();
    g_auto(IbhTree) tree = {0};
    g_autoptr(GPtrArray) ports = NULL;

    ibh_state_free(snapshot->state);
    snapshot->state = state;
    if (!ibh_netlink_read_links(netlink, NULL, snapshot->links, error) ||
        !ibh_netlink_read_addresses(netlink, NULL, snapshot->addresses, error) ||
        !ibh_netlink_read_rules(netlink, NULL, NULL, snapshot->rules, error) ||
        !ibh_netlink_read_routes(netlink, &kernels, snapshot->routes, error))
        return NULL;
    ibh_netlink_check_parents(snapshot->links);
    ibh_tree_open(&tree, sysfs);
    ports = ibh_sysfs_ports(&tree);
    return ibh_sysfs_find_rdma(&tree, ports, snapshot->links, error) && ibh_sysctl_read_all(snapshot->all, error)
               ? g_steal_pointer(&snapshot)
               : NULL;
}

gboolean ibh_snapshot_add_neighbours(IbhSnapshot *snapshot, IbhNetlink *netlink, GError **error)
{
    g_array_set_size(snapshot->neighbours, 0);
    return ibh_netlink_read_neighbours(netlink, AF_INET, IBH_NEIGHBOURS_FOUND, snapshot->neighbours, error);
}
