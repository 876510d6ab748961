/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The steps of one run, for events (event.c) and commands: open → configure → look → decide → change.
 */
#pragma once

#include "config/trigger.h"
#include "host/snapshot.h"
#include "host/store.h"
#include "plan/plan.h"

#include <syslog.h>

#define IBH_RUN_ERROR (g_quark_from_static_string("ibh-run-error"))

typedef struct IbhRun {
    /* What is asked for. */
    const char *config_path; /* NULL: the system's */
    const char *sysfs;
    const char *const *only; /* interfaces; NULL: all */
    gboolean is_event;       /* holds stay, and its own time limit holds during a change */
    gboolean writes;
    gboolean undo;
    /* What is planned instead of --apply or --undo, and remembered instead of rails and holds; NULL: these. */
    GPtrArray *(*plan)(const struct IbhRun *run);
    void (*remember)(const struct IbhRun *run, IbhState *state);
    gconstpointer data;      /* for these functions */
    gboolean respects_holds; /* when it looks for rails */
    const char *speaker;     /* before each warning */
    GString *warnings;

    /* What is known. */
    IbhConfig *config;
    gboolean bad_config; /* and the defaults replace it: --undo */
    IbhNetlink *netlink;
    IbhStore *store;  /* NULL: without one; then old sysctl values and holds are not remembered */
    gboolean forgets; /* the state could not be written */
    gboolean holds;   /* the state that was written has holds */
    IbhState *state;  /* as it was read, before parts of it were dropped */
    IbhSnapshot *snapshot;
    IbhRails *rails;
    GArray *spared;      /* int: NICs that an event left alone; NULL: it did not come so far */
    gboolean restrained; /* some operation was left undone on purpose */
    gboolean announced;  /* just now: peers may still send to the other NIC */
    IbhAnnouncer announcer;
} IbhRun;

void ibh_run_warn(IbhRun *run, const char *message);

/* Gives up capabilities, opens netlink and, to write, takes the lock; reads the saved state. */
gboolean ibh_run_open(IbhRun *run, int lock_seconds, GError **error);
void ibh_run_close(IbhRun *run);
gboolean ibh_run_configure(IbhRun *run, GError **error);

void ibh_run_forget_config(IbhRun *run, const GError *problem);

gboolean ibh_run_look(IbhRun *run, GError **error);
/* Finds the rails, and plans. */
GPtrArray *ibh_run_decide(IbhRun *run, GError **error);
/* Old values are stored before the first change, so that a crash loses none. */
IbhOutcome *ibh_run_change(IbhRun *run, const GPtrArray *plan);
/* missing.c: brings what is known of hardware that was a rail (IbhKnownRail) up to date. Where something was refused, a
 * new rail may not stand: it can't be missed. */
void ibh_run_know(const IbhRun *run, GArray *known, gboolean refused);

/* ---- a run on an event: like --apply, but holds stay, and restraint is used ---- */

typedef struct {
    const char *cause;  /* for the journal */
    const char *config; /* NULL: the system's */
    const char *sysfs;
    IbhRestraint restraint;
    /* Each may be NULL. May put another configuration in the place of what the files say (NULL: it could not be
     * read). */
    void (*configure)(gpointer data, IbhRun *run);
    void (*done)(gpointer data, const IbhOp *op); /* called for each change that stands */
    void (*after)(gpointer data, IbhRun *run);    /* called at the end of each run, however far it came */
    gpointer data;
} IbhEvent;

/* One line per changed interface goes to the journal, and one per problem, unless all equal those of the last run in
 * `complained`: a lasting problem is reported once, not at every event. FALSE: something failed. */
gboolean ibh_event_run(const IbhEvent *event, GString *complained);

/* ---- what a hook does: one run over all interfaces, in its own process, which never harms the caller ---- */

int ibh_hook_run(const IbhTrigger *trigger); /* returns 0, the exit status */

/* ---- lines for the journal, else syslog, else standard error; it never waits ---- */

void ibh_log_lines(int priority, const char *lines); /* LOG_WARNING, LOG_INFO … */
/* Of a command: never to standard error, which has its report. */
void ibh_log_command(int priority, const char *lines);
/* Sends a datagram to the socket at this path, or ("@…") of this abstract name; FALSE: nothing listens there, or not
 * now. A signal handler calls it, too: no memory, no locks. */
gboolean ibh_datagram_send(int fd, const char *path, const char *text, gsize length);

/* ---- the first code of main(): the caller's leftovers are put into an order that later code relies on ---- */

void ibh_process_start(void);

/* ---- a hook that may not act although it is root's: SELinux does not let it ---- */

/* Tests the accesses that every run needs. If some are forbidden, replaces the warnings by one line that says so and
 * what to do; by none if that was reported since the last boot. */
void ibh_confined_explain(GString *warnings);
