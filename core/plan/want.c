#include "plan/want.h"

#include "plan/remove.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

/* ---- rules ---- */

/* The tiers of an address:
 *   1  T without its default route: main's longer prefixes are asked before a default, and win
 *   2  main without its default route    } only where T has
 *   3  T, for its default route          } a default route */
static IbhRule tier(const IbhRails *rails, const IbhNic *nic, const IbhIp *address, guint number)
{
    return (IbhRule){
        .family = address->family,
        .priority = rails->priority + (number - 1) * IBH_PRIORITY_STEP,
        .from = ibh_prefix(address, ibh_ip_bits(address)),
        .action = FR_ACT_TO_TBL,
        .table = number == 2 ? IBH_TABLE_MAIN : nic->table,
        .protocol = RTPROT_KERNEL, /* systemd-networkd deletes rules of any other protocol */
        .suppress_prefixlength = number == 3 ? -1 : 0,
        .suppress_ifgroup = IBH_MARK,
    };
}

static gboolean have_rule(const GArray *rules, const IbhRule *rule)
{
    for (guint i = 0; i < rules->len; i++) {
        if (ibh_rule_compare(&g_array_index(rules, IbhRule, i), rule) == 0)
            return TRUE;
    }
    return FALSE;
}

static gboolean has_default(const GArray *routes, int family)
{
    for (guint i = 0; i < routes->len; i++) {
        const IbhRoute *route = &g_array_index(routes, IbhRoute, i);

        if (route->family == family && ibh_route_is_default(route))
            return TRUE;
    }
    return FALSE;
}

GArray *ibh_want_rules(const IbhRails *rails, const IbhNic *nic, const GArray *routes)
{
    const GArray *addresses = rails->snapshot->addresses;
    GArray *rules = g_array_new(FALSE, TRUE, sizeof(IbhRule));

    for (guint i = 0; i < addresses->len; i++) {
        const IbhAddress *address = &g_array_index(addresses, IbhAddress, i);
        guint tiers;

        /* Of one address on two rails, the rail of lower rank has the rules. */
        if (!ibh_nic_serves(nic, address) || ibh_rails_owner(rails, &address->local) != nic)
            continue;
        tiers = has_default(routes, address->local.family) ? 3 : 1;
        for (guint number = 1; number <= tiers; number++) {
            IbhRule rule = tier(rails, nic, &address->local, number);

            if (!have_rule(rules, &rule))
                g_array_append_val(rules, rule);
        }
    }
    return rules;
}

/* ---- routes ---- */

static gboolean have_prefix(const GArray *routes, const IbhPrefix *prefix)
{
    for (guint i = 0; i < routes->len; i++) {
        if (ibh_prefix_equal(&g_array_index(routes, IbhRoute, i).dst, prefix))
            return TRUE;
    }
    return FALSE;
}

static IbhRoute own_route(const IbhNic *nic, const IbhPrefix *dst)
{
    return (IbhRoute){.family = dst->ip.family,
                      .table = nic->table,
                      .dst = *dst,
                      .type = RTN_UNICAST,
                      .protocol = RTPROT_KERNEL,
                      .scope = RT_SCOPE_UNIVERSE,
                      .metric = IBH_MARK,
                      .ifindex = nic->link->ifindex,
                      .nexthops = 1};
}

/* In IPv6 an address does not make its prefix one of the link: a router says so, or the administrator. */
static gboolean is_on_link(const IbhRails *rails, const IbhRoute *subnet)
{
    const GArray *routes = rails->snapshot->routes;

    for (guint i = 0; i < routes->len; i++) {
        const IbhRoute *route = &g_array_index(routes, IbhRoute, i);

        if (route->table == IBH_TABLE_MAIN && route->type == RTN_UNICAST && route->ifindex == subnet->ifindex &&
            route->gateway.family == AF_UNSPEC && ibh_prefix_equal(&route->dst, &subnet->dst))
            return TRUE;
    }
    return FALSE;
}

