/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/spread.h"

#include "plan/emit.h"
#include "plan/want.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define UNIT G_MAXINT /* of no NIC */

/* ---- the wanted routes and rules ---- */

/* The source address that the kernel gives unbound traffic by this NIC. It must be of this subnet, and the NIC its
 * owner: once a socket has that source, the owner's rule applies. */
static const IbhAddress *first_primary(const IbhNic *nic)
{
    IBH_EACH_POINTER (const IbhAddress, address, &nic->served) {
        if (address->local.family == AF_INET && !address->secondary)
            return address;
    }
    return NULL;
}

static gboolean can_carry(const IbhRails *rails, const IbhNic *nic, const IbhPrefix *subnet)
{
    const IbhAddress *address = first_primary(nic);

    return ibh_is_programmed(rails, nic) && (nic->link->flags & IFF_UP) && nic->link->carrier && address &&
           !ibh_address_is_host(address) && ibh_prefix_equal(&address->subnet, subnet) &&
           ibh_rails_owner(rails, &address->local) == nic;
}

/* A NIC that is no rail has that subnet, too: spreading would take its traffic. */
static gboolean is_anothers(const IbhRails *rails, const IbhPrefix *subnet)
{
    const GArray *addresses = rails->snapshot->addresses;

    IBH_EACH (const IbhAddress, address, addresses) {
        const IbhNic *nic = ibh_rails_nic(rails, address->ifindex);

        if (nic && nic->status != IBH_NIC_RAIL && ibh_prefix_equal(&address->subnet, subnet))
            return TRUE;
    }
    return FALSE;
}

static gboolean make_route(const IbhRails *rails, const IbhPrefix *subnet, IbhRoute *ret_route)
{
    g_autoptr(GString) hops = g_string_new(NULL);
    IbhRoute route = {.family = AF_INET,
                      .table = IBH_TABLE_SPREAD,
                      .dst = *subnet,
                      .type = RTN_UNICAST,
                      .protocol = RTPROT_KERNEL,
                      .scope = RT_SCOPE_LINK,
                      .metric = IBH_MARK};

    for (guint i = 0; i < rails->nics->len; i++) { /* by rank */
        const IbhNic *nic = g_ptr_array_index(rails->nics, i);

        if (!can_carry(rails, nic, subnet))
            continue;
        if (!route.nexthops++)
            route.ifindex = nic->link->ifindex;
        g_string_append_printf(hops, "%s%d", hops->len ? " " : "", nic->link->ifindex);
    }
    if (route.nexthops < 2 || is_anothers(rails, subnet))
        return FALSE;
    route.hops = g_intern_string(hops->str);
    *ret_route = route;
    return TRUE;
}

static gboolean can_be_spread(const IbhRails *rails, const IbhNic *nic, IbhRoute *ret_route)
{
    const IbhAddress *address = nic->status == IBH_NIC_RAIL ? first_primary(nic) : NULL;

    return address && make_route(rails, &address->subnet, ret_route);
}

/* Of nested subnets only the outermost is spread; inside of it, main is asked for longer prefixes. */
static void keep_outermost(GArray *routes, const IbhRoute *route)
{
    for (guint i = routes->len; i-- > 0;) {
        const IbhPrefix *other = &g_array_index(routes, IbhRoute, i).dst;

        if (other->length <= route->dst.length && ibh_prefix_contains(other, &route->dst.ip))
            return;
        if (ibh_prefix_contains(&route->dst, &other->ip))
            g_array_remove_index(routes, i);
    }
    g_array_append_val(routes, *route);
}

GArray *ibh_want_spread(const IbhRails *rails)
{
    GArray *routes = g_array_new(FALSE, TRUE, sizeof(IbhRoute));
    IbhRoute route;

    for (guint i = 0; rails && rails->main == IBH_MAIN_SPREAD && i < rails->nics->len; i++) {
        if (can_be_spread(rails, g_ptr_array_index(rails->nics, i), &route))
            keep_outermost(routes, &route);
    }
    return routes;
}

