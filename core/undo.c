/*
 * The plan to undo: all that is ours on these interfaces goes, sysctls get the administrator's values back.
 *
 * The order cuts nobody off. Without rules, everything leaves by the NIC that main uses, and a strict rp_filter drops
 * what peers still send to the other NICs: so rp_filter is tightened last, and peers are told before.
 *
 *   1. rp_filter loosened   2. arp_announce   3. rules, routes   4. the NIC that main uses answers for all again
 *   5. stale neighbour entries go   6. that NIC announces every address   7. rp_filter tightened   8. what is left
 */
#include "emit.h"
#include "want.h"

#include <linux/rtnetlink.h>
#include <string.h>

typedef struct {
    const IbhRails *rails;
    const char *const *only;
    GPtrArray *undone; /* const IbhNic *: selected, with something of ours on them */
    IbhPlan *plan;
} Undo;

static gboolean is_undone(const Undo *undo, const IbhNic *nic)
{
    return g_ptr_array_find(undo->undone, nic, NULL);
}

static gboolean owns_something(const Undo *undo, const IbhNic *nic)
{
    const IbhSnapshot *snapshot = undo->rails->snapshot;

    for (guint i = 0; i < snapshot->rules->len; i++) {
        const IbhRule *rule = &g_array_index(snapshot->rules, IbhRule, i);

        if (ibh_rule_is_ours(rule) && ibh_rule_owner(undo->rails, rule) == nic)
            return TRUE;
    }
    for (guint i = 0; i < snapshot->routes->len; i++) {
        const IbhRoute *route = &g_array_index(snapshot->routes, IbhRoute, i);

        if (ibh_route_is_ours(route) && ibh_route_owner(undo->rails, route) == nic)
            return TRUE;
    }
    for (int key = 0; key < IBH_N_SYSCTLS; key++) {
        if (ibh_sysctl_base(snapshot, nic->link, (IbhSysctl)key) != nic->link->sysctl[key])
            return TRUE;
    }
    return FALSE;
}

static void select_nics(Undo *undo)
{
    for (guint i = 0; i < undo->rails->nics->len; i++) {
        IbhNic *nic = g_ptr_array_index(undo->rails->nics, i);

        if (ibh_is_selected(nic, undo->only) && owns_something(undo, nic))
            g_ptr_array_add(undo->undone, nic);
    }
}

