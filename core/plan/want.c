/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/want.h"

#include "plan/scope.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#define LEARNED_MAX 4 /* routes of T that a host on the wire made */
#define LEVELS_MAX 8  /* prefixes of T inside each other */

/* ---- T: what is on the NIC's link ---- */

/* Where main reaches the subnet through this NIC, the rail does the same: via the gateway of isolated ports, with the
 * same metrics. FALSE: a direct route would not arrive, and main decides. */
static gboolean take_over(const IbhRails *rails, const IbhNic *nic, const IbhAddress *address, IbhRoute *route)
{
    const IbhSnapshot *snapshot = rails->snapshot;
    const IbhRoute *own = ibh_routes_find_best(snapshot->main_by_nic, nic->link->ifindex, &address->subnet);
    const IbhRoute *others = ibh_routes_find_best(snapshot->main_to_subnets, 0, &address->subnet);

    if (!(nic->link->flags & IFF_UP)) /* main has no route through a link that is down */
        return TRUE;
    if (!own && others && (others->hops ? others->hops->gateway : others->gateway).family != AF_UNSPEC)
        return FALSE;
    if (!own) /* an IPv6 address does not make its prefix one of the link: a router or the administrator does */
        return route->family == AF_INET || !(address->dynamic || address->noprefixroute);
    if (!ibh_route_is_simple(own) || ibh_rails_have_gateway(rails, nic, &own->gateway))
        return FALSE;
    ibh_route_set_gateway(route, &own->gateway);
    ibh_route_set_metrics(route, own);
    return TRUE;
}

/* One route per subnet of the NIC's addresses. IPv4 names the address that the kernel itself prefers as a source; IPv6
 * chooses a source that is not deprecated. */
static void add_subnets(const IbhRails *rails, const IbhNic *nic, int family, gboolean advertised, guint most,
                        GArray *routes)
{
    for (guint i = 0; i < nic->served->len; i++) {
        /* The kernel lists IPv6 addresses with the newest first: what a router announces comes after what was there. */
        const guint at = family == AF_INET6 ? nic->served->len - 1 - i : i;
        const IbhAddress *address = g_ptr_array_index(nic->served, at);
        IbhRoute route = ibh_route_for_nic(nic, &address->subnet);

        if (route.family != family || (family == AF_INET && address->secondary) || ibh_address_is_host(address))
            continue;
        if (routes->len >= most || ibh_rails_is_advertised(rails, address) != advertised ||
            ibh_routes_have_prefix(routes, &route.dst))
            continue;
        if (family == AF_INET) {
            route.scope = RT_SCOPE_LINK;
            route.src = address->local;
        }
        if (take_over(rails, nic, address, &route))
            ibh_routes_add_via(nic, &route, routes);
    }
}

/* The route lies inside a subnet of the NIC, or leads to an address of the NIC that has no subnet. */
static gboolean concerns(const IbhNic *nic, const IbhRoute *route)
{
    IBH_EACH_POINTER (const IbhAddress, address, nic->served) {
        if (ibh_address_is_host(address) ? ibh_prefix_contains(&route->dst, &address->local)
                                         : ibh_prefix_covers(&address->subnet, &route->dst))
            return TRUE;
    }
    return FALSE;
}

/* Main's on-link routes through this NIC: a router's /64 beside a DHCPv6 lease of /128, a /32 to a DNS server through
 * each NIC, a prefix that a router announces inside the rails' subnet. `learned`: those that the wire made. */
static void add_on_link(const IbhRails *rails, const IbhNic *nic, int family, gboolean learned, guint most,
                        GArray *routes)
{
    IBH_EACH (const IbhRoute, of_main, rails->snapshot->main_by_nic) {
        const gboolean advertised = ibh_route_is_advertised(of_main);
        IbhRoute route = ibh_route_for_nic(nic, &of_main->dst);

        if (of_main->ifindex != nic->link->ifindex || of_main->family != family ||
            of_main->gateway.family != AF_UNSPEC || !of_main->dst.length || !ibh_route_is_simple(of_main))
            continue;
        if ((advertised || of_main->protocol == RTPROT_DHCP) != learned || (advertised && of_main->dst.length < 64))
            continue;
        if (routes->len >= most || ibh_routes_have_prefix(routes, &route.dst) || !concerns(nic, of_main))
            continue;
        if (ibh_routes_find_best(rails->snapshot->main_by_nic, nic->link->ifindex, &route.dst) != of_main)
            continue; /* main has a better route to it */
        if (route.dst.length == ibh_ip_bits(&route.dst.ip) && ibh_rails_have_address(rails, &route.dst.ip))
            continue; /* the kernel's own route to an address of this host */
        if (family == AF_INET)
            route.scope = RT_SCOPE_LINK;
        ibh_route_set_metrics(&route, of_main);
        g_array_append_val(routes, route);
    }
}

/* ---- pairs ---- */

static guint find_level(const GArray *routes, const IbhRoute *route)
{
    guint level = 0;

    IBH_EACH (const IbhRoute, other, routes)
        level += ibh_prefix_is_inside(&route->dst, &other->dst) ? 1 : 0;
    return level;
}

/* The routes of T that a host on the wire made: from this index to the one before that. */
typedef struct {
    guint from, to;
} Learned;

/* The pairs of an address. An address that a router made is led to the prefixes that contain it, and to those that an
 * administrator configured: neighbours on the wire add few rules. */
