/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's reports: sockets, the filter on them, and what was heard since the last look: why to look, whether it is
 * about our NICs, and who deletes what is ours.
 */
#pragma once

#include "model/operation.h"
#include "watch/focus.h"

typedef struct {
    int netlink;    /* links, addresses, rules, routes, nexthop objects, netconf */
    int uevents;    /* RDMA devices that come and go; -1: not available here */
    GArray *filter; /* as the kernel has it; NULL: none yet */

    const char *first; /* what changed first, one of ours before others: "an address changed"; NULL: nothing did */
    GHashTable *taken; /* what of ours another process deleted, in words → the netlink port of that process */
    GArray *moved;     /* int: those of our NICs whose link or addresses came, went or changed */
} IbhEvents;

gboolean ibh_events_open(IbhEvents *events, GError **error);
void ibh_events_close(IbhEvents *events);

/* For other reports the kernel does not even wake us. TRUE: before, it dropped what it passes now, so something may
 * have changed unheard since the focus was found. */
gboolean ibh_events_focus(IbhEvents *events, const IbhFocus *focus);

/* Reads all waiting reports. TRUE: one of them may concern us; `ret_ours`: it is about `nics` (int; NULL: not known),
 * or something of ours was deleted. `own` is the netlink port of our own changes. */
gboolean ibh_events_drain(IbhEvents *events, guint32 own, const GArray *nics, gboolean *ret_ours);
void ibh_events_forget(IbhEvents *events); /* all that was answered: a look begins */

/* The netlink port of the process that deleted what this operation adds; 0: none did. */
guint32 ibh_events_taker(const IbhEvents *events, const IbhOp *op);