/* One route per distinct subnet, with the address the kernel itself would prefer as its source. */
static void want_subnets(const IbhRails *rails, const IbhNic *nic, GArray *routes)
{
    const GArray *addresses = rails->snapshot->addresses;

    for (guint i = 0; i < addresses->len; i++) {
        const IbhAddress *address = &g_array_index(addresses, IbhAddress, i);
        IbhRoute route;

        if (!ibh_nic_serves(nic, address) || ibh_address_is_host(address))
            continue;
        route = own_route(nic, &address->subnet);
        if (route.family == AF_INET) { /* IPv6 has no scope of routes, and chooses a source that is not deprecated */
            route.scope = RT_SCOPE_LINK;
            route.src = address->local;
        }
        if ((route.family == AF_INET ? !address->secondary : is_on_link(rails, &route)) &&
            !have_prefix(routes, &address->subnet))
            g_array_append_val(routes, route);
    }
}

/* Inside one of what the rail reaches, from `first` to before `end`. */
static gboolean is_inside(const GArray *reached, guint first, guint end, const IbhPrefix *prefix)
{
    for (guint i = first; i < end; i++) {
        const IbhRoute *route = &g_array_index(reached, IbhRoute, i);

        if (route->dst.length > 0 && route->dst.length < prefix->length &&
            ibh_prefix_contains(&route->dst, &prefix->ip))
            return TRUE;
    }
    return FALSE;
}

/* Main reaches it by this NIC, and by no other with a lower metric. Of the same metric the first one wins in main; T
 * leaves that to main, too. */
static gboolean is_best_in_main(const GArray *routes, const IbhRoute *route)
{
    for (guint i = 0; i < routes->len; i++) {
        const IbhRoute *other = &g_array_index(routes, IbhRoute, i);

        if (other->table == IBH_TABLE_MAIN && other->type == RTN_UNICAST && other->metric < route->metric &&
            ibh_prefix_equal(&other->dst, &route->dst))
            return FALSE;
    }
    return TRUE;
}

/* Inside a subnet of the rail (the first of what it reaches), another interface's subnet must win as it does in main (a
 * docker bridge in 172.16/16); in what is copied from main, another rail's as well. */
static gboolean must_throw(const IbhRails *rails, const IbhNic *nic, const GArray *reached, guint n_subnets,
                           const GArray *all, const IbhRoute *route)
{
    const IbhNic *other;
    gboolean in_subnet, in_copy;

    if (route->table != IBH_TABLE_MAIN || route->type != RTN_UNICAST || !route->ifindex ||
        route->ifindex == nic->link->ifindex)
        return FALSE;
    in_subnet = is_inside(reached, 0, n_subnets, &route->dst);
    in_copy = is_inside(reached, n_subnets, reached->len, &route->dst);
    if ((!in_subnet && !in_copy) || have_prefix(reached, &route->dst))
        return FALSE;
    other = ibh_rails_nic(rails, route->ifindex);
    if (other && other->status == IBH_NIC_RAIL && (in_subnet || route->gateway.family != AF_UNSPEC))
        return FALSE;
    return is_best_in_main(all, route);
}

/* `throw` ends the look-up in T, and the next rules find it in main. */
static void want_throws(const IbhRails *rails, const IbhNic *nic, const GArray *reached, guint n_subnets,
                        GArray *routes)
{
    g_autoptr(GArray) all = ibh_routes_to_be(rails);

    for (guint i = 0; i < all->len; i++) {
        const IbhRoute *other = &g_array_index(all, IbhRoute, i);
        const IbhRoute route = {.family = other->family,
                                .table = nic->table,
                                .dst = other->dst,
                                .type = RTN_THROW,
                                .protocol = RTPROT_KERNEL,
                                .scope = RT_SCOPE_UNIVERSE,
                                .metric = IBH_MARK};

        if (must_throw(rails, nic, reached, n_subnets, all, other) && !have_prefix(routes, &other->dst))
            g_array_append_val(routes, route);
    }
}

/* ---- gateways ---- */

