/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel's reports say since the last look: why to look, whether it is about our NICs, and who deletes what is
 * ours.
 */
#pragma once

#include "model/operation.h"

struct nlmsghdr;

typedef struct {
    const GArray *nics; /* int: ours; NULL: not known */
    gboolean ours;      /* a report concerns these NICs, or says that something of ours was deleted */
    const char *first;  /* what changed first, one of `ours` before others: "an address changed"; NULL: nothing did */
    GHashTable *taken;  /* what of ours another process deleted, in words → the netlink port of that process */
    GArray *moved;      /* int: those of the NICs whose link or addresses came, went or changed */
} IbhHeard;

void ibh_heard_init(IbhHeard *heard);
void ibh_heard_clear(IbhHeard *heard);
void ibh_heard_forget(IbhHeard *heard); /* all that was answered: a look begins */

/* A change that others made, or the kernel. */
void ibh_heard_add(IbhHeard *heard, struct nlmsghdr *header);

/* The netlink port of the process that deleted what this operation adds; 0: none did. */
guint32 ibh_heard_taker(const IbhHeard *heard, const IbhOp *op);
