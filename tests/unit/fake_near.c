/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of what asks the kernel and sysfs become those of functions below, which host/snapshot.c calls instead. */
#define ibh_netlink_read_link fake_read_link
#define ibh_netlink_read_links fake_read_links
#define ibh_netlink_check_parents fake_check_parents
#define ibh_netlink_read_addresses fake_read_addresses
#define ibh_netlink_read_nics fake_read_nics
#define ibh_netlink_name fake_name
#define ibh_netlink_read_rules fake_read_rules
#define ibh_netlink_read_routes fake_read_routes
#define ibh_netlink_read_main fake_read_main
#define ibh_netlink_read_neighbours fake_read_neighbours
#define ibh_netlink_is_strict fake_is_strict
#define ibh_netlink_lookup fake_lookup
#define ibh_sysctl_read_all fake_read_all
#define ibh_sysfs_find_rdma fake_find_rdma
#define ibh_sysfs_find_slots fake_find_slots
#define ibh_sysfs_ports fake_ports
#define ibh_sysfs_name_links fake_name_links
#define ibh_sysfs_name_upper fake_name_upper
#define ibh_tree_of fake_tree_of
#define ibh_tree_clear fake_tree_clear

#include "fake_near.h"

#include "host/snapshot.c"
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

IbhTree fake_tree_of(const char *sysfs G_GNUC_UNUSED)
{
    return (IbhTree){.sys = NULL};
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

void fake_find_slots(IbhTree *tree G_GNUC_UNUSED, const GArray *known G_GNUC_UNUSED, GArray *links G_GNUC_UNUSED)
{
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
        if (!kind || g_str_equal(link->kind, kind))
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
        if (!ifindexes || ibh_numbers_have(ifindexes, address->ifindex))
            g_array_append_val(addresses, *address);
    }
    return !fails(error);
}

gboolean fake_read_rules(IbhNetlink *netlink, IbhRuleMatters matters, gconstpointer of, GArray *rules, GError **error)
{
    IBH_EACH (const IbhRule, rule, netlink->all->rules) {
        if (!matters || fake_is_our_rule(rule) || !rule->from.length || rule->selectors & IBH_SELECT_NOT ||
            matters(of, &rule->from, rule->table))
            g_array_append_val(rules, *rule);
    }
    return !fails(error);
}

gboolean fake_is_strict(const IbhNetlink *netlink G_GNUC_UNUSED)
{
    return TRUE;
}

static gboolean passes(const IbhRouteFilter *filter, const IbhRoute *route)
{
    return (!filter->protocol || route->protocol == filter->protocol) &&
           (!filter->type || route->type == filter->type) && (!filter->table || route->table == filter->table) &&
           (!filter->keep || filter->keep(filter->of, route));
}

gboolean fake_read_routes(IbhNetlink *netlink, const IbhRouteFilter *filter, GArray *routes, GError **error)
{
    IBH_EACH (const IbhRoute, route, netlink->kernel->now->routes) {
        if (passes(filter, route))
            g_array_append_val(routes, *route);
    }
    return !fails(error);
}

gboolean fake_read_main(IbhNetlink *netlink, const GArray *ifindexes, int family, IbhRouteMatters keep,
                        gconstpointer of, GArray *parts, GError **error)
{
    const IbhRouteFilter filter = {.table = IBH_TABLE_MAIN, .type = RTN_UNICAST, .keep = keep, .of = of};

    IBH_EACH (const int, ifindex, ifindexes) {
        IBH_EACH (const IbhRoute, route, netlink->kernel->now->routes) {
            IbhRoute part;

            if (passes(&filter, route) && (family == AF_UNSPEC || route->family == family) &&
                ibh_route_part(route, *ifindex, &part))
                g_array_append_val(parts, part);
        }
    }
    return !fails(error);
}

gboolean fake_read_neighbours(IbhNetlink *netlink G_GNUC_UNUSED, int family G_GNUC_UNUSED,
                              IbhNeighbours which G_GNUC_UNUSED, GArray *neighbours G_GNUC_UNUSED, GError **error)
{
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

/* All routes in the order in which they were read of everything: of two equals the first counts. */
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
static gboolean is_clean(const FakeKernel *kernel, const IbhSnapshot *near)
{
    IBH_EACH (const IbhRoute, route, kernel->now->routes) {
        if (near->tables && fake_is_our_route(route) &&
            !g_hash_table_contains(near->tables, GUINT_TO_POINTER(route->table)))
            return FALSE;
    }
    return TRUE;
}

IbhSnapshot *fake_near_read(const FakeKernel *kernel, const IbhSnapshot *all, const IbhConfig *config, guint fails_in,
                            GError **error)
{
    IbhNetlink netlink = {.kernel = kernel, .all = all, .fails_in = fails_in};
    IbhState *state = ibh_state_copy(all->state);

    asked = &netlink;
    state->whole = TRUE;
    return ibh_snapshot_take(&netlink, config, "/sys", IBH_NEAR, state, error);
}

IbhSnapshot *fake_near(const FakeKernel *kernel, const IbhSnapshot *all, const IbhConfig *config)
{
    g_autoptr(IbhSnapshot) snapshot = fake_near_read(kernel, all, config, 0, NULL);

    if (!snapshot || !snapshot->is_near || snapshot->asked->everything || !is_clean(kernel, snapshot))
        return NULL;
    order_routes(snapshot, all);
    return g_steal_pointer(&snapshot);
}

void fake_read_tables(const FakeKernel *kernel, IbhSnapshot *snapshot)
{
    IbhNetlink netlink = {.kernel = kernel};

    asked = &netlink;
    (void)ibh_snapshot_read_tables(snapshot, &netlink, NULL);
}

gboolean fake_near_is_enough(const FakeKernel *kernel, const IbhSnapshot *all, IbhSnapshot *near)
{
    IbhNetlink netlink = {.kernel = kernel, .all = all};
    gboolean knows_more;

    asked = &netlink;
    return ibh_snapshot_read_asked(near, &netlink, &knows_more, NULL) && !near->asked->everything;
}
