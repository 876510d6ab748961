/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/snapshot.h"

#include <linux/rtnetlink.h>
#include <sys/socket.h>

/* ---- which routes are kept while a dump is read ---- */

static gboolean is_in_scope(gconstpointer scope, const IbhRoute *route)
{
    return ibh_scope_has(scope, route);
}

static gboolean leads_to_one(gconstpointer subnets, const IbhRoute *route)
{
    return ibh_prefixes_have(subnets, &route->dst);
}

/* Unicast routes of protocol kernel are in the snapshot already. */
static gboolean is_new(gconstpointer of G_GNUC_UNUSED, const IbhRoute *route)
{
    return route->protocol != RTPROT_KERNEL || route->type != RTN_UNICAST;
}

/* The kernel makes a local route for each address. Any other local route is AnyIP: the host has all of that prefix. */
static gboolean is_any_ip(gconstpointer of G_GNUC_UNUSED, const IbhRoute *route)
{
    return route->protocol != RTPROT_KERNEL;
}

static gboolean read_local_prefixes(IbhNetlink *netlink, IbhSnapshot *snapshot, GError **error)
{
    const IbhRouteFilter filter = {.family = AF_INET, .table = IBH_TABLE_LOCAL, .type = RTN_LOCAL, .keep = is_any_ip};
    g_autoptr(GArray) routes = IBH_NEW_ARRAY(IbhRoute);

    if (!ibh_netlink_read_routes(netlink, &filter, routes, error))
        return FALSE;
    IBH_EACH (const IbhRoute, route, routes)
        g_array_append_val(snapshot->local, route->dst);
    return TRUE;
}

static gboolean read_routes(IbhNetlink *netlink, const IbhConfig *config, IbhSnapshot *snapshot, GError **error)
{
    const IbhRouteFilter kernels = {.protocol = RTPROT_KERNEL, .type = RTN_UNICAST};
    IbhRouteFilter main = {.table = IBH_TABLE_MAIN, .type = RTN_UNICAST, .keep = leads_to_one};
    IbhRouteFilter foreign = {.keep = is_new};
    g_auto(IbhScope) scope = {.candidates = NULL};
    g_autoptr(GArray) subnets = NULL, tables = NULL;

    ibh_scope_init(&scope, snapshot, config);
    /* All connected routes and all of ours have protocol kernel. The kernel filters by the protocol, so a full BGP
     * table never reaches us. */
    if (!ibh_netlink_read_routes(netlink, &kernels, snapshot->routes, error))
        return FALSE;
    /* For each NIC the kernel goes through all of main: IPv6 is read only where a candidate has a global address. */
    if (scope.candidates->len && !ibh_netlink_read_main(netlink, scope.candidates, scope.has_ipv6 ? AF_UNSPEC : AF_INET,
                                                        is_in_scope, &scope, snapshot->main_by_nic, error))
        return FALSE;
    main.of = subnets = ibh_scope_lacks(&scope, snapshot);
    if (subnets->len && !ibh_netlink_read_routes(netlink, &main, snapshot->main_to_subnets, error))
        return FALSE;
    if (scope.candidates->len && !read_local_prefixes(netlink, snapshot, error))
        return FALSE;
    tables = ibh_scope_tables(&scope, snapshot, config);
    IBH_EACH (const guint32, table, tables) {
        foreign.table = *table;
        if (!ibh_netlink_read_routes(netlink, &foreign, snapshot->routes, error))
            return FALSE;
    }
    return TRUE;
}

IbhSnapshot *ibh_snapshot_take(IbhNetlink *netlink, const IbhConfig *config, const char *sysfs, IbhState *state,
                               GError **error)
{
    g_autoptr(IbhSnapshot) snapshot = ibh_snapshot_new();
    g_auto(IbhTree) tree = ibh_tree_of(sysfs);
    g_autoptr(GPtrArray) ports = ibh_sysfs_ports(&tree);

    ibh_state_free(snapshot->state);
    snapshot->state = state;
    if (!ibh_sysctl_read_all(snapshot->all, error) || !ibh_netlink_read_links(netlink, snapshot->links, error) ||
        !ibh_sysfs_find_rdma(&tree, ports, snapshot->links, error))
        return NULL;
    ibh_sysfs_find_slots(&tree, state->known, snapshot->links);
    if (!ibh_netlink_read_addresses(netlink, snapshot->addresses, error) ||
        !ibh_netlink_read_rules(netlink, snapshot->rules, error) || !read_routes(netlink, config, snapshot, error))
        return NULL;
    return g_steal_pointer(&snapshot);
}
