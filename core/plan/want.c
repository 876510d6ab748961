/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/want.h"

#include "plan/scope.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

/* ---- routes ---- */

/* How main reaches the subnet through this NIC is how the rail does: via the gateway of isolated ports, with the same
 * metrics. FALSE: a direct route would not arrive, and main decides. */
static gboolean take_over(const IbhRails *rails, const IbhNic *nic, const IbhAddress *address, IbhRoute *route)
{
    const IbhSnapshot *snapshot = rails->snapshot;
    const IbhRoute *own = ibh_main_find_subnet(snapshot->main_by_nic, nic->link->ifindex, &address->subnet);
    const IbhRoute *others = ibh_main_find_subnet(snapshot->main_to_subnets, 0, &address->subnet);

    if (!(nic->link->flags & IFF_UP)) /* main has no route through a link that is down */
        return TRUE;
    if (!own)
        return !(others && (others->hops ? others->hops->gateway : others->gateway).family != AF_UNSPEC) &&
               (route->family == AF_INET || address->is_on_link);
    if (!ibh_route_is_simple(own) || ibh_rails_have_gateway(rails, nic, &own->gateway))
        return FALSE;
    ibh_route_set_gateway(route, &own->gateway);
    ibh_route_set_metrics(route, own);
    return TRUE;
}

/* Of a NIC with more subnets, T has so many where a rule of others stands in between, because each of them then needs a
 * rule for each address. */
#define INSIDE_MAX 4

static gboolean leads_to_main(const IbhRule *rule)
{
    return rule->action == FR_ACT_TO_TBL && rule->table == IBH_TABLE_MAIN;
}

/* It may match what an address of this NIC sends, and answer otherwise than main. */
static gboolean may_answer_before_main(const IbhRule *rule, const IbhNic *nic, int family)
{
    if (ibh_rule_is_ours(rule) || rule->priority < IBH_PRIORITY_BASE - IBH_PRIORITY_SPAN ||
        rule->priority >= IBH_PRIORITY_MAIN)
        return FALSE;
    if (rule->family != family || rule->action == FR_ACT_NOP || leads_to_main(rule))
        return FALSE;
    IBH_EACH_POINTER (const IbhAddress, address, nic->programmed) {
        if (address->local.family == family &&
            (rule->selectors & IBH_SELECT_NOT || ibh_prefix_contains(&rule->from, &address->local)))
            return TRUE;
    }
    return FALSE;
}

/* The kernel's own rule, for all: without it, main answers only those who are led there. */
static gboolean is_kernels_own(const IbhRule *rule, int family)
{
    return rule->family == family && rule->priority == IBH_PRIORITY_MAIN && leads_to_main(rule) && !rule->selectors &&
           !rule->from.length;
}

/* Main does not have the last word: a rule of others stands between ours and main's, or main's has been deleted. What
 * is not of the rail must not meet main before. */
static gboolean stands_in_between(const IbhRails *rails, const IbhNic *nic, int family)
{
    gboolean is_main_asked = FALSE;

    IBH_EACH (const IbhRule, rule, rails->snapshot->rules) {
        if (may_answer_before_main(rule, nic, family))
            return TRUE;
        is_main_asked |= is_kernels_own(rule, family);
    }
    return !is_main_asked;
}

/* The kernel lists IPv6 addresses with the newest first: what a router announces comes after what was there. */
static const IbhAddress *in_order_of_age(const IbhNic *nic, int family, guint i)
{
    return g_ptr_array_index(nic->served, family == AF_INET6 ? nic->served->len - 1 - i : i);
}

/* One route per distinct subnet, with the address the kernel itself would prefer as its source. In IPv6 an address does
 * not make its prefix one of the link: a router's advertisement or a person does. IPv6 has no scope of routes either,
 * and chooses a source that is not deprecated. */
static void want_subnets_of(const IbhRails *rails, const IbhNic *nic, int family, GArray *routes)
{
    const guint most = routes->len + (stands_in_between(rails, nic, family) ? INSIDE_MAX : nic->served->len);

    for (guint i = 0; i < nic->served->len && routes->len < most; i++) {
        const IbhAddress *address = in_order_of_age(nic, family, i);
        IbhRoute route = ibh_route_for_nic(nic, &address->subnet);

        if (route.family != family || ibh_address_is_host(address) || !ibh_nic_programs_family(nic, family) ||
            ibh_routes_have_prefix(routes, &address->subnet))
            continue;
        if (route.family == AF_INET) {
            if (address->secondary)
                continue;
            route.scope = RT_SCOPE_LINK;
            route.src = address->local;
        }
        if (take_over(rails, nic, address, &route))
            ibh_routes_add_via(nic, &route, routes);
    }
}

