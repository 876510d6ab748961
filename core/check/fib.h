/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A routing policy database as a value, and the way of one packet through it. Pure.
 *
 * It is made of any rules and routes: what the snapshot read, the same without ours, or what the host should be. Rules
 * and routes are borrowed, so what decides is the very object that was given.
 */
#pragma once

#include "model/model.h"

typedef struct IbhFib IbhFib;

/* A rule or route, as the cause of something; both NULL: none. */
typedef struct {
    const IbhRule *rule;
    const IbhRoute *route;
} IbhOwner;

/* What decides about a packet. */
typedef struct {
    const IbhRule *rule;     /* whose table answers, or which refuses; NULL: none does */
    const IbhRule *jump;     /* the first goto that was followed; NULL: none */
    const IbhRoute *thrower; /* the first that sent it on to the next rule past a route of its table; NULL: none */
    const IbhRoute *thrown;  /* that route */
    const IbhRoute *route;   /* NULL: the rule refuses, or none decides */
    const IbhLink *passed;   /* the first over whose route a rule of ours passed, for its link group; NULL: none */
    gsize unknown;           /* a sum of the rules before it of which only the kernel knows if they match */
    gboolean refused;        /* by the rule, by an error route, or because nothing decides */
} IbhTrace;

IbhFib *ibh_fib_new(const IbhSnapshot *snapshot); /* empty; the snapshot has the links */
void ibh_fib_free(IbhFib *fib);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IbhFib, ibh_fib_free)

/* Of one priority, the first that is added is asked first; of routes with one prefix and metric likewise. */
void ibh_fib_add_rule(IbhFib *fib, const IbhRule *rule);
void ibh_fib_add_route(IbhFib *fib, const IbhRoute *route);

/* IbhOwner: rules, and routes like these, that the walk passes by as if they were not there; NULL: none. */
void ibh_fib_set_without(IbhFib *fib, const GArray *without);

/* The walk goes as if the links whose group is our mark had the default one. */
void ibh_fib_regroup(IbhFib *fib);

/* As RDMA asks: mark 0, user 0, tos 0, no protocol and no port. With iif: it comes in. */
IbhTrace ibh_fib_walk(const IbhFib *fib, const IbhLookup *packet);
/* The best route of a table, by the NIC `bound` (0: any); NULL: none. */
const IbhRoute *ibh_fib_find(const IbhFib *fib, guint32 table, const IbhIp *to, int bound);

/* TRUE if the rule matches; a selector of which we do not know what it means never does. */
gboolean ibh_rule_matches(const IbhSnapshot *snapshot, const IbhRule *rule, const IbhLookup *packet);
/* TRUE if all that it sends goes by this NIC. */
IbhPrefix ibh_prefix_of_world(int family); /* 0.0.0.0/0, ::/0 */
gboolean ibh_route_leads_by(const IbhRoute *route, int ifindex);
