/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel's reports say since the last look: why to look, whether it is about our NICs, and who deletes what is
 * ours.
 */
#pragma once

#include "model/operation.h"

struct nlmsghdr;

/* Something of ours that another process deleted: a rule for this source, or a route of this table. */
typedef struct {
    int family;
    IbhIp from;    /* AF_UNSPEC: a route */
    guint32 table; /* 0: a rule */
    guint32 port;  /* the netlink port of that process */
} IbhTaken;

typedef struct {
    const GArray *nics; /* int: ours; NULL: not known */
    gboolean ours;      /* a report concerns these NICs, or says that something of ours was deleted */
    const char *first;  /* what changed first, one of `ours` before others: "an address changed"; NULL: nothing did */
    GArray *taken;      /* IbhTaken, each once */
    GArray *moved;      /* int: those of the NICs whose link or addresses came, went or changed */
} IbhHeard;

void ibh_heard_init(IbhHeard *heard);
void ibh_heard_clear(IbhHeard *heard);
void ibh_heard_forget(IbhHeard *heard); /* all that was answered: a look begins */

/* An IbhHear: `data` is what is heard so far. */
void ibh_heard_add(gpointer data, struct nlmsghdr *header);

/* The netlink port of the process that deleted what this operation adds; 0: none did. */
guint32 ibh_heard_taker(const IbhHeard *heard, const IbhOp *op);
