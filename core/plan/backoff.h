/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When another program undoes our changes again and again: which units to leave alone, and for how long. Pure: the
 * caller gives the time, in microseconds.
 */
#pragma once

#include "model/operation.h"

GHashTable *ibh_backoff_new(void);

/* Notes a change that was made; `contested`: another program may have undone it. Returns for how many seconds its unit
 * is left alone from now on; 0: it is not. */
int ibh_backoff_note(GHashTable *backoff, const IbhOp *op, gboolean contested, gint64 now);

/* Adds the units (int) that are left alone at that time, if `units` is not NULL. Returns when the first of them may be
 * tried again; G_MAXINT64: none is left alone. */
gint64 ibh_backoff_units(GHashTable *backoff, gint64 now, GArray *units);
