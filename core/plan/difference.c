/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/difference.h"

#include "plan/want.h"

#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

/* ---- sets of rules and routes ---- */

static guint rule_hash(gconstpointer data)
{
    const IbhRule *rule = data;

    return ibh_ip_hash(&rule->from.ip) * 31 + rule->priority + rule->table;
}

static gboolean rule_equal(gconstpointer a, gconstpointer b)
{
    return ibh_rule_compare(a, b) == 0;
}

static guint route_hash(gconstpointer data)
{
    const IbhRoute *route = data;

    return ibh_ip_hash(&route->dst.ip) * 31 + route->table;
}

static gboolean route_equal(gconstpointer a, gconstpointer b)
{
    return ibh_route_compare(a, b) == 0;
}

/* ---- leftovers that stay ---- */

/* TRUE if the item's NIC has the status IBH_NIC_RAIL or IBH_NIC_NO_ADDRESS, and a tentative IPv6 address of the NIC
 * will need the item as soon as DAD succeeds. The address will need:
 * - its rules, unless a rail serves the same IP address now;
 * - the on-link route to its subnet;
 * - if the NIC serves no IPv6 address now: the routes via gateways, that is, those of remote= and, unless the NIC has
 *   gateway=none, the default. For these routes, even a tentative fe80:: address is enough. */
static gboolean waits_for_dad(const IbhRails *rails, const IbhItem *item)
{
    const IbhNic *nic = item->nic;
    const IbhRoute *route = item->route;

    if (nic->status != IBH_NIC_RAIL && nic->status != IBH_NIC_NO_ADDRESS)
        return FALSE;
    IBH_EACH_POINTER (const IbhAddress, address, nic->addresses) {
        if (!address->tentative)
            continue;
        if (!route && ibh_ip_equal(&item->rule->from.ip, &address->local))
            return !ibh_rails_owner(rails, &address->local);
        if (!route || route->family != AF_INET6 || !ibh_nic_has_table(nic, route->table))
            continue;
        if (route->gateway.family == AF_UNSPEC && ibh_prefix_equal(&route->dst, &address->subnet))
            return TRUE;
        if (route->gateway.family != AF_UNSPEC && !ibh_nic_serves_family(nic, AF_INET6) &&
            (route->dst.length || nic->settings.gateway != IBH_GATEWAY_NONE))
            return TRUE;
    }
    return FALSE;
}

static gboolean may_delete(const IbhDifference *difference, const IbhItem *item)
{
    const IbhWanted *wanted = difference->wanted;

    if (item->spread)
        return wanted->spread;
    if (!item->nic)
        return wanted->orphans;
    return ibh_wanted_nic(wanted, item->nic)->selected && !(wanted->waits && waits_for_dad(difference->rails, item));
}

/* ---- items ---- */

static IbhItem make_item(const IbhDifference *difference, const IbhRule *rule, const IbhRoute *route)
{
    IbhItem item = {.rule = rule,
                    .route = route,
                    .table = rule ? rule->table : route->table,
                    .spread = rule ? ibh_rule_is_spread(rule) : ibh_route_is_spread(route)};

    if (!item.spread)
        item.nic = rule ? ibh_rule_owner(difference->rails, rule) : ibh_route_owner(difference->rails, route);
    return item;
}

/* ---- rules ---- */

/* Notes in `led` to which table this rule leads its source address. If the address has rules to T and to D, notes T.
 * Notes nothing for a "lookup main" rule and a rule of main=spread. A rule to T is recognised by its priority, even if
 * no NIC has this T; a rule to D is recognised only if a NIC has this D. */
static void note_led(const IbhRails *rails, GHashTable *led, const IbhItem *item)
{
    const IbhRule *rule = item->rule;
    const IbhNic *by_table = ibh_rails_nic_by_table(rails, rule->table);
    const gpointer from = (gpointer)(guintptr)&rule->from.ip;
    const gboolean is_to_t = rule->priority < IBH_PRIORITY_DEFAULTS - 1;
    const gboolean is_to_d = by_table && by_table->table != rule->table;

    if (item->spread || rule->table == IBH_TABLE_MAIN)
        return;
    if (is_to_t || (is_to_d && !g_hash_table_contains(led, from)))
        g_hash_table_insert(led, from, GUINT_TO_POINTER(rule->table));
}