static GArray *want_subnets(const IbhRails *rails, const IbhNic *nic)
{
    GArray *routes = IBH_NEW_ARRAY(IbhRoute);

    want_subnets_of(rails, nic, AF_INET, routes);
    want_subnets_of(rails, nic, AF_INET6, routes);
    return routes;
}

GArray *ibh_want_routes(const IbhRails *rails, const IbhNic *nic)
{
    GArray *routes;

    /* The kernel has no routes for a link that is down, and takes none. Carrier does not matter. */
    if (!(nic->link->flags & IFF_UP))
        return IBH_NEW_ARRAY(IbhRoute);
    routes = want_subnets(rails, nic);
    ibh_want_gateways(rails, nic, routes);
    return routes;
}

/* ---- rules ---- */

/* Where T has more prefix lengths, the last pair is for all the rest: what main has inside of these, and shorter than
 * the eighth length, then gives way to T. Rails have one length, or two. */
#define PAIRS_MAX 8

void ibh_rules_add_ours(GArray *rules, guint32 table, gint64 suppress_prefixlength, guint32 priority,
                        const IbhPrefix *to)
{
    IbhRule rule = {
        .priority = priority,
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
    g_array_append_val(rules, rule);
}

void ibh_rule_set_source(IbhRule *rule, const IbhIp *source)
{
    rule->family = source->family;
    rule->from = ibh_prefix_of_host(source);
}

/* IbhPrefix: what a table has in this family. */
static GArray *find_prefixes(const GArray *routes, int family, guint32 table)
{
    GArray *prefixes = IBH_NEW_ARRAY(IbhPrefix);

    IBH_EACH (const IbhRoute, route, routes) {
        if (route->family == family && route->table == table)
            g_array_append_val(prefixes, route->dst);
    }
    return prefixes;
}

/* The longest first. */
static GArray *find_lengths(const GArray *prefixes)
{
    GArray *lengths = IBH_NEW_ARRAY(guint);
    gboolean has[129] = {FALSE};

    IBH_EACH (const IbhPrefix, prefix, prefixes)
        has[prefix->length] = TRUE;
    for (guint length = G_N_ELEMENTS(has); length-- > 0;) {
        if (has[length])
            g_array_append_val(lengths, length);
    }
    return lengths;
}

/* Those that no other one contains. */
static GArray *find_outermost(const GArray *prefixes)
{
    GArray *outermost = IBH_NEW_ARRAY(IbhPrefix);

    IBH_EACH (const IbhPrefix, prefix, prefixes) {
        gboolean is_inside = FALSE;

        IBH_EACH (const IbhPrefix, other, prefixes)
            is_inside |= ibh_prefix_is_inside(prefix, other);
        if (!is_inside)
            g_array_append_vals(outermost, prefix, 1);
    }
    return outermost;
}

/* Rules for the prefixes of main that are longer than `length`, inside of T. Nothing is longer than a single host. */
static void add_rules_inside(const GArray *outermost, guint length, guint32 priority, GArray *rules)
{
    IBH_EACH (const IbhPrefix, prefix, outermost) {
        if (prefix->length <= length && length < ibh_ip_bits(&prefix->ip))
            ibh_rules_add_ours(rules, IBH_TABLE_MAIN, length, priority, prefix);
    }
}

/* The longest prefix of main and T wins, T on a tie: a pair of rules for each prefix length in T, the longest first.
 * The last pair leads to the rest of T.
 *
 * Main is asked for what lies inside the outermost prefix of T. Where T has several, that would be a rule for each of
 * them and each address: one without a destination does the same, since main has the last word on other destinations
 * anyhow, unless a rule of others comes before main's. To delete a rule without a destination would also delete one
 * that has one, of the same priority: so the two forms have priorities of their own. */
static void add_pairs(const IbhRails *rails, const IbhNic *nic, const GArray *routes, int family, GArray *rules)
{
    g_autoptr(GArray) prefixes = find_prefixes(routes, family, nic->table);
    g_autoptr(GArray) lengths = find_lengths(prefixes), outermost = find_outermost(prefixes);
    const guint pairs = MIN(lengths->len, PAIRS_MAX);
    const gboolean wide = outermost->len > 1 && !stands_in_between(rails, nic, family);

    if (wide) { /* inside of all, which is no destination */
        g_array_set_size(outermost, 1);
        g_array_index(outermost, IbhPrefix, 0) = ibh_prefix_of_world(family);
    }
    for (guint i = 0; i < pairs; i++) {
        const guint length = g_array_index(lengths, guint, i);
        const guint32 priority = IBH_PRIORITY_BASE - 2 * (pairs - 1 - i) - (wide ? 1 : 0);

        add_rules_inside(outermost, length, priority - 1, rules);
        if (i + 1 < pairs)
            ibh_rules_add_ours(rules, nic->table, g_array_index(lengths, guint, i + 1), priority, NULL);
    }
    ibh_rules_add_ours(rules, nic->table, -1, IBH_PRIORITY_BASE, NULL);
}

/* The rules of each address of this family, in ascending order; without the address. */
static GArray *rules_of_family(const IbhRails *rails, const IbhNic *nic, const GArray *routes, int family)
{
    g_autoptr(GArray) defaults = find_prefixes(routes, family, ibh_nic_defaults(nic));
    GArray *rules = IBH_NEW_ARRAY(IbhRule);

    add_pairs(rails, nic, routes, family, rules);
    /* Bridges, containers, specific routes of main, and VPNs win over the rail's own default. */
    if (defaults->len) {
        ibh_rules_add_ours(rules, IBH_TABLE_MAIN, 0, IBH_PRIORITY_DEFAULTS - 1, NULL);
        ibh_rules_add_ours(rules, ibh_nic_defaults(nic), -1, IBH_PRIORITY_DEFAULTS, NULL);
    }
    return rules;
}

GArray *ibh_want_rules(const IbhRails *rails, const IbhNic *nic, const GArray *wanted)
{
    /* The rules of a link that is down wait for its subnets to come back. */
    g_autoptr(GArray) subnets = nic->link->flags & IFF_UP ? NULL : want_subnets(rails, nic);
    const GArray *routes = subnets ? subnets : wanted;
    g_autoptr(GArray) rules4 = rules_of_family(rails, nic, routes, AF_INET),
                      rules6 = rules_of_family(rails, nic, routes, AF_INET6);
    GArray *rules = IBH_NEW_ARRAY(IbhRule);

    IBH_EACH_POINTER (const IbhAddress, address, nic->programmed) {
        const GArray *of_family = address->local.family == AF_INET6 ? rules6 : rules4;
        const gboolean led_out = ibh_rails_lead_out(rails, address);

        /* If two rails have one address, the rail of lower rank has its rules. */
        if (ibh_rails_owner(rails, &address->local) != nic || !ibh_nic_has_first(nic, address))
            continue;
        IBH_EACH (const IbhRule, one, of_family) {
            IbhRule rule = *one;

            if (led_out && rule.priority >= IBH_PRIORITY_DEFAULTS - 1)
                continue; /* a blackhole is a kill switch */
            ibh_rule_set_source(&rule, &address->local);
            g_array_append_val(rules, rule);
        }
    }
    return rules;
}

/* ---- sysctls ---- */

/* What the kernel makes of the administrator's value. */
static int effective_base(const IbhRails *rails, const IbhNic *nic, IbhSysctl key)
{
    return ibh_sysctl_effective(key, nic->base[key], rails->snapshot->all[key]);
}

gboolean ibh_nic_is_strict(const IbhRails *rails, const IbhNic *nic)
{
    return effective_base(rails, nic, IBH_SYSCTL_RP_FILTER) == 1;
}

/* TRUE for a rail that has its rules, those of others too, or gets them in this run. */
gboolean ibh_nic_is_programmed(const IbhRails *rails, const IbhNic *nic)
{
    const gboolean is_rail = nic->status == IBH_NIC_RAIL;

    if (!is_rail && !nic->kept)
        return FALSE;
    if (is_rail && (ibh_nic_is_selected(nic, rails->only) || nic->programmed->len < nic->served->len))
        return TRUE;
    IBH_EACH (const IbhRule, rule, rails->snapshot->rules) {
        if (ibh_rule_is_ours(rule) && ibh_rule_owner(rails, rule) == nic)
            return TRUE;
    }
    return FALSE;
}

/* Another NIC has this address as well, and answers for it: a rail that is up, with its rules. */
static gboolean is_a_rails_too(const IbhRails *rails, const IbhAddress *address)
{
    const IbhNic *owner = ibh_rails_owner(rails, &address->local);

    return owner && owner->link->ifindex != address->ifindex && owner->link->flags & IFF_UP &&
           ibh_nic_is_programmed(rails, owner);
}

/* Of its addresses in a subnet of the rail. */
static gboolean has_lone_address(const IbhRails *rails, const IbhNic *other, const IbhNic *nic)
{
    IBH_EACH_POINTER (const IbhAddress, mine, nic->addresses) {
        IBH_EACH_POINTER (const IbhAddress, theirs, other->addresses) {
            if (theirs->local.family == AF_INET && ibh_prefix_overlaps(&mine->subnet, &theirs->subnet) &&
                !is_a_rails_too(rails, theirs))
                return TRUE;
        }
    }
    return FALSE;
}

/* Peers reach its addresses only because the NIC that main uses answers ARP for them. A NIC with a strict rp_filter
 * that is no rail does not even take a request. */
static gboolean is_answered_for(const IbhRails *rails, const IbhNic *other)
{
    return (other->link->flags & IFF_LOOPBACK) ||
           (!ibh_nic_is_programmed(rails, other) && ibh_nic_is_strict(rails, other));
}

/* Where the administrator's values answer for no other's address, arp_filter would silence the rail's own, too, while
 * its rules are missing. */
static gboolean must_answer_for_others(const IbhRails *rails, const IbhNic *nic)
{
    const GPtrArray *others = rails->only ? rails->nics : rails->no_rails;
    const int ignore = effective_base(rails, nic, IBH_SYSCTL_ARP_IGNORE);

    if (ignore == 1 || ignore == 2 || ignore == 8)
        return FALSE;
    IBH_EACH_POINTER (const IbhNic, other, others) {
        if (other != nic && is_answered_for(rails, other) && has_lone_address(rails, other, nic))
            return TRUE;
    }
    return FALSE;
}

/* Fails open: it drops no packet that was accepted before, and the rails are right. */
static int want_auto(const IbhRails *rails, const IbhNic *nic, IbhSysctl key)
{
    const int base = nic->base[key];

    switch (key) {
    case IBH_SYSCTL_RP_FILTER: /* strict would drop what still arrives on the wrong NIC, multicast and VIPs */
        return ibh_nic_is_strict(rails, nic) ? 2 : base;
    case IBH_SYSCTL_ARP_FILTER: /* answers for its own addresses, and for those that only main routes by it */
        return must_answer_for_others(rails, nic) ? 1 : base;
    case IBH_SYSCTL_ARP_ANNOUNCE:
        return 2;
    case IBH_SYSCTL_ARP_IGNORE: /* 2 answers to even fewer; from 3 on, a rail's own address may go unanswered */
        return base == 1 || base == 2 || must_answer_for_others(rails, nic) ? base : 1;
    default:
        return base;
    }
}

static gboolean have_global_address_on_lo(const IbhRails *rails)
{
    IBH_EACH (const IbhAddress, address, rails->snapshot->addresses) {
        const IbhLink *link = ibh_snapshot_link(rails->snapshot, address->ifindex);

        if (address->local.family == AF_INET && address->scope < RT_SCOPE_LINK && link &&
            ibh_link_is_of_the_host(link) && !is_a_rails_too(rails, address))
            return TRUE;
    }
    return FALSE;
}

static gboolean stands_beside_rail(const IbhRails *rails, const IbhNic *nic)
{
    IBH_EACH_POINTER (const IbhNic, other, rails->nics) {
        if (other->link->type == nic->link->type && ibh_nic_is_programmed(rails, other) &&
            ibh_nic_serves_family(other, AF_INET))
            return TRUE;
    }
    return FALSE;
}

/* A NIC that is up without an IPv4 address answers ARP for the rails' addresses, if it is on their wire. If it has to
 * answer for an address of the host itself, on lo, it goes on. */
gboolean ibh_nic_must_be_silent(const IbhRails *rails, const IbhNic *nic)
{
    if (!nic->rank || nic->held || nic->status == IBH_NIC_RAIL || nic->status == IBH_NIC_UNMANAGED)
        return FALSE;
    if (nic->settings.arp == IBH_ARP_KEEP || nic->base[IBH_SYSCTL_ARP_IGNORE])
        return FALSE;
    return nic->link->flags & IFF_UP && !ibh_nic_serves_family(nic, AF_INET) && stands_beside_rail(rails, nic) &&
           !have_global_address_on_lo(rails);
}

int ibh_want_sysctl(const IbhRails *rails, const IbhNic *nic, IbhSysctl key)
{
    /* It follows the administrator's value, not that of an earlier run: the end state does not depend on history. */
    int base = nic->base[key];

    if (key == IBH_SYSCTL_ARP_IGNORE && ibh_nic_must_be_silent(rails, nic))
        return 1;
    if (nic->status != IBH_NIC_RAIL || key == IBH_SYSCTL_IGNORE_LINKDOWN || nic->settings.arp == IBH_ARP_KEEP)
        return base;
    if (nic->settings.arp == IBH_ARP_STRICT)
        return key == IBH_SYSCTL_RP_FILTER || key == IBH_SYSCTL_ARP_FILTER ? 1 : 2;
    return want_auto(rails, nic, key);
}
