/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * desired − actual = a plan: operations (IbhOp *) in order. Pure: linked into its tests without libnl.
 */
#pragma once

#include "model/operation.h"
#include "plan/rails.h"

/* What shall stand when a plan is done, and which NICs the plan may change. */
typedef struct {
    const IbhNic *nic;
    gboolean selected;        /* its rules and routes may change */
    int value[IBH_N_SYSCTLS]; /* the present one, if it may not change */
} IbhWantedNic;

typedef struct {
    const IbhRails *rails;
    GArray *nics;     /* IbhWantedNic, by the position of the NIC */
    GArray *rules;    /* IbhRule: of the selected NICs, and of main=spread */
    GArray *routes;   /* IbhRoute: the same */
    gboolean spread;  /* the rules and routes of main=spread may change */
    gboolean orphans; /* what is left of addresses and NICs that have gone may go */
    gboolean waits;   /* what an address needs that is being checked for duplicates (IPv6) stays */
    const char *why;  /* the reason of every change; NULL: each has its own */
} IbhWanted;

/* wanted.c: what the configuration wants of the interfaces that the run is about (IbhRails.only); with IbhRails.undo
 * nothing. */
IbhWanted *ibh_wanted_new(const IbhRails *rails);
IbhWanted *ibh_wanted_empty(const IbhRails *rails); /* nothing is selected yet */
void ibh_wanted_free(IbhWanted *wanted);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IbhWanted, ibh_wanted_free)

/* order.c: the difference between what is wanted and what stands, in the order of one page. */
GPtrArray *ibh_plan_to(const IbhWanted *wanted);
GPtrArray *ibh_plan(const IbhRails *rails); /* to what the configuration wants */

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
    gboolean (*leaves)(gconstpointer data, const IbhUnit *unit); /* this unit alone: of --watch; NULL: none */
    gconstpointer data;
} IbhRestraint;

/* Removes operations that should not run now. Returns the NICs (int) that were spared: their addresses may come back in
 * a moment. */
GArray *ibh_plan_restrain(GPtrArray *plan, const IbhRails *rails, const IbhRestraint *restraint);

/* ---- what a run on an event says of its changes: one line per interface ---- */

/* The snapshot: for the names of NICs that are gone, and for why something was removed. */
char *ibh_ops_log_text(const GPtrArray *done, const IbhSnapshot *snapshot, const char *cause); /* const IbhOp * */
