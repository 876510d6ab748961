/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/look_io.h"

#include "check/check.h"
#include "host/snapshot.h"
#include "plan/want.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/utsname.h>

#define CACHED_MAX 256 /* the most cached routes that we keep: each adds questions, and may have a finding */

/* Reads whole tables into the facts: main, local, and those of foreign rules, except candidates' tables, which the
 * snapshot has. */
static gboolean look_into_tables(const IbhRails *rails, IbhFacts *facts, IbhNetlink *netlink, GError **error)
{
    static const int always_read[] = {IBH_TABLE_MAIN, IBH_TABLE_LOCAL};
    g_autoptr(GArray) tables = IBH_NEW_ARRAY(int);

    IBH_EACH (const IbhRule, rule, rails->snapshot->rules) {
        const int table = (int)rule->table;

        if (ibh_rule_is_ours(rule) || rule->l3mdev || rule->action != FR_ACT_TO_TBL)
            continue;
        if (table != IBH_TABLE_MAIN && table != IBH_TABLE_LOCAL && !ibh_rails_nic_by_table(rails, rule->table) &&
            !ibh_numbers_have(tables, table))
            g_array_append_val(tables, table);
    }
    g_array_append_vals(tables, always_read, G_N_ELEMENTS(always_read));
    IBH_EACH (const int, table, tables) {
        const IbhRouteFilter filter = {.table = (guint32)*table};

        if (!ibh_netlink_read_routes(netlink, &filter, facts->routes, error))
            return FALSE;
    }
    return TRUE;
}

/* TRUE if this cached route can lead packets of a rail through another NIC. The route has to be to a host in the rail's
 * subnets or remote=, or to any host if gateway= is neither none nor auto. `of` has the rails (IbhRails). */
static gboolean may_lead_astray(gconstpointer of, const IbhRoute *route)
{
    const IbhRails *rails = of;

    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        if (nic->status != IBH_NIC_RAIL || !ibh_nic_serves_family(nic, AF_INET6) ||
            nic->link->ifindex == route->ifindex)
            continue;
        if (nic->settings.gateway > IBH_GATEWAY_AUTO || ibh_nic_address_near(nic, &route->dst.ip) ||
            ibh_nic_find_remote(nic, &route->dst))
            return TRUE;
    }
    return FALSE;
}

/* Reads the routes to single hosts that the kernel has cached in main (IPv6 only). Keeps those that may lead packets of
 * rails astray, at most CACHED_MAX. */
static gboolean look_into_cache(const IbhRails *rails, IbhFacts *facts, IbhNetlink *netlink, GError **error)
{
    g_autoptr(GArray) routes = IBH_NEW_ARRAY(IbhRoute);
    const IbhRouteFilter filter = {
        .family = AF_INET6, .table = IBH_TABLE_MAIN, .cached = TRUE, .keep = may_lead_astray, .of = rails};
    gboolean is_needed = FALSE;

    IBH_EACH_POINTER (const IbhNic, nic, rails->nics)
        is_needed |= nic->status == IBH_NIC_RAIL && ibh_nic_serves_family(nic, AF_INET6);
    if (is_needed && !ibh_netlink_read_routes(netlink, &filter, routes, error))
        return FALSE;
    g_array_append_vals(facts->routes, routes->data, MIN(routes->len, CACHED_MAX));
    return TRUE;
}

static void look_at_settings(const IbhRails *rails, IbhFacts *facts)
{
    static const char *const protocols[] = {"ipv4", "ipv6"};

    facts->hash_policy = MAX(ibh_sysctl_read("ipv4/fib_multipath_hash_policy"), 0);
    facts->proxy_arp = ibh_sysctl_read("ipv4/conf/all/proxy_arp") > 0;
    IBH_EACH_POINTER (const IbhNic, nic, rails->nics) {
        const IbhLink *link = nic->link;

        if (nic->status != IBH_NIC_RAIL)
            continue;
        /* The kernel asks for an unknown hardware address by itself (mcast_solicit times), and through a program
         * (app_solicit times). If both are 0, nobody asks. */
        for (gsize i = 0; i < G_N_ELEMENTS(protocols); i++) {
            if (ibh_sysctl_read("%s/neigh/%s/mcast_solicit", protocols[i], link->name) == 0 &&
                ibh_sysctl_read("%s/neigh/%s/app_solicit", protocols[i], link->name) == 0)
                g_array_append_val(facts->mute[i], link->ifindex);
        }
        if (ibh_sysctl_read("ipv6/conf/%s/disable_ipv6", link->name) == 1)
            g_array_append_val(facts->no_ipv6, link->ifindex);
    }
}

/* Since Linux 5.11, the IPv4 value of conf/all/ignore_routes_with_linkdown counts for each link, too. */
static void take_linkdown_of_all(IbhSnapshot *snapshot)
{
    struct utsname kernel;
    guint version = 0, patchlevel = 0;

    if (uname(&kernel) < 0 || sscanf(kernel.release, "%u.%u", &version, &patchlevel) != 2 || version < 5 ||
        (version == 5 && patchlevel < 11) || ibh_sysctl_read("ipv4/conf/all/ignore_routes_with_linkdown") <= 0)
        return;
    IBH_EACH (IbhLink, link, snapshot->links)
        link->ignores_linkdown = TRUE;
}

gboolean ibh_check_look(const IbhRails *rails, IbhSnapshot *snapshot, IbhFacts *facts, IbhNetlink *netlink,
                        GError **error)
{
    GArray *neighbours = snapshot->neighbours;

    take_linkdown_of_all(snapshot);
    look_at_settings(rails, facts);
    /* `neighbours` gets the entries of both families, and then the proxy entries of IPv4. */
    g_array_set_size(neighbours, 0);
    return look_into_tables(rails, facts, netlink, error) && look_into_cache(rails, facts, netlink, error) &&
           ibh_netlink_read_neighbours(netlink, AF_INET, FALSE, neighbours, error) &&
           ibh_netlink_read_neighbours(netlink, AF_INET6, FALSE, neighbours, error) &&
           ibh_netlink_read_neighbours(netlink, AF_INET, TRUE, neighbours, error);
}
