/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * desired − actual = a plan: operations (IbhOp *) in order. Pure: linked into its tests without libnl.
 */
#pragma once

#include "model/operation.h"
#include "plan/rails.h"

/* Of the interfaces that the run is about (IbhRails.only). */
GPtrArray *ibh_plan_apply(const IbhRails *rails);

/* Deletes all that is ours on these interfaces, and restores sysctls. `after`: the rails as they will be when these
 * interfaces are held; NULL: none stays. */
GPtrArray *ibh_plan_undo(const IbhRails *rails, const IbhRails *after);

/* ---- running it: all or nothing per unit; the kernel is a function, which tests replace ---- */

typedef gboolean (*IbhExecute)(gpointer kernel, const IbhOp *op, GError **error);

typedef struct {
    GPtrArray *done;   /* const IbhOp *: operations that were done and not rolled back, in order */
    GPtrArray *errors; /* char *: one message per unit that failed and was rolled back */
} IbhOutcome;

IbhOutcome *ibh_plan_execute(const GPtrArray *plan, IbhExecute execute, gpointer kernel);
void ibh_outcome_free(IbhOutcome *outcome);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IbhOutcome, ibh_outcome_free)

/* ---- what a run on an event leaves out ---- */

/* systemd-networkd 252 takes every address away when it restarts, and adds it again up to 165 ms later. Hooks run in
 * between, the last one too: if they cleaned up then, no later event would repair it. */
typedef struct {
    const char *const *down; /* interfaces that were taken down on purpose, NULL at the end; NULL: none */
    const GArray *given_up;  /* int: NICs whose addresses have been away for long enough; NULL: none */
    const GArray *backoff;   /* which units another program undoes again and again … */
    gint64 now;              /* … at this time; NULL: none */
} IbhRestraint;

/* Removes operations that should not run now. Returns the NICs (int) that were spared: their addresses may come back in
 * a moment. */
GArray *ibh_plan_restrain(GPtrArray *plan, const IbhRails *rails, const IbhRestraint *restraint);

/* ---- when another program undoes our changes again and again; times are in microseconds ---- */

GArray *ibh_backoff_new(void);

/* Notes a change that was made by the run of that time; `was_taken`: another process had deleted what it adds. Returns
 * for how many seconds its unit is left alone from now on; 0: it is not. */
int ibh_backoff_note(GArray *backoff, const IbhOp *op, gboolean was_taken, gint64 now);

/* What this NIC should have has changed meanwhile: its sysctls may have been set by another hook, and rightly. */
void ibh_backoff_forgive(GArray *backoff, int ifindex);

gboolean ibh_backoff_leaves(const GArray *backoff, const IbhUnit *unit, gint64 now); /* alone, at that time */
/* When the first of those that are left alone may be tried again; G_MAXINT64: none is. */
gint64 ibh_backoff_next(const GArray *backoff, gint64 now);

/* ---- what a run on an event says of its changes: one line per interface ---- */

/* The snapshot: for the names of NICs that are gone, and for why something was removed. */
char *ibh_ops_log_text(const GPtrArray *done, const IbhSnapshot *snapshot, const char *cause); /* const IbhOp * */
