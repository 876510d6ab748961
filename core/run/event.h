/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A run on an event, as the hooks and --watch make it.
 */
#pragma once

#include "model/operation.h"
#include "plan/restraint.h"

#define IBH_RUN_ERROR (g_quark_from_static_string("ibh-run-error"))

/* A run on an event: like --apply, but holds stay and restraint is used. It writes one line per changed interface
 * (`out`) and one per problem (`warnings`). */
typedef struct {
    const char *config;   /* NULL: the system's */
    const char *sysfs;    /* NULL: the system's */
    gboolean one_of_many; /* a later run of the same kind that begins while this one waits may do its work */
    gboolean hurries;     /* hooks wait for it: if the lock is not free soon, it gives up (busy) */
    IbhRestraint restraint;
    void (*done)(gpointer data, const IbhOp *op); /* called for each change that stands; may be NULL */
    gpointer data;
    GArray *spared;     /* out: int, the NICs that were spared; NULL: it did not come so far */
    GArray *candidates; /* out: int; NULL: it did not come so far */
    gboolean busy;      /* out: another process had the lock all the time */
    guint32 port;       /* out: of the socket that made the changes */
} IbhReconcile;
