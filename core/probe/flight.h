/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --probe: which packet is sent next, and when. All pairs have their turn, one after the other: each has something to
 * send, or waits until a time, or is over. A window slides over them, so that the neighbour table never holds more
 * entries of ours than it has room for: a new pair is asked after an earlier one is finished and its entry deleted.
 * Pure.
 */
#pragma once

#include "probe/probe.h"

typedef struct {
    IbhProbe *probe;
    guint gone, begun; /* pairs: the window is from the one to the other */
    guint turn;        /* the pair that is next */
    guint room[2];     /* entries that may stand at a time: IPv4, IPv6 */
    guint standing[2]; /* entries of pairs that are not gone */
    gboolean settled;  /* some pair is, and waits for ibh_probe_learn() */
} IbhFlight;

typedef struct {
    guint pair;
    IbhProbeAsk ask;
    guint number; /* of an echo, its size with IBH_PROBE_SIZED */
} IbhShot;

/* TRUE: this is to be sent now. FALSE: unless something comes, nothing is before `ret_due`. */
gboolean ibh_flight_next(IbhFlight *flight, gint64 now, IbhShot *ret_shot, gint64 *ret_due);
/* It was sent, or could not be sent: `sent` is FALSE where that proves nothing of the way. */
void ibh_flight_launched(IbhFlight *flight, const IbhShot *shot, gint64 now, gboolean sent);
/* The finished pair is over, and its entry deleted. */
void ibh_flight_end(IbhFlight *flight, guint pair);

/* How many entries may be added to a table with so many entries: up to half of its limit, above which the kernel
 * deletes old ones, perhaps those of other programs; a fuller table gets half of its free room. */
guint ibh_probe_room(const IbhNeighbourTable *table);
