/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The routes of a rail that go by gateways. Pure.
 */
#pragma once

#include "plan/rails.h"

/* Routes of main that rails may copy: by a gateway, and what IPv6 routers announce. const IbhRoute * */
GPtrArray *ibh_find_copied_routes(const IbhSnapshot *snapshot);

/* `routes`: the rail's subnets (IbhRoute); adds its routes by gateways. */
void ibh_want_gateways(const IbhRails *rails, const IbhNic *nic, const GPtrArray *copied, GArray *routes);

/* The gateway that gateway= names (not auto); FALSE: it names none, or none in the rail's subnets. */
gboolean ibh_find_gateway(const IbhNic *nic, int family, IbhIp *ret_gateway);

gboolean ibh_is_remote(const IbhNic *nic, const IbhPrefix *prefix); /* remote= names it, or a prefix around it */

/* A /30, /31 or /127: it has room for one peer only. */
gboolean ibh_has_one_peer(const IbhPrefix *subnet);

IbhRoute ibh_own_route(const IbhNic *nic, const IbhPrefix *dst); /* in T, by the device, with our mark */
gboolean ibh_have_prefix(const GArray *routes, const IbhPrefix *prefix);
