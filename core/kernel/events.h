/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events of the kernel: the sockets of --watch, and of a hook that is called too early.
 */
#pragma once

#include <glib.h>

typedef struct {
    int netlink;   /* links, addresses, rules, routes, netconf */
    int uevents;   /* RDMA devices that come and go; -1: not available here */
    gboolean ours; /* the events drained last concern these NICs, or report that something of ours was deleted */
    char who[80];  /* the process that deleted something of ours, in the events drained last; "": none */
} IbhEvents;

gboolean ibh_events_open(IbhEvents *events, GError **error);
void ibh_events_close(IbhEvents *events);

/* Foreign routes matter only by these NICs (int): for others the kernel does not even wake us. */
void ibh_events_focus(IbhEvents *events, const GArray *ifindexes);

/* Reads all waiting events. TRUE: one of them may concern us; `own` is the netlink port of our own changes, `ifindexes`
 * (int) are our NICs; NULL: not known. */
gboolean ibh_events_drain(IbhEvents *events, guint32 own, const GArray *ifindexes);
