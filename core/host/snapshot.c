/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/snapshot.h"

#include <linux/rtnetlink.h>
#include <sys/socket.h>

/* ---- which routes of a dump to keep ---- */

static gboolean leads_to_subnet(gconstpointer subnets, const IbhRoute *route)
{
    return ibh_prefixes_have(subnets, &route->dst);
}

/* FALSE for the unicast routes of protocol kernel, which the snapshot has already. */
static gboolean is_new(gconstpointer of G_GNUC_UNUSED, const IbhRoute *route)
{
    return route->protocol != RTPROT_KERNEL || route->type != RTN_UNICAST;
}

/* The local routes that the kernel adds, such as those for the addresses of NICs, have protocol kernel. TRUE for any
 * other local route: this is AnyIP, which somebody added so that the host owns each address of a prefix. */
static gboolean is_any_ip(gconstpointer of G_GNUC_UNUSED, const IbhRoute *route)
{
    return route->protocol != RTPROT_KERNEL;
}

static gboolean read_routes(IbhNetlink *netlink, const IbhConfig *config, IbhSnapshot *snapshot, GError **error)
{
    const IbhRouteFilter protocol_kernel = {.protocol = RTPROT_KERNEL, .type = RTN_UNICAST};
    const IbhRouteFilter local = {.family = AF_INET, .table = IBH_TABLE_LOCAL, .type = RTN_LOCAL, .keep = is_any_ip};
    IbhRouteFilter main = {.table = IBH_TABLE_MAIN, .type = RTN_UNICAST, .keep = leads_to_subnet};
    IbhRouteFilter remaining = {.keep = is_new};
    g_auto(IbhScope) scope = {.candidates = NULL};
    g_autoptr(GArray) subnets = NULL, tables = NULL, any_ip = IBH_NEW_ARRAY(IbhRoute);

    ibh_scope_init(&scope, snapshot, config);
    /* A kernel with strict dumps (since Linux 4.20) filters by protocol before it sends. Our routes and all connected
     * routes have protocol kernel, so we first ask for this protocol alone: then the kernel does not send a full BGP
     * table. */
    if (!ibh_netlink_read_routes(netlink, &protocol_kernel, snapshot->routes, error))
        return FALSE;
    /* To read main, the kernel may walk through all routes of main once for each NIC. So skip IPv6 if no candidate
     * has an IPv6 address that counts (ibh_address_counts()). */
    if (scope.candidates->len &&
        (!ibh_netlink_read_main(netlink, scope.candidates, scope.has_ipv6 ? AF_UNSPEC : AF_INET, ibh_scope_needs_route,
                                &scope, snapshot->main_by_nic, error) ||
         !ibh_netlink_read_routes(netlink, &local, any_ip, error)))
        return FALSE;
    /* `main_by_nic` now shows to which of the candidates' subnets main has no route through the candidate itself. Read
     * main's routes to these subnets, which lead through other NICs. */
    main.of = subnets = ibh_scope_unreached_subnets(&scope, snapshot);
    if (subnets->len && !ibh_netlink_read_routes(netlink, &main, snapshot->main_to_subnets, error))
        return FALSE;
    IBH_EACH (const IbhRoute, route, any_ip)
        g_array_append_val(snapshot->local, route->dst);
    /* Some tables matter as a whole: read their routes that the filter `protocol_kernel` has left out. */
    tables = ibh_scope_tables(&scope, snapshot, config);
    IBH_EACH (const guint32, table, tables) {
        remaining.table = *table;
        if (!ibh_netlink_read_routes(netlink, &remaining, snapshot->routes, error))
            return FALSE;
    }
    return TRUE;
}

IbhSnapshot *ibh_snapshot_take(IbhNetlink *netlink, const IbhConfig *config, const char *sysfs, IbhState *state,
                               GError **error)
{
    g_autoptr(IbhSnapshot) snapshot = ibh_snapshot_new();
    g_auto(IbhTree) tree = ibh_tree_of(sysfs);

    ibh_state_free(snapshot->state);
    snapshot->state = state;
    if (!ibh_sysctl_read_all(snapshot->all, error) || !ibh_netlink_read_links(netlink, snapshot->links, error) ||
        !ibh_sysfs_find_rdma(&tree, snapshot->links, error))
        return NULL;
    ibh_sysfs_find_slots(&tree, state->known, snapshot->links);
    if (!ibh_netlink_read_addresses(netlink, snapshot->addresses, error) ||
        !ibh_netlink_read_rules(netlink, snapshot->rules, error) || !read_routes(netlink, config, snapshot, error))
        return NULL;
    return g_steal_pointer(&snapshot);
}
