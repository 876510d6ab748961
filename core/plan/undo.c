/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plan to undo: all that is ours on these interfaces goes, sysctls get the administrator's values back.
 *
 * The order cuts no connection. Without rules, everything leaves by the NIC that main uses, and a strict rp_filter
 * drops what peers still send to the other NICs: so rp_filter is tightened last, and peers are told before.
 *
 *   1. rp_filter loosened   2. arp_announce   3. rules, routes   4. the NIC that main uses answers for all again
 *   5. stale neighbour entries go   6. that NIC announces every address   7. rp_filter tightened   8. what is left
 */
#include "plan/undo.h"

#include "plan/spread.h"
#include "plan/want.h"

#include <linux/rtnetlink.h>
#include <string.h>

typedef struct {
    const IbhRails *rails;
    GHashTable *undone;     /* const IbhNic *: selected, with something of ours on them */
    GHashTable *mains_nics; /* const IbhNic *: the NICs by which main reaches their subnets */
    gboolean rails_too;     /* not only NICs that are no longer rails */
    gboolean orphans;       /* also leftovers of NICs that have disappeared */
    IbhPlan *plan;
} Undo;

static gboolean is_undone(const Undo *undo, const IbhNic *nic)
{
    return g_hash_table_contains(undo->undone, nic);
}

/* The administrator's value; but a NIC that must be silent beside rails keeps ours. */
static int value_left(const IbhRails *rails, const IbhNic *nic, IbhSysctl key, gboolean rails_too)
{
    return !rails_too && key == IBH_SYSCTL_ARP_IGNORE && ibh_must_be_silent(rails, nic) ? nic->link->sysctl[key]
                                                                                        : nic->base[key];
}

static gboolean has_our_sysctls(const IbhRails *rails, const IbhNic *nic, gboolean rails_too)
{
    for (int key = 0; key < IBH_N_SYSCTLS; key++) {
        if (value_left(rails, nic, (IbhSysctl)key, rails_too) != nic->link->sysctl[key])
            return TRUE;
    }
    return FALSE;
}

/* NICs with a rule, a route or a sysctl of ours. */
static GHashTable *find_owners(const IbhRails *rails, gboolean rails_too)
{
    const IbhSnapshot *snapshot = rails->snapshot;
    GHashTable *owners = g_hash_table_new(NULL, NULL);

    IBH_EACH (const IbhRule, rule, snapshot->rules) {
        if (ibh_rule_is_ours(rule) && !ibh_rule_is_spread(rule))
            g_hash_table_add(owners, (gpointer)(guintptr)ibh_rule_owner(rails, rule));
    }
    IBH_EACH (const IbhRoute, route, snapshot->routes) {
        if (ibh_route_is_ours(route) && !ibh_route_is_spread(route))
            g_hash_table_add(owners, (gpointer)(guintptr)ibh_route_owner(rails, route));
    }
    IBH_EACH_POINTER (IbhNic, nic, rails->nics) {
        if (has_our_sysctls(rails, nic, rails_too))
            g_hash_table_add(owners, nic);
    }
    return owners;
}

/* The NIC by which main reaches this address' subnet: longest prefix, lowest metric, first. */
static const IbhNic *find_mains_nic(const Undo *undo, const IbhAddress *address)
{
    const GArray *routes = undo->rails->snapshot->routes;
    const IbhRoute *best = NULL;

    if (ibh_rails_theirs(undo->rails, address)) /* its own */
        return ibh_rails_nic(undo->rails, address->ifindex);
    IBH_EACH (const IbhRoute, route, routes) {
        if (route->table == IBH_TABLE_MAIN && route->type == RTN_UNICAST && route->ifindex && route->dst.length > 0 &&
            ibh_prefix_contains(&route->dst, &address->local) &&
            (!best || route->dst.length > best->dst.length ||
             (route->dst.length == best->dst.length && route->metric < best->metric)))
            best = route;
    }
    return best ? ibh_rails_nic(undo->rails, best->ifindex) : NULL;
}

static gboolean is_mains_nic(const Undo *undo, const IbhNic *nic)
{
    return g_hash_table_contains(undo->mains_nics, nic);
}

/* The NICs by which main reaches the undone rails' subnets. */
static void find_mains_nics(Undo *undo)
{
    IBH_EACH_POINTER (const IbhNic, nic, undo->rails->nics) {
        IBH_EACH_POINTER (const IbhAddress, address, &nic->addresses) {
            if (is_undone(undo, nic) && address->local.family == AF_INET)
                g_hash_table_add(undo->mains_nics, (gpointer)(guintptr)find_mains_nic(undo, address));
        }
    }
}

/* ---- sysctls ---- */

