/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The routes of a snapshot, of all that are known.
 */
#include "model/model.h"

/* To longer prefixes inside this one; or to its first address. */
static GPtrArray *find_routes(const IbhSnapshot *snapshot, guint32 table, const IbhPrefix *prefix, gboolean inside)
{
    const GArray *lists[] = {snapshot->routes, snapshot->more};
    GPtrArray *found = g_ptr_array_new();

    for (guint i = 0; i < G_N_ELEMENTS(lists); i++) {
        IBH_EACH (IbhRoute, route, lists[i]) {
            if (route->table == table &&
                (inside ? ibh_prefix_is_inside(&route->dst, prefix) : ibh_prefix_contains(&route->dst, &prefix->ip)))
                g_ptr_array_add(found, route);
        }
    }
    return found;
}

GPtrArray *ibh_snapshot_routes_inside(const IbhSnapshot *snapshot, guint32 table, const IbhPrefix *outer)
{
    return find_routes(snapshot, table, outer, TRUE);
}

GPtrArray *ibh_snapshot_routes_to(const IbhSnapshot *snapshot, guint32 table, const IbhIp *to)
{
    const IbhPrefix host = ibh_prefix(to, ibh_ip_bits(to));

    return find_routes(snapshot, table, &host, FALSE);
}
