/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compares the wanted rules and routes with our rules and routes that stand. Tells which NIC answers ARP for an address
 * before and after a plan. Pure.
 */
#pragma once

#include "plan/plan.h"

/* A rule or a route to add or to delete. */
typedef struct {
    const IbhNic *nic;     /* the owner (rails.h); NULL for main=spread, and if there is no owner */
    const IbhRule *rule;   /* NULL if the item is a route */
    const IbhRoute *route; /* NULL if the item is a rule */
    /* The old route of ours that a new route replaces; NULL if there is none. Both have the same table, prefix and
     * metric, and the kernel refuses to add such a route beside the old one. */
    const IbhRoute *replaced;
    guint32 table;   /* the route's table, or the table to which the rule leads */
    gboolean is_old; /* to be deleted, not added */
    gboolean spread; /* of main=spread */
} IbhItem;

typedef struct {
    IbhWanted *wanted;
    const IbhRails *rails;
    GArray *items;                      /* IbhItem */
    GHashTable *led_before, *led_after; /* IbhIp → the table to which our rules lead the address, before and after the
                                           plan; addresses without such rules have no entry */
    gboolean gets_strict;               /* the rp_filter of at least one NIC becomes strict */
    /* order.c: */
    GArray *taken;   /* int: tables that a NIC takes from another NIC */
    GPtrArray *plan; /* IbhOp * */
} IbhDifference;

/* Finds the items, and sets the members of each IbhWantedNic that say what the plan does to the NIC, except `takes`.
 * Returns FALSE if no rule, route or value differs: then these members are not set. The caller clears the difference in
 * either case. */
gboolean ibh_difference_init(IbhDifference *difference, IbhWanted *wanted);
void ibh_difference_clear(IbhDifference *difference);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IbhDifference, ibh_difference_clear)

/* Returns the NIC that answers ARP for this IPv4 address, before the plan or, with `after`, after the plan:
 * - the address's own NIC, if our rules or foreign rules route packets from the address;
 * - else the NIC of main's route to the address; if arp_ignore silences this NIC, again the address's own NIC;
 * - NULL if there are neither such rules nor such a route.
 * Only some of main's routes count: routes of protocol kernel, and the routes in IbhSnapshot.main_by_nic, but no
 * defaults. */
const IbhNic *ibh_difference_answering(const IbhDifference *difference, const IbhAddress *address, gboolean after);
