/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fake_near.h"

#include "model/state.h"

#include <linux/if_arp.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

typedef struct {
    const FakeKernel *kernel;
    const IbhSnapshot *all;
    guint fails_in; /* answers; 0: none fails */
} Fake;

static gboolean fails(Fake *fake, GError **error)
{
    if (!fake->fails_in || --fake->fails_in)
        return FALSE;
    g_set_error_literal(error, G_FILE_ERROR, G_FILE_ERROR_IO, "refused");
    return TRUE;
}

static gboolean read_candidates(gpointer data, GArray *links, gboolean *ret_all, GError **error)
{
    Fake *fake = data;

    if (fails(fake, error))
        return FALSE;
    IBH_EACH (const IbhLink, link, fake->all->links) {
        if (link->rdma[0] || link->type == ARPHRD_INFINIBAND || g_str_equal(link->kind, "vlan") ||
            g_str_equal(link->kind, "macvlan"))
            g_array_append_val(links, *link);
    }
    *ret_all = TRUE;
    return TRUE;
}

static gboolean find_rdma(gpointer data, GArray *links, GError **error)
{
    (void)links;
    return !fails(data, error); /* the fake kernel's links have it */
}

static gboolean read_link(gpointer data, int ifindex, const char *name, GArray *links, GError **error)
{
    Fake *fake = data;

    if (fails(fake, error))
        return FALSE;
    IBH_EACH (const IbhLink, link, fake->all->links) {
        if (name ? g_str_equal(link->name, name) : link->ifindex == ifindex)
            g_array_append_val(links, *link);
    }
    return TRUE;
}

static gboolean read_addresses(gpointer data, int ifindex, GArray *addresses, GError **error)
{
    Fake *fake = data;

    if (fails(fake, error))
        return FALSE;
    IBH_EACH (const IbhAddress, address, fake->all->addresses) {
        if (!ifindex || address->ifindex == ifindex)
            g_array_append_val(addresses, *address);
    }
    return TRUE;
}

static gboolean read_strict(gpointer data, int all, GArray *ifindexes, GError **error)
{
    Fake *fake = data;

    if (fails(fake, error))
        return FALSE;
    IBH_EACH (const IbhLink, link, fake->all->links) {
        if (MAX(all, link->sysctl[IBH_SYSCTL_RP_FILTER]) == 1 && !(link->flags & IFF_LOOPBACK))
            g_array_append_val(ifindexes, link->ifindex);
    }
    return TRUE;
}

static gboolean read_rules(gpointer data, IbhRuleMatters matters, gconstpointer of, GArray *rules, GError **error)
{
    Fake *fake = data;

    if (fails(fake, error))
        return FALSE;
    IBH_EACH (const IbhRule, rule, fake->all->rules) {
        if (fake_is_our_rule(rule) || !rule->from.length || matters(of, &rule->from, rule->table))
            g_array_append_val(rules, *rule);
    }
    return TRUE;
}

static gboolean read_table(gpointer data, guint32 table, GArray *routes, GError **error)
{
    Fake *fake = data;

    if (fails(fake, error))
        return FALSE;
    IBH_EACH (const IbhRoute, route, fake->kernel->now->routes) {
        if (route->protocol == RTPROT_KERNEL && (table ? route->table == table : route->type == RTN_UNICAST))
            g_array_append_val(routes, *route);
    }
    return TRUE;
}

static gboolean read_main(gpointer data, const GArray *ifindexes, GArray *routes, GError **error)
{
    Fake *fake = data;

    if (fails(fake, error))
        return FALSE;
    IBH_EACH (const IbhRoute, route, fake->kernel->now->routes) {
        IBH_EACH (const int, ifindex, ifindexes) {
            if (route->table == IBH_TABLE_MAIN && route->type == RTN_UNICAST && route->ifindex == *ifindex)
                g_array_append_val(routes, *route);
        }
    }
    return TRUE;
}

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
        if (route->protocol != RTPROT_KERNEL || is_among(snapshot->routes, route))
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
    Fake fake = {.kernel = kernel, .all = all, .fails_in = fails_in};
    const IbhSource source = {&fake,       read_candidates, find_rdma,  read_link, read_addresses,
                              read_strict, read_rules,      read_table, read_main};
    g_autoptr(IbhSnapshot) snapshot = ibh_snapshot_new();

    ibh_state_free(snapshot->state);
    snapshot->state = ibh_state_copy(all->state);
    memcpy(snapshot->all, all->all, sizeof snapshot->all);
    return ibh_near_read(&source, snapshot, config, near, error) ? g_steal_pointer(&snapshot) : NULL;
}

IbhSnapshot *fake_near(const FakeKernel *kernel, const IbhSnapshot *all, const IbhConfig *config, IbhNear *near)
{
    g_autoptr(IbhSnapshot) snapshot = fake_near_read(kernel, all, config, near, 0, NULL);

    if (!snapshot || !near->enough || !is_clean(kernel, near))
        return NULL;
    order_routes(snapshot, all);
    return g_steal_pointer(&snapshot);
}
