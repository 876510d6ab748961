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

/* The subnet of another interface that lies inside one of the rail's (a docker bridge in 172.16/16) must win there
 * as it does in main: `throw` ends the look-up in T, and the next rules find it. */
static void want_throws(const IbhRails *rails, const IbhNic *nic, GArray *routes)
{
    const GArray *addresses = rails->snapshot->addresses;
    guint n_subnets = routes->len;

    for (guint i = 0; i < addresses->len; i++) {
        const IbhAddress *address = &g_array_index(addresses, IbhAddress, i);
        const IbhNic *other = ibh_rails_nic(rails, address->ifindex);
        IbhRoute route = {.family = address->local.family,
                          .table = nic->table,
                          .dst = address->subnet,
                          .type = RTN_THROW,
                          .protocol = RTPROT_KERNEL,
                          .scope = RT_SCOPE_UNIVERSE,
                          .metric = IBH_MARK};

        if (!other || other->status == IBH_NIC_RAIL || (other->link->flags & IFF_LOOPBACK) ||
            ibh_address_is_host(address) || have_prefix(routes, &address->subnet))
            continue;
        for (guint j = 0; j < n_subnets; j++) {
            const IbhPrefix *subnet = &g_array_index(routes, IbhRoute, j).dst;

            if (subnet->length < address->subnet.length && ibh_prefix_contains(subnet, &address->subnet.ip)) {
                g_array_append_val(routes, route);
                break;
            }
        }
    }
}

GArray *ibh_want_routes(const IbhRails *rails, const IbhNic *nic)
{
    GArray *routes = g_array_new(FALSE, TRUE, sizeof(IbhRoute));

    /* The kernel has no routes for a link that is down, and takes none. Carrier does not matter. */
    if (nic->link->flags & IFF_UP) {
        want_subnets(rails, nic, routes);
        want_throws(rails, nic, routes);
    }
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

/* Fails open: no packet is dropped that was not dropped before, and the rails are right. */
static int want_auto(IbhSysctl key, int base, int all)
{
    switch (key) {
    case IBH_SYSCTL_RP_FILTER: /* strict would drop what still arrives on the wrong NIC, multicast and VIPs */
        return ibh_sysctl_effective(key, base, all) == 1 ? 2 : base;
    case IBH_SYSCTL_ARP_ANNOUNCE:
        return 2;
    case IBH_SYSCTL_ARP_IGNORE: /* 2 answers still less; from 3 on, a rail's own address may go unanswered */
        return base == 1 || base == 2 ? base : 1;
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
    /* It goes by the administrator's value, not by what an earlier run made of it: the same end, whatever the history */
    int base = ibh_sysctl_base(rails->snapshot, nic->link, key);
    int own = nic->settings.sysctl[key];

    if (nic->status == IBH_NIC_BLOCKED)
        return nic->link->sysctl[key];
    if (nic->status != IBH_NIC_RAIL || own == IBH_SYSCTL_KEEP)
        return base;
    if (own != IBH_SYSCTL_UNSET)
        return own;
    switch (nic->settings.arp) {
    case IBH_ARP_AUTO:
        return want_auto(key, base, rails->snapshot->all[key]);
    case IBH_ARP_STRICT:
        return want_strict(key, base);
    case IBH_ARP_KEEP:
        break;
    }
    return base;
}
