/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of what asks the kernel and sysfs become those of functions below, which host/near.c calls instead. */
#define ibh_netlink_read_link fake_read_link
#define ibh_netlink_read_links fake_read_links
#define ibh_netlink_check_parents fake_check_parents
#define ibh_netlink_read_addresses fake_read_addresses
#define ibh_netlink_read_nics fake_read_nics
#define ibh_netlink_name fake_name
#define ibh_netlink_read_rules fake_read_rules
#define ibh_netlink_read_routes fake_read_routes
#define ibh_snapshot_read_main fake_snapshot_read_main
#define ibh_snapshot_read_main_to_subnets fake_snapshot_read_main_to_subnets
#define ibh_netlink_lookup fake_lookup
#define ibh_sysctl_read_all fake_read_all
#define ibh_sysfs_find_rdma fake_find_rdma
#define ibh_sysfs_ports fake_ports
#define ibh_sysfs_name_links fake_name_links
#define ibh_sysfs_name_upper fake_name_upper
#define ibh_tree_open fake_tree_open
#define ibh_tree_clear fake_tree_clear

#include "fake_near.h"

#include "host/near.c"
#include "model/model.h"

#include <linux/if_arp.h>

struct IbhNetlink {
    const FakeKernel *kernel;
    const IbhSnapshot *all;
    guint fails_in; /* answers; 0: none fails */
};

static IbhNetlink *asked; /* also by what asks sysfs */

static gboolean fails(GError **error)
{
    if (!asked->fails_in || --asked->fails_in)
        return FALSE;
    g_set_error_literal(error, G_FILE_ERROR, G_FILE_ERROR_IO, "refused");
    return TRUE;
}

/* ---- sysfs ---- */

void fake_tree_open(IbhTree *tree G_GNUC_UNUSED, const char *sysfs G_GNUC_UNUSED)
{
}

void fake_tree_clear(IbhTree *tree G_GNUC_UNUSED)
{
}

GPtrArray *fake_ports(IbhTree *tree G_GNUC_UNUSED)
{
    return g_ptr_array_new();
}

gboolean fake_name_links(const GPtrArray *ports G_GNUC_UNUSED, GPtrArray *names, IbhSysfsKinds *kinds)
{
    IBH_EACH (const IbhLink, link, asked->all->links) {
        if (link->rdma[0] || link->type == ARPHRD_INFINIBAND)
            g_ptr_array_add(names, g_strdup(link->name));
    }
    return kinds->ethernet = kinds->infiniband = TRUE;
}

gboolean fake_name_upper(IbhTree *tree G_GNUC_UNUSED, const IbhLink *link, GPtrArray *names)
{
    IBH_EACH (const IbhLink, upper, asked->all->links) {
        if (upper->parent == link->ifindex)
            g_ptr_array_add(names, g_strdup(upper->name));
    }
    return TRUE;
}

gboolean fake_find_rdma(IbhTree *tree G_GNUC_UNUSED, const GPtrArray *ports G_GNUC_UNUSED, GArray *links G_GNUC_UNUSED,
                        GError **error)
{
    return !fails(error); /* the fake kernel's links have it */
}

/* ---- netlink ---- */

gboolean fake_read_link(IbhNetlink *netlink, int ifindex, const char *name, GArray *links, GError **error)
{
    IBH_EACH (const IbhLink, link, netlink->all->links) {
        if (name ? g_str_equal(link->name, name) : link->ifindex == ifindex)
            g_array_append_val(links, *link);
    }
    return !fails(error);
}

gboolean fake_read_links(IbhNetlink *netlink, const char *kind, GArray *links, GError **error)
{
    IBH_EACH (const IbhLink, link, netlink->all->links) {
        if (g_str_equal(link->kind, kind))
            g_array_append_val(links, *link);
    }
    return !fails(error);
}

void fake_check_parents(GArray *links G_GNUC_UNUSED)
{
}

gboolean fake_name(IbhNetlink *netlink, int ifindex, char ret_name[IFNAMSIZ])
{
    const IbhLink *link = ibh_snapshot_link(netlink->all, ifindex);

    return link && g_strlcpy(ret_name, link->name, IFNAMSIZ);
}

gboolean fake_read_nics(IbhNetlink *netlink, GArray *nics, GError **error)
{
    IBH_EACH (const IbhLink, link, netlink->all->links) {
        const IbhNicFilter nic = {.ifindex = link->ifindex, .rp_filter = link->sysctl[IBH_SYSCTL_RP_FILTER]};

        g_array_append_val(nics, nic);
    }
    return !fails(error);
}

gboolean fake_read_all(int values[IBH_N_SYSCTLS], GError **error)
{
    memcpy(values, asked->all->all, sizeof asked->all->all);
    return !fails(error);
}

gboolean fake_read_addresses(IbhNetlink *netlink, const GArray *ifindexes, GArray *addresses, GError **error)
{
    IBH_EACH (const IbhAddress, address, netlink->all->addresses) {
        if (ibh_has(ifindexes, address->ifindex))
            g_array_append_val(addresses, *address);
    }
    return !fails(error);
}

