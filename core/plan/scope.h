/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Selects the routes that the snapshot needs: a host may have 100,000 routes, and few concern its candidates. Pure.
 */
#pragma once

#include "config/config.h"
#include "model/model.h"

typedef struct {
    GArray *candidates;   /* int: ifindexes */
    GPtrArray *addresses; /* the candidates' addresses (IbhAddress), owned by the snapshot */
    gboolean has_ipv6;    /* an IPv6 address of a candidate counts (ibh_address_counts()) */
} IbhScope;

/* The snapshot must have its links and addresses already. */
void ibh_scope_init(IbhScope *scope, const IbhSnapshot *snapshot, const IbhConfig *config);
void ibh_scope_clear(IbhScope *scope);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IbhScope, ibh_scope_clear)

/* For a route of main through a candidate: TRUE if the snapshot needs the route, because it has a next hop without a
 * gateway, is a default, or leads to the subnet of a candidate. */
gboolean ibh_scope_needs_route(gconstpointer scope, const IbhRoute *route);
/* Returns the candidates' subnets (IbhPrefix) to which main has no route through the candidate itself, although the
 * candidate is up. The snapshot needs main's routes to these subnets through other NICs. `snapshot` must have
 * `main_by_nic` already. */
GArray *ibh_scope_unreached_subnets(const IbhScope *scope, const IbhSnapshot *snapshot);
/* Returns the tables (guint32), besides main and the local table, whose routes the snapshot needs:
 * - tables that a candidate has, had or may get;
 * - tables that have routes of ours;
 * - tables to which a foreign source rule (ibh_rule_is_of_a_source()) leads an address of a candidate;
 * - the tables of all rules before such a source rule.
 * Without candidates, returns an empty list. */
GArray *ibh_scope_tables(const IbhScope *scope, const IbhSnapshot *snapshot, const IbhConfig *config);
