/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What of table main decides for a rail: main's defaults through its NIC, and what has one of its addresses or subnets
 * inside. So of 100,000 routes a handful is kept (IbhSnapshot.main_by_nic). Pure.
 */
#pragma once

#include "config/config.h"

typedef struct {
    GArray *candidates; /* int */
    GArray *places;     /* IbhIp, in order: their addresses and subnets */
    gboolean has_ipv6;  /* one of them has a global IPv6 address */
} IbhMainScope;

/* Of all candidates among the links of the snapshot. */
void ibh_main_scope_find(IbhMainScope *scope, const IbhSnapshot *snapshot, const IbhConfig *config);
void ibh_main_scope_add_places(IbhMainScope *scope, const IbhSnapshot *snapshot); /* once the addresses are known */
void ibh_main_scope_clear(IbhMainScope *scope);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IbhMainScope, ibh_main_scope_clear)

gboolean ibh_main_scope_has(const IbhMainScope *scope, const IbhRoute *route);
/* IbhPrefix: subnets that main does not reach through their own NIC: how it reaches them otherwise matters, too. */
GArray *ibh_main_scope_lacks(const IbhMainScope *scope, const IbhSnapshot *snapshot);

/* Main's best route to exactly this subnet through this NIC; NULL: there is none. */
const IbhRoute *ibh_main_find_subnet(const IbhSnapshot *snapshot, int ifindex, const IbhPrefix *subnet);
/* Main's best route to a subnet that it does not reach through the subnet's own NIC goes via a gateway. */
gboolean ibh_main_needs_gateway(const IbhSnapshot *snapshot, const IbhPrefix *subnet);
