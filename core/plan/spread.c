#include "plan/spread.h"

#include "plan/emit.h"
#include "plan/remove.h"
#include "plan/want.h"

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

    return ibh_is_programmed(rails, nic) && (nic->link->flags & IFF_UP) && nic->link->carrier && address &&
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

/* What main reaches by a longer prefix inside of them (a bridge) is looked up there. */
static void want_throws(const IbhRails *rails, const GArray *spread, GArray *routes)
{
    g_autoptr(GArray) others = ibh_routes_to_be(rails);

    for (guint i = 0; i < others->len; i++) {
        const IbhRoute *other = &g_array_index(others, IbhRoute, i);
        const IbhRoute route = {.family = AF_INET,
                                .table = IBH_TABLE_SPREAD,
                                .dst = other->dst,
                                .type = RTN_THROW,
                                .protocol = RTPROT_KERNEL,
                                .metric = IBH_MARK};
        gboolean inside = FALSE, taken = FALSE;

        if (other->table != IBH_TABLE_MAIN || other->type != RTN_UNICAST || other->family != AF_INET)
            continue;
        for (guint j = 0; j < spread->len; j++) {
            const IbhPrefix *subnet = &g_array_index(spread, IbhRoute, j).dst;

            inside |= subnet->length < other->dst.length && ibh_prefix_contains(subnet, &other->dst.ip);
            taken |= ibh_prefix_equal(subnet, &other->dst);
        }
        for (guint j = 0; j < routes->len; j++)
            taken |= ibh_prefix_equal(&g_array_index(routes, IbhRoute, j).dst, &other->dst);
        if (inside && !taken)
            g_array_append_val(routes, route);
    }
}

static GArray *want_subnets(const IbhRails *rails)
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

GArray *ibh_want_spread(const IbhRails *rails)
{
    g_autoptr(GArray) subnets = want_subnets(rails);
    GArray *routes = g_array_new(FALSE, TRUE, sizeof(IbhRoute));

    if (subnets->len)
        want_throws(rails, subnets, routes);
    g_array_append_vals(routes, subnets->data, subnets->len);
    return routes;
}

gboolean ibh_spread_has(const IbhRails *rails, const IbhNic *nic)
{
    g_autoptr(GArray) routes = want_subnets(rails);

    for (guint i = 0; i < routes->len; i++) {
        if (can_carry(rails, nic, &g_array_index(routes, IbhRoute, i).dst))
            return TRUE;
    }
    return FALSE;
}

/* What main routes more exactly than the rails' subnets (bridges, hosts, other networks) is asked first; then the
 * rails. */
static void want_rules(const IbhRails *rails, const GArray *routes, IbhRule rules[2])
{
    IbhIp any = {.family = AF_INET};
    guint longest = 0;

    for (guint i = 0; i < routes->len; i++) {
        const IbhRoute *route = &g_array_index(routes, IbhRoute, i);

        if (route->type == RTN_UNICAST)
            longest = MAX(longest, route->dst.length);
    }
    rules[1] = (IbhRule){.family = AF_INET,
                         .priority = rails->priority + 3 * IBH_PRIORITY_STEP,
                         .from = ibh_prefix(&any, 0),
                         .action = FR_ACT_TO_TBL,
                         .table = IBH_TABLE_SPREAD,
                         .protocol = RTPROT_KERNEL,
                         .suppress_prefixlength = -1,
                         .suppress_ifgroup = IBH_MARK};
    rules[0] = rules[1];
    rules[0].priority--;
    rules[0].table = IBH_TABLE_MAIN;
    rules[0].suppress_prefixlength = longest;
}

/* ---- the difference ---- */

