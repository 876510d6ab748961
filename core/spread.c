#include "spread.h"

#include "emit.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define UNIT G_MAXINT /* of no NIC */

/* ---- what is wanted ---- */

/* The address that the kernel takes for unbound traffic by this NIC. One of another subnet would be a foreign source.
 */
static const IbhAddress *first_primary(const IbhSnapshot *snapshot, const IbhLink *link)
{
    for (guint i = 0; i < snapshot->addresses->len; i++) {
        const IbhAddress *address = &g_array_index(snapshot->addresses, IbhAddress, i);

        if (address->ifindex == link->ifindex && address->local.family == AF_INET && !address->secondary &&
            address->scope < RT_SCOPE_HOST)
            return address;
    }
    return NULL;
}

static gboolean can_carry(const IbhRails *rails, const IbhNic *nic, const IbhPrefix *subnet)
{
    const IbhAddress *address = first_primary(rails->snapshot, nic->link);

    return nic->status == IBH_NIC_RAIL && (nic->link->flags & IFF_UP) && nic->link->carrier && address &&
           !ibh_address_is_host(address) && ibh_prefix_equal(&address->subnet, subnet);
}

/* A NIC that is no rail reaches that subnet, too: its traffic must not be taken from it. */
static gboolean is_anothers(const IbhRails *rails, const IbhPrefix *subnet)
{
    const GArray *addresses = rails->snapshot->addresses;

    for (guint i = 0; i < addresses->len; i++) {
        const IbhAddress *address = &g_array_index(addresses, IbhAddress, i);
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

GArray *ibh_want_spread(const IbhRails *rails)
{
    GArray *routes = g_array_new(FALSE, TRUE, sizeof(IbhRoute));

    for (guint i = 0; rails && rails->main == IBH_MAIN_SPREAD && i < rails->nics->len; i++) {
        const IbhNic *nic = g_ptr_array_index(rails->nics, i);
        const IbhAddress *address = nic->status == IBH_NIC_RAIL ? first_primary(rails->snapshot, nic->link) : NULL;
        gboolean seen = FALSE;
        IbhRoute route;

        for (guint j = 0; address && j < routes->len; j++)
            seen |= ibh_prefix_equal(&g_array_index(routes, IbhRoute, j).dst, &address->subnet);
        if (address && !seen && make_route(rails, &address->subnet, &route))
            g_array_append_val(routes, route);
    }
    return routes;
}

gboolean ibh_spread_has(const IbhRails *rails, const IbhNic *nic)
{
    g_autoptr(GArray) routes = ibh_want_spread(rails);

    for (guint i = 0; i < routes->len; i++) {
        if (can_carry(rails, nic, &g_array_index(routes, IbhRoute, i).dst))
            return TRUE;
    }
    return FALSE;
}

static IbhRule spread_rule(const IbhRails *rails)
{
    IbhIp any = {.family = AF_INET};

    return (IbhRule){.family = AF_INET,
                     .priority = rails->priority + 3 * IBH_PRIORITY_STEP,
                     .from = ibh_prefix(&any, 0),
                     .action = FR_ACT_TO_TBL,
                     .table = IBH_TABLE_SPREAD,
                     .protocol = RTPROT_KERNEL,
                     .suppress_prefixlength = -1,
                     .suppress_ifgroup = IBH_MARK};
}

/* ---- the difference ---- */

/* "nexthop dev ib0 nexthop dev ib1" */
static char *describe_hops(const IbhSnapshot *snapshot, const char *hops)
{
    g_auto(GStrv) words = g_strsplit(hops ? hops : "", " ", -1);
    GString *text = g_string_new(NULL);

    for (char **word = words; *word; word++) {
        const IbhLink *link = ibh_snapshot_link(snapshot, atoi(*word));
        g_autofree char *name = ibh_shell_word(link ? link->name : "?");

        g_string_append_printf(text, "%snexthop dev %s", text->len ? " " : "", name);
    }
    return g_string_free(text, FALSE);
}

static void emit_route(IbhPlan *plan, const IbhSnapshot *snapshot, IbhOpType type, const IbhRoute *route,
                       const IbhRoute *replaced, char *why)
{
    IbhOp *op = ibh_emit(plan, type, NULL, why);

    op->unit = UNIT;
    op->route = *route;
    op->hops = describe_hops(snapshot, route->hops);
    if (replaced)
        op->replaced = *replaced;
    /* A nexthop that is dead comes back to life by no command. */
    op->for_good = (replaced && replaced->hops && strchr(replaced->hops, '!')) ||
                   (type == IBH_OP_ROUTE_DEL && route->hops && strchr(route->hops, '!'));
}

static void emit_rule(IbhPlan *plan, IbhOpType type, const IbhRule *rule, char *why)
{
    IbhOp *op = ibh_emit(plan, type, NULL, why);

    op->unit = UNIT;
    op->rule = *rule;
}

static gboolean is_spread_route(const IbhRoute *route)
{
    return ibh_route_is_ours(route) && route->table == IBH_TABLE_SPREAD;
}

static const IbhRoute *find_in_place(const IbhSnapshot *snapshot, const IbhRoute *wanted)
{
    for (guint i = 0; i < snapshot->routes->len; i++) {
        const IbhRoute *route = &g_array_index(snapshot->routes, IbhRoute, i);

        if (is_spread_route(route) && ibh_route_same_place(route, wanted))
            return route;
    }
    return NULL;
}

static void put_routes(IbhPlan *plan, const IbhSnapshot *snapshot, const GArray *wanted)
{
    char subnet[IBH_PREFIX_STRLEN];

    for (guint i = 0; i < wanted->len; i++) {
        const IbhRoute *route = &g_array_index(wanted, IbhRoute, i);
        const IbhRoute *there = find_in_place(snapshot, route);

        if (!there || ibh_route_compare(there, route) != 0)
            emit_route(
                plan, snapshot, there ? IBH_OP_ROUTE_REPLACE : IBH_OP_ROUTE_ADD, route, there,
                g_strdup_printf("unbound traffic to %s uses every rail", ibh_prefix_format(&route->dst, subnet)));
    }
}

static void put_rule(IbhPlan *plan, const IbhSnapshot *snapshot, const IbhRule *rule)
{
    for (guint i = 0; i < snapshot->rules->len; i++) {
        if (ibh_rule_compare(&g_array_index(snapshot->rules, IbhRule, i), rule) == 0)
            return;
    }
    emit_rule(plan, IBH_OP_RULE_ADD, rule, g_strdup("unbound traffic to the rails' subnets is spread"));
}

static void drop_rules(IbhPlan *plan, const IbhSnapshot *snapshot, const IbhRule *keep)
{
    gboolean kept = FALSE;

    for (guint i = 0; i < snapshot->rules->len; i++) {
        const IbhRule *rule = &g_array_index(snapshot->rules, IbhRule, i);

        if (!ibh_rule_is_spread(rule))
            continue;
        if (keep && !kept && ibh_rule_compare(rule, keep) == 0)
            kept = TRUE;
        else
            emit_rule(plan, IBH_OP_RULE_DEL, rule, g_strdup("unbound traffic goes by main again"));
    }
}

static void drop_routes(IbhPlan *plan, const IbhSnapshot *snapshot, const GArray *wanted)
{
    for (guint i = 0; i < snapshot->routes->len; i++) {
        const IbhRoute *route = &g_array_index(snapshot->routes, IbhRoute, i);
        gboolean keep = FALSE;

        for (guint j = 0; j < wanted->len; j++)
            keep |= ibh_route_same_place(route, &g_array_index(wanted, IbhRoute, j));
        if (is_spread_route(route) && !keep)
            emit_route(plan, snapshot, IBH_OP_ROUTE_DEL, route, NULL, g_strdup("this subnet is not spread (any more)"));
    }
}

/* Routes, then the rule that leads to them; the other way round when they go. */
void ibh_emit_spread(IbhPlan *plan, const IbhSnapshot *snapshot, const IbhRails *rails)
{
    g_autoptr(GArray) wanted = ibh_want_spread(rails);
    IbhRule rule = {.family = AF_UNSPEC};

    if (wanted->len) {
        rule = spread_rule(rails);
        put_routes(plan, snapshot, wanted);
        put_rule(plan, snapshot, &rule);
    }
    drop_rules(plan, snapshot, wanted->len ? &rule : NULL);
    drop_routes(plan, snapshot, wanted);
}
