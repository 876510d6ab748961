/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The focus says which routes and nexthop objects can change a decision. A BPF program makes the kernel drop reports
 * about other routes and nexthop objects. With the program, --watch takes 1 ms of processor time while a routing daemon
 * loads a full routing table. Without the program, --watch takes 440 ms, and loses reports.
 */
#pragma once

#include "plan/rails.h"

typedef struct {
    GArray *candidates; /* int: the ifindexes of all candidates; NULL: not known */
    GArray *subnets;    /* IbhPrefix: the candidates' subnets */
    GArray *tables;     /* int: T and D of the rails, and tables of foreign rules that may decide about a pair */
    gboolean objects;   /* a route that can change a decision uses a nexthop object */
} IbhFocus;

/* Fills an empty `focus` with what the rails of a run depend on. ibh_focus_clear() makes it empty again. */
void ibh_focus_find(IbhFocus *focus, const IbhRails *rails);
void ibh_focus_clear(IbhFocus *focus);

/* filter.c: returns the program, an array of struct sock_filter. The kernel runs it for each message to our netlink
 * socket, and drops messages about routes and nexthop objects that cannot change a decision. */
GArray *ibh_focus_filter(const IbhFocus *focus);