/* "nexthop dev ib0 nexthop dev ib1" */
static char *describe_hops(const IbhSnapshot *snapshot, const char *hops)
{
    g_auto(GStrv) words = g_strsplit(hops, " ", -1);
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
    op->hops = route->hops ? describe_hops(snapshot, route->hops) : NULL;
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

static const IbhRoute *find_in_place(const IbhSnapshot *snapshot, const IbhRoute *wanted)
{
    for (guint i = 0; i < snapshot->routes->len; i++) {
        const IbhRoute *route = &g_array_index(snapshot->routes, IbhRoute, i);

        if (ibh_route_is_spread(route) && ibh_route_same_place(route, wanted))
            return route;
    }
    return NULL;
}

static char *why_wanted(const IbhRoute *route)
{
    char dst[IBH_PREFIX_STRLEN];

    ibh_prefix_format(&route->dst, dst);
    return route->type == RTN_THROW ? g_strdup_printf("%s is reached by main alone", dst)
                                    : g_strdup_printf("unbound traffic to %s uses every rail", dst);
}

static void put_routes(IbhPlan *plan, const IbhSnapshot *snapshot, const GArray *wanted)
{
    for (guint i = 0; i < wanted->len; i++) {
        const IbhRoute *route = &g_array_index(wanted, IbhRoute, i);
        const IbhRoute *there = find_in_place(snapshot, route);

        if (!there || ibh_route_compare(there, route) != 0)
            emit_route(plan, snapshot, there ? IBH_OP_ROUTE_REPLACE : IBH_OP_ROUTE_ADD, route, there,
                       why_wanted(route));
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

static void put_rules(IbhPlan *plan, const IbhRails *rails, const GArray *wanted)
{
    IbhRule rules[2];

    want_rules(rails, wanted, rules);
    put_rule(plan, rails->snapshot, &rules[0]);
    put_rule(plan, rails->snapshot, &rules[1]);
}

/* A rule of ours from when the priority was lower would come before the rails' new ones. */
static gboolean is_before_rails(const IbhRails *rails, const IbhRule *rule)
{
    return ibh_rule_is_spread(rule) && rule->priority <= rails->priority + 2 * IBH_PRIORITY_STEP;
}

static gboolean moves_back(const IbhRails *rails)
{
    for (guint i = 0; i < rails->snapshot->rules->len; i++) {
        const IbhRule *rule = &g_array_index(rails->snapshot->rules, IbhRule, i);

        if (is_before_rails(rails, rule) && rule->table == IBH_TABLE_SPREAD)
            return TRUE;
    }
    return FALSE;
}

/* From the last: what leads to the rails goes before what keeps bridges from them. */
static void drop_rules(IbhPlan *plan, const IbhSnapshot *snapshot, const IbhRails *rails, const GArray *wanted)
{
    gboolean kept[2] = {!wanted->len, !wanted->len};
    IbhRule keep[2] = {{0}};

    if (wanted->len)
        want_rules(rails, wanted, keep);
    for (guint i = snapshot->rules->len; i-- > 0;) {
        const IbhRule *rule = &g_array_index(snapshot->rules, IbhRule, i);

        if (!ibh_rule_is_spread(rule) || (rails && moves_back(rails) && is_before_rails(rails, rule)))
            continue;
        if (!kept[0] && ibh_rule_compare(rule, &keep[0]) == 0)
            kept[0] = TRUE;
        else if (!kept[1] && ibh_rule_compare(rule, &keep[1]) == 0)
            kept[1] = TRUE;
        else
            emit_rule(plan, IBH_OP_RULE_DEL, rule, g_strdup("unbound traffic goes by main again"));
    }
}

static void drop_routes(IbhPlan *plan, const IbhSnapshot *snapshot, const GArray *wanted, gboolean throws)
{
    for (guint i = 0; i < snapshot->routes->len; i++) {
        const IbhRoute *route = &g_array_index(snapshot->routes, IbhRoute, i);
        gboolean keep = FALSE;

        for (guint j = 0; j < wanted->len; j++)
            keep |= ibh_route_same_place(route, &g_array_index(wanted, IbhRoute, j));
        if (ibh_route_is_spread(route) && (route->type == RTN_THROW) == throws && !keep)
            emit_route(plan, snapshot, IBH_OP_ROUTE_DEL, route, NULL, g_strdup("this subnet is not spread (any more)"));
    }
}

/* Routes, without what is not spread any more, then the rules that lead to them; the other way round when all go. */
void ibh_emit_spread(IbhPlan *plan, const IbhSnapshot *snapshot, const IbhRails *rails)
{
    g_autoptr(GArray) wanted = ibh_want_spread(rails);

    if (wanted->len) {
        put_routes(plan, snapshot, wanted);
        drop_routes(plan, snapshot, wanted, FALSE);
        if (!moves_back(rails))
            put_rules(plan, rails, wanted);
    }
    drop_rules(plan, snapshot, rails, wanted);
    if (!wanted->len)
        drop_routes(plan, snapshot, wanted, FALSE);
}

/* A throw outlasts those of the rails' own tables, from which a look-up comes here. */
void ibh_emit_spread_last(IbhPlan *plan, const IbhSnapshot *snapshot, const IbhRails *rails)
{
    g_autoptr(GArray) wanted = ibh_want_spread(rails);

    drop_routes(plan, snapshot, wanted, TRUE);
}

static gboolean is_hop(const IbhRoute *route, const IbhNic *nic)
{
    g_auto(GStrv) words = g_strsplit(route->hops ? route->hops : "", " ", -1);
    gboolean found = FALSE;

    for (char **word = words; *word; word++)
        found |= atoi(*word) == nic->link->ifindex;
    return found;
}

static gboolean has_part(const IbhSnapshot *snapshot, const IbhNic *nic)
{
    for (guint i = 0; i < snapshot->routes->len; i++) {
        const IbhRoute *route = &g_array_index(snapshot->routes, IbhRoute, i);

        if (ibh_route_is_spread(route) && is_hop(route, nic))
            return TRUE;
    }
    return FALSE;
}

/* A NIC that is no rail any more has part in it, and a rail needs its table: when its own rules have gone for that,
 * what it sends would follow the spread. */
static gboolean loses_member(const IbhRails *rails)
{
    const IbhSnapshot *snapshot = rails->snapshot;
    gboolean leads = FALSE, loses = FALSE;

    for (guint i = 0; i < snapshot->rules->len; i++) {
        const IbhRule *rule = &g_array_index(snapshot->rules, IbhRule, i);
        const IbhNic *nic = ibh_rule_is_ours(rule) && !ibh_rule_is_spread(rule) ? ibh_rule_owner(rails, rule) : NULL;
        const IbhNic *next = ibh_rails_nic_by_table(rails, rule->table);

        leads |= ibh_rule_is_spread(rule) && rule->table == IBH_TABLE_SPREAD;
        loses |= nic && nic->status != IBH_NIC_RAIL && next && next->status == IBH_NIC_RAIL && has_part(snapshot, nic);
    }
    return leads && loses;
}

gboolean ibh_emit_spread_first(IbhPlan *plan, const IbhRails *rails)
{
    g_autoptr(GArray) wanted = moves_back(rails) ? ibh_want_spread(rails) : NULL;
    const GArray *rules = rails->snapshot->rules;
    gboolean all = loses_member(rails);

    if (all)
        ibh_emit_spread(plan, rails->snapshot, rails);
    if (wanted && wanted->len)
        put_rules(plan, rails, wanted);
    for (guint i = rules->len; wanted && i-- > 0;) {
        const IbhRule *rule = &g_array_index(rules, IbhRule, i);

        if (is_before_rails(rails, rule))
            emit_rule(plan, IBH_OP_RULE_DEL, rule, g_strdup("it would come before the rails' own"));
    }
    return all;
}
