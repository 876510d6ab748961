/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which routes a look has to read: a host may have 100,000, and a handful decides for its candidates. Pure.
 */
#pragma once

#include "config/config.h"
#include "model/model.h"

typedef struct {
    GArray *candidates; /* int: the index of each candidate */
    GArray *subnets;    /* IbhPrefix: of their addresses */
    gboolean has_ipv6;  /* a candidate has a global IPv6 address */
} IbhScope;

/* Of the snapshot's links and addresses. */
void ibh_scope_init(IbhScope *scope, const IbhSnapshot *snapshot, const IbhConfig *config);
void ibh_scope_clear(IbhScope *scope);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IbhScope, ibh_scope_clear)

/* A route of main through a candidate decides for that NIC: on-link routes, defaults, and routes to its subnets. */
gboolean ibh_scope_has(const IbhScope *scope, const IbhRoute *route);
/* IbhPrefix: subnets of candidates that main does not reach through their own NIC, by the routes read so far. How main
 * reaches them otherwise decides, too. */
GArray *ibh_scope_lacks(const IbhScope *scope, const IbhSnapshot *snapshot);
/* guint32: tables whose foreign routes decide. A candidate has, had or may get such a table, or a foreign rule leads an
 * address of a candidate there. */
GArray *ibh_scope_tables(const IbhScope *scope, const IbhSnapshot *snapshot, const IbhConfig *config);
