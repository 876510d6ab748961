/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a rail reaches by gateways. Pure.
 */
#pragma once

#include "plan/rails.h"

/* `routes`: the rail's subnets (IbhRoute); what it reaches by way of them is added. */
void ibh_want_gateways(const IbhRails *rails, const IbhNic *nic, GArray *routes);

/* The gateway that gateway= names (not auto); FALSE: none, or none that one of the rail's subnets has. */
gboolean ibh_find_gateway(const IbhNic *nic, int family, IbhIp *ret_gateway);

/* A /30, /31 or /127: it has room for one peer only. */
gboolean ibh_has_one_peer(const IbhPrefix *subnet);

IbhRoute ibh_own_route(const IbhNic *nic, const IbhPrefix *dst); /* in T, by the device, with our mark */
gboolean ibh_have_prefix(const GArray *routes, const IbhPrefix *prefix);
