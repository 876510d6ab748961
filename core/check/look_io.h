/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads what --check and --show need, and an event does not. Of this, --render needs only the managers, and --probe
 * only the look-ups. look_io.c and lookup_io.c read from the kernel. managers_io.c reads the files of network managers
 * and services, and hand-written scripts. It also asks NetworkManager itself, through nm.so
 * (nm-dispatcher/connections.c), for example for the names of its connections.
 */
#pragma once

#include "check/facts.h"
#include "kernel/netlink.h"
#include "plan/rails.h"

/* Reads neighbours into the snapshot. Reads into the facts: the routes of main, of table local, and of the tables of
 * foreign rules (but not of candidates' tables, which the snapshot has); cached routes; and sysctls of the host and its
 * rails. IbhFacts.routes says which routes are left out. */
gboolean ibh_check_look(const IbhRails *rails, IbhSnapshot *snapshot, IbhFacts *facts, IbhNetlink *netlink,
                        GError **error);

/* Asks the kernel how it would route a packet, and writes the answer into `lookup`. FALSE if no readable answer comes.
 * A refusal to route the packet is an answer, too: then returns TRUE, with lookup->error set. */
gboolean ibh_netlink_lookup(IbhNetlink *netlink, IbhLookup *lookup, GError **error);

/* Fills in the managers of all links and, for a manager that does not call our hook, the reason; hand-written scripts;
 * whether --watch runs or is enabled, and what starts --watch. A manager whose files cannot be read is unknown. `sysfs`
 * is /sys or a copy (--sysfs); with /sys, fills in nothing in a network namespace other than that of process 1. */
void ibh_managers_read(const char *sysfs, const IbhSnapshot *snapshot, IbhFacts *facts);

/* The function that nm.so exports. `managers` has IbhManager. For each entry with the name NetworkManager, if
 * NetworkManager knows the link, sets `connection`, `prunes4` and `prunes6`; and sets `name` to NULL if NetworkManager
 * does not configure the link. Waits at most `milliseconds` for NetworkManager. Without an answer, changes nothing. */
#define IBH_NM_FUNCTION "ibh_nm_name_connections"
typedef void IbhNmFunction(GArray *managers, guint milliseconds);
