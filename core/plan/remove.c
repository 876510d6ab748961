/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plan/remove.h"

#include "plan/emit.h"

#include <linux/rtnetlink.h>
#include <sys/socket.h>

/* A connected route as the kernel or a manager makes it for an address. */
static gboolean is_connected(const IbhRoute *route)
{
    return route->family == AF_INET && route->table == IBH_TABLE_MAIN && route->type == RTN_UNICAST &&
           route->protocol == RTPROT_KERNEL && route->gateway.family == AF_UNSPEC && route->nexthops == 1 &&
           route->src.family != AF_UNSPEC && !ibh_route_is_ours(route);
}

/* Main must still reach its gateways, or the kernel would refuse routes by them. And an error route of main would
 * answer for all of the subnet: no rule suppresses it. */
static gboolean is_needed_by_main(const IbhRails *rails, const IbhPrefix *subnet)
{
    IBH_EACH (const IbhRoute, route, rails->snapshot->routes) {
        if (route->table != IBH_TABLE_MAIN || route->family != AF_INET)
            continue;
        if (ibh_route_is_error(route) && route->dst.length <= subnet->length &&
            ibh_prefix_contains(&route->dst, &subnet->ip))
            return TRUE;
        if (route->nexthops > 1 || /* one of them may be a gateway there */
            (route->gateway.family == AF_INET && ibh_prefix_contains(subnet, &route->gateway)))
            return TRUE;
    }
    return FALSE;
}

static gboolean may_leave(const IbhRails *rails, const IbhNic *nic, const IbhPrefix *subnet)
{
    return rails->main == IBH_MAIN_REMOVE && nic->status == IBH_NIC_RAIL && ibh_serves_subnet(nic, subnet) &&
           !is_needed_by_main(rails, subnet);
}

/* A route that could not come back stays: the kernel refuses a route whose source address is missing. */
static gboolean leaves(const IbhRails *rails, const IbhRoute *route)
{
    const IbhNic *nic =
        rails->main == IBH_MAIN_REMOVE && is_connected(route) ? ibh_rails_nic(rails, route->ifindex) : NULL;

    return nic && may_leave(rails, nic, &route->dst) && ibh_rails_has_address(rails, nic, &route->src);
}

void ibh_emit_removal(IbhPlan *plan, const IbhRails *rails, const IbhNic *nic)
{
    if (rails->main != IBH_MAIN_REMOVE)
        return;
    IBH_EACH (const IbhRoute, route, rails->snapshot->routes) {
        if (route->ifindex == nic->link->ifindex && leaves(rails, route))
            ibh_emit_route(plan, rails, IBH_OP_ROUTE_DEL, nic, route, NULL,
                           g_strdup("main=remove: only what is bound to a rail uses it"));
    }
}

/* ---- back ---- */

static gboolean is_saved(const IbhState *state, const IbhRoute *route)
{
    IBH_EACH (const IbhSavedRoute, saved, state->routes) {
        if (saved->ifindex == route->ifindex && saved->metric == route->metric &&
            ibh_prefix_equal(&saved->dst, &route->dst) && ibh_ip_equal(&saved->src, &route->src))
            return TRUE;
    }
    return FALSE;
}

/* Or one of the kernel's own form whose source changed since: it has taken the old route's place. */
static gboolean is_in_main(const IbhSnapshot *snapshot, const IbhSavedRoute *saved)
{
    IBH_EACH (const IbhRoute, route, snapshot->routes) {
        if (is_connected(route) && route->ifindex == saved->ifindex && route->metric == saved->metric &&
            ibh_prefix_equal(&route->dst, &saved->dst) &&
            (ibh_ip_equal(&route->src, &saved->src) || (!saved->metric && !is_saved(snapshot->state, route))))
            return TRUE;
    }
    return FALSE;
}

/* The kernel takes it only while the link is up and has its source address. */
gboolean ibh_can_return(const IbhRails *rails, const IbhSavedRoute *saved)
{
    const IbhNic *nic = ibh_rails_nic(rails, saved->ifindex);

    return nic && (nic->link->flags & IFF_UP) && ibh_rails_has_address(rails, nic, &saved->src) &&
           !is_in_main(rails->snapshot, saved);
}

IbhRoute ibh_saved_route(const IbhSavedRoute *saved)
{
    return (IbhRoute){.family = AF_INET,
                      .table = IBH_TABLE_MAIN,
                      .dst = saved->dst,
                      .type = RTN_UNICAST,
                      .protocol = RTPROT_KERNEL,
                      .scope = RT_SCOPE_LINK,
                      .metric = saved->metric,
                      .ifindex = saved->ifindex,
                      .src = saved->src,
                      .nexthops = 1};
}

static gboolean returns(const IbhRails *rails, const IbhSavedRoute *saved)
{
    return ibh_can_return(rails, saved) && !may_leave(rails, ibh_rails_nic(rails, saved->ifindex), &saved->dst);
}

void ibh_emit_return(IbhPlan *plan, const IbhRails *rails, const IbhSavedRoute *saved, gboolean undo)
{
    const IbhNic *nic = ibh_rails_nic(rails, saved->ifindex);
    IbhRoute route = ibh_saved_route(saved);

    if (undo ? ibh_can_return(rails, saved) : returns(rails, saved))
        ibh_emit_route(plan, rails, IBH_OP_ROUTE_ADD, nic, &route, NULL, g_strdup("main has it again"));
}

const IbhSavedRoute *ibh_find_returning(const IbhRails *rails, GHashTable *nics, const IbhIp *address)
{
    const GArray *saved = rails->snapshot->state->routes;
    const IbhSavedRoute *best = NULL;

    IBH_EACH (const IbhSavedRoute, one, saved) {
        const IbhNic *nic = ibh_rails_nic(rails, one->ifindex);

        if (nic && g_hash_table_contains(nics, nic) && ibh_can_return(rails, one) &&
            ibh_prefix_contains(&one->dst, address) &&
            (!best || one->dst.length > best->dst.length ||
             (one->dst.length == best->dst.length && one->metric < best->metric)))
            best = one;
    }
    return best;
}
