/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel and sysfs as the source of what an event reads (plan/near.h).
 */
#pragma once

#include "kernel/netlink.h"
#include "plan/near.h"

/* The snapshot takes `state`; `all`: sysctls of all NICs. `near->enough` FALSE: the caller has to read everything. */
IbhSnapshot *ibh_snapshot_take_near(IbhNetlink *netlink, const char *sysfs, IbhState *state,
                                    const int all[IBH_N_SYSCTLS], const IbhConfig *config, IbhNear *near,
                                    GError **error);
