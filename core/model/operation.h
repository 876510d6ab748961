/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A change to the kernel as a value: typed, with its inverse, and as the command a person would paste. Pure.
 */
#pragma once

#include "model/model.h"
#include "model/text.h"

typedef enum {
    IBH_OP_RULE_ADD,
    IBH_OP_RULE_DEL,
    IBH_OP_ROUTE_ADD,
    IBH_OP_ROUTE_REPLACE,
    IBH_OP_ROUTE_DEL,
    IBH_OP_SYSCTL_SET,
    IBH_OP_ANNOUNCE,
    IBH_OP_NEIGH_DEL
} IbhOpType;

typedef struct {
    IbhOpType type;
    int unit;             /* operations of one unit (a rail and family) stand or fall together */
    char iface[IFNAMSIZ]; /* the NIC it is done for; "": one that is gone */
    int ifindex;
    IbhRule rule;       /* rule-add, rule-del */
    IbhRoute route;     /* route-add, route-replace (the new one), route-del */
    IbhRoute replaced;  /* route-replace: the route that it replaces */
    gboolean for_good;  /* route-replace, route-del: its source is gone, or its gateway is ours now: the kernel takes it
                           no more */
    IbhSysctl key;      /* sysctl-set */
    int from, to;       /* sysctl-set */
    IbhIp ip;           /* announce, neigh-del */
    gboolean by_kernel; /* announce: the kernel's own ARP would choose this address as its source */
    char *hops;         /* of a multipath route, as its command says them; NULL: none */
    char *why;          /* one clause for people */
} IbhOp;

int ibh_op_family(const IbhOp *op);
const char *ibh_op_name(IbhOpType type); /* "rule-add", … */
void ibh_op_free(IbhOp *op);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IbhOp, ibh_op_free)

/* What a person would paste to do the same. */
char *ibh_op_command(const IbhOp *op);

/* The domain of an error that leaves open whether the operation was done: rolling back takes it for done. */
#define IBH_ANSWER_LOST (g_quark_from_static_string("ibh-answer-lost"))

/* What undoes it; FALSE where nothing has to (announce, neigh-del). */
gboolean ibh_op_inverse(const IbhOp *op, IbhOp *ret_inverse);
