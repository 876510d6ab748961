/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A change to the kernel as a value: typed, with its inverse, and as the command a person would paste. Pure.
 */
#pragma once

#include "model/model.h"

typedef enum { /* in the order in which reports name them: what is missing, what is left over, what follows */
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
    IBH_UNIT_NONE,  /* of a NIC that has disappeared: each operation stands alone */
    IBH_UNIT_NIC,   /* of one family of one NIC */
    IBH_UNIT_MOVES, /* of one family of all rails that take each other's tables */
    IBH_UNIT_SPREAD /* of main=spread */
} IbhUnitKind;

/* Operations that stand or fall together. */
typedef struct {
    IbhUnitKind kind;
    int family;
    int ifindex; /* of one NIC */
} IbhUnit;

typedef struct {
    IbhOpType type;
    IbhUnit unit;
    char iface[IFNAMSIZ]; /* the NIC whose operation this is; "": the NIC has disappeared */
    int ifindex;
    IbhRule rule;       /* rule-add, rule-del */
    IbhRoute route;     /* route-add, route-replace (the new one), route-del */
    IbhRoute replaced;  /* route-replace: the route that it replaces */
    gboolean for_good;  /* route-replace, route-del: the kernel would not take the old route again, because its source
                           address has gone, or its gateway has become our own address */
    IbhSysctl key;      /* sysctl-set */
    int from, to;       /* sysctl-set */
    IbhIp ip;           /* announce */
    gboolean by_kernel; /* announce: the kernel's own ARP would choose this address as its source */
    char *hops;         /* of a multipath route, as its command says them; NULL: none */
    char *why;          /* one clause for people */
} IbhOp;

typedef enum { IBH_RULE, IBH_ROUTE, IBH_SYSCTL, IBH_PEERS /* what they know */ } IbhWhat;

const char *ibh_op_name(IbhOpType type); /* "rule-add", … */
const char *ibh_op_done(IbhOpType type); /* "added", … */
gboolean ibh_op_removes(IbhOpType type); /* a rule or a route */
IbhWhat ibh_op_what(const IbhOp *op);
gboolean ibh_unit_is_same(const IbhUnit *a, const IbhUnit *b); /* FALSE also of those that stand alone */
char *ibh_op_describe(const IbhOp *op);                        /* "rule from 172.16.34.2 to table 942" */
void ibh_op_free(IbhOp *op);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IbhOp, ibh_op_free)

/* The command that does the same. The caller frees it. */
char *ibh_op_command(const IbhOp *op);
/* Of any route, in the words of ip, behind its verb: for a person, or as a command takes them. The caller frees it.
 * `iface`: of the route, quoted, NULL: none; `hops`: of a multipath route's command. */
char *ibh_route_text(const IbhRoute *route, const char *iface, const char *hops, gboolean command);

/* " table 941", " lookup main": main and local by name. */
void ibh_table_put(GString *text, const char *word, guint32 table);
const char *ibh_protocol_name(guint8 protocol, char buffer[8]); /* as ip names it, or the number */

/* The domain of an error after which it is not known whether the operation was done: rolling back assumes it was. */
#define IBH_ANSWER_LOST (g_quark_from_static_string("ibh-answer-lost"))

/* The operation that reverts it; FALSE if none is needed (announce, neigh-del). */
gboolean ibh_op_inverse(const IbhOp *op, IbhOp *ret_inverse);
