/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An operation is a value: one change of the kernel's state, or an announcement to peers. Each operation has a command
 * that a person can paste. An operation that can be taken back has an inverse. Pure.
 */
#pragma once

#include "model/model.h"

/* The most important type comes first: if several operations would repair a NIC, --check reports the one whose type
 * comes first (check/ours.c). */
typedef enum {
    IBH_OP_RULE_ADD,
    IBH_OP_ROUTE_ADD,
    IBH_OP_ROUTE_REPLACE,
    IBH_OP_SYSCTL_SET,
    IBH_OP_RULE_DEL,
    IBH_OP_ROUTE_DEL,
    IBH_OP_ANNOUNCE,
    IBH_OP_NEIGH_DEL
} IbhOpType;

typedef enum {
    IBH_UNIT_NONE,  /* no unit, because no NIC owns the rule or route any more: each operation stands or falls alone */
    IBH_UNIT_NIC,   /* one family of one NIC */
    IBH_UNIT_MOVES, /* one family of all rails that exchange tables in this run */
    IBH_UNIT_SPREAD /* main=spread */
} IbhUnitKind;

/* If an operation of a unit fails, the unit's other operations are taken back, if possible, or not done at all. */
typedef struct {
    IbhUnitKind kind;
    int family;
    int ifindex; /* for IBH_UNIT_NIC */
} IbhUnit;

typedef struct {
    IbhOpType type;
    guint step;   /* the first sort key of a plan (plan/order.c) */
    gint64 place; /* the second sort key */
    IbhUnit unit;
    /* The NIC; for an announcement, the NIC that sends. "" and 0 for main=spread, and if no NIC owns the rule or route
     * any more. */
    char iface[IFNAMSIZ];
    int ifindex;
    IbhRule rule;       /* rule-add, rule-del */
    IbhRoute route;     /* route-add, route-del, and the new route of route-replace */
    IbhRoute replaced;  /* the old route of route-replace */
    gboolean for_good;  /* route-replace, route-del: cannot be taken back, because the kernel would refuse the old route
                           now: one of its next hops is dead, its source address has gone, or its gateway is an
                           address of this host now */
    IbhSysctl key;      /* sysctl-set */
    int from, to;       /* sysctl-set: the present value, the new value */
    IbhIp ip;           /* announce */
    gboolean by_kernel; /* announce: the kernel can announce the address, because it would choose this address as the
                           source of its own ARP request for the address ("who has ADDR, tell ADDR") */
    char *hops;         /* the devices of a route of main=spread in ip's words: "nexthop dev ib0 nexthop dev ib1", or
                           "dev ib0"; NULL for other routes */
    const char *why;    /* the reason for the operation, if it is always the same; NULL if check/why.h has to find it */
} IbhOp;

typedef enum { IBH_RULE, IBH_ROUTE, IBH_SYSCTL, IBH_PEERS /* what peers know about us, or we about peers */ } IbhWhat;

const char *ibh_op_name(IbhOpType type); /* "rule-add", … */
gboolean ibh_op_removes(IbhOpType type); /* rule-del, route-del */
IbhWhat ibh_op_what(const IbhOp *op);
gboolean ibh_unit_is_same(const IbhUnit *a, const IbhUnit *b); /* FALSE for IBH_UNIT_NONE */
/* Returns a text such as "added rule from 172.16.34.2 to table 942", which the caller frees. */
char *ibh_op_describe(const IbhOp *op);
void ibh_op_free(IbhOp *op);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IbhOp, ibh_op_free)

/* Returns a shell command that does the same as the operation. (For neigh-del, "ip neigh flush" also deletes the
 * entries of control planes.) The caller frees the command. */
char *ibh_op_command(const IbhOp *op);
/* These two functions return a rule (without its priority) or a route in the words that follow the verb of ip(8). With
 * `command`, ip accepts the words; without `command`, the words are for people. `iface` is the NIC's name, quoted for a
 * shell; NULL: name no NIC. `hops` is IbhOp.hops. The caller frees the text. */
char *ibh_rule_text(const IbhRule *rule, gboolean command);
char *ibh_route_text(const IbhRoute *route, const char *iface, const char *hops, gboolean command);

void ibh_table_put(GString *text, const char *word, guint32 table); /* " table 941", " lookup main" */
const char *ibh_protocol_name(guint8 protocol, char buffer[8]);     /* ip's name for common ones, or the number */

/* The domain of an error after which we do not know whether the kernel did the operation. A rollback takes the
 * operation back, too. */
#define IBH_ANSWER_LOST (g_quark_from_static_string("ibh-answer-lost"))

/* Sets `ret_inverse` to the operation that reverts `op`. The inverse borrows the strings of `op`. Returns FALSE if
 * there is no inverse: with `for_good`, for announce, and for neigh-del. */
gboolean ibh_op_inverse(const IbhOp *op, IbhOp *ret_inverse);
