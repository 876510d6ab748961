/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A run on an event, as the hooks and --watch make it: like --apply, but holds stay and restraint is used.
 */
#pragma once

#include "model/operation.h"
#include "plan/restraint.h"

typedef struct {
    const char *config; /* NULL: the system's */
    const char *sysfs;
    IbhRestraint restraint;
    void (*done)(gpointer data, const IbhOp *op); /* called for each change that stands; may be NULL */
    gpointer data;
    GArray *spared;     /* out: int, the NICs that were spared; NULL: it did not come so far */
    GArray *candidates; /* out: int; NULL: it did not come so far */
    GArray *missed;     /* out: IbhMissed; NULL: it did not come so far */
    guint32 port;       /* out: of the socket that made the changes */
} IbhEvent;

/* One line per changed interface goes to `out`, one per problem to `warnings`. FALSE: something failed. */
gboolean ibh_event_run(IbhEvent *event, GString *out, GString *warnings);
/* Frees the last results, if any. */
void ibh_event_clear(IbhEvent *event);
