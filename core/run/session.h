/*
 * Shared by run*.c only: one run, from the command line to the report.
 *
 *   run.c          getting ready, and the pipeline: a table of contents
 *   change.c       what changes something: --apply, --undo, --confirm
 *   look.c         what does not: --plan, --check, --show, --render, --probe, --capture
 */
#pragma once

#include "kernel/announce.h"
#include "host/fabric_read.h"
#include "cli/report.h"
#include "run/run.h"
#include "host/snapshot.h"
#include "host/store.h"

typedef struct {
    const IbhOptions *options;
    IbhReconcile *how; /* NULL: somebody asked for it on the command line */
    const char *const *only;
    const IbhWriter *writer;
    IbhStyle style;
    GString *out;
    GString *warnings;

    IbhConfig *config;
    gboolean bad_config; /* and the defaults stand in for it */
    gboolean refused;    /* by the kernel: some operation */
    IbhNetlink *netlink;
    gboolean is_done;   /* by another hook */
    gboolean has_begun; /* so others may leave it to this one */
    IbhStore *store;    /* NULL: without one; then old sysctl values and holds are not remembered */
    IbhState *on_file;  /* what is remembered, before anything of it was forgotten */
    IbhSnapshot *snapshot;
    IbhRails *rails;
    IbhFabric *fabric; /* --show, --check */
    IbhAnnouncer announcer;
    gboolean announced; /* just now: peers may still send to the other NIC */
} IbhRun;

/* Each action returns the exit status. */
int ibh_run_change(IbhRun *run);
int ibh_run_confirm(IbhRun *run);
int ibh_run_plan(IbhRun *run);
int ibh_run_check(IbhRun *run); /* --show, too */
int ibh_run_render(IbhRun *run);
int ibh_run_probe(IbhRun *run);
int ibh_run_capture(IbhRun *run);
int ibh_run_captured(IbhRun *run, IbhTree *tree);

/* ---- shared ---- */

void ibh_run_warn(IbhRun *run, const char *message);
int ibh_run_fail(IbhRun *run, int status, const GError *error);
IbhPlan *ibh_run_make_plan(IbhRun *run);
/* Is somebody waiting for --confirm, and (with a token in the options) for this one? */
gboolean ibh_run_has_token(const IbhRun *run);

/* A first installation: the NICs that would become rails, and have no carrier; NULL: none. */
char *ibh_run_rails_without_carrier(const IbhRun *run);
int ibh_run_hold_back(IbhRun *run, const char *names);
