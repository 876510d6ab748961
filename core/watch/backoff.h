/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * If another program undoes our changes to a unit again and again, --watch leaves the unit alone for longer and longer
 * pauses. Times are in microseconds.
 */
#pragma once

#include "model/operation.h"

GArray *ibh_backoff_new(void);

/* Notes a change that a look made; `now` is when this look began, the same for all its changes. `was_taken`: another
 * process had deleted what the change adds. Returns for how many seconds --watch should now leave the unit alone; 0 if
 * it should not. */
int ibh_backoff_note(GArray *backoff, const IbhOp *op, gboolean was_taken, gint64 now);

/* Forgets which sysctl values we wrote to this NIC. Call it when the NIC's link or addresses have changed: a hook may
 * rightly have set other values since, which is not a fight. */
void ibh_backoff_forgive(GArray *backoff, int ifindex);

/* TRUE if --watch leaves this unit alone at the time `now`. */
gboolean ibh_backoff_leaves_alone(const GArray *backoff, const IbhUnit *unit, gint64 now);
/* Returns when the pause that ends first will end; G_MAXINT64 if no unit is left alone. */
gint64 ibh_backoff_next(const GArray *backoff, gint64 now);