static void subtract_rules(IbhDifference *difference)
{
    /* The wanted rules that do not stand: all wanted rules at first; then the loop removes those that stand. */
    g_autoptr(GHashTable) missing = g_hash_table_new(rule_hash, rule_equal);

    IBH_EACH (IbhRule, rule, difference->wanted->rules)
        g_hash_table_add(missing, rule);
    IBH_EACH (const IbhRule, rule, difference->rails->snapshot->rules) {
        IbhItem item;
        gboolean is_wanted;

        if (!ibh_rule_is_ours(rule))
            continue;
        item = make_item(difference, rule, NULL);
        note_led(difference->rails, difference->led_before, &item);
        is_wanted = g_hash_table_remove(missing, rule); /* also FALSE for a second copy of a wanted rule: delete it */
        item.is_old = !is_wanted && may_delete(difference, &item);
        if (item.is_old)
            g_array_append_val(difference->items, item);
        else
            note_led(difference->rails, difference->led_after, &item);
    }
    IBH_EACH (const IbhRule, rule, difference->wanted->rules) {
        const IbhNic *owner = ibh_rails_owner(difference->rails, &rule->from.ip);
        IbhItem item = make_item(difference, rule, NULL);

        /* If several NICs have the address of a "lookup main" rule, ibh_rule_owner() returns the owner of our standing
         * rule to T or D with the same source and destination. That rule may be an old one, of another NIC. But a
         * wanted rule belongs to the rail that serves the address. */
        if (owner)
            item.nic = owner;
        note_led(difference->rails, difference->led_after, &item);
        if (g_hash_table_contains(missing, rule))
            g_array_append_val(difference->items, item);
    }
}

/* ---- routes ---- */

static void subtract_routes(IbhDifference *difference)
{
    g_autoptr(GHashTable) missing = g_hash_table_new(route_hash, route_equal);
    /* Routes of ours that stand and are not wanted. The look-up of a wanted route finds the unwanted route in the same
     * place, that is, with the same table, prefix and metric. */
    g_autoptr(GHashTable) unwanted = g_hash_table_new(route_hash, (GEqualFunc)ibh_route_same_place);

    IBH_EACH (IbhRoute, route, difference->wanted->routes)
        g_hash_table_add(missing, route);
    IBH_EACH (IbhRoute, route, difference->rails->snapshot->routes) {
        if (ibh_route_is_ours(route) && !g_hash_table_remove(missing, route))
            g_hash_table_add(unwanted, route);
    }
    IBH_EACH (const IbhRoute, route, difference->wanted->routes) {
        IbhItem item = make_item(difference, NULL, route);

        if (!g_hash_table_contains(missing, route))
            continue;
        item.replaced = g_hash_table_lookup(unwanted, route);
        if (item.replaced)
            g_hash_table_remove(unwanted, route);
        g_array_append_val(difference->items, item);
    }
    IBH_EACH (const IbhRoute, route, difference->rails->snapshot->routes) {
        IbhItem item = make_item(difference, NULL, route);

        /* `unwanted` lacks the routes that are wanted, and now also those that a new route replaces. For a route that
         * is wanted or foreign, the look-up may find an unwanted route in the same place: so compare the pointers. */
        item.is_old = g_hash_table_lookup(unwanted, route) == route && may_delete(difference, &item);
        if (item.is_old)
            g_array_append_val(difference->items, item);
    }
}

/* ---- who answers ---- */

const IbhNic *ibh_difference_answering(const IbhDifference *difference, const IbhAddress *address, gboolean after)
{
    const IbhNic *own = ibh_rails_nic(difference->rails, address->ifindex);
    const IbhSnapshot *snapshot = difference->rails->snapshot;
    const GArray *const lists[] = {snapshot->routes, snapshot->main_by_nic};
    const IbhRoute *best = NULL;
    const IbhNic *by_main;
    int ignores;

    if (g_hash_table_contains(after ? difference->led_after : difference->led_before, &address->local) ||
        ibh_nic_foreign_rule(own, address))
        return own;
    for (guint i = 0; i < G_N_ELEMENTS(lists); i++) {
        IBH_EACH (const IbhRoute, route, lists[i]) {
            if (route->table == IBH_TABLE_MAIN && route->type == RTN_UNICAST && route->ifindex && route->dst.length &&
                ibh_prefix_contains(&route->dst, &address->local) && ibh_route_is_better(route, best))
                best = route;
        }
    }
    by_main = best ? ibh_rails_nic(difference->rails, best->ifindex) : NULL;
    if (!by_main || by_main == own)
        return by_main;
    ignores = after ? ibh_wanted_nic(difference->wanted, by_main)->value[IBH_SYSCTL_ARP_IGNORE]
                    : by_main->link->sysctl[IBH_SYSCTL_ARP_IGNORE];
    ignores = ibh_sysctl_effective(snapshot, IBH_SYSCTL_ARP_IGNORE, ignores);
    return ibh_arp_ignore_silences(ignores) ? own : by_main;
}

