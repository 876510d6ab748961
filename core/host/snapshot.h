/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Takes a snapshot of this network namespace: netlink and sysfs → values.
 */
#pragma once

#include "config/config.h"
#include "kernel/netlink.h"

/* `sysfs`: what stands for /sys. The snapshot takes `state`. */
IbhSnapshot *ibh_snapshot_take(IbhNetlink *netlink, const char *sysfs, IbhState *state, GError **error);

/* Reads the tables that rules of others lead addresses of candidates to: they may be routed there already. */
gboolean ibh_snapshot_add_tables_of_foreign_rules(IbhSnapshot *snapshot, IbhNetlink *netlink, const IbhConfig *config,
                                                  GError **error);

/* Adds facts that only some actions need. */
gboolean ibh_snapshot_add_neighbours(IbhSnapshot *snapshot, IbhNetlink *netlink, GError **error);
/* Adds routes of main by these devices (int): by gateways, and prefixes on the link. */
gboolean ibh_snapshot_add_main(IbhSnapshot *snapshot, IbhNetlink *netlink, const GArray *ifindexes, GError **error);
/* Adds error routes of main; call it once. */
gboolean ibh_snapshot_add_errors(IbhSnapshot *snapshot, IbhNetlink *netlink, GError **error);
gboolean ibh_snapshot_add_table(IbhSnapshot *snapshot, IbhNetlink *netlink, guint32 table, GError **error);
