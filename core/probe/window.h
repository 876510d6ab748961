/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --probe: which echo is sent next, and when. A window slides over the pairs, so that the neighbour table never holds
 * more entries of ours than it has room for: a new pair is asked after an earlier one is over and its entry deleted.
 * Pure.
 */
#pragma once

#include "probe/probe.h"

typedef struct {
    IbhProbe *probe;
    guint *asked;      /* asked[n]: how many pairs, from the first on, were asked for the n-th time */
    guint oldest;      /* all pairs before it are over */
    guint room[2];     /* new entries that may come now: IPv4, IPv6 */
    guint standing[2]; /* entries of pairs that were not released */
} IbhProbeWindow;

typedef struct {
    guint pair, number;
    gint64 due; /* µs */
} IbhProbeSlot;

void ibh_probe_window_init(IbhProbeWindow *window, IbhProbe *probe);
void ibh_probe_window_clear(IbhProbeWindow *window);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IbhProbeWindow, ibh_probe_window_clear)

/* How many entries may be added to a table with so many entries: up to gc_thresh2, above which the kernel deletes old
 * ones, perhaps those of other programs; a fuller table gets half of its free room. */
guint ibh_probe_room(const IbhNeighbourTable *table);

/* The echo that is due first. FALSE: none, until a pair is over, or there is none left. */
gboolean ibh_probe_window_next(const IbhProbeWindow *window, gint64 now, IbhProbeSlot *ret_slot);
/* It was sent, or could not be sent. */
void ibh_probe_window_take(IbhProbeWindow *window, const IbhProbeSlot *slot, gint64 now);
/* Appends the pairs (guint) that are over by now: all echoes sent, and answered or given up. */
void ibh_probe_window_collect(IbhProbeWindow *window, gint64 now, GArray *pairs);
/* The entry of a pair that is over is gone. */
void ibh_probe_window_release(IbhProbeWindow *window, guint pair);
gboolean ibh_probe_window_is_done(const IbhProbeWindow *window);
