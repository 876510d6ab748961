/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Selects the routes that the snapshot needs: a host may have 100,000 routes, and few concern its candidates. Pure.
 */
#pragma once

#include "config/config.h"
#include "model/model.h"

typedef struct {
    GArray *candidates;   /* int: ifindexes */
    GPtrArray *addresses; /* IbhAddress of the snapshot: those of the candidates */
    gboolean has_ipv6;    /* an IPv6 address of a candidate counts (ibh_address_counts()) */
} IbhScope;

/* The snapshot must have its links and addresses already. */
void ibh_scope_init(IbhScope *scope, const IbhSnapshot *snapshot, const IbhConfig *config);
void ibh_scope_clear(IbhScope *scope);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IbhScope, ibh_scope_clear)

/* TRUE if we need this route of main through a candidate: on-link routes, defaults, and routes to candidates' subnets.
 */
gboolean ibh_scope_needs_route(gconstpointer scope, const IbhRoute *route);
/* Returns the candidates' subnets (IbhPrefix) to which main has no route through the candidate itself, although the
 * candidate is up. We need main's routes to these subnets through other NICs. */
GArray *ibh_scope_unreached_subnets(const IbhScope *scope, const IbhSnapshot *snapshot);
/* Returns the tables (guint32) whose routes we need: a candidate has, had or may get the table, or a foreign source
 * rule (ibh_rule_is_of_a_source()), or a rule before such a rule, leads an address of a candidate to the table. */
GArray *ibh_scope_tables(const IbhScope *scope, const IbhSnapshot *snapshot, const IbhConfig *config);
