/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The difference between the rules and routes that are wanted and those of ours that stand; and which NIC answers for
 * an address before and after a plan. Pure.
 */
#pragma once

#include "plan/plan.h"

/* A rule or a route to add or to delete. */
typedef struct {
    const IbhNic *nic;     /* the owner (rails.h); NULL for main=spread, and if there is no owner */
    const IbhRule *rule;   /* NULL if the item is a route */
    const IbhRoute *route; /* NULL if the item is a rule */
    /* Our old route with the same table, prefix and metric, or NULL. The kernel refuses to add a second such route. */
    const IbhRoute *replaced;
    guint32 table;   /* of the route, or to which the rule leads */
    gboolean is_old; /* to be deleted, not added */
    gboolean spread; /* of main=spread */
} IbhItem;

typedef struct {
    IbhWanted *wanted;
    const IbhRails *rails;
    GArray *items;                      /* IbhItem */
    GHashTable *led_before, *led_after; /* IbhIp → the table to which our rule leads this address */
    gboolean gets_strict;               /* the rp_filter of at least one NIC becomes strict */
    /* order.c: */
    GArray *taken;   /* int: tables that a NIC takes from another NIC */
    GPtrArray *plan; /* IbhOp * */
} IbhDifference;

/* Returns FALSE if no rule, route or value differs. */
gboolean ibh_difference_init(IbhDifference *difference, IbhWanted *wanted);
void ibh_difference_clear(IbhDifference *difference);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IbhDifference, ibh_difference_clear)

/* Returns the NIC that answers ARP for this IPv4 address, before or after the plan. That is the address's own NIC if
 * our rules or foreign rules route packets from the address, or if arp_ignore silences the NIC of main's route to the
 * address; else the NIC of main's route. Of main's routes, only those of protocol kernel and those through candidates
 * count, and no default. NULL if there are neither such rules nor such a route. */
const IbhNic *ibh_difference_answering(const IbhDifference *difference, const IbhAddress *address, gboolean after);
