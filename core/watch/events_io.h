/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's reports: the sockets that receive them, and the filter on the netlink socket. From the reports since the
 * last event, IbhEvents remembers three things: why to start an event, which of our NICs changed, and which process
 * deleted our rules and routes.
 */
#pragma once

#include "model/operation.h"
#include "watch/focus.h"

typedef struct {
    int netlink;    /* reports about links, addresses, rules, routes, nexthop objects, netconf */
    int uevents;    /* reports about RDMA devices that come and go; -1: not available here */
    GArray *filter; /* the filter that we made last for `netlink`; the kernel may have refused it. NULL: none yet */

    const char *first; /* why to look, in words, such as "an address changed": the words for the first report. In each
                          call of ibh_events_drain(), the first report about us (see `ret_ours`) replaces them. NULL:
                          there was no netlink report */
    GHashTable *taken; /* key of our rules or routes (make_taken_key() in events_io.c) → the netlink port of the process
                          that deleted them */
    GArray *moved;     /* int: the ifindexes of `nics` (see ibh_events_drain()) whose link or addresses changed */
} IbhEvents;

gboolean ibh_events_open(IbhEvents *events, GError **error);
void ibh_events_close(IbhEvents *events);

/* Makes the kernel drop the reports that the focus does not need. Returns TRUE if an earlier focus had another filter:
 * until now, that filter may have dropped reports that the new filter passes, so a change may have gone unnoticed since
 * the run that found the new focus took its snapshot. */
gboolean ibh_events_set_focus(IbhEvents *events, const IbhFocus *focus);

/* Reads all waiting reports. Returns TRUE if a report may concern us, or if reports were lost. Sets `ret_ours` to TRUE
 * if a report is about one of `nics` (ifindexes; NULL: not known), or if a rule or route of ours was deleted; else to
 * FALSE. Ignores reports with one of the netlink ports `own` (guint32): these are about our own changes. (But a report
 * about a sysctl has no port, even if we set the sysctl.) */
gboolean ibh_events_drain(IbhEvents *events, const GArray *own, const GArray *nics, gboolean *ret_ours);
/* Forgets what was reported, once an event has answered it. */
void ibh_events_forget(IbhEvents *events);

/* Returns the netlink port of the process that perhaps deleted what the operation puts back. For a new rule, that is
 * the last process that deleted a rule of ours with the same source; for a new or replaced route, the last one that
 * deleted a route of ours in the same table, of the same family. 0 if no process did, and for other operations. */
guint32 ibh_events_taker(const IbhEvents *events, const IbhOp *op);