static gboolean is_on_subnet(const GArray *subnets, const IbhIp *gateway)
{
    for (guint i = 0; i < subnets->len; i++) {
        const IbhRoute *subnet = &g_array_index(subnets, IbhRoute, i);

        if (subnet->gateway.family == AF_UNSPEC && ibh_prefix_contains(&subnet->dst, gateway))
            return TRUE;
    }
    return FALSE;
}

/* IPv6 routers go by an address that means something on one link only. */
static gboolean is_router_address(const IbhIp *ip)
{
    return ip->family == AF_INET6 && ibh_ip_is_link_local(ip);
}

/* Main prefers another NIC's route to the same prefix. */
static gboolean is_anothers_in_main(const IbhRails *rails, const IbhRoute *route)
{
    const GArray *routes = rails->snapshot->routes;

    for (guint i = 0; i < routes->len; i++) {
        const IbhRoute *other = &g_array_index(routes, IbhRoute, i);
        const IbhNic *nic = other->ifindex ? ibh_rails_nic(rails, other->ifindex) : NULL;

        if (other->table == IBH_TABLE_MAIN && other->type == RTN_UNICAST && other->ifindex &&
            (!nic || nic->status != IBH_NIC_RAIL) && other->metric < route->metric && !other->special &&
            ibh_prefix_equal(&other->dst, &route->dst))
            return TRUE;
    }
    return FALSE;
}

static gboolean can_reach_gateway(const IbhRails *rails, const IbhNic *nic, const GArray *subnets,
                                  const IbhRoute *route)
{
    if (nic->settings.gateway == IBH_GATEWAY_NONE || ibh_rails_holder(rails, &route->gateway))
        return FALSE; /* also one that has become an address of ours */
    return is_router_address(&route->gateway) ? route->ifindex == nic->link->ifindex
                                              : is_on_subnet(subnets, &route->gateway);
}

/* A route of main that is true of this rail, too: by a gateway that it reaches in its own subnet, or (IPv6, where
 * a router announces prefixes) on the link. */
static gboolean is_ours_to_copy(const IbhRails *rails, const IbhNic *nic, const GArray *subnets, const IbhRoute *route)
{
    const IbhNic *other;

    if (route->table != IBH_TABLE_MAIN || route->type != RTN_UNICAST || route->nexthops != 1 || route->special ||
        ibh_route_is_ours(route) || (route->gateway.family == AF_UNSPEC && route->ifindex != nic->link->ifindex))
        return FALSE;
    other = ibh_rails_nic(rails, route->ifindex);
    if (!other || other->status != IBH_NIC_RAIL || !ibh_serves_family(rails, nic, route->family))
        return FALSE;
    if (route->gateway.family != AF_UNSPEC)
        return can_reach_gateway(rails, nic, subnets, route) && !is_anothers_in_main(rails, route);
    return route->family == AF_INET6 && other == nic && !ibh_ip_is_link_local(&route->dst.ip) &&
           route->dst.ip.bytes[0] != 0xff && /* multicast */
           !(route->dst.length == 128 && ibh_rails_holder(rails, &route->dst.ip));
}

/* More than these are a routing protocol's, whose routes nobody copies for each rail: of those only defaults are. */
#define COPIES_MAX 512

static void drop_all_but_defaults(GArray *copies)
{
    for (guint i = copies->len; i-- > 0;) {
        if (!ibh_route_is_default(&g_array_index(copies, IbhRoute, i)))
            g_array_remove_index(copies, i);
    }
}

/* Main takes the route of lowest metric, of two the first. */
static void copy_route(const IbhNic *nic, const IbhRoute *route, GArray *copies, GArray *metrics)
{
    IbhRoute copy = own_route(nic, &route->dst);

    copy.gateway = route->gateway;
    for (guint i = 0; i < copies->len; i++) {
        if (!ibh_prefix_equal(&g_array_index(copies, IbhRoute, i).dst, &route->dst))
            continue;
        if (route->metric < g_array_index(metrics, guint32, i)) {
            g_array_index(copies, IbhRoute, i) = copy;
            g_array_index(metrics, guint32, i) = route->metric;
        }
        return;
    }
    g_array_append_val(copies, copy);
    g_array_append_val(metrics, route->metric);
}

