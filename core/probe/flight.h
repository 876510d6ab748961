/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --probe: which packet is sent next, and when. Each pair has a turn: the time at which it has something to send, or to
 * give up. A window slides over the pairs, so that the neighbour table never holds more entries of ours than it has
 * room for: a new pair is asked after an earlier one is finished and its entry deleted. Pure.
 */
#pragma once

#include "probe/probe.h"

typedef struct {
    IbhProbe *probe;
    GSequence *turns;  /* guint: pairs, by their time */
    guint begun, gone; /* pairs */
    guint room[2];     /* new entries that may come now: IPv4, IPv6 */
    guint standing[2]; /* entries of pairs that are not gone */
    GArray *settled;   /* guint: pairs whose hardware address has to be read */
    GArray *finished;  /* guint: pairs whose entry has to go */
} IbhFlight;

typedef struct {
    guint pair;
    IbhProbeAsk ask;
    guint number; /* of an echo, its size with IBH_PROBE_SIZED */
} IbhShot;

void ibh_flight_init(IbhFlight *flight, IbhProbe *probe);
void ibh_flight_clear(IbhFlight *flight);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IbhFlight, ibh_flight_clear)

/* TRUE: this is to be sent now. FALSE: nothing is before `ret_due`. */
gboolean ibh_flight_next(IbhFlight *flight, gint64 now, IbhShot *ret_shot, gint64 *ret_due);
/* It was sent, or could not be sent: `sent` is FALSE where that proves nothing of the way. */
void ibh_flight_launched(IbhFlight *flight, const IbhShot *shot, gint64 now, gboolean sent);
void ibh_flight_retry(IbhFlight *flight, guint pair, gint64 at); /* its next shot, not before */
/* A pair has been answered: its turn is now. */
void ibh_flight_landed(IbhFlight *flight, guint pair);
/* The hardware addresses of the pairs that are settled are known: their questions follow. */
void ibh_flight_go_on(IbhFlight *flight, gint64 now);
/* The pair's entry is gone; or (FALSE) it has to grow old. */
void ibh_flight_end(IbhFlight *flight, guint pair, gint64 now, gboolean deleted);
gboolean ibh_flight_fits(const IbhFlight *flight); /* there is room for all entries at once */
gboolean ibh_flight_is_done(const IbhFlight *flight);

/* How many entries may be added to a table with so many entries: up to gc_thresh2, above which the kernel deletes old
 * ones, perhaps those of other programs; a fuller table gets half of its free room. */
guint ibh_probe_room(const IbhNeighbourTable *table);
