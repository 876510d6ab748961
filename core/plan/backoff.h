/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When another program undoes our changes again and again: which units to leave alone, and for how long. Pure: the
 * caller gives the time.
 */
#pragma once

#include "model/operation.h"

typedef struct IbhBackoff IbhBackoff;

IbhBackoff *ibh_backoff_new(void);
void ibh_backoff_free(IbhBackoff *backoff);

/* Notes a change that was made, at a time in microseconds; `contested`: another program may have undone it. Returns for
 * how many seconds its unit is left alone from now on; 0: it is not. */
int ibh_backoff_note(IbhBackoff *backoff, const IbhOp *op, gboolean contested, gint64 now);

/* int: units that are left alone at that time. */
GArray *ibh_backoff_units(IbhBackoff *backoff, gint64 now);
/* When the first of them may be tried again; -1: none is left alone. */
gint64 ibh_backoff_next(const IbhBackoff *backoff, gint64 now);
