/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/fib.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#define LENGTHS 129 /* of a prefix */

typedef struct {
    gconstpointer object; /* const IbhRule * or const IbhRoute * */
    guint64 order;        /* of rules the priority, then the order of adding; of routes the metric */
} Entry;

typedef struct {
    GHashTable *lists;     /* IbhPrefix → GArray of Entry, in order; of equals the older comes first */
    gboolean has[LENGTHS]; /* a list for a prefix of this length */
} Table;

struct IbhFib {
    const IbhSnapshot *snapshot;
    Table *rules;              /* `from ADDRESS` by it: hundreds of rails are judged quickly; others by the world */
    GHashTable *priorities[2]; /* IPv4, IPv6: number → a rule that has it */
    GHashTable *tables;        /* number → Table of routes */
    guint n_rules;
    const GPtrArray *ignored; /* rules and routes; NULL: none */
    gboolean regrouped;
};

void ibh_fib_without(IbhFib *fib, const GPtrArray *ignored)
{
    fib->ignored = ignored;
}

void ibh_fib_regroup(IbhFib *fib)
{
    fib->regrouped = TRUE;
}

static gboolean is_gone(const IbhFib *fib, const void *object)
{
    return fib->ignored && g_ptr_array_find((GPtrArray *)(guintptr)fib->ignored, object, NULL);
}

/* ---- lists ---- */

IbhPrefix ibh_prefix_of_world(int family)
{
    return (IbhPrefix){.ip.family = family};
}

static guint prefix_hash(gconstpointer data)
{
    const IbhPrefix *prefix = data;

    return ibh_ip_hash(&prefix->ip) * 31 + prefix->length;
}

static Table *table_new(void)
{
    Table *table = g_new0(Table, 1);

    table->lists =
        g_hash_table_new_full(prefix_hash, (GEqualFunc)ibh_prefix_equal, g_free, (GDestroyNotify)g_array_unref);
    return table;
}

static void table_free(gpointer data)
{
    Table *table = data;

    g_hash_table_unref(table->lists);
    g_free(table);
}

/* NULL: nothing is in it. */
static Table *find_table(const IbhFib *fib, guint32 number)
{
    return g_hash_table_lookup(fib->tables, GUINT_TO_POINTER(number));
}

/* Entry; `table` NULL: none. */
static const GArray *find_list(const Table *table, const IbhPrefix *prefix)
{
    static const GArray none = {.len = 0};
    const GArray *list = table && table->has[prefix->length] ? g_hash_table_lookup(table->lists, prefix) : NULL;

    return list ? list : &none;
}

static void add(Table *table, const IbhPrefix *prefix, gconstpointer object, guint64 order)
{
    const Entry entry = {object, order};
    GArray *list = g_hash_table_lookup(table->lists, prefix);
    guint place;

    if (!list) {
        list = IBH_NEW_ARRAY(Entry);
        g_hash_table_insert(table->lists, g_memdup(prefix, sizeof *prefix), list);
        table->has[prefix->length] = TRUE;
    }
    place = list->len;
    while (place && g_array_index(list, Entry, place - 1).order > order)
        place--;
    g_array_insert_val(list, place, entry);
}

/* ---- what a rule matches ---- */

static gboolean is_named(const IbhSnapshot *snapshot, const char *name, int ifindex, const char *otherwise)
{
    const IbhLink *link = ibh_snapshot_link(snapshot, ifindex);

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
    const IbhPrefix key = is_of_one_source(rule) ? rule->from : ibh_prefix_of_world(rule->family);

    add(fib->rules, &key, rule, ((guint64)rule->priority << 32) + fib->n_rules++);
    g_hash_table_insert(fib->priorities[rule->family == AF_INET6], GUINT_TO_POINTER(rule->priority),
                        (gpointer)(guintptr)rule);
}

/* Two lists in order, read as one. */
typedef struct {
    const GArray *lists[2];
    guint at[2];
} Cursor;

static const Entry *peek(const Cursor *cursor, guint list)
{
    const GArray *rules = cursor->lists[list];

    return cursor->at[list] < rules->len ? &g_array_index(rules, Entry, cursor->at[list]) : NULL;
}

static const IbhRule *next_rule(Cursor *cursor)
{
    const Entry *one = peek(cursor, 0), *other = peek(cursor, 1);
    const guint list = !one || (other && other->order < one->order);

    if (!one && !other)
        return NULL;
    cursor->at[list]++;
    return list ? other->object : one->object;
}

/* ---- routes ---- */

void ibh_fib_add_route(IbhFib *fib, const IbhRoute *route)
{
    Table *table = find_table(fib, route->table);

    if (route->special || route->dst.length >= LENGTHS)
        return;
    if (!table) {
        table = table_new();
        g_hash_table_insert(fib->tables, GUINT_TO_POINTER(route->table), table);
    }
    add(table, &route->dst, route, route->metric);
}