static void add_configured_gateway(const IbhRails *rails, const IbhNic *nic, const GArray *subnets, GArray *copies,
                                   GArray *metrics)
{
    const IbhIp *gateway = &nic->settings.gateway_ip;
    IbhIp any = {.family = gateway->family};
    IbhRoute route = {.family = gateway->family, .dst = ibh_prefix(&any, 0), .gateway = *gateway};

    if (is_on_subnet(subnets, gateway) || (is_router_address(gateway) && ibh_serves_family(rails, nic, AF_INET6)))
        copy_route(nic, &route, copies, metrics);
}

/* `subnets` in, and out with what is reached by way of them, default routes last. */
static void want_gateways(const IbhRails *rails, const IbhNic *nic, GArray *subnets)
{
    g_autoptr(GArray) copies = g_array_new(FALSE, TRUE, sizeof(IbhRoute));
    g_autoptr(GArray) metrics = g_array_new(FALSE, TRUE, sizeof(guint32));
    const GArray *routes = rails->snapshot->routes;

    if (nic->settings.gateway == IBH_GATEWAY_ADDRESS)
        add_configured_gateway(rails, nic, subnets, copies, metrics);
    for (guint i = 0; i < routes->len; i++) {
        const IbhRoute *route = &g_array_index(routes, IbhRoute, i);

        if ((copies->len <= COPIES_MAX || ibh_route_is_default(route)) && is_ours_to_copy(rails, nic, subnets, route) &&
            !have_prefix(subnets, &route->dst))
            copy_route(nic, route, copies, metrics);
    }
    if (copies->len > COPIES_MAX)
        drop_all_but_defaults(copies);
    for (int defaults = FALSE; defaults <= TRUE; defaults++) {
        for (guint i = 0; i < copies->len; i++) {
            if (ibh_route_is_default(&g_array_index(copies, IbhRoute, i)) == defaults)
                g_array_append_val(subnets, g_array_index(copies, IbhRoute, i));
        }
    }
}

GArray *ibh_want_routes(const IbhRails *rails, const IbhNic *nic)
{
    g_autoptr(GArray) reached = g_array_new(FALSE, TRUE, sizeof(IbhRoute));
    GArray *routes = g_array_new(FALSE, TRUE, sizeof(IbhRoute));
    guint n_subnets;

    /* The kernel has no routes for a link that is down, and takes none. Carrier does not matter. */
    if (!(nic->link->flags & IFF_UP))
        return routes;
    want_subnets(rails, nic, reached);
    n_subnets = reached->len;
    want_gateways(rails, nic, reached);
    /* A throw comes before the subnet it makes a hole in: the bridge behind it is never taken over for a moment. */
    want_throws(rails, nic, reached, n_subnets, routes);
    g_array_append_vals(routes, reached->data, reached->len);
    return routes;
}

/* ---- sysctls ---- */

int ibh_sysctl_base(const IbhSnapshot *snapshot, const IbhLink *link, IbhSysctl key)
{
    for (guint i = 0; i < snapshot->state->sysctls->len; i++) {
        const IbhSavedSysctl *saved = &g_array_index(snapshot->state->sysctls, IbhSavedSysctl, i);

        if (saved->key == key && saved->ifindex == link->ifindex && saved->set == link->sysctl[key])
            return saved->old;
    }
    return link->sysctl[key];
}

gboolean ibh_is_strict(const IbhSnapshot *snapshot, const IbhLink *link)
{
    return ibh_sysctl_effective(IBH_SYSCTL_RP_FILTER, ibh_sysctl_base(snapshot, link, IBH_SYSCTL_RP_FILTER),
                                snapshot->all[IBH_SYSCTL_RP_FILTER]) == 1;
}