gboolean ibh_spread_has(const IbhRails *rails, const IbhNic *nic)
{
    g_autoptr(GArray) routes = ibh_want_spread(rails);

    IBH_EACH (const IbhRoute, route, routes) {
        if (can_carry(rails, nic, &route->dst))
            return TRUE;
    }
    return FALSE;
}

/* For traffic without a source yet: first main's longer prefixes inside a subnet (bridges, hosts, other networks),
 * then the rails. In ascending order. */
static GArray *want_rules(const GArray *routes)
{
    GArray *rules = g_array_new(FALSE, TRUE, sizeof(IbhRule));
    IbhIp none = {.family = AF_INET};

    for (guint to_rails = 0; to_rails < 2; to_rails++) {
        IBH_EACH (const IbhRoute, route, routes) {
            const IbhPrefix *subnet = &route->dst;
            IbhRule rule = {.family = AF_INET,
                            .priority = IBH_PRIORITY_BASE + IBH_PRIORITY_SPREAD - (to_rails ? 0 : 1),
                            .from = ibh_prefix(&none, 32),
                            .to = *subnet,
                            .selectors = IBH_SELECT_TO,
                            .action = FR_ACT_TO_TBL,
                            .table = to_rails ? IBH_TABLE_SPREAD : IBH_TABLE_MAIN,
                            .protocol = RTPROT_KERNEL,
                            .suppress_prefixlength = to_rails ? -1 : (gint64)subnet->length,
                            .suppress_ifgroup = IBH_MARK};

            g_array_append_val(rules, rule);
        }
    }
    return rules;
}

/* ---- the difference ---- */

/* "nexthop dev ib0 nexthop dev ib1"; of one device only, which we never program, just that. */
static char *describe_hops(const IbhSnapshot *snapshot, const IbhRoute *route)
{
    g_autofree char *one = g_strdup_printf("%d", route->ifindex);
    g_auto(GStrv) words = g_strsplit(route->hops ? route->hops : one, " ", -1);
    GString *text = g_string_new(NULL);

    for (char **word = words; *word; word++) {
        const IbhLink *link = ibh_snapshot_link(snapshot, atoi(*word));
        g_autofree char *name = ibh_shell_word(link ? link->name : "?");

        g_string_append_printf(text, "%s%sdev %s", text->len ? " " : "", route->hops ? "nexthop " : "", name);
    }
    return g_string_free(text, FALSE);
}

static void emit_route(IbhPlan *plan, const IbhSnapshot *snapshot, IbhOpType type, const IbhRoute *route,
                       const IbhRoute *replaced, char *why)
{
    IbhOp *op = ibh_emit(plan, type, NULL, why);

    op->unit = UNIT;
    op->route = *route;
    op->hops = route->hops || route->ifindex ? describe_hops(snapshot, route) : NULL;
    if (replaced)
        op->replaced = *replaced;
    /* No command can bring a dead nexthop back to life. */
    op->for_good = (replaced && replaced->hops && strchr(replaced->hops, '!')) ||
                   (type == IBH_OP_ROUTE_DEL && route->hops && strchr(route->hops, '!'));
}

static void emit_rule(IbhPlan *plan, IbhOpType type, const IbhRule *rule, char *why)
{
    IbhOp *op = ibh_emit(plan, type, NULL, why);

    op->unit = UNIT;
    op->rule = *rule;
}

static const IbhRoute *find_in_place(const IbhSnapshot *snapshot, const IbhRoute *wanted)
{
    IBH_EACH (const IbhRoute, route, snapshot->routes) {
        if (ibh_route_is_spread(route) && ibh_route_same_place(route, wanted))
            return route;
    }
    return NULL;
}

