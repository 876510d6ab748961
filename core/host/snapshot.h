/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Takes a snapshot of this network namespace: netlink and sysfs → values.
 */
#pragma once

#include "kernel/netlink.h"

/* `sysfs`: what stands for /sys. The snapshot takes `state`. */
IbhSnapshot *ibh_snapshot_take(IbhNetlink *netlink, const char *sysfs, IbhState *state, GError **error);

/* Reads the tables that foreign rules lead one of the addresses to: they may route it already. */
gboolean ibh_snapshot_add_tables_of_foreign_rules(IbhSnapshot *snapshot, IbhNetlink *netlink, GError **error);

/* Adds what only some actions look at. */
gboolean ibh_snapshot_add_neighbours(IbhSnapshot *snapshot, IbhNetlink *netlink, GError **error);
/* What main reaches by these devices (int): gateways, prefixes on the link. */
gboolean ibh_snapshot_add_main(IbhSnapshot *snapshot, IbhNetlink *netlink, const GArray *ifindexes, GError **error);
/* Routes of main that are errors; once. */
gboolean ibh_snapshot_add_errors(IbhSnapshot *snapshot, IbhNetlink *netlink, GError **error);
gboolean ibh_snapshot_add_table(IbhSnapshot *snapshot, IbhNetlink *netlink, guint32 table, GError **error);