static void restore(const Undo *undo, const IbhNic *nic, IbhSysctl key)
{
    int now = nic->link->sysctl[key], old = value_left(undo->rails, nic, key, undo->rails_too);

    if (now != old)
        ibh_emit_sysctl(undo->plan, nic, key, now, old, g_strdup("as it was before"));
}

static void restore_rp_filters(const Undo *undo, gboolean first)
{
    IBH_EACH_POINTER (const IbhNic, nic, undo->rails->nics) {
        int old = nic->base[IBH_SYSCTL_RP_FILTER];

        if (!is_undone(undo, nic))
            continue;
        (first ? ibh_emit_rp_first : ibh_emit_rp_last)(undo->plan, undo->rails, nic, old, ibh_may_loosen(nic));
    }
}

static void restore_announce(const Undo *undo)
{
    IBH_EACH_POINTER (const IbhNic, nic, undo->rails->nics) {
        if (is_undone(undo, nic))
            restore(undo, nic, IBH_SYSCTL_ARP_ANNOUNCE);
    }
}

/* ARP answers: first the NIC that main uses answers again, then, when no peer needs them any more, the others change.
 */
static void restore_answers(const Undo *undo, gboolean mains_nic)
{
    IBH_EACH_POINTER (const IbhNic, nic, undo->rails->nics) {
        if (!is_undone(undo, nic) || is_mains_nic(undo, nic) != mains_nic)
            continue;
        restore(undo, nic, IBH_SYSCTL_ARP_IGNORE);
        restore(undo, nic, IBH_SYSCTL_ARP_FILTER);
    }
}

/* ---- rules and routes ---- */

static char *why_undone(const IbhNic *owner)
{
    if (!owner)
        return g_strdup("its interface or address is gone");
    if (owner->status == IBH_NIC_RAIL)
        return g_strdup("undone");
    return g_strdup_printf("%s is no rail: %s", owner->link->name, owner->why);
}

static gboolean goes(const Undo *undo, const IbhNic *owner)
{
    return owner ? is_undone(undo, owner) : undo->orphans;
}

/* The plan deletes or replaces it already, because a rail needs its place. */
static gboolean is_taken(const Undo *undo, const IbhRule *rule, const IbhRoute *route)
{
    IBH_EACH_POINTER (const IbhOp, op, undo->plan->ops) {
        if ((route && op->type == IBH_OP_ROUTE_REPLACE && ibh_route_compare(&op->replaced, route) == 0) ||
            (route && op->type == IBH_OP_ROUTE_DEL && ibh_route_compare(&op->route, route) == 0) ||
            (rule && op->type == IBH_OP_RULE_DEL && ibh_rule_compare(&op->rule, rule) == 0))
            return TRUE;
    }
    return FALSE;
}

static void delete_rules(const Undo *undo)
{
    g_autoptr(GPtrArray) rules = ibh_rules_to_delete(undo->rails->snapshot, FALSE);

    IBH_EACH_POINTER (const IbhRule, rule, rules) {
        const IbhNic *owner;

        if (goes(undo, owner = ibh_rule_owner(undo->rails, rule)) && !is_taken(undo, rule, NULL))
            ibh_emit_rule(undo->plan, IBH_OP_RULE_DEL, owner, rule, why_undone(owner));
    }
}

static void delete_routes(const Undo *undo, IbhRouteKind kind)
{
    const GArray *routes = undo->rails->snapshot->routes;

    IBH_EACH (const IbhRoute, route, routes) {
        const IbhNic *owner;

        if (ibh_route_is_ours(route) && !ibh_route_is_spread(route) && ibh_route_kind(route) == kind &&
            goes(undo, owner = ibh_route_owner(undo->rails, route)) && !is_taken(undo, NULL, route))
            ibh_emit_route(undo->plan, undo->rails, IBH_OP_ROUTE_DEL, owner, route, NULL, why_undone(owner));
    }
}

/* ---- neighbours and announcements ---- */

/* A NIC that main does not use would go on asking its peers from its own hardware address, and they would learn that
 * again. */
static void delete_neighbours(const Undo *undo)
{
    const GArray *neighbours = undo->rails->snapshot->neighbours;

    IBH_EACH (const IbhNeighbour, neighbour, neighbours) {
        const IbhNic *nic = ibh_rails_nic(undo->rails, neighbour->ifindex);

        if (nic && is_undone(undo, nic) && !is_mains_nic(undo, nic))
            ibh_emit(undo->plan, IBH_OP_NEIGH_DEL, nic, g_strdup_printf("nothing leaves by %s now", nic->link->name))
                ->ip = neighbour->ip;
    }
}

/* A NIC that stays a rail answers for others' addresses only where these would be cut off without it. To announce a
 * link-local address from another hardware address than its owner's is to claim it (RFC 3927). */
static gboolean will_answer(const Undo *undo, const IbhNic *from, const IbhNic *nic, const IbhIp *ip)
{
    return from == nic || (!ibh_ip_is_link_local(ip) && (is_undone(undo, from) || ibh_is_strict(undo->rails, nic)));
}

