/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Takes a snapshot of this network namespace: netlink and sysfs → values.
 */
#pragma once

#include "host/sysfs.h"
#include "kernel/netlink.h"
#include "plan/scope.h"

/* `sysfs`: what stands for /sys. The snapshot takes `state`. */
IbhSnapshot *ibh_snapshot_take(IbhNetlink *netlink, const IbhConfig *config, const char *sysfs, IbhState *state,
                               GError **error);