/* ---- the whole ---- */

/* Sets the members of each IbhWantedNic that say what the plan does to the NIC (plan.h), except `takes` (order.c).
 * Also sets `gets_strict` of the difference. */
static void find_effects(IbhDifference *difference)
{
    const IbhSnapshot *snapshot = difference->rails->snapshot;
    const IbhWanted *wanted = difference->wanted;

    /* What changes on each NIC, and what rp_filter is meanwhile. */
    IBH_EACH (const IbhItem, item, difference->items) {
        if (item->nic)
            ibh_wanted_nic(wanted, item->nic)->changes = TRUE;
    }
    IBH_EACH (IbhWantedNic, one, wanted->nics) {
        const int now = one->nic->link->sysctl[IBH_SYSCTL_RP_FILTER], want = one->value[IBH_SYSCTL_RP_FILTER];
        const gboolean was_strict = ibh_sysctl_effective(snapshot, IBH_SYSCTL_RP_FILTER, now) == 1;
        const gboolean will_be_strict = ibh_sysctl_effective(snapshot, IBH_SYSCTL_RP_FILTER, want) == 1;
        gboolean loosens;

        for (IbhSysctl key = IBH_SYSCTL_ARP_FILTER; key <= IBH_SYSCTL_ARP_IGNORE; key++)
            one->arp |= one->value[key] != one->nic->link->sysctl[key];
        one->changes |= one->arp;
        /* A strict rp_filter drops packets that still arrive on the wrong NIC, so loosen rp_filter on each selected NIC
         * that changes. But on a NIC with arp=keep, write no value of ours. */
        loosens = was_strict && one->changes && one->selected && one->nic->settings.arp != IBH_ARP_KEEP;
        /* A wanted value that is not strict is set at the beginning; with arp=keep, it is the administrator's value. A
         * strict value is set near the end (order.c), so that rp_filter does not become strict while the plan runs. */
        one->rp_filter = !will_be_strict ? want : loosens ? 2 : now;
        one->gets_strict = will_be_strict && (loosens || !was_strict);
        difference->gets_strict |= one->gets_strict;
    }
    /* Which tables our rules led IPv4 addresses to, and who answers ARP for them. (For IPv6, the NIC that has the
     * address answers.) */
    IBH_EACH (IbhWantedNic, one, wanted->nics) {
        IBH_EACH_POINTER (const IbhAddress, address, one->nic->served) {
            const IbhNic *answering;

            if (address->local.family != AF_INET)
                continue;
            one->led |= ibh_nic_has_table(
                one->nic, GPOINTER_TO_UINT(g_hash_table_lookup(difference->led_before, &address->local)));
            answering = ibh_difference_answering(difference, address, TRUE); /* perhaps another NIC */
            if (answering)
                ibh_wanted_nic(wanted, answering)->answers = TRUE;
        }
    }
}

gboolean ibh_difference_init(IbhDifference *difference, IbhWanted *wanted)
{
    gboolean differs;

    *difference = (IbhDifference){
        .wanted = wanted,
        .rails = wanted->rails,
        .items = IBH_NEW_ARRAY(IbhItem),
        .taken = IBH_NEW_ARRAY(int),
        .led_before = g_hash_table_new(ibh_ip_hash, (GEqualFunc)ibh_ip_equal),
        .led_after = g_hash_table_new(ibh_ip_hash, (GEqualFunc)ibh_ip_equal),
    };
    subtract_rules(difference);
    subtract_routes(difference);
    differs = difference->items->len > 0;
    IBH_EACH (const IbhWantedNic, one, wanted->nics)
        differs |= memcmp(one->value, one->nic->link->sysctl, sizeof one->value) != 0;
    if (differs)
        find_effects(difference);
    return differs;
}

void ibh_difference_clear(IbhDifference *difference)
{
    g_array_unref(difference->items);
    g_array_unref(difference->taken);
    g_hash_table_unref(difference->led_before);
    g_hash_table_unref(difference->led_after);
}
