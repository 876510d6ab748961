/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/fib.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#define LENGTHS 129 /* of a prefix */

typedef struct {
    const IbhRule *rule;
    guint number; /* in the order of adding */
} Entry;

typedef struct {
    GHashTable *routes;    /* IbhPrefix → GPtrArray of const IbhRoute *, the lowest metric first */
    guint counts[LENGTHS]; /* how many prefixes of each length */
} Table;

/* Rules of one source are found by it, so that hundreds of rails stay quick to judge. */
typedef struct {
    GArray *rules;          /* Entry: all others, in the order in which they are asked */
    GHashTable *by_source;  /* IbhIp → GArray of Entry: `from ADDRESS` */
    GHashTable *priorities; /* number → a rule that has it */
    GHashTable *tables;     /* number → Table */
} Family;

struct IbhFib {
    const IbhSnapshot *snapshot;
    Family families[2]; /* IPv4, IPv6 */
    guint n_rules;
    const GPtrArray *ignored; /* rules and routes; NULL: none */
};

void ibh_fib_without(IbhFib *fib, const GPtrArray *ignored)
{
    fib->ignored = ignored;
}

static gboolean is_gone(const IbhFib *fib, const void *object)
{
    return fib->ignored && g_ptr_array_find((GPtrArray *)(guintptr)fib->ignored, object, NULL);
}

static Family *family_of(const IbhFib *fib, int family)
{
    return (Family *)(guintptr)&fib->families[family == AF_INET6];
}

/* ---- what a rule matches ---- */

static gboolean is_named(const IbhSnapshot *snapshot, const char *name, int ifindex, const char *otherwise)
{
    const IbhLink *link = ifindex ? ibh_snapshot_link(snapshot, ifindex) : NULL;

    return g_str_equal(name, link ? link->name : ifindex ? "" : otherwise);
}

/* As RDMA asks: with mark 0, user 0, tos 0, no protocol and no port. What is sent from here comes in through lo. */
static gboolean matches_selection(const IbhSnapshot *snapshot, const IbhRule *rule, const IbhLookup *packet)
{
    const IbhSelection *by = &rule->by;
    const guint selectors = rule->selectors;

    if (selectors & IBH_SELECT_FWMARK && by->mark & by->mask)
        return FALSE;
    if (selectors & IBH_SELECT_TOS && (by->dscp_mask ? by->tos >> 2 : by->tos))
        return FALSE;
    if (selectors & IBH_SELECT_UID && by->uid[0])
        return FALSE;
    if (selectors & IBH_SELECT_PORT && (by->ip_protocol || by->sport[0] || by->dport[0]))
        return FALSE;
    if (selectors & IBH_SELECT_IIF && !is_named(snapshot, by->iif, packet->iif, "lo"))
        return FALSE;
    return !(selectors & IBH_SELECT_OIF) || is_named(snapshot, by->oif, packet->bound, "");
}

gboolean ibh_rule_matches(const IbhSnapshot *snapshot, const IbhRule *rule, const IbhLookup *packet)
{
    if (rule->family != packet->to.family || rule->l3mdev || (rule->selectors & IBH_SELECT_OTHER))
        return FALSE;
    return ((!rule->from.length || ibh_prefix_contains(&rule->from, &packet->from)) &&
            (!rule->to.length || ibh_prefix_contains(&rule->to, &packet->to)) &&
            matches_selection(snapshot, rule, packet)) != ((rule->selectors & IBH_SELECT_NOT) != 0);
}

/* It matches as far as can be told; whether it does in the end, only the kernel knows. */
static gboolean may_match(const IbhSnapshot *snapshot, const IbhRule *rule, const IbhLookup *packet)
{
    IbhRule told = *rule;

    told.selectors &= ~(guint)(IBH_SELECT_OTHER | IBH_SELECT_NOT);
    return ibh_rule_matches(snapshot, &told, packet) || (rule->selectors & IBH_SELECT_NOT);
}

