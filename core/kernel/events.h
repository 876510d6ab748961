/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel tells without being asked: the sockets of --watch, and of a hook that is called too early.
 */
#pragma once

#include <glib.h>

typedef struct {
    int netlink; /* links, addresses, rules, routes, netconf */
    int uevents; /* RDMA devices that come and go; -1: cannot be had here */
    gboolean
        ours;     /* in what was drained last is something about these NICs, or that something of ours was taken away */
    char who[80]; /* the process that took away something of ours, in what was drained last; "": none did */
} IbhEvents;

gboolean ibh_events_open(IbhEvents *events, GError **error);
void ibh_events_close(IbhEvents *events);

/* Other people's routes matter by these NICs (int) alone: the kernel does not even wake us for the others. */
void ibh_events_focus(IbhEvents *events, const GArray *ifindexes);

/* Takes all that is there. TRUE: something happened that may concern us; `own` is the port of our own changes,
 * `ifindexes` (int) are our NICs; NULL: not known. */
gboolean ibh_events_drain(IbhEvents *events, guint32 own, const GArray *ifindexes);
