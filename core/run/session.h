/*
 * One run, from the command line to the report: what run.c, change.c and look.c share.
 */
#pragma once

#include "kernel/announce.h"
#include "host/fabric_read.h"
#include "cli/options.h"
#include "cli/report.h"
#include "run/event.h"
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

void ibh_run_warn(IbhRun *run, const char *message);
int ibh_run_fail(IbhRun *run, int status, const GError *error);
IbhPlan *ibh_run_make_plan(IbhRun *run);
/* Is somebody waiting for --confirm, and (with a token in the options) for this one? */
gboolean ibh_run_has_token(const IbhRun *run);
