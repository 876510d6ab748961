/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a rail should have: rules, routes and sysctls. Pure.
 */
#pragma once

#include "plan/rails.h"

GArray *ibh_want_routes(const IbhRails *rails, const IbhNic *nic); /* IbhRoute, in the order they must be added */
/* IbhRule; `routes`: the routes wanted in T, because a default route needs rules, too. */
GArray *ibh_want_rules(const IbhRails *rails, const IbhNic *nic, const GArray *routes);

/* A rail that has its rules, or gets them in this run (IbhRails.only). */
gboolean ibh_is_programmed(const IbhRails *rails, const IbhNic *nic);
/* By the administrator's value, it drops what comes in by another NIC than the answer would leave by. */
gboolean ibh_is_strict(const IbhRails *rails, const IbhNic *nic);

/* A candidate that is no rail, and must not answer ARP for the rails. */
gboolean ibh_must_be_silent(const IbhRails *rails, const IbhNic *nic);
/* The value it should have now: of a NIC that is no rail, the administrator's, but where it must be silent. */
int ibh_want_sysctl(const IbhRails *rails, const IbhNic *nic, IbhSysctl key);