static void add_pairs(const IbhRails *rails, const IbhNic *nic, const IbhAddress *address, const GArray *routes,
                      const Learned *learned)
{
    const gboolean advertised = ibh_rails_is_advertised(rails, address);

    for (guint i = 0; i < routes->len; i++) {
        const IbhRoute *route = &g_array_index(routes, IbhRoute, i);
        IbhPair pair = {.address = address, .to = route->dst, .level = find_level(routes, route)};

        if (pair.level >= LEVELS_MAX ||
            (advertised && i >= learned->from && i < learned->to && !ibh_prefix_contains(&route->dst, &address->local)))
            continue;
        pair.theirs = ibh_others_route(rails, nic, address, &pair.to);
        g_array_append_val(nic->pairs, pair);
    }
}

static gboolean is_wanted(const IbhNic *nic, const IbhPrefix *to)
{
    IBH_EACH (const IbhPair, pair, nic->pairs) {
        if (!pair->theirs && ibh_prefix_equal(&pair->to, to))
            return TRUE;
    }
    return FALSE;
}

/* ---- rules ---- */

IbhRule ibh_rule_of_ours(const IbhIp *from, const IbhPrefix *to, guint32 table, gint64 suppress_prefixlength,
                         guint32 priority)
{
    IbhRule rule = {
        .family = from->family,
        .priority = priority,
        .from = ibh_prefix_of_host(from),
        .action = FR_ACT_TO_TBL,
        .table = table,
        .protocol = RTPROT_KERNEL, /* systemd-networkd deletes rules of any other protocol */
        .suppress_prefixlength = suppress_prefixlength,
        .suppress_ifgroup = IBH_MARK,
    };

    if (to && to->length) {
        rule.to = *to;
        rule.selectors = IBH_SELECT_TO;
    }
    return rule;
}

static gint ascending(gconstpointer left, gconstpointer right)
{
    const IbhRule *a = left, *b = right;

    IBH_COMPARE_MEMBER(a, b, priority);
    return 0;
}

/* Two rules for each pair: main answers where it has a longer prefix, then T. The longest prefix of both tables wins: a
 * prefix inside another one of T is asked about before that one. */
static void add_rules(const IbhNic *nic, const IbhAddress *address, gboolean has_default, GArray *rules)
{
    g_autoptr(GArray) own = IBH_NEW_ARRAY(IbhRule);
    const IbhIp *from = &address->local;

    IBH_EACH (const IbhPair, pair, nic->pairs) {
        const guint32 priority = IBH_PRIORITY_BASE - 2 * pair->level;
        const IbhRule pair_rules[] = {
            ibh_rule_of_ours(from, &pair->to, IBH_TABLE_MAIN, pair->to.length, priority - 1),
            ibh_rule_of_ours(from, &pair->to, nic->table, -1, priority),
        };
        /* Nothing is longer than a single host. */
        const guint first = pair->to.length == ibh_ip_bits(from) ? 1 : 0;

        if (pair->address == address && !pair->theirs)
            g_array_append_vals(own, pair_rules + first, 2 - first);
    }
    g_array_sort(own, ascending);
    if (has_default) { /* bridges, containers, specific routes of main, and VPNs win over the rail's own default */
        const IbhRule default_rules[] = {
            ibh_rule_of_ours(from, NULL, IBH_TABLE_MAIN, 0, IBH_PRIORITY_DEFAULTS - 1),
            ibh_rule_of_ours(from, NULL, ibh_nic_defaults(nic), -1, IBH_PRIORITY_DEFAULTS),
        };

        g_array_append_vals(own, default_rules, 2);
    }
    g_array_append_vals(rules, own->data, own->len);
}

/* ---- the whole ---- */

static void want_family(const IbhRails *rails, IbhNic *nic, int family)
{
    const gboolean is_up = (nic->link->flags & IFF_UP) != 0; /* the kernel takes no routes through one that is down */
    g_autoptr(GArray) table = IBH_NEW_ARRAY(IbhRoute);
    IbhRoute by_default;
    gboolean can_default;
    Learned learned;

    add_subnets(rails, nic, family, FALSE, G_MAXUINT, table);
    add_on_link(rails, nic, family, FALSE, G_MAXUINT, table);
    learned.from = table->len;
    add_subnets(rails, nic, family, TRUE, learned.from + LEARNED_MAX, table);
    add_on_link(rails, nic, family, TRUE, learned.from + LEARNED_MAX, table);
    learned.to = table->len;
    ibh_want_remote(rails, nic, family, table);
    can_default = ibh_want_default(rails, nic, family, &by_default);
    IBH_EACH_POINTER (IbhAddress, address, nic->served) {
        if (address->local.family != family)
            continue;
        add_pairs(rails, nic, address, table, &learned);
        if (ibh_nic_foreign_rule(nic, address))
            continue;
        g_ptr_array_add(nic->programmed, address);
        /* Of two rails with one address, the rail of lower rank has the rules. */
        if (ibh_rails_owner(rails, &address->local) != nic || !ibh_nic_has_first(nic, address))
            continue;
        add_rules(nic, address, can_default && !ibh_others_lead_out(rails, address), nic->rules);
    }
    IBH_EACH (const IbhRoute, route, table) {
        if (is_up && is_wanted(nic, &route->dst))
            g_array_append_vals(nic->routes, route, 1);
    }
    if (is_up && can_default && ibh_nic_programs_family(nic, family))
        ibh_routes_add_via(nic, &by_default, nic->routes);
}

void ibh_want(const IbhRails *rails, IbhNic *nic)
{
    want_family(rails, nic, AF_INET);
    want_family(rails, nic, AF_INET6);
}
