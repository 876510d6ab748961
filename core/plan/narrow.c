/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/narrow.h"

#include "plan/rails.h"

#include <linux/rtnetlink.h>
#include <sys/socket.h>

typedef struct {
    IbhSnapshot *snapshot;
    GHashTable *nics;  /* ifindex: candidates, and NICs that rules or routes of ours remain of */
    GHashTable *hosts; /* ifindex: lo and similar netdevs */
    GArray *prefixes;  /* IbhPrefix: their addresses and subnets, and those in our rules and routes */
    gboolean ipv6; /* one of them has an address that counts: of IPv6 everything matters, as its prefixes say little */
    struct {       /* the last answer: addresses come NIC by NIC */
        int ifindex;
        gboolean concerns;
    } last;
} Concern;

/* ---- what concerns us ---- */

static gboolean concerns(Concern *concern, int ifindex)
{
    if (concern->last.ifindex != ifindex) {
        concern->last.ifindex = ifindex;
        concern->last.concerns = g_hash_table_contains(concern->nics, GINT_TO_POINTER(ifindex));
    }
    return concern->last.concerns;
}

static void add_nic(Concern *concern, int ifindex)
{
    concern->last.ifindex = 0;
    g_hash_table_add(concern->nics, GINT_TO_POINTER(ifindex));
}

static gboolean touches(const Concern *concern, const IbhAddress *address)
{
    const IbhPrefix local = {.ip = address->local, .length = ibh_ip_bits(&address->local)};

    return ibh_prefixes_overlap(concern->prefixes, &address->subnet) ||
           (!ibh_prefix_contains(&address->subnet, &address->local) && ibh_prefixes_overlap(concern->prefixes, &local));
}

static void add_candidates(Concern *concern, const IbhConfig *config)
{
    const GArray *links = concern->snapshot->links;

    IBH_EACH (const IbhLink, link, links) {
        if (ibh_is_candidate(concern->snapshot, link, ibh_config_settings(config, link->name).manage))
            add_nic(concern, link->ifindex);
    }
}

/* A route that main=remove took away can come back with its source address, also if another NIC has that by now. */
static void add_route(Concern *concern, const IbhRoute *route)
{
    g_auto(GStrv) hops = g_strsplit(route->hops ? route->hops : "", " ", -1);
    const IbhPrefix src = {.ip = route->src, .length = ibh_ip_bits(&route->src)};

    if (src.length)
        ibh_prefixes_add(concern->prefixes, &src);
    if (route->ifindex)
        add_nic(concern, route->ifindex);
    for (char **hop = hops; *hop; hop++)
        add_nic(concern, (int)g_ascii_strtoll(*hop, NULL, 10));
}

static void add_what_is_ours(Concern *concern)
{
    const IbhSnapshot *snapshot = concern->snapshot;

    IBH_EACH (const IbhRule, rule, snapshot->rules) {
        if (ibh_rule_is_ours(rule) && rule->from.length)
            ibh_prefixes_add(concern->prefixes, &rule->from);
    }
    IBH_EACH (const IbhRoute, route, snapshot->routes) {
        if (ibh_route_is_ours(route))
            add_route(concern, route);
    }
    for (guint i = 0; i < snapshot->state->sysctls->len; i++)
        add_nic(concern, g_array_index(snapshot->state->sysctls, IbhSavedSysctl, i).ifindex);
    IBH_EACH (const IbhSavedRoute, saved, snapshot->state->routes)
        add_nic(concern, saved->ifindex);
}

static gboolean has_rule_of_ours(const Concern *concern, const IbhAddress *address)
{
    const GArray *rules = concern->snapshot->rules;

    IBH_EACH (const IbhRule, rule, rules) {
        if (ibh_rule_is_ours(rule) && ibh_ip_equal(&rule->from.ip, &address->local))
            return TRUE;
    }
    return FALSE;
}

/* TRUE: a rule of ours remains of one more NIC; its other addresses concern us, too. */
static gboolean add_holders(Concern *concern)
{
    const GArray *addresses = concern->snapshot->addresses;
    gboolean more = FALSE;

    IBH_EACH (const IbhAddress, address, addresses) {
        if (!touches(concern, address) || concerns(concern, address->ifindex) || !has_rule_of_ours(concern, address))
            continue;
        add_nic(concern, address->ifindex);
        more = TRUE;
    }
    return more;
}

static void add_subnets(Concern *concern)
{
    const GArray *addresses = concern->snapshot->addresses;

    IBH_EACH (const IbhAddress, address, addresses) {
        const IbhPrefix local = {.ip = address->local, .length = ibh_ip_bits(&address->local)};

        if (!concerns(concern, address->ifindex) ||
            (address->local.family == AF_INET6 && ibh_ip_is_link_local(&address->local)))
            continue; /* every link has such addresses, so they tell no NIC from another */
        ibh_prefixes_add(concern->prefixes, &address->subnet);
        ibh_prefixes_add(concern->prefixes, &local); /* the peer's address lies outside of the address' own */
        concern->ipv6 |= address->local.family == AF_INET6;
    }
}

