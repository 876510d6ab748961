/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rules, routes and sysctls that a rail should have. Pure.
 */
#pragma once

#include "plan/rails.h"

/* In each family, T copies at most this many routes that DHCP or a router made, and gets at most this many routes to
 * the advertised subnets of each sibling (gateways.c). */
#define LEARNED_MAX 4

/* want.c: finds the pairs, routes, rules and programmed addresses of a rail. Looks at the status of all NICs, so
 * call it when each NIC has its status. */
void ibh_want(const IbhRails *rails, IbhNic *nic);

/* ---- arp.c: sysctls ---- */

/* A programmed NIC counts as answering ARP for its own addresses, because rules route packets from these addresses.
 * TRUE for a rail if one of these conditions holds; TRUE for a kept NIC only if the last condition holds:
 * - This run is --undo. (The NICs that lose our rules in this run are no rails.)
 * - This run covers the NIC (IbhRails.only).
 * - Foreign rules route an address of the NIC.
 * - The NIC owns a rule of ours already (ibh_rule_owner()). */
gboolean ibh_nic_is_programmed(const IbhRails *rails, const IbhNic *nic);

/* By default, the kernel answers ARP on every NIC for all IPv4 addresses of the host, so a NIC without IPv4 addresses
 * would answer for the rails. TRUE if all of this is true:
 * - `nic` is a candidate, but no rail; is not held (IbhNic.held); and has neither manage=no nor arp=keep.
 * - The administrator left the arp_ignore and arp_filter of `nic` at 0.
 * - `nic` is up, and serves no IPv4 address.
 * - A programmed NIC (ibh_nic_is_programmed()) of the same link type serves an IPv4 address. */
gboolean ibh_nic_must_be_silent(const IbhRails *rails, const IbhNic *nic);
/* Returns the wanted value. A NIC that is not a rail gets the administrator's value, unless the NIC must be silent. */
int ibh_want_sysctl(const IbhRails *rails, const IbhNic *nic, IbhSysctl key);

/* ---- want.c: what main says of a subnet ---- */

/* If main has a route through this NIC to the subnet of `address`, copies gateway and metrics from that route. (Ports
 * that a switch isolates reach even their own subnet via a gateway.) Returns FALSE if packets that leave through this
 * NIC would not arrive, or if our route cannot express main's route: then T must have no route to the subnet. */
gboolean ibh_copy_from_main(const IbhRails *rails, const IbhNic *nic, const IbhAddress *address, IbhRoute *route);

/* ---- spread.c: the routes (IbhRoute) and rules (IbhRule) of main=spread ---- */

void ibh_want_spread(const IbhRails *rails, GArray *routes, GArray *rules);

/* ---- gateways.c: routes via gateways ---- */

/* Adds the routes of remote= to `routes` (IbhRoute), which has T's other routes already. */
void ibh_want_remote(const IbhRails *rails, const IbhNic *nic, int family, GArray *routes);
/* Finds the default route of D. Returns FALSE if D gets none: then main decides. */
gboolean ibh_want_default(const IbhRails *rails, const IbhNic *nic, int family, IbhRoute *ret_route);

/* Sets `ret_gateway` to the gateway that gateway= names. Returns FALSE for auto and none, and if the setting names no
 * gateway of this family that the NIC could reach. */
gboolean ibh_nic_find_gateway(const IbhNic *nic, int family, IbhIp *ret_gateway);

/* Sets the gateway, and the scope and onlink that the kernel then requires. The family of `gateway` is AF_UNSPEC for a
 * route on link. */
void ibh_route_set_gateway(IbhRoute *route, const IbhIp *gateway);
/* Adds the route. If `routes` do not reach the route's IPv6 gateway, first adds a host route to the gateway. */
void ibh_routes_add_via(const IbhRoute *route, GArray *routes);
/* TRUE if our routes can express the route: it has one next hop, no source prefix, no TOS and no encapsulation. */
gboolean ibh_route_is_simple(const IbhRoute *route);

/* TRUE for a /30, /31 or /127, which have room for one peer only. */
gboolean ibh_prefix_has_one_peer(const IbhPrefix *subnet);

IbhRoute ibh_route_of_ours(guint32 table, const IbhPrefix *dst, int ifindex); /* with our mark, on link */
/* A rule from one address to `to`, which may be NULL or of length 0 for all destinations. A suppress_prefixlength of -1
 * stands for none. */
IbhRule ibh_rule_of_ours(const IbhIp *from, const IbhPrefix *to, guint32 table, gint64 suppress_prefixlength,
                         guint32 priority);
gboolean ibh_routes_have_prefix(const GArray *routes, const IbhPrefix *prefix);