/* A rail that has its rules, or gets them in this run. */
gboolean ibh_is_programmed(const IbhRails *rails, const IbhNic *nic)
{
    if (nic->status != IBH_NIC_RAIL)
        return FALSE;
    if (!rails->only || g_strv_contains(rails->only, nic->link->name))
        return TRUE;
    for (guint i = 0; i < rails->snapshot->rules->len; i++) {
        const IbhRule *rule = &g_array_index(rails->snapshot->rules, IbhRule, i);

        if (ibh_rule_is_ours(rule) && ibh_rails_owner(rails, &rule->from.ip) == nic)
            return TRUE;
    }
    return FALSE;
}

static gboolean shares_subnet(const IbhSnapshot *snapshot, const IbhNic *a, const IbhNic *b)
{
    for (guint i = 0; i < snapshot->addresses->len; i++) {
        const IbhAddress *mine = &g_array_index(snapshot->addresses, IbhAddress, i);

        for (guint j = 0; mine->ifindex == a->link->ifindex && j < snapshot->addresses->len; j++) {
            const IbhAddress *theirs = &g_array_index(snapshot->addresses, IbhAddress, j);

            if (theirs->ifindex == b->link->ifindex && theirs->local.family == AF_INET &&
                ibh_prefix_overlaps(&mine->subnet, &theirs->subnet))
                return TRUE;
        }
    }
    return FALSE;
}

/* A NIC in the same subnet that is no rail and has a strict rp_filter does not even take an ARP request: peers reach
 * its address only because the NIC that main uses answers for it. */
static gboolean must_answer_for_others(const IbhRails *rails, const IbhNic *nic)
{
    for (guint i = 0; i < rails->nics->len; i++) {
        const IbhNic *other = g_ptr_array_index(rails->nics, i);

        if (other != nic && !(other->link->flags & IFF_LOOPBACK) && !ibh_is_programmed(rails, other) &&
            ibh_is_strict(rails->snapshot, other->link) && shares_subnet(rails->snapshot, nic, other))
            return TRUE;
    }
    return FALSE;
}

/* Fails open: no packet is dropped that was not dropped before, and the rails are right. */
static int want_auto(const IbhRails *rails, const IbhNic *nic, IbhSysctl key, int base)
{
    switch (key) {
    case IBH_SYSCTL_RP_FILTER: /* strict would drop what still arrives on the wrong NIC, multicast and VIPs */
        return ibh_sysctl_effective(key, base, rails->snapshot->all[key]) == 1 ? 2 : base;
    case IBH_SYSCTL_ARP_FILTER: /* answers for its own addresses, and for those that only main routes by it */
        return must_answer_for_others(rails, nic) ? 1 : base;
    case IBH_SYSCTL_ARP_ANNOUNCE:
        return 2;
    case IBH_SYSCTL_ARP_IGNORE: /* 2 answers still less; from 3 on, a rail's own address may go unanswered */
        if (base == 1 || base == 2)
            return base;
        return must_answer_for_others(rails, nic) ? 0 : 1;
    default:
        return base;
    }
}

static int want_strict(IbhSysctl key, int base)
{
    switch (key) {
    case IBH_SYSCTL_RP_FILTER:
    case IBH_SYSCTL_ARP_FILTER:
        return 1;
    case IBH_SYSCTL_ARP_ANNOUNCE:
    case IBH_SYSCTL_ARP_IGNORE:
        return 2;
    default:
        return base;
    }
}

int ibh_want_sysctl(const IbhRails *rails, const IbhNic *nic, IbhSysctl key)
{
    /* It goes by the administrator's value, not by what an earlier run made of it: the same end, whatever the history
     */
    int base = ibh_sysctl_base(rails->snapshot, nic->link, key);
    int own = nic->settings.sysctl[key];

    if (nic->status != IBH_NIC_RAIL || own == IBH_SYSCTL_KEEP)
        return base;
    if (own != IBH_SYSCTL_UNSET)
        return own;
    switch (nic->settings.arp) {
    case IBH_ARP_AUTO:
        return want_auto(rails, nic, key, base);
    case IBH_ARP_STRICT:
        return want_strict(key, base);
    case IBH_ARP_KEEP:
        break;
    }
    return base;
}
