/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/fib.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#define LENGTHS 129 /* the possible lengths of a prefix: 0 to 128 */
#define RULES (-1)  /* in the key of a list of rules: takes the place of the table's number */

/* The key of a list of routes: their table and destination. The key of a list of rules: RULES, and the rules' single
 * source address or /0 (see IbhFib.lists). */
typedef struct {
    gint64 table;
    IbhPrefix prefix;
} TablePrefix;

typedef struct {
    gconstpointer object; /* const IbhRule * or const IbhRoute * */
    guint64 order;        /* of a rule: its priority, then its place among all rules added; of a route: its metric */
} Entry;

struct IbhFib {
    const IbhSnapshot *snapshot;
    /* TablePrefix → GArray of Entry, sorted by `order`; among entries of the same order, the one that was added first
     * comes first. A rule with a single source address, and without "not", is in the list of this address, so that a
     * walk is fast with hundreds of rails; all other rules are in the list of /0. */
    GHashTable *lists;
    gboolean has[LENGTHS]; /* TRUE if any list is for a prefix of this length */
    GPtrArray *rules;      /* const IbhRule * */
    const GArray *without; /* IbhOwner: what walks ignore; NULL: nothing */
    gboolean regrouped;    /* links with our mark count as links of the default group */
};

IbhPrefix ibh_prefix_of_world(int family)
{
    return (IbhPrefix){.ip.family = family};
}

static guint hash_key(gconstpointer data)
{
    const TablePrefix *key = data;

    return (ibh_ip_hash(&key->prefix.ip) * 31 + key->prefix.length) * 31 + (guint)key->table;
}

static gboolean is_same_key(gconstpointer a, gconstpointer b)
{
    const TablePrefix *one = a, *other = b;

    return one->table == other->table && ibh_prefix_equal(&one->prefix, &other->prefix);
}

IbhFib *ibh_fib_new(const IbhSnapshot *snapshot)
{
    IbhFib *fib = g_new0(IbhFib, 1);

    fib->snapshot = snapshot;
    fib->lists = g_hash_table_new_full(hash_key, is_same_key, g_free, (GDestroyNotify)g_array_unref);
    fib->rules = g_ptr_array_new();
    return fib;
}

void ibh_fib_free(IbhFib *fib)
{
    if (!fib)
        return;
    g_hash_table_unref(fib->lists);
    g_ptr_array_unref(fib->rules);
    g_free(fib);
}

static void add_entry(IbhFib *fib, gint64 table, const IbhPrefix *prefix, gconstpointer object, guint64 order)
{
    const TablePrefix key = {table, *prefix};
    const Entry entry = {object, order};
    GArray *list = g_hash_table_lookup(fib->lists, &key);
    guint place;

    if (!list) {
        list = IBH_NEW_ARRAY(Entry);
        g_hash_table_insert(fib->lists, g_memdup(&key, sizeof key), list);
        fib->has[prefix->length] = TRUE;
    }
    place = list->len;
    while (place && g_array_index(list, Entry, place - 1).order > order)
        place--;
    g_array_insert_val(list, place, entry);
}

void ibh_fib_add_rule(IbhFib *fib, const IbhRule *rule)
{
    const gboolean has_one_source =
        rule->from.length && rule->from.length == ibh_ip_bits(&rule->from.ip) && !(rule->selectors & IBH_SELECT_NOT);
    const IbhPrefix key = has_one_source ? rule->from : ibh_prefix_of_world(rule->family);

    add_entry(fib, RULES, &key, rule, ((guint64)rule->priority << 32) + fib->rules->len);
    g_ptr_array_add(fib->rules, (gpointer)(guintptr)rule);
}

void ibh_fib_add_route(IbhFib *fib, const IbhRoute *route)
{
    if (!route->special && route->dst.length < LENGTHS)
        add_entry(fib, route->table, &route->dst, route, route->metric);
}

void ibh_fib_set_without(IbhFib *fib, const GArray *without)
{
    fib->without = without;
}

