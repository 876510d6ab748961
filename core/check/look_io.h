/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What --check reads beside what an event needs: look_io.c, from the kernel; managers_io.c, from network managers' own
 * files. Only NetworkManager is asked, through nm.so (nm-dispatcher/connections.c), for the names of its connections.
 */
#pragma once

#include "check/facts.h"
#include "kernel/netlink.h"
#include "plan/rails.h"

/* Foreign routes in rails' tables and neighbours into the snapshot; the tables that foreign rules lead to, and settings
 * of rails, into the facts. */
gboolean ibh_check_look(const IbhRails *rails, IbhSnapshot *snapshot, IbhFacts *facts, IbhNetlink *netlink,
                        GError **error);

/* Asks how the kernel would route a packet. */
gboolean ibh_netlink_lookup(IbhNetlink *netlink, IbhLookup *lookup, GError **error);

/* Fills in the managers of all links, with what keeps them from calling our hook, and hand-written scripts. `sysfs`
 * stands for /sys. A manager whose files cannot be read is unknown. */
void ibh_managers_read(const char *sysfs, const IbhSnapshot *snapshot, IbhFacts *facts);

/* What nm.so exports. For each IbhManager of NetworkManager's it sets the connection's name, sets the manager to NULL
 * if NetworkManager only watches, and notes where NetworkManager prunes. Returns after this time at the latest. */
#define IBH_NM_FUNCTION "ibh_nm_name_connections"
typedef void IbhNmFunction(GArray *managers, guint milliseconds);
