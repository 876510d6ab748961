/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A model of the kernel's rules and routes, and the walk of one packet through it. Pure.
 *
 * The caller adds any rules and routes: those of the snapshot, or those that the host should have. The model borrows
 * them, so a walk returns pointers to the caller's own rules and routes.
 */
#pragma once

#include "model/model.h"

typedef struct IbhFib IbhFib;

/* The rule or route that causes a finding, or that is left out of walks (ibh_fib_set_without()). At most one member is
 * set; if there is no owner, both are NULL. */
typedef struct {
    const IbhRule *rule;
    const IbhRoute *route;
} IbhOwner;

/* The result of a walk. */
typedef struct {
    const IbhRule *rule;     /* the rule whose table has the route, or that refuses the packet; NULL: no rule decides */
    const IbhRule *jump;     /* the first goto that the walk followed; NULL: none */
    const IbhRoute *thrower; /* the first throw route that hid another route of its table; NULL: none */
    const IbhRoute *thrown;  /* the route that `thrower` hid; NULL: none */
    const IbhRoute *route;   /* the route of the packet; NULL: the rule refuses, or no rule decides */
    const IbhLink *passed;   /* the first link whose group made a rule of ours suppress a route; NULL: none */
    gsize unknown;    /* identifies the set of rules on the way that only the kernel can evaluate; 0: there are none */
    gboolean refused; /* a rule or an error route refuses the packet, or no rule decides */
} IbhTrace;

IbhFib *ibh_fib_new(const IbhSnapshot *snapshot); /* without rules and routes; the walk looks up links in `snapshot` */
void ibh_fib_free(IbhFib *fib);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IbhFib, ibh_fib_free)

/* Among rules of one priority, and among routes with one prefix and metric, the rule or route that was added first
 * wins. */
void ibh_fib_add_rule(IbhFib *fib, const IbhRule *rule);
void ibh_fib_add_route(IbhFib *fib, const IbhRoute *route); /* ignores special routes, which a walk cannot follow */

/* `without` (IbhOwner; NULL: none) has the rules and routes to leave out of walks: these very rules, and all routes
 * that are equal to a route in the list (ibh_route_compare()). The model borrows the list, which may change between
 * walks. */
void ibh_fib_set_without(IbhFib *fib, const GArray *without);

/* From now on, walks treat links whose group is our mark as links of the default group, so that our rules do not
 * suppress their routes. */
void ibh_fib_regroup(IbhFib *fib);

/* Walks a packet as the RDMA stack looks up its route: mark 0, user 0, TOS 0, no protocol, no port. A packet without a
 * source address has only zeros in packet->from.bytes, and the family of packet->to in packet->from.family. With
 * packet->iif, the packet comes in through that link. With packet->bound, rules with that link as oif match, and IPv4
 * ignores routes that lead only through other links. */
IbhTrace ibh_fib_walk(const IbhFib *fib, const IbhLookup *packet);
/* Returns the best usable route to `to` in a table: the longest prefix wins, then the lowest metric; find_route() in
 * fib.c has an exception for nexthop objects. NULL if there is none. A unicast route is usable if one of its next hops
 * is not dead, and the link of this next hop is up. The link also needs carrier if the kernel ignores routes through
 * links without carrier. Throw routes count; cached routes do not, nor do routes that are left out of walks
 * (ibh_fib_set_without()). If `bound` is not 0, routes that lead only through other links do not count. */
const IbhRoute *ibh_fib_find(const IbhFib *fib, guint32 table, const IbhIp *to, int bound);

/* TRUE if the rule matches the packet. A rule for VRFs, or with a selector that we do not know, never matches. */
gboolean ibh_rule_matches(const IbhSnapshot *snapshot, const IbhRule *rule, const IbhLookup *packet);
IbhPrefix ibh_prefix_of_world(int family); /* 0.0.0.0/0 or ::/0 */
/* TRUE if all live next hops of the route are on this link. */
gboolean ibh_route_leads_through(const IbhRoute *route, int ifindex);
