/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which of the kernel's reports can change a decision, and the program that lets the kernel drop the others: beside a
 * full routing table that loads, it costs 1 ms where hearing everything costs 440 ms, and loses reports. Pure.
 */
#pragma once

#include "plan/rails.h"

typedef struct {
    GArray *candidates; /* int; NULL: not known */
    GArray
        *subnets;   /* IbhPrefix: theirs. Of main, defaults, on-link routes by candidates, and routes to these decide */
    GArray *tables; /* int: those of rails, and where rules of others lead addresses of candidates */
    gboolean objects; /* a route that decides goes by a nexthop object */
} IbhFocus;

void ibh_focus_find(IbhFocus *focus, const IbhRails *rails);
void ibh_focus_clear(IbhFocus *focus);

/* filter.c: struct sock_filter, for one message of a netlink socket: of routes and nexthop objects, what cannot matter
 * does not even wake us. */
GArray *ibh_focus_filter(const IbhFocus *focus);