/* ---- rules in order ---- */

static gboolean is_of_one_source(const IbhRule *rule)
{
    return rule->from.length && rule->from.length == ibh_ip_bits(&rule->from.ip) && !(rule->selectors & IBH_SELECT_NOT);
}

void ibh_fib_add_rule(IbhFib *fib, const IbhRule *rule)
{
    Family *family = family_of(fib, rule->family);
    const Entry entry = {rule, fib->n_rules++};
    GArray *rules = family->rules;
    guint place;

    if (is_of_one_source(rule) && !(rules = g_hash_table_lookup(family->by_source, &rule->from.ip))) {
        rules = IBH_NEW_ARRAY(Entry);
        g_hash_table_insert(family->by_source, (gpointer)(guintptr)&rule->from.ip, rules);
    }
    place = rules->len;
    while (place && g_array_index(rules, Entry, place - 1).rule->priority > rule->priority)
        place--;
    g_array_insert_val(rules, place, entry);
    g_hash_table_insert(family->priorities, GUINT_TO_POINTER(rule->priority), (gpointer)(guintptr)rule);
}

/* Two lists in order, read as one. */
typedef struct {
    const GArray *lists[2]; /* NULL: empty */
    guint at[2];
} Cursor;

static const Entry *peek(const Cursor *cursor, guint list)
{
    const GArray *rules = cursor->lists[list];

    return rules && cursor->at[list] < rules->len ? &g_array_index(rules, Entry, cursor->at[list]) : NULL;
}

static const IbhRule *next_rule(Cursor *cursor)
{
    const Entry *one = peek(cursor, 0), *other = peek(cursor, 1);
    guint list = !one || (other && (other->rule->priority < one->rule->priority ||
                                    (other->rule->priority == one->rule->priority && other->number < one->number)));

    if (!one && !other)
        return NULL;
    cursor->at[list]++;
    return list ? other->rule : one->rule;
}

/* ---- routes ---- */

static guint prefix_hash(gconstpointer data)
{
    const IbhPrefix *prefix = data;

    return ibh_ip_hash(&prefix->ip) * 31 + prefix->length;
}

static void table_free(gpointer data)
{
    Table *table = data;

    g_hash_table_unref(table->routes);
    g_free(table);
}

static Table *make_table(Family *family, guint32 number)
{
    Table *table = g_hash_table_lookup(family->tables, GUINT_TO_POINTER(number));

    if (!table) {
        table = g_new0(Table, 1);
        table->routes =
            g_hash_table_new_full(prefix_hash, (GEqualFunc)ibh_prefix_equal, NULL, (GDestroyNotify)g_ptr_array_unref);
        g_hash_table_insert(family->tables, GUINT_TO_POINTER(number), table);
    }
    return table;
}

void ibh_fib_add_route(IbhFib *fib, const IbhRoute *route)
{
    Table *table;
    GPtrArray *routes;
    guint place;

    if (route->special || route->dst.length >= LENGTHS)
        return;
    table = make_table(family_of(fib, route->family), route->table);
    if (!(routes = g_hash_table_lookup(table->routes, &route->dst))) {
        routes = g_ptr_array_new();
        g_hash_table_insert(table->routes, (gpointer)(guintptr)&route->dst, routes);
        table->counts[route->dst.length]++;
    }
    place = routes->len;
    while (place && ((const IbhRoute *)g_ptr_array_index(routes, place - 1))->metric > route->metric)
        place--;
    g_ptr_array_insert(routes, (gint)place, (IbhRoute *)(guintptr)route);
}

static gboolean is_link_usable(const IbhFib *fib, int ifindex)
{
    const IbhLink *link = ibh_snapshot_link(fib->snapshot, ifindex);

    if (!link)
        ibh_snapshot_needs_everything(fib->snapshot);
    return !link || ((link->flags & IFF_UP) && (link->carrier || !link->sysctl[IBH_SYSCTL_IGNORE_LINKDOWN]));
}

