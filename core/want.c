#include "want.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

/* ---- rules ---- */

static IbhRule tier(const IbhRails *rails, const IbhNic *nic, const IbhIp *address)
{
    /* suppress_prefixlength 0: a default route of T is left to the tiers after it; main's longer prefixes win first */
    return (IbhRule){
        .family = address->family,
        .priority = rails->priority,
        .from = ibh_prefix(address, ibh_ip_bits(address)),
        .action = FR_ACT_TO_TBL,
        .table = nic->table,
        .protocol = RTPROT_KERNEL, /* systemd-networkd deletes rules of any other protocol */
        .suppress_prefixlength = 0,
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

GArray *ibh_want_rules(const IbhRails *rails, const IbhNic *nic)
{
    const GArray *addresses = rails->snapshot->addresses;
    GArray *rules = g_array_new(FALSE, TRUE, sizeof(IbhRule));

    for (guint i = 0; i < addresses->len; i++) {
        const IbhAddress *address = &g_array_index(addresses, IbhAddress, i);
        IbhRule rule = tier(rails, nic, &address->local);

        /* Of one address on two rails, the rail of lower rank has the rule. */
        if (address->ifindex == nic->link->ifindex && address->scope < RT_SCOPE_HOST && !have_rule(rules, &rule) &&
            ibh_rails_owner(rails, &address->local) == nic)
            g_array_append_val(rules, rule);
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

/* One route per distinct subnet, with the address the kernel itself would prefer as its source. */
static void want_subnets(const IbhRails *rails, const IbhNic *nic, GArray *routes)
{
    const GArray *addresses = rails->snapshot->addresses;

    for (guint i = 0; i < addresses->len; i++) {
        const IbhAddress *address = &g_array_index(addresses, IbhAddress, i);
        IbhRoute route = {.family = address->local.family,
                          .table = nic->table,
                          .dst = address->subnet,
                          .type = RTN_UNICAST,
                          .protocol = RTPROT_KERNEL,
                          .scope = RT_SCOPE_LINK,
                          .metric = IBH_MARK,
                          .ifindex = nic->link->ifindex,
                          .src = address->local,
                          .nexthops = 1};

        if (address->ifindex == nic->link->ifindex && address->scope < RT_SCOPE_HOST && !address->secondary &&
            !ibh_address_is_host(address) && !have_prefix(routes, &address->subnet))
            g_array_append_val(routes, route);
    }
}

static gboolean is_inside(const GArray *subnets, const IbhPrefix *prefix)
{
    for (guint i = 0; i < subnets->len; i++) {
        const IbhPrefix *subnet = &g_array_index(subnets, IbhRoute, i).dst;

        if (subnet->length < prefix->length && ibh_prefix_contains(subnet, &prefix->ip))
            return TRUE;
    }
    return FALSE;
}

/* Main reaches it by an interface that is no rail, and by no rail with a lower metric. Of the same metric the first one
 * wins in main; T leaves that to main, too. */
static gboolean is_anothers_subnet(const IbhRails *rails, const IbhRoute *route)
{
    const GArray *routes = rails->snapshot->routes;
    const IbhNic *nic = ibh_rails_nic(rails, route->ifindex);

    if (route->table != IBH_TABLE_MAIN || route->type != RTN_UNICAST || !nic || nic->status == IBH_NIC_RAIL)
        return FALSE;
    for (guint i = 0; i < routes->len; i++) {
        const IbhRoute *other = &g_array_index(routes, IbhRoute, i);

        if (other->table == IBH_TABLE_MAIN && other->type == RTN_UNICAST && other->metric < route->metric &&
            ibh_prefix_equal(&other->dst, &route->dst))
            return FALSE;
    }
    return TRUE;
}

/* The subnet of another interface that lies inside one of the rail's (a docker bridge in 172.16/16) must win there
 * as it does in main: `throw` ends the look-up in T, and the next rules find it. */
static void want_throws(const IbhRails *rails, const IbhNic *nic, const GArray *subnets, GArray *routes)
{
    for (guint i = 0; i < rails->snapshot->routes->len; i++) {
        const IbhRoute *other = &g_array_index(rails->snapshot->routes, IbhRoute, i);
        const IbhRoute route = {.family = other->family,
                                .table = nic->table,
                                .dst = other->dst,
                                .type = RTN_THROW,
                                .protocol = RTPROT_KERNEL,
                                .scope = RT_SCOPE_UNIVERSE,
                                .metric = IBH_MARK};

        if (is_inside(subnets, &other->dst) && !have_prefix(subnets, &other->dst) &&
            !have_prefix(routes, &other->dst) && is_anothers_subnet(rails, other))
            g_array_append_val(routes, route);
    }
}

GArray *ibh_want_routes(const IbhRails *rails, const IbhNic *nic)
{
    g_autoptr(GArray) subnets = g_array_new(FALSE, TRUE, sizeof(IbhRoute));
    GArray *routes = g_array_new(FALSE, TRUE, sizeof(IbhRoute));

    /* The kernel has no routes for a link that is down, and takes none. Carrier does not matter. */
    if (!(nic->link->flags & IFF_UP))
        return routes;
    want_subnets(rails, nic, subnets);
    /* A throw comes before the subnet it makes a hole in: the bridge behind it is never taken over for a moment. */
    want_throws(rails, nic, subnets, routes);
    g_array_append_vals(routes, subnets->data, subnets->len);
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

            if (theirs->ifindex == b->link->ifindex && ibh_prefix_overlaps(&mine->subnet, &theirs->subnet))
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