gboolean fake_read_rules(IbhNetlink *netlink, IbhRuleMatters matters, gconstpointer of, GArray *rules, GError **error)
{
    IBH_EACH (const IbhRule, rule, netlink->all->rules) {
        if (fake_is_our_rule(rule) || !rule->from.length || rule->selectors & IBH_SELECT_NOT ||
            matters(of, &rule->from, rule->table))
            g_array_append_val(rules, *rule);
    }
    return !fails(error);
}

gboolean fake_read_routes(IbhNetlink *netlink, const IbhRouteFilter *filter, GArray *routes, GError **error)
{
    IBH_EACH (const IbhRoute, route, netlink->kernel->now->routes) {
        if (route->protocol == filter->protocol && route->type == filter->type &&
            (!filter->table || route->table == filter->table))
            g_array_append_val(routes, *route);
    }
    return !fails(error);
}

gboolean fake_snapshot_read_main(const IbhMainScope *scope, IbhNetlink *netlink, IbhRouteMatters keep, GArray *parts,
                                 GError **error)
{
    g_autoptr(GArray) all = g_array_new(FALSE, TRUE, sizeof(IbhRoute));

    fake_read_parts(netlink->kernel->now->routes, scope, all);
    IBH_EACH (const IbhRoute, part, all) {
        if (keep(scope, part))
            g_array_append_val(parts, *part);
    }
    return !fails(error);
}

gboolean fake_snapshot_read_main_to_subnets(const IbhMainScope *scope, IbhSnapshot *snapshot, IbhNetlink *netlink,
                                            GError **error)
{
    fake_read_to_subnets(netlink->kernel->now->routes, scope, snapshot);
    return !fails(error);
}

gboolean fake_lookup(IbhNetlink *netlink, IbhLookup *lookup, GError **error)
{
    lookup->type = RTN_UNICAST;
    IBH_EACH (const IbhAddress, address, netlink->all->addresses) {
        if (ibh_ip_equal(&address->local, &lookup->to))
            lookup->type = RTN_LOCAL;
    }
    return !fails(error);
}

/* ---- near ---- */

static gboolean is_among(const GArray *routes, const IbhRoute *route)
{
    IBH_EACH (const IbhRoute, one, routes) {
        if (memcmp(one, route, sizeof *route) == 0)
            return TRUE;
    }
    return FALSE;
}

/* What an event reads beside, once the addresses are known (ibh_snapshot_add_tables_of_foreign_rules); and all of it in
 * the order in which it was read of everything: of two equals the first counts. */
static void order_routes(IbhSnapshot *snapshot, const IbhSnapshot *all)
{
    g_autoptr(GArray) routes = g_array_new(FALSE, TRUE, sizeof(IbhRoute));

    IBH_EACH (const IbhRoute, route, all->routes) {
        if (route->protocol != RTPROT_KERNEL || route->type != RTN_UNICAST || is_among(snapshot->routes, route))
            g_array_append_val(routes, *route);
    }
    g_array_set_size(snapshot->routes, 0);
    g_array_append_vals(snapshot->routes, routes->data, routes->len);
}

/* After a run that ended well nothing of ours lies in a table that is not remembered: near is only who knows of one. */
static gboolean is_clean(const FakeKernel *kernel, const IbhNear *near)
{
    IBH_EACH (const IbhRoute, route, kernel->now->routes) {
        if (!near->all_tables && fake_is_our_route(route) &&
            !g_hash_table_contains(near->tables, GUINT_TO_POINTER(route->table)))
            return FALSE;
    }
    return TRUE;
}

IbhSnapshot *fake_near_read(const FakeKernel *kernel, const IbhSnapshot *all, const IbhConfig *config, IbhNear *near,
                            guint fails_in, GError **error)
{
    IbhNetlink netlink = {.kernel = kernel, .all = all, .fails_in = fails_in};

    asked = &netlink;
    near->netlink = &netlink;
    near->config = config;
    return ibh_near_take(near, "/sys", ibh_state_copy(all->state), error);
}

IbhSnapshot *fake_near(const FakeKernel *kernel, const IbhSnapshot *all, const IbhConfig *config, IbhNear *near)
{
    g_autoptr(IbhSnapshot) snapshot = fake_near_read(kernel, all, config, near, 0, NULL);

    if (!snapshot || !near->enough || !is_clean(kernel, near))
        return NULL;
    order_routes(snapshot, all);
    return g_steal_pointer(&snapshot);
}

gboolean fake_near_finish(const FakeKernel *kernel, const IbhSnapshot *all, IbhNear *near, const IbhRails *rails)
{
    IbhNetlink netlink = {.kernel = kernel, .all = all};

    near->netlink = asked = &netlink;
    return ibh_near_finish(near, rails, NULL) && near->enough;
}
