/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's reports: the sockets that receive them, the filter on the netlink socket, and what was reported since
 * the last event: why to start an event, which of our NICs changed, and which process deleted our rules and routes.
 */
#pragma once

#include "model/operation.h"
#include "watch/focus.h"

typedef struct {
    int netlink;    /* reports about links, addresses, rules, routes, nexthop objects, netconf */
    int uevents;    /* reports about RDMA devices that come and go; -1: not available here */
    GArray *filter; /* the filter that `netlink` has, if the kernel took it; NULL: none yet */

    const char *first; /* the first change, if possible the first that is ours: "an address changed"; NULL: none */
    GHashTable *taken; /* key of our rules or routes (name_taken() in events_io.c) → the netlink port of the process
                          that deleted them */
    GArray *moved;     /* int: the ifindexes of our NICs whose link or addresses changed */
} IbhEvents;

gboolean ibh_events_open(IbhEvents *events, GError **error);
void ibh_events_close(IbhEvents *events);

/* Makes the kernel drop the reports that the focus does not need. Returns TRUE if another filter was in force before:
 * it may have dropped reports that this filter passes, so something may have changed since the focus was found. */
gboolean ibh_events_set_focus(IbhEvents *events, const IbhFocus *focus);

/* Reads all waiting reports. Returns TRUE if a report may concern us or reports were lost. `ret_ours`: a report is
 * about one of `nics` (ifindexes; NULL: not known), or something of ours was deleted. `own` is the netlink
 * port of our own changes, whose reports are ignored. */
gboolean ibh_events_drain(IbhEvents *events, guint32 own, const GArray *nics, gboolean *ret_ours);
/* Forgets what was reported, once an event has answered it. */
void ibh_events_forget(IbhEvents *events);

/* Returns the netlink port of the last process that deleted something of ours of the operation's kind and family: if
 * the operation adds a rule, a rule with the same source; if it adds or replaces a route, a route of the same table.
 * 0 if no process did, and for other operations. */
guint32 ibh_events_taker(const IbhEvents *events, const IbhOp *op);
