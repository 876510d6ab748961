#include "snapshot.h"

#include "sysctl.h"
#include "sysfs.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

/* Whatever is ours, and every connected route, has protocol kernel: the kernel picks them out of its tables, so the
 * routes of a full BGP table are never sent to us. The local table's entries have other types. */
static gboolean read_kernel_routes(IbhSnapshot *snapshot, IbhNetlink *netlink, GError **error)
{
    const IbhRouteFilter unicast = {.protocol = RTPROT_KERNEL, .type = RTN_UNICAST};
    const IbhRouteFilter throws = {.protocol = RTPROT_KERNEL, .type = RTN_THROW};

    return ibh_netlink_read_routes(netlink, AF_INET, &unicast, snapshot->routes, error) &&
           ibh_netlink_read_routes(netlink, AF_INET, &throws, snapshot->routes, error);
}

gboolean ibh_snapshot_add_table(IbhSnapshot *snapshot, IbhNetlink *netlink, guint32 table, GError **error)
{
    const IbhRouteFilter filter = {.table = table};
    guint before = snapshot->routes->len;

    if (!ibh_netlink_read_routes(netlink, AF_INET, &filter, snapshot->routes, error))
        return FALSE;
    for (guint i = snapshot->routes->len; i-- > before;) {
        const IbhRoute *route = &g_array_index(snapshot->routes, IbhRoute, i);

        if (route->protocol == RTPROT_KERNEL && (route->type == RTN_UNICAST || route->type == RTN_THROW))
            g_array_remove_index(snapshot->routes, i); /* read before */
    }
    return TRUE;
}

static gboolean names_an_address(const IbhSnapshot *snapshot, const IbhPrefix *from)
{
    for (guint i = 0; i < snapshot->addresses->len; i++) {
        if (ibh_prefix_contains(from, &g_array_index(snapshot->addresses, IbhAddress, i).local))
            return TRUE;
    }
    return FALSE;
}

/* The tables that somebody else's rule leads one of our addresses to: they may route it already. */
static gboolean read_tables_of_foreign_rules(IbhSnapshot *snapshot, IbhNetlink *netlink, GError **error)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);

    for (guint i = 0; i < snapshot->rules->len; i++) {
        const IbhRule *rule = &g_array_index(snapshot->rules, IbhRule, i);

        if (ibh_rule_is_ours(rule) || rule->action != FR_ACT_TO_TBL || rule->from.length == 0 ||
            rule->table == IBH_TABLE_MAIN || rule->table == IBH_TABLE_LOCAL || !rule->table ||
            g_hash_table_contains(seen, GUINT_TO_POINTER(rule->table)) || !names_an_address(snapshot, &rule->from))
            continue;
        g_hash_table_add(seen, GUINT_TO_POINTER(rule->table));
        if (!ibh_snapshot_add_table(snapshot, netlink, rule->table, error))
            return FALSE;
    }
    return TRUE;
}

IbhSnapshot *ibh_snapshot_take(IbhNetlink *netlink, const char *sysfs, IbhState *state, GError **error)
{
    g_autoptr(IbhSnapshot) snapshot = ibh_snapshot_new();

    ibh_state_free(snapshot->state);
    snapshot->state = state;
    if (!ibh_netlink_read_links(netlink, snapshot->links, error) ||
        !ibh_netlink_read_addresses(netlink, AF_INET, snapshot->addresses, error) ||
        !ibh_netlink_read_rules(netlink, AF_INET, snapshot->rules, error) ||
        !read_kernel_routes(snapshot, netlink, error) ||
        !read_tables_of_foreign_rules(snapshot, netlink, error))
        return NULL;
    ibh_sysctl_read_all(snapshot->all);
    ibh_sysfs_find_rdma(sysfs, snapshot->links);
    return g_steal_pointer(&snapshot);
}

gboolean ibh_snapshot_add_neighbours(IbhSnapshot *snapshot, IbhNetlink *netlink, GError **error)
{
    return ibh_netlink_read_neighbours(netlink, AF_INET, snapshot->neighbours, error);
}