void ibh_fib_regroup(IbhFib *fib)
{
    fib->regrouped = TRUE;
}

/* Returns the list (Entry) of a table and prefix, perhaps empty. */
static const GArray *find_list(const IbhFib *fib, gint64 table, const IbhPrefix *prefix)
{
    static const GArray none = {.len = 0};
    const TablePrefix key = {table, *prefix};
    const GArray *list = fib->has[prefix->length] ? g_hash_table_lookup(fib->lists, &key) : NULL;

    return list ? list : &none;
}

/* TRUE if the walk ignores this rule or, if `rule` is NULL, this route. */
static gboolean is_ignored(const IbhFib *fib, const IbhRule *rule, const IbhRoute *route)
{
    for (guint i = 0; fib->without && i < fib->without->len; i++) {
        const IbhOwner *object = &g_array_index(fib->without, IbhOwner, i);

        if (rule && object->rule == rule)
            return TRUE;
        if (!rule && object->route && ibh_route_compare(object->route, route) == 0)
            return TRUE;
    }
    return FALSE;
}

/* ---- what a rule matches ---- */

/* TRUE if the link with this index has this name. The index 0 stands for no link, and has the name `otherwise`. */
static gboolean is_named(const IbhSnapshot *snapshot, const char *name, int ifindex, const char *otherwise)
{
    const IbhLink *link = ibh_snapshot_link(snapshot, ifindex);

    if (!ifindex)
        return g_str_equal(name, otherwise);
    return g_str_equal(name, link ? link->name : "");
}

gboolean ibh_rule_matches(const IbhSnapshot *snapshot, const IbhRule *rule, const IbhLookup *packet)
{
    const IbhSelection *by = &rule->by;
    const guint selectors = rule->selectors;
    gboolean matches = (!rule->from.length || ibh_prefix_contains(&rule->from, &packet->from)) &&
                       (!rule->to.length || ibh_prefix_contains(&rule->to, &packet->to));

    if (rule->family != packet->to.family || rule->l3mdev || (selectors & IBH_SELECT_OTHER))
        return FALSE;
    /* The packet has mark 0, TOS 0, user 0, no IP protocol and no ports. */
    if (selectors & IBH_SELECT_FWMARK)
        matches &= !(by->mark & by->mask);
    if (selectors & IBH_SELECT_TOS)
        matches &= !by->tos;
    if (selectors & IBH_SELECT_UID)
        matches &= !by->uid[0];
    if (selectors & IBH_SELECT_PORT)
        matches &= !by->ip_protocol && !by->sport[0] && !by->dport[0];
    if (selectors & IBH_SELECT_IIF) /* for the kernel, packets of this host come in through lo */
        matches &= is_named(snapshot, by->iif, packet->iif, "lo");
    if (selectors & IBH_SELECT_OIF)
        matches &= is_named(snapshot, by->oif, packet->bound, "");
    return matches != ((selectors & IBH_SELECT_NOT) != 0);
}

/* Merges two sorted lists of rules: returns the next rule in the order of both lists together, or NULL at their end.
 * `at` has the position in each list. */
static const IbhRule *next_rule(const GArray *const lists[2], guint at[2])
{
    const Entry *next = NULL;
    int list = 0;

    for (int i = 0; i < 2; i++) {
        const Entry *entry = at[i] < lists[i]->len ? &g_array_index(lists[i], Entry, at[i]) : NULL;

        if (entry && (!next || entry->order < next->order)) {
            next = entry;
            list = i;
        }
    }
    if (!next)
        return NULL;
    at[list]++;
    return next->object;
}

/* ---- routes ---- */

/* TRUE if a next hop of the route can be used (see ibh_fib_find()). A route without a link (ifindex 0), such as an
 * error route, can be used with any `bound`. Only a unicast route needs a link that is up. A link that the snapshot
 * lacks counts as up, with carrier. */