/* NULL: nothing is in it. */
static const Table *find_table(const IbhFib *fib, guint32 number, int family)
{
    return g_hash_table_lookup(family_of(fib, family)->tables, GUINT_TO_POINTER(number));
}

/* const IbhRoute *: to this prefix; NULL: none. */
static const GPtrArray *find_routes(const Table *table, const IbhPrefix *prefix)
{
    return table && table->counts[prefix->length] ? g_hash_table_lookup(table->routes, prefix) : NULL;
}

/* A dead next hop is as good as none. Routes to ourselves outlive their link. */
static gboolean is_hop_usable(const IbhFib *fib, const IbhRoute *route, const IbhHop *hop, int bound)
{
    if (bound && hop->ifindex && hop->ifindex != bound) /* of another NIC than the socket's */
        return FALSE;
    return !hop->dead && (route->type != RTN_UNICAST || !hop->ifindex || is_link_usable(fib, hop->ifindex));
}

static gboolean is_alive(const IbhFib *fib, const IbhRoute *route, int bound)
{
    const IbhHop single = {.ifindex = route->ifindex};

    if (!route->hops)
        return is_hop_usable(fib, route, &single, bound);
    IBH_EACH_HOP (hop, route) {
        if (is_hop_usable(fib, route, hop, bound))
            return TRUE;
    }
    return FALSE;
}

/* Of IPv4, Linux passes a nexthop object without a usable hop together with all that begins at the same address, also
 * with shorter prefixes (fib_table_lookup). */
static gboolean passes_all_that_begins_there(const IbhRoute *route)
{
    return route->object && route->family == AF_INET;
}

const IbhRoute *ibh_fib_find(const IbhFib *fib, guint32 number, const IbhIp *to, int bound)
{
    const Table *table = find_table(fib, number, to->family);
    const IbhRoute *passed = NULL;

    for (guint length = ibh_ip_bits(to) + 1; table && length-- > 0;) {
        const IbhPrefix prefix = ibh_prefix_of(to, length);
        const GPtrArray *routes = find_routes(table, &prefix);

        for (guint i = 0; routes && i < routes->len && !(passed && ibh_ip_equal(&passed->dst.ip, &prefix.ip)); i++) {
            const IbhRoute *route = g_ptr_array_index(routes, i);

            if (is_gone(fib, route) || route->cached)
                continue;
            if (is_alive(fib, route, bound))
                return route;
            if (passes_all_that_begins_there(route))
                passed = route;
        }
    }
    return NULL;
}

const IbhRoute *ibh_fib_default(const IbhFib *fib, guint32 number, int family)
{
    const IbhPrefix world = ibh_prefix_of_world(family);
    const GPtrArray *routes = find_routes(find_table(fib, number, family), &world);

    return routes ? g_ptr_array_index(routes, 0) : NULL;
}

gboolean ibh_route_leads_by(const IbhRoute *route, int ifindex)
{
    IBH_EACH_HOP (hop, route) {
        if (hop->ifindex != ifindex && !hop->dead)
            return FALSE;
    }
    return route->hops || route->ifindex == ifindex;
}

/* ---- the way of a packet ---- */

/* An error is an answer, which no rule suppresses. No link has the group of our mark; all have 0, as a rule. */
static gboolean is_suppressed(const IbhRule *rule, const IbhRoute *route)
{
    return !ibh_route_is_error(route) &&
           ((gint64)route->dst.length <= rule->suppress_prefixlength || rule->suppress_ifgroup == 0);
}

/* What the kernel has learned of one host is as long as an address: a rule that suppresses the route that it was
 * learned by, for its length, lets it pass. */