static gboolean is_link_usable(const IbhFib *fib, int ifindex)
{
    const IbhLink *link = ibh_snapshot_link(fib->snapshot, ifindex);

    return !link || ((link->flags & IFF_UP) && (link->carrier || !link->ignores_linkdown));
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

static const IbhRoute *find(const IbhFib *fib, guint32 number, const IbhIp *to, int bound, gboolean with_throws)
{
    const Table *table = find_table(fib, number);
    const IbhRoute *passed = NULL;

    for (guint length = ibh_ip_bits(to) + 1; table && length-- > 0;) {
        const IbhPrefix prefix = ibh_prefix_of(to, length);
        const GArray *routes = find_list(table, &prefix);

        IBH_EACH (const Entry, entry, routes) {
            const IbhRoute *route = entry->object;

            if (passed && ibh_ip_equal(&passed->dst.ip, &prefix.ip))
                break;
            if (is_gone(fib, route) || route->cached || (route->type == RTN_THROW && !with_throws))
                continue;
            if (is_alive(fib, route, bound))
                return route;
            if (passes_all_that_begins_there(route))
                passed = route;
        }
    }
    return NULL;
}

const IbhRoute *ibh_fib_find(const IbhFib *fib, guint32 table, const IbhIp *to, int bound)
{
    return find(fib, table, to, bound, TRUE);
}

const IbhRoute *ibh_fib_default(const IbhFib *fib, guint32 number, int family)
{
    const IbhPrefix world = ibh_prefix_of_world(family);
    const GArray *routes = find_list(find_table(fib, number), &world);

    return routes->len ? g_array_index(routes, Entry, 0).object : NULL;
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

/* The link of a route whose group the rule names; NULL: it names none, or another one. Of several, the kernel looks at
 * the first link. */
static const IbhLink *find_suppressed_link(const IbhFib *fib, const IbhRule *rule, const IbhRoute *route)
{
    const IbhLink *link = rule->suppress_ifgroup >= 0 ? ibh_snapshot_link(fib->snapshot, route->ifindex) : NULL;

    if (!link)
        return NULL;
    return rule->suppress_ifgroup == (fib->regrouped && link->group == IBH_MARK ? 0 : link->group) ? link : NULL;
}

/* An error is an answer, which no rule suppresses. */
static gboolean is_suppressed(const IbhFib *fib, const IbhRule *rule, const IbhRoute *route)
{
    return !ibh_route_is_error(route) &&
           ((gint64)route->dst.length <= rule->suppress_prefixlength || find_suppressed_link(fib, rule, route));
}

static void pass_over(const IbhFib *fib, const IbhRule *rule, const IbhRoute *route, IbhTrace *trace)
{
    if (!trace->passed && ibh_rule_is_ours(rule) && (gint64)route->dst.length > rule->suppress_prefixlength)
        trace->passed = find_suppressed_link(fib, rule, route);
}

/* What the kernel has learned of one host is as long as an address: a rule that suppresses the route that it was
 * learned by, for its length, lets it pass. */
static const IbhRoute *find_cached(const IbhFib *fib, const IbhRule *rule, const IbhRoute *by, const IbhIp *to)
{
    const IbhPrefix host = ibh_prefix_of_host(to);
    const GArray *routes = find_list(find_table(fib, rule->table), &host);
    IbhRoute part;

    IBH_EACH (const Entry, entry, routes) {
        const IbhRoute *route = entry->object;

        if (route->cached && !is_gone(fib, route) && !is_suppressed(fib, rule, route) &&
            ibh_route_part(by, route->ifindex, &part))
            return route;
    }
    return NULL;
}

/* Which priority is next. To one that no rule has, a goto does nothing; what is near lacks rules. */
static guint32 jump(const IbhFib *fib, const IbhRule *rule, IbhTrace *trace, guint32 next)
{
    const IbhRule *target =
        g_hash_table_lookup(fib->priorities[rule->family == AF_INET6], GUINT_TO_POINTER(rule->target));

    if (!target || is_gone(fib, target))
        return next;
    trace->jump = trace->jump ? trace->jump : rule;
    return rule->target;
}

IbhTrace ibh_fib_walk(const IbhFib *fib, const IbhLookup *packet)
{
    const IbhPrefix world = ibh_prefix_of_world(packet->to.family), source = ibh_prefix_of_host(&packet->from);
    Cursor cursor = {.lists = {find_list(fib->rules, &world), find_list(fib->rules, &source)}};
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
            next = jump(fib, rule, &trace, next);
            continue;
        }
        trace.rule = rule;
        if (rule->action != FR_ACT_TO_TBL)
            return trace;
        route = ibh_fib_find(fib, rule->table, &packet->to, packet->to.family == AF_INET ? packet->bound : 0);
        if (route && route->type == RTN_THROW) {
            if (!trace.thrown && (trace.thrown = find(fib, rule->table, &packet->to, 0, FALSE)))
                trace.thrower = route;
            continue;
        }
        if (route && is_suppressed(fib, rule, route)) {
            pass_over(fib, rule, route, &trace);
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

/* ---- what it is made of ---- */

IbhFib *ibh_fib_new(const IbhSnapshot *snapshot)
{
    IbhFib *fib = g_new0(IbhFib, 1);

    fib->snapshot = snapshot;
    fib->rules = table_new();
    fib->priorities[0] = g_hash_table_new(NULL, NULL);
    fib->priorities[1] = g_hash_table_new(NULL, NULL);
    fib->tables = g_hash_table_new_full(NULL, NULL, NULL, table_free);
    return fib;
}

void ibh_fib_free(IbhFib *fib)
{
    if (!fib)
        return;
    table_free(fib->rules);
    g_hash_table_unref(fib->priorities[0]);
    g_hash_table_unref(fib->priorities[1]);
    g_hash_table_unref(fib->tables);
    g_free(fib);
}
