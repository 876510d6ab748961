/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's reports: sockets, and the filter on them. */
#pragma once

#include "watch/focus.h"
#include "watch/heard.h"

typedef struct {
    int netlink;    /* links, addresses, rules, routes, nexthop objects, netconf */
    int uevents;    /* RDMA devices that come and go; -1: not available here */
    GArray *filter; /* as the kernel has it; NULL: none yet */
} IbhEvents;

gboolean ibh_events_open(IbhEvents *events, GError **error);
void ibh_events_close(IbhEvents *events);

/* For other reports the kernel does not even wake us. TRUE: before, it dropped what it passes now, so something may
 * have changed unheard since the focus was found. */
gboolean ibh_events_focus(IbhEvents *events, const IbhFocus *focus);

/* Hears all waiting reports. TRUE: one of them may concern us; `own` is the netlink port of our own changes. */
gboolean ibh_events_drain(const IbhEvents *events, guint32 own, IbhHeard *heard);