/* The NIC by which main reaches this address' subnet: longest prefix, lowest metric, first. */
static const IbhNic *find_mains_nic(const Undo *undo, const IbhAddress *address)
{
    const GArray *routes = undo->rails->snapshot->routes;
    const IbhRoute *best = NULL;

    for (guint i = 0; i < routes->len; i++) {
        const IbhRoute *route = &g_array_index(routes, IbhRoute, i);

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
    const GArray *addresses = undo->rails->snapshot->addresses;

    for (guint i = 0; i < addresses->len; i++) {
        const IbhAddress *address = &g_array_index(addresses, IbhAddress, i);
        const IbhNic *holder = ibh_rails_nic(undo->rails, address->ifindex);

        if (holder && is_undone(undo, holder) && find_mains_nic(undo, address) == nic)
            return TRUE;
    }
    return FALSE;
}

/* ---- sysctls ---- */

static void restore(const Undo *undo, const IbhNic *nic, IbhSysctl key)
{
    int now = nic->link->sysctl[key], old = ibh_sysctl_base(undo->rails->snapshot, nic->link, key);

    if (now != old)
        ibh_emit_sysctl(undo->plan, nic, key, now, old, g_strdup("as it was before"));
}

static void restore_rp_filters(const Undo *undo, gboolean first)
{
    for (guint i = 0; i < undo->undone->len; i++) {
        const IbhNic *nic = g_ptr_array_index(undo->undone, i);
        int old = ibh_sysctl_base(undo->rails->snapshot, nic->link, IBH_SYSCTL_RP_FILTER);

        (first ? ibh_emit_rp_first : ibh_emit_rp_last)(undo->plan, undo->rails, nic, old, TRUE);
    }
}

static void restore_announce(const Undo *undo)
{
    for (guint i = 0; i < undo->undone->len; i++)
        restore(undo, g_ptr_array_index(undo->undone, i), IBH_SYSCTL_ARP_ANNOUNCE);
}

/* Whether a NIC answers ARP: first the NIC that main uses, and the others when no peer needs them any more. */
static void restore_answers(const Undo *undo, gboolean mains_nic)
{
    for (guint i = 0; i < undo->undone->len; i++) {
        const IbhNic *nic = g_ptr_array_index(undo->undone, i);

        if (is_mains_nic(undo, nic) != mains_nic)
            continue;
        restore(undo, nic, IBH_SYSCTL_ARP_IGNORE);
        restore(undo, nic, IBH_SYSCTL_ARP_FILTER);
        restore(undo, nic, IBH_SYSCTL_ACCEPT_LOCAL);
    }
}

/* ---- rules and routes ---- */

static gboolean goes(const Undo *undo, const IbhNic *owner)
{
    return owner ? is_undone(undo, owner) : !undo->only;
}

static void delete_rules(const Undo *undo)
{
    const GArray *rules = undo->rails->snapshot->rules;

    for (guint i = 0; i < rules->len; i++) {
        const IbhRule *rule = &g_array_index(rules, IbhRule, i);
        const IbhNic *owner = ibh_rule_owner(undo->rails, rule);

        if (ibh_rule_is_ours(rule) && goes(undo, owner))
            ibh_emit_rule(undo->plan, IBH_OP_RULE_DEL, owner, rule, g_strdup("undone"));
    }
}

static void delete_routes(const Undo *undo)
{
    const GArray *routes = undo->rails->snapshot->routes;

    for (guint i = 0; i < routes->len; i++) {
        const IbhRoute *route = &g_array_index(routes, IbhRoute, i);
        const IbhNic *owner = ibh_route_owner(undo->rails, route);

        if (ibh_route_is_ours(route) && goes(undo, owner))
            ibh_emit_route(undo->plan, IBH_OP_ROUTE_DEL, owner, route, NULL, g_strdup("undone"));
    }
}

/* ---- neighbours and announcements ---- */

/* A NIC that main does not use would go on asking its peers with its own hardware address, and win them back. */
static void delete_neighbours(const Undo *undo)
{
    const GArray *neighbours = undo->rails->snapshot->neighbours;

    for (guint i = 0; i < neighbours->len; i++) {
        const IbhNeighbour *neighbour = &g_array_index(neighbours, IbhNeighbour, i);
        const IbhNic *nic = ibh_rails_nic(undo->rails, neighbour->ifindex);

        if (nic && is_undone(undo, nic) && !is_mains_nic(undo, nic))
            ibh_emit(undo->plan, IBH_OP_NEIGH_DEL, nic, g_strdup_printf("nothing leaves by %s now", nic->link->name))
                ->ip = neighbour->ip;
    }
}

static void announce(const Undo *undo)
{
    const GArray *addresses = undo->rails->snapshot->addresses;

    for (guint i = 0; i < addresses->len; i++) {
        const IbhAddress *address = &g_array_index(addresses, IbhAddress, i);
        const IbhNic *nic = ibh_rails_nic(undo->rails, address->ifindex);
        const IbhNic *from;

        /* Nothing is said for a NIC that a rail which stays would not answer for. */
        if (!nic || !is_undone(undo, nic) || !nic->settings.announce || address->scope >= RT_SCOPE_HOST ||
            !(from = find_mains_nic(undo, address)) || !is_undone(undo, from))
            continue;
        ibh_emit_announce(undo->plan, undo->rails, nic, from, &address->local,
                          g_strdup_printf("main uses %s for its subnet", from->link->name));
    }
}

IbhPlan *ibh_plan_undo(const IbhRails *rails, const char *const *only)
{
    Undo undo = {.rails = rails, .only = only, .undone = g_ptr_array_new(), .plan = ibh_plan_new()};

    select_nics(&undo);
    restore_rp_filters(&undo, TRUE);
    restore_announce(&undo);
    delete_rules(&undo);
    delete_routes(&undo);
    restore_answers(&undo, TRUE);
    delete_neighbours(&undo);
    announce(&undo);
    restore_rp_filters(&undo, FALSE);
    restore_answers(&undo, FALSE);
    g_ptr_array_unref(undo.undone);
    return undo.plan;
}