static void put_routes(IbhPlan *plan, const IbhSnapshot *snapshot, const GArray *wanted)
{
    char dst[IBH_PREFIX_STRLEN];

    IBH_EACH (const IbhRoute, route, wanted) {
        const IbhRoute *there = find_in_place(snapshot, route);

        if (!there || ibh_route_compare(there, route) != 0)
            emit_route(plan, snapshot, there ? IBH_OP_ROUTE_REPLACE : IBH_OP_ROUTE_ADD, route, there,
                       g_strdup_printf("unbound traffic to %s uses every rail", ibh_prefix_format(&route->dst, dst)));
    }
}

static void drop_routes(IbhPlan *plan, const IbhSnapshot *snapshot, const GArray *wanted)
{
    IBH_EACH (const IbhRoute, route, snapshot->routes) {
        gboolean keep = !ibh_route_is_spread(route);

        for (guint j = 0; j < wanted->len; j++)
            keep |= ibh_route_same_place(route, &g_array_index(wanted, IbhRoute, j));
        if (!keep)
            emit_route(plan, snapshot, IBH_OP_ROUTE_DEL, route, NULL, g_strdup("this subnet is not spread (any more)"));
    }
}

static gboolean is_wanted(const GArray *wanted, const IbhRule *rule)
{
    for (guint i = 0; i < wanted->len; i++) {
        if (ibh_rule_compare(&g_array_index(wanted, IbhRule, i), rule) == 0)
            return TRUE;
    }
    return FALSE;
}

/* Existing items that are not wanted, in an order in which they can be deleted. */
static GPtrArray *find_stale_rules(const IbhSnapshot *snapshot, const GArray *wanted)
{
    g_autoptr(GPtrArray) there = ibh_rules_to_delete(snapshot, TRUE);
    GPtrArray *stale = g_ptr_array_new();

    for (guint i = 0; i < there->len; i++) {
        IbhRule *rule = g_ptr_array_index(there, i);
        gboolean again = i > 0 && ibh_rule_compare(rule, g_ptr_array_index(there, i - 1)) == 0;

        if (again || !is_wanted(wanted, rule))
            g_ptr_array_add(stale, rule);
    }
    return stale;
}

static gboolean stands(const IbhSnapshot *snapshot, const IbhRule *rule)
{
    for (guint i = 0; i < snapshot->rules->len; i++) {
        if (ibh_rule_compare(&g_array_index(snapshot->rules, IbhRule, i), rule) == 0)
            return TRUE;
    }
    return FALSE;
}

static void put_rule(IbhPlan *plan, const IbhRule *rule)
{
    char to[IBH_PREFIX_STRLEN];

    emit_rule(plan, IBH_OP_RULE_ADD, rule,
              g_strdup_printf(ibh_rule_asks_main(rule) ? "what main has more exactly inside %s stays so"
                                                       : "unbound traffic to %s is spread",
                              ibh_prefix_format(&rule->to, to)));
}

static void put_rules(IbhPlan *plan, const IbhSnapshot *snapshot, const GArray *wanted, gboolean to_main)
{
    IBH_EACH (const IbhRule, rule, wanted) {
        if (ibh_rule_asks_main(rule) == to_main && !stands(snapshot, rule))
            put_rule(plan, rule);
    }
}

static void drop_rules(IbhPlan *plan, const GPtrArray *stale)
{
    IBH_EACH_POINTER (const IbhRule, rule, stale) {
        emit_rule(plan, IBH_OP_RULE_DEL, rule, g_strdup("unbound traffic goes by main again"));
    }
}

/* Rules that ask main come first, then routes, then the rules that lead to them; deletions the other way round. */
void ibh_emit_spread(IbhPlan *plan, const IbhSnapshot *snapshot, const IbhRails *rails)
{
    g_autoptr(GArray) routes = ibh_want_spread(rails);
    g_autoptr(GArray) rules = want_rules(routes);
    g_autoptr(GPtrArray) stale = find_stale_rules(snapshot, rules);

    put_rules(plan, snapshot, rules, TRUE);
    put_routes(plan, snapshot, routes);
    put_rules(plan, snapshot, rules, FALSE);
    drop_rules(plan, stale);
    drop_routes(plan, snapshot, routes);
}