static const IbhRoute *find_cached(const IbhFib *fib, const IbhRule *rule, const IbhRoute *by, const IbhIp *to)
{
    const IbhPrefix host = ibh_prefix_of_host(to);
    const GPtrArray *routes = find_routes(find_table(fib, rule->table, to->family), &host);
    IbhRoute part;

    for (guint i = 0; routes && i < routes->len; i++) {
        const IbhRoute *route = g_ptr_array_index(routes, i);

        if (route->cached && !is_gone(fib, route) && !is_suppressed(rule, route) &&
            ibh_route_part(by, route->ifindex, &part))
            return route;
    }
    return NULL;
}

/* Which priority is next. To one that no rule has, a goto does nothing; what is near lacks rules. */
static guint32 jump(const IbhFib *fib, const Family *family, const IbhRule *rule, IbhTrace *trace, guint32 next)
{
    const IbhRule *target = g_hash_table_lookup(family->priorities, GUINT_TO_POINTER(rule->target));

    if (!target)
        ibh_snapshot_needs_everything(fib->snapshot);
    if (!target || is_gone(fib, target))
        return next;
    trace->jump = trace->jump ? trace->jump : rule;
    return rule->target;
}

IbhTrace ibh_fib_walk(const IbhFib *fib, const IbhLookup *packet)
{
    const Family *family = family_of(fib, packet->to.family);
    Cursor cursor = {.lists = {family->rules, g_hash_table_lookup(family->by_source, &packet->from)}};
    IbhTrace trace = {.refused = TRUE};
    guint32 next = 0;

    for (const IbhRule *rule; (rule = next_rule(&cursor));) {
        const IbhRoute *route;

        if (rule->priority < next || is_gone(fib, rule))
            continue;
        if (rule->selectors & IBH_SELECT_OTHER && may_match(fib->snapshot, rule, packet))
            trace.unknown += (gsize)rule;
        if (!ibh_rule_matches(fib->snapshot, rule, packet) || rule->action == FR_ACT_NOP)
            continue;
        if (rule->action == FR_ACT_GOTO) {
            next = jump(fib, family, rule, &trace, next);
            continue;
        }
        trace.rule = rule;
        if (rule->action != FR_ACT_TO_TBL)
            return trace;
        trace.asked_main |= rule->table == IBH_TABLE_MAIN;
        route = ibh_fib_find(fib, rule->table, &packet->to, packet->to.family == AF_INET ? packet->bound : 0);
        if (route && route->type == RTN_THROW) {
            trace.first_throw = trace.first_throw ? trace.first_throw : route;
            continue;
        }
        if (route && is_suppressed(rule, route))
            route = find_cached(fib, rule, route, &packet->to);
        if (route) {
            trace.route = route;
            trace.refused = ibh_route_is_error(route);
            return trace;
        }
    }
    trace.rule = NULL;
    return trace;
}

/* ---- what it is made of ---- */

IbhFib *ibh_fib_new(const IbhSnapshot *snapshot)
{
    IbhFib *fib = g_new0(IbhFib, 1);

    fib->snapshot = snapshot;
    for (Family *family = fib->families; family < fib->families + G_N_ELEMENTS(fib->families); family++) {
        family->rules = IBH_NEW_ARRAY(Entry);
        family->by_source =
            g_hash_table_new_full(ibh_ip_hash, (GEqualFunc)ibh_ip_equal, NULL, (GDestroyNotify)g_array_unref);
        family->priorities = g_hash_table_new(NULL, NULL);
        family->tables = g_hash_table_new_full(NULL, NULL, NULL, table_free);
    }
    return fib;
}

void ibh_fib_free(IbhFib *fib)
{
    if (!fib)
        return;
    for (Family *family = fib->families; family < fib->families + G_N_ELEMENTS(fib->families); family++) {
        g_array_unref(family->rules);
        g_hash_table_unref(family->by_source);
        g_hash_table_unref(family->priorities);
        g_hash_table_unref(family->tables);
    }
    g_free(fib);
}