/* It had a rule of ours, and no rail that stays has the same address. */
static gboolean needs_announcement(const Undo *undo, const IbhIp *ip)
{
    const IbhNic *owner = ibh_rails_owner(undo->rails, ip);

    if (owner && !is_undone(undo, owner))
        return FALSE;
    IBH_EACH (const IbhRule, rule, undo->rails->snapshot->rules) {
        if (ibh_rule_is_ours(rule) && ibh_ip_equal(&rule->from.ip, ip))
            return TRUE;
    }
    return FALSE;
}

/* In IPv6 the NIC that has the address answers neighbour discovery: nothing moves, other than with ARP. */
static void announce(const Undo *undo, const IbhNic *nic)
{
    IBH_EACH_POINTER (const IbhAddress, address, &nic->served) {
        const IbhNic *from;

        if (address->local.family == AF_INET && needs_announcement(undo, &address->local) &&
            ibh_is_first(nic, address) && (from = find_mains_nic(undo, address)) &&
            will_answer(undo, from, nic, &address->local))
            ibh_emit_announce(undo->plan, nic, from, &address->local,
                              g_strdup_printf("main uses %s for its subnet", from->link->name));
    }
}

static void announce_all(const Undo *undo)
{
    IBH_EACH_POINTER (const IbhNic, nic, undo->rails->nics) {
        if (is_undone(undo, nic))
            announce(undo, nic);
    }
}

/* The rails that stay must look as if the others had never been rails: they may have to answer for them again. */
static void adapt_rails_that_stay(IbhPlan *plan, const IbhRails *after)
{
    IBH_EACH_POINTER (const IbhNic, nic, after->nics) {
        for (int key = IBH_SYSCTL_ARP_FILTER; key < IBH_N_SYSCTLS && ibh_is_programmed(after, nic); key++) {
            int now = nic->link->sysctl[key], want = ibh_want_sysctl(after, nic, (IbhSysctl)key);

            if (now != want)
                ibh_emit_sysctl(plan, nic, (IbhSysctl)key, now, want,
                                g_strdup("answer for the NIC that is no rail any more, too"));
        }
    }
}

/* `rails_too`: all selected NICs, not only those that are no rails any more. */
static Undo undo_init(IbhPlan *plan, const IbhRails *rails, const char *const *only, gboolean rails_too)
{
    g_autoptr(GHashTable) owners = find_owners(rails, rails_too);
    Undo undo = {.rails = rails,
                 .undone = g_hash_table_new(NULL, NULL),
                 .mains_nics = g_hash_table_new(NULL, NULL),
                 .rails_too = rails_too,
                 .orphans = rails_too && !only,
                 .plan = plan};

    IBH_EACH_POINTER (IbhNic, nic, rails->nics) {
        if ((rails_too || nic->status != IBH_NIC_RAIL) && ibh_is_selected(nic, only) &&
            g_hash_table_contains(owners, nic))
            g_hash_table_add(undo.undone, nic);
    }
    find_mains_nics(&undo);
    return undo;
}

static void undo_clear(Undo *undo)
{
    g_hash_table_unref(undo->undone);
    g_hash_table_unref(undo->mains_nics);
}

static void emit_undo(const Undo *undo)
{
    restore_announce(undo);
    delete_rules(undo);
    for (int kind = IBH_ROUTE_BY_GATEWAY; kind < IBH_N_ROUTE_KINDS; kind++)
        delete_routes(undo, (IbhRouteKind)kind);
    restore_answers(undo, TRUE);
    delete_neighbours(undo);
    announce_all(undo);
    restore_rp_filters(undo, FALSE);
    restore_answers(undo, FALSE);
}

IbhPlan *ibh_plan_undo(const IbhRails *rails, const IbhRails *after, const char *const *only)
{
    IbhPlan *plan = ibh_plan_new();
    Undo undo = undo_init(plan, rails, only, TRUE);

    if (after)
        adapt_rails_that_stay(plan, after);
    if (after || !only) /* unbound traffic leaves these rails first */
        ibh_emit_spread(plan, rails->snapshot, after);
    restore_rp_filters(&undo, TRUE);
    emit_undo(&undo);
    undo_clear(&undo);
    return plan;
}

void ibh_emit_rp_first_of_former_rails(IbhPlan *plan, const IbhRails *rails, const char *const *only)
{
    Undo undo = undo_init(plan, rails, only, FALSE);

    restore_rp_filters(&undo, TRUE);
    undo_clear(&undo);
}

void ibh_emit_undo_of_former_rails(IbhPlan *plan, const IbhRails *rails, const char *const *only)
{
    Undo undo = undo_init(plan, rails, only, FALSE);

    emit_undo(&undo);
    undo_clear(&undo);
}
