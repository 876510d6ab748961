/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is wanted, less what stands of ours; and who answers for an address before and after. Pure.
 */
#pragma once

#include "plan/plan.h"

/* A rule or a route that has to come or to go. */
typedef struct {
    const IbhNic *nic;   /* NULL: it is of main=spread, or its NIC has gone */
    const IbhRule *rule; /* or */
    const IbhRoute *route;
    const IbhRoute *replaced; /* by the route: the kernel has room for one of them */
    gboolean spread;
} IbhItem;

/* What becomes of a NIC. */
typedef struct {
    gboolean changes; /* a rule, a route or a value of ARP */
    gboolean arp;     /* a value of ARP */
    /* Of its IPv4 addresses: */
    gboolean led;     /* rules of ours led one to its table before */
    gboolean answers; /* it answers for one of any NIC afterwards */
} IbhEffect;

typedef struct {
    const IbhWanted *wanted;
    const IbhRails *rails;
    GArray *new_rules, *new_routes, *old_rules, *old_routes; /* IbhItem */
    GHashTable *led_before, *led_after;                      /* IbhIp → the table that a rule of ours leads it to */
    GHashTable *in_main;                                     /* IbhPrefix → the best route of main to it */
    IbhEffect *effects;                                      /* by the position of the NIC */
    gboolean is_empty;                                       /* no rule, route or value differs */
} IbhDifference;

void ibh_difference_init(IbhDifference *difference, const IbhWanted *wanted);
void ibh_difference_clear(IbhDifference *difference);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IbhDifference, ibh_difference_clear)

IbhEffect *ibh_difference_effect(const IbhDifference *difference, const IbhNic *nic);
/* The NIC that answers ARP for this IPv4 address, afterwards or before: its own where rules lead it, or where main's
 * NIC for it keeps an arp_ignore; else main's. NULL: main does not reach it. */
const IbhNic *ibh_difference_answering(const IbhDifference *difference, const IbhAddress *address, gboolean after);