/* ---- leaving out ---- */

/* If the host itself has an address (on lo), NICs without one may have to answer for it. */
static gboolean is_of_the_host(const Concern *concern, const IbhAddress *address)
{
    return address->local.family == AF_INET && address->scope < RT_SCOPE_LINK &&
           g_hash_table_contains(concern->hosts, GINT_TO_POINTER(address->ifindex));
}

static void find_links_of_the_host(const Concern *concern)
{
    IBH_EACH (const IbhLink, link, concern->snapshot->links) {
        if (ibh_link_is_of_the_host(link))
            g_hash_table_add(concern->hosts, GINT_TO_POINTER(link->ifindex));
    }
}

static void narrow_addresses(Concern *concern)
{
    GArray *addresses = concern->snapshot->addresses;
    guint kept = 0;

    IBH_EACH (const IbhAddress, address, addresses) {
        if ((concern->ipv6 && address->local.family == AF_INET6) || concerns(concern, address->ifindex) ||
            touches(concern, address) || is_of_the_host(concern, address))
            g_array_index(addresses, IbhAddress, kept++) = *address;
    }
    g_array_set_size(addresses, kept);
}

/* A rule for all sources may lead our traffic elsewhere; and a number that a rule leads to is not free. */
static void narrow_rules(const Concern *concern)
{
    GArray *rules = concern->snapshot->rules;
    guint kept = 0;

    IBH_EACH (const IbhRule, rule, rules) {
        if (!rule->from.length || rule->table > IBH_TABLE_BASE || ibh_prefixes_overlap(concern->prefixes, &rule->from))
            g_array_index(rules, IbhRule, kept++) = *rule;
    }
    g_array_set_size(rules, kept);
}

/* Links that concern us, have an address that does, or by which main reaches such an address. */
static GHashTable *links_to_keep(const Concern *concern)
{
    const IbhSnapshot *snapshot = concern->snapshot;
    GHashTable *keep = g_hash_table_new(NULL, NULL);

    IBH_EACH (const IbhAddress, address, snapshot->addresses)
        g_hash_table_add(keep, GINT_TO_POINTER(address->ifindex));
    IBH_EACH (const IbhRoute, route, snapshot->routes) {
        if (route->ifindex && ibh_prefixes_overlap(concern->prefixes, &route->dst))
            g_hash_table_add(keep, GINT_TO_POINTER(route->ifindex));
    }
    return keep;
}

/* The links below or above them decide what they are. */
static void keep_what_is_below(const IbhSnapshot *snapshot, GHashTable *keep, const IbhLink *link)
{
    if (link->master)
        g_hash_table_add(keep, GINT_TO_POINTER(link->master));
    for (int depth = 0; link && link->parent && depth < IBH_STACK_DEPTH; depth++) {
        g_hash_table_add(keep, GINT_TO_POINTER(link->parent));
        link = ibh_snapshot_link(snapshot, link->parent);
    }
}

static void narrow_links(Concern *concern)
{
    GArray *links = concern->snapshot->links;
    g_autoptr(GHashTable) keep = links_to_keep(concern);
    guint kept = 0;

    IBH_EACH (const IbhLink, link, links) {
        if (!concerns(concern, link->ifindex))
            continue;
        g_hash_table_add(keep, GINT_TO_POINTER(link->ifindex));
        keep_what_is_below(concern->snapshot, keep, link);
    }
    IBH_EACH (const IbhLink, link, links) {
        if (g_hash_table_contains(keep, GINT_TO_POINTER(link->ifindex)))
            g_array_index(links, IbhLink, kept++) = *link;
    }
    g_array_set_size(links, kept);
}

gboolean ibh_narrow(IbhSnapshot *snapshot, const IbhConfig *config)
{
    g_autoptr(GHashTable) nics = g_hash_table_new(NULL, NULL), hosts = g_hash_table_new(NULL, NULL);
    g_autoptr(GArray) prefixes = g_array_new(FALSE, FALSE, sizeof(IbhPrefix));
    Concern concern = {.snapshot = snapshot, .nics = nics, .hosts = hosts, .prefixes = prefixes};

    add_candidates(&concern, config);
    add_what_is_ours(&concern);
    do
        add_subnets(&concern);
    while (add_holders(&concern));
    find_links_of_the_host(&concern);
    narrow_addresses(&concern);
    narrow_rules(&concern);
    narrow_links(&concern);
    return g_hash_table_size(nics) || prefixes->len;
}
