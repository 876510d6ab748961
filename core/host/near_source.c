/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/near_source.h"

#include "host/sysfs.h"

#include <linux/rtnetlink.h>
#include <string.h>

typedef struct {
    IbhNetlink *netlink;
    IbhTree tree;
} Asked;

/* ---- links ---- */

static gboolean has_link(const GArray *links, int ifindex)
{
    IBH_EACH (const IbhLink, link, links) {
        if (link->ifindex == ifindex)
            return TRUE;
    }
    return FALSE;
}

static gboolean read_kind(const Asked *asked, const char *kind, GArray *links, GError **error)
{
    g_autoptr(GArray) found = g_array_new(FALSE, TRUE, sizeof(IbhLink));

    if (!ibh_netlink_read_links_of_kind(asked->netlink, kind, found, error))
        return FALSE;
    IBH_EACH (const IbhLink, link, found) {
        if (!has_link(links, link->ifindex))
            g_array_append_val(links, *link);
    }
    return TRUE;
}

static gboolean has_named_link(const GArray *links, const char *name)
{
    IBH_EACH (const IbhLink, link, links) {
        if (g_str_equal(link->name, name))
            return TRUE;
    }
    return FALSE;
}

static gboolean read_named(const Asked *asked, const GPtrArray *names, GArray *links, GError **error)
{
    IBH_EACH_POINTER (const char, name, names) {
        if (ibh_is_iface_name(name) && !has_named_link(links, name) &&
            !ibh_netlink_read_link(asked->netlink, 0, name, links, error))
            return FALSE;
    }
    return TRUE;
}

/* VLANs and macvlans, also stacked on each other. If sysfs lacks one of the links, the kernel is asked for all links.
 */
static gboolean read_stacked(Asked *asked, GArray *links, GError **error)
{
    for (guint i = 0; i < links->len; i++) { /* the list grows meanwhile */
        g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
        const IbhLink link = g_array_index(links, IbhLink, i);

        if (!ibh_sysfs_name_upper(&asked->tree, &link, names))
            return read_kind(asked, "vlan", links, error) && read_kind(asked, "macvlan", links, error);
        if (!read_named(asked, names, links, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean read_candidates(gpointer data, GArray *links, gboolean *ret_all, GError **error)
{
    Asked *asked = data;
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    IbhSysfsKinds kinds = {.infiniband = FALSE};

    *ret_all = ibh_sysfs_name_links(&asked->tree, names, &kinds);
    return !*ret_all ||
           (read_named(asked, names, links, error) && (!kinds.infiniband || read_kind(asked, "ipoib", links, error)) &&
            (!kinds.ethernet || read_stacked(asked, links, error)));
}

static gboolean find_rdma(gpointer data, GArray *links, GError **error)
{
    Asked *asked = data;

    ibh_netlink_check_parents(links);
    return ibh_sysfs_find_rdma_in(&asked->tree, links, error);
}

static gboolean read_link(gpointer data, int ifindex, const char *name, GArray *links, GError **error)
{
    const Asked *asked = data;

    return ibh_netlink_read_link(asked->netlink, ifindex, name, links, error);
}

/* ---- the rest ---- */

static gboolean read_addresses(gpointer data, int ifindex, GArray *addresses, GError **error)
{
    const Asked *asked = data;

    return ifindex ? ibh_netlink_read_addresses_of(asked->netlink, ifindex, addresses, error)
                   : ibh_netlink_read_addresses(asked->netlink, addresses, error);
}

static gboolean read_strict(gpointer data, int all, GArray *ifindexes, GError **error)
{
    const Asked *asked = data;

    return ibh_netlink_read_strict(asked->netlink, all, ifindexes, error);
}

static gboolean read_rules(gpointer data, IbhRuleMatters matters, gconstpointer of, GArray *rules, GError **error)
{
    const Asked *asked = data;

    return ibh_netlink_read_rules_that(asked->netlink, matters, of, rules, error);
}

/* In a dump of all tables, this type filter leaves out the entries of the local table; none of ours has their types. */
static gboolean read_table(gpointer data, guint32 table, GArray *routes, GError **error)
{
    const Asked *asked = data;
    const IbhRouteFilter filter = {.table = table, .protocol = RTPROT_KERNEL, .type = table ? 0 : RTN_UNICAST};

    return ibh_netlink_read_routes(asked->netlink, &filter, routes, error);
}

static gboolean read_main(gpointer data, const GArray *ifindexes, GArray *routes, GError **error)
{
    const Asked *asked = data;

    return ibh_netlink_read_main(asked->netlink, ifindexes, routes, error);
}

IbhSnapshot *ibh_snapshot_take_near(IbhNetlink *netlink, const char *sysfs, IbhState *state,
                                    const int all[IBH_N_SYSCTLS], const IbhConfig *config, IbhNear *near,
                                    GError **error)
{
    Asked asked = {.netlink = netlink};
    const IbhSource source = {&asked,      read_candidates, find_rdma,  read_link, read_addresses,
                              read_strict, read_rules,      read_table, read_main};
    IbhSnapshot *snapshot = ibh_snapshot_new();
    gboolean read;

    ibh_state_free(snapshot->state);
    snapshot->state = state;
    memcpy(snapshot->all, all, sizeof snapshot->all);
    ibh_tree_open(&asked.tree, sysfs);
    read = ibh_near_read(&source, snapshot, config, near, error);
    ibh_tree_clear(&asked.tree);
    if (!read)
        g_clear_pointer(&snapshot, ibh_snapshot_free);
    return snapshot;
}