static gboolean is_usable(const IbhFib *fib, const IbhRoute *route, int bound)
{
    const IbhHop single = {.ifindex = route->ifindex}, *hops = route->hops ? route->hops : &single;

    for (guint i = 0; i < (route->hops ? route->nexthops : 1); i++) {
        const IbhLink *link = ibh_snapshot_link(fib->snapshot, hops[i].ifindex);
        gboolean needs_carrier;

        if (hops[i].dead || (bound && hops[i].ifindex && hops[i].ifindex != bound))
            continue;
        if (route->type != RTN_UNICAST || !link)
            return TRUE;
        needs_carrier = route->family == AF_INET6 ? link->ignores_linkdown6 : link->ignores_linkdown;
        if ((link->flags & IFF_UP) && (link->carrier || !needs_carrier))
            return TRUE;
    }
    return FALSE;
}

/* Returns the best usable route to `to` in the table, or NULL (see ibh_fib_find()). Throw routes count only if
 * `with_throws`; cached routes never count. */
static const IbhRoute *find_route(const IbhFib *fib, guint32 table, const IbhIp *to, int bound, gboolean with_throws)
{
    const IbhRoute *unusable = NULL;

    for (guint length = ibh_ip_bits(to) + 1; length-- > 0;) {
        const IbhPrefix prefix = ibh_prefix_of(to, length);
        const GArray *routes = find_list(fib, table, &prefix);

        IBH_EACH (const Entry, entry, routes) {
            const IbhRoute *route = entry->object;

            if (unusable && ibh_ip_equal(&unusable->dst.ip, &prefix.ip))
                break;
            if (is_ignored(fib, NULL, route) || route->cached || (route->type == RTN_THROW && !with_throws))
                continue;
            if (is_usable(fib, route, bound))
                return route;
            /* If no next hop of a nexthop object is usable, IPv4 skips all further routes whose prefix begins at the
             * same address, even shorter prefixes (fib_table_lookup). */
            if (route->object && route->family == AF_INET)
                unusable = route;
        }
    }
    return NULL;
}

const IbhRoute *ibh_fib_find(const IbhFib *fib, guint32 table, const IbhIp *to, int bound)
{
    return find_route(fib, table, to, bound, TRUE);
}

gboolean ibh_route_leads_through(const IbhRoute *route, int ifindex)
{
    IBH_EACH_HOP (hop, route) {
        if (hop->ifindex != ifindex && !hop->dead)
            return FALSE;
    }
    return route->hops || route->ifindex == ifindex;
}

/* Returns the link of the route if the rule suppresses the group of that link, else NULL. For a multipath route, we
 * look at the first link only, as IPv4 does. IPv6 looks at the link of the next hop that it picks. */
static const IbhLink *find_suppressed_link(const IbhFib *fib, const IbhRule *rule, const IbhRoute *route)
{
    const IbhLink *link = rule->suppress_ifgroup >= 0 ? ibh_snapshot_link(fib->snapshot, route->ifindex) : NULL;
    guint32 group;

    if (!link)
        return NULL;
    group = fib->regrouped && link->group == IBH_MARK ? 0 : link->group;
    return rule->suppress_ifgroup == group ? link : NULL;
}

/* TRUE if the rule suppresses the route. The kernel never suppresses error routes. */
static gboolean is_suppressed(const IbhFib *fib, const IbhRule *rule, const IbhRoute *route)
{
    return !ibh_route_is_error(route) &&
           ((gint64)route->dst.length <= rule->suppress_prefixlength || find_suppressed_link(fib, rule, route));
}

/* Returns the cached route to `to` that the kernel finds although the rule suppresses the route `suppressed`; NULL if
 * there is none. The kernel makes a cached route from an ordinary route, through the same link, but with a prefix of
 * one host: so a rule that suppresses the ordinary route because of its short prefix does not suppress the cached
 * route. We take a cached route to be made from `suppressed` if `suppressed` leads through the same link. */
