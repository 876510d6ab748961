/*
 * The pipeline: lock → configuration → snapshot → plan → apply → report.
 */
#pragma once

#include "cli/options.h"
#include "plan/restraint.h"

#define IBH_RUN_ERROR (g_quark_from_static_string("ibh-run-error"))

/* What went to the user: `out` for standard output, `warnings` for standard error. Returns the exit status. */
int ibh_run(const IbhOptions *options, gboolean color, GString *out, GString *warnings);

/* A run on an event: like --apply, but holds stay, restraint is used, and what is said is one line per interface that
 * changed (`out`) and per problem (`warnings`). */
typedef struct {
    const char *config;   /* NULL: the system's */
    const char *sysfs;    /* NULL: the system's */
    gboolean one_of_many; /* another one like it that begins while this one waits may do its work */
    IbhRestraint restraint;
    void (*done)(gpointer data, const IbhOp *op); /* told of each change that stands; may be NULL */
    gpointer data;
    GArray *spared;     /* out: int, the NICs that were; NULL: it did not come so far */
    GArray *candidates; /* out: int; NULL: it did not come so far */
    guint32 port;       /* out: of the socket that the changes were made by */
} IbhReconcile;

/* Its last results, if any, are freed. */
void ibh_reconcile_clear(IbhReconcile *how);
int ibh_reconcile(IbhReconcile *how, GString *out, GString *warnings);
