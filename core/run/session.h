/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One run, from the command line to the report: shared by run.c, change.c and look.c.
 */
#pragma once

#include "kernel/announce.h"
#include "fabric/read_io.h"
#include "cli/options.h"
#include "cli/report.h"
#include "run/event.h"
#include "host/snapshot.h"
#include "host/store.h"

/* Properties that follow from the caller of a run. */
typedef struct {
    const IbhWriter *problems; /* the form of warnings */
    int lock_seconds;
    gboolean configures_late; /* read the configuration only with the lock held: then other runs may leave their work to
                                 this one */
    gboolean keeps_holds;     /* as they are: only a command sets and lifts them */
    gboolean keeps_alarm;     /* its own time limit holds during a change */
} IbhRunMode;

extern const IbhRunMode ibh_run_on_command, ibh_run_on_event;

typedef struct {
    const IbhOptions *options;
    const IbhRunMode *mode;
    IbhReconcile *event; /* NULL: a command */
    const char *const *only;
    const IbhWriter *writer;
    IbhStyle style;
    GString *out;
    GString *warnings;

    IbhConfig *config;
    gboolean bad_config; /* and the defaults replace it */
    gboolean refused;    /* the kernel refused some operation */
    gboolean restrained; /* some operation was left undone on purpose */
    IbhNetlink *netlink;
    gboolean is_done;   /* another hook did the work */
    gboolean has_begun; /* so other runs may leave their work to this one */
    IbhStore *store;    /* NULL: without one; then old sysctl values and holds are not remembered */
    IbhState *on_file;  /* the saved state as it was read, before parts of it were dropped */
    IbhSnapshot *snapshot;
    IbhRails *rails;
    IbhFabric *fabric; /* --show, --check */
    IbhAnnouncer announcer;
    gboolean announced; /* just now: peers may still send to the other NIC */
} IbhRun;

void ibh_run_warn(IbhRun *run, const char *message);
int ibh_run_fail(IbhRun *run, int status, const GError *error);
IbhPlan *ibh_run_make_plan(IbhRun *run);
/* TRUE while a process waits for --confirm; with a token in the options, only if it is that token's process. */
gboolean ibh_run_has_token(const IbhRun *run);
