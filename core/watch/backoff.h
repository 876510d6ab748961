/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When another program undoes our changes again and again, --watch leaves alone what they are about, for longer and
 * longer pauses. Times are in microseconds. Pure.
 */
#pragma once

#include "model/operation.h"

GArray *ibh_backoff_new(void);

/* Notes a change that was made by the run of that time; `was_taken`: another process had deleted what it adds. Returns
 * for how many seconds its unit is left alone from now on; 0: it is not. */
int ibh_backoff_note(GArray *backoff, const IbhOp *op, gboolean was_taken, gint64 now);

/* What this NIC should have has changed meanwhile: its sysctls may have been set by another hook, and rightly. */
void ibh_backoff_forgive(GArray *backoff, int ifindex);

gboolean ibh_backoff_leaves_alone(const GArray *backoff, const IbhUnit *unit, gint64 now); /* alone, at that time */
/* When the first of those that are left alone may be tried again; G_MAXINT64: none is. */
gint64 ibh_backoff_next(const GArray *backoff, gint64 now);
