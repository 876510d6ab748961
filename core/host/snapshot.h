/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Takes a snapshot of this network namespace: netlink and sysfs → values.
 */
#pragma once

#include "host/sysfs.h"
#include "kernel/netlink.h"
#include "plan/main_scope.h"
#include "plan/rails.h"

typedef enum {
    IBH_NEAR, /* the candidates, and all that can affect them. Random worlds prove that the plan is the same, or that
                 some decision asked for more (tests/unit/test_random.c). Where that cannot be: everything */
    IBH_EVERYTHING
} IbhScope;

/* `sysfs`: what stands for /sys. The snapshot takes `state`. */
IbhSnapshot *ibh_snapshot_take(IbhNetlink *netlink, const IbhConfig *config, const char *sysfs, IbhScope scope,
                               IbhState *state, GError **error);

/* ---- what was asked for ---- */

gboolean ibh_snapshot_read_tables(IbhSnapshot *snapshot, IbhNetlink *netlink, GError **error);
/* All that decisions asked for, but everything, which is another snapshot. */
gboolean ibh_snapshot_read_asked(IbhSnapshot *snapshot, IbhNetlink *netlink, gboolean *ret_knows_more, GError **error);
