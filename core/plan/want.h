/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The wanted rules, routes and sysctls of a rail. Pure.
 */
#pragma once

#include "plan/rails.h"

/* want.c: finds the pairs, routes and rules of a rail, once all rails are known. */
void ibh_want(const IbhRails *rails, IbhNic *nic);

/* ---- arp.c: sysctls ---- */

/* TRUE for a rail that has its rules, or gets them in this run (IbhRails.only). */
gboolean ibh_nic_is_programmed(const IbhRails *rails, const IbhNic *nic);
/* TRUE if, by the administrator's value, it drops packets that come in through another NIC than the answer would leave
 * through.
 */
gboolean ibh_nic_is_strict(const IbhRails *rails, const IbhNic *nic);

/* TRUE for a candidate that is no rail, and must not answer ARP for the rails. */
gboolean ibh_nic_must_be_silent(const IbhRails *rails, const IbhNic *nic);
/* The wanted value. For a NIC that is no rail: the administrator's, unless it must be silent. */
int ibh_want_sysctl(const IbhRails *rails, const IbhNic *nic, IbhSysctl key);

/* ---- spread.c: main=spread. Adds what it wants to these IbhRoute and IbhRule ---- */

void ibh_want_spread(const IbhRails *rails, GArray *routes, GArray *rules);

/* ---- gateways.c: routes via gateways ---- */

/* `routes`: what T has on the link (IbhRoute). */
void ibh_want_remote(const IbhRails *rails, const IbhNic *nic, int family, GArray *routes);
/* The default that D has; FALSE: D is empty, and main decides. */
gboolean ibh_want_default(const IbhRails *rails, const IbhNic *nic, int family, IbhRoute *ret_route);
gboolean ibh_nic_has_default(const IbhRails *rails, const IbhNic *nic, int family);

/* The gateway that gateway= names (not auto); FALSE: it names none, or none in the rail's subnets. */
gboolean ibh_nic_find_gateway(const IbhNic *nic, int family, IbhIp *ret_gateway);

void ibh_route_set_gateway(IbhRoute *route, const IbhIp *gateway); /* of ours; AF_UNSPEC: on link */
void ibh_routes_add_via(const IbhNic *nic, const IbhRoute *route, GArray *routes);
/* One next hop, for every source and TOS, without an encapsulation: a route of ours can do the same. */
gboolean ibh_route_is_simple(const IbhRoute *route);

/* A /30, /31 or /127: it has room for one peer only. */
gboolean ibh_prefix_has_one_peer(const IbhPrefix *subnet);

/* With our mark: */
IbhRoute ibh_route_of_ours(guint32 table, const IbhPrefix *dst);
IbhRoute ibh_route_for_nic(const IbhNic *nic, const IbhPrefix *dst); /* in T, by the device */
/* A rule from one address. `to` NULL, or of length 0: to all. */
IbhRule ibh_rule_of_ours(const IbhIp *from, const IbhPrefix *to, guint32 table, gint64 suppress_prefixlength,
                         guint32 priority);
gboolean ibh_routes_have_prefix(const GArray *routes, const IbhPrefix *prefix);
