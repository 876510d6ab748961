/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where Linux would send a packet: rules, tables, longest prefix, in a few lines that a person can check.
 *
 * It reads a snapshot whose rules and routes are in the order that fake_kernel.c keeps: rules by priority, first
 * added first; routes by table, longest prefix first, lowest metric first, first added first. A packet has no mark,
 * no port and no incoming interface, so a rule that asks for one never matches.
 */
#pragma once

#include "model/model.h"

typedef enum { FIB_UNREACHABLE, FIB_LOCAL, FIB_BROADCAST, FIB_DEVICE } FibKind;

typedef struct {
    FibKind kind;
    int ifindex;           /* of FIB_DEVICE: where it leaves; of a multipath route: the first that is alive */
    guint64 devices;       /* a bit per ifindex (fib_bit): all by which it may leave */
    const IbhRule *rule;   /* what decided; NULL: no rule matched. Borrowed from the world */
    const IbhRoute *route; /* NULL: none */
    const IbhRule *jump;   /* the first goto on its way; NULL: none */
} FibAnswer;

/* The nexthops of a multipath route ("2 3!"), or its one device. */

guint64 fib_bit(int ifindex);

/* `from` NULL: a socket that is not bound; rules with a source do not match it. */
FibAnswer fib_lookup(const IbhSnapshot *world, const IbhIp *from, const IbhIp *to);

/* The routes of a table, one after the other; NULL: no more. */
const IbhRoute *fib_first(const IbhSnapshot *world, guint32 table);
const IbhRoute *fib_next(const IbhSnapshot *world, const IbhRoute *route);

/* `from` NULL: it has no source yet; `to` NULL: to somewhere. */
gboolean fib_rule_matches(const IbhRule *rule, int family, const IbhIp *from, const IbhIp *to);

char *fib_describe(const IbhSnapshot *world, const FibAnswer *answer);