static const IbhRoute *find_cached(const IbhFib *fib, const IbhRule *rule, const IbhRoute *suppressed, const IbhIp *to)
{
    const IbhPrefix host = ibh_prefix_of_host(to);
    const GArray *routes = find_list(fib, rule->table, &host);
    IbhRoute part;

    IBH_EACH (const Entry, entry, routes) {
        const IbhRoute *route = entry->object;

        if (route->cached && !is_ignored(fib, NULL, route) && !is_suppressed(fib, rule, route) &&
            ibh_route_part(suppressed, route->ifindex, &part))
            return route;
    }
    return NULL;
}

/* ---- the walk ---- */

/* TRUE if a rule has the priority that the goto leads to. Without such a rule, the kernel ignores the goto. */
static gboolean has_target(const IbhFib *fib, const IbhRule *jump)
{
    IBH_EACH_POINTER (const IbhRule, rule, fib->rules) {
        if (rule->priority == jump->target && rule->family == jump->family && !is_ignored(fib, rule, NULL))
            return TRUE;
    }
    return FALSE;
}

/* TRUE if only the kernel can tell whether the rule matches the packet. Such a rule has selectors that we do not know,
 * and either its known selectors match, or the rule has "not". */
static gboolean may_match(const IbhFib *fib, const IbhRule *rule, const IbhLookup *packet)
{
    IbhRule known_part;

    if (!(rule->selectors & IBH_SELECT_OTHER))
        return FALSE;
    if (rule->selectors & IBH_SELECT_NOT)
        return TRUE;
    known_part = *rule;
    known_part.selectors &= ~(guint)IBH_SELECT_OTHER;
    return ibh_rule_matches(fib->snapshot, &known_part, packet);
}

IbhTrace ibh_fib_walk(const IbhFib *fib, const IbhLookup *packet)
{
    const IbhPrefix world = ibh_prefix_of_world(packet->to.family), source = ibh_prefix_of_host(&packet->from);
    const GArray *const lists[] = {find_list(fib, RULES, &world), find_list(fib, RULES, &source)};
    IbhTrace trace = {.refused = TRUE};
    guint32 jump_to = 0;
    guint at[2] = {0};

    for (const IbhRule *rule = next_rule(lists, at); rule; rule = next_rule(lists, at)) {
        const IbhRoute *route;

        if (rule->priority < jump_to || is_ignored(fib, rule, NULL))
            continue;
        if (may_match(fib, rule, packet))
            trace.unknown += (gsize)rule; /* the sum of the pointers identifies the set of such rules */
        if (!ibh_rule_matches(fib->snapshot, rule, packet) || rule->action == FR_ACT_NOP)
            continue;
        if (rule->action == FR_ACT_GOTO) {
            if (has_target(fib, rule)) {
                trace.jump = trace.jump ? trace.jump : rule;
                jump_to = rule->target;
            }
            continue;
        }
        trace.rule = rule;
        if (rule->action != FR_ACT_TO_TBL) /* the rule refuses the packet; `refused` is still TRUE */
            return trace;
        /* If a look-up names the link `bound`, IPv4 ignores routes that lead only through other links. IPv6 ignores
         * them only if the look-up also has a bound socket, or has no source address; but look-ups of RDMA that name a
         * link have a source address, and no socket. */
        route = ibh_fib_find(fib, rule->table, &packet->to, packet->to.family == AF_INET ? packet->bound : 0);
        if (route && route->type == RTN_THROW) {
            if (!trace.thrown) { /* which route of the table does the throw route hide? */
                trace.thrown = find_route(fib, rule->table, &packet->to, 0, FALSE);
                trace.thrower = trace.thrown ? route : NULL;
            }
            continue;
        }
        if (route && is_suppressed(fib, rule, route)) {
            /* If a rule of ours suppresses the route because of the link's group, and not because of a short prefix,
             * remember the link. */
            if (!trace.passed && ibh_rule_is_ours(rule) && (gint64)route->dst.length > rule->suppress_prefixlength)
                trace.passed = find_suppressed_link(fib, rule, route);
            route = find_cached(fib, rule, route, &packet->to);
        }
        if (route) {
            trace.route = route;
            trace.refused = ibh_route_is_error(route);
            return trace;
        }
    }
    trace.rule = NULL;
    return trace;
}
