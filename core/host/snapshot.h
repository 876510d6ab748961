/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Takes a snapshot of this network namespace from netlink, sysfs, and net/ipv4/conf/all of /proc/sys.
 */
#pragma once

#include "host/sysfs.h"
#include "kernel/netlink.h"
#include "plan/scope.h"

/* `sysfs` is /sys or a copy. The snapshot becomes the owner of `state`; on failure, `state` is freed. */
IbhSnapshot *ibh_snapshot_take(IbhNetlink *netlink, const IbhConfig *config, const char *sysfs, IbhState *state,
                               GError **error);
