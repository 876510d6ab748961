/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The steps of a run, for events (event.c) and commands: open → configure → look → decide → change. Commands configure
 * before they open.
 */
#pragma once

#include "config/trigger.h"
#include "host/snapshot.h"
#include "host/store.h"
#include "plan/plan.h"

#include <syslog.h>

#define IBH_RUN_ERROR (g_quark_from_static_string("ibh-run-error"))

typedef struct IbhRun {
    /* The request. */
    const char *config_path; /* NULL for /etc/ib-hook */
    const char *sysfs;       /* /sys or a copy */
    const char *const *only; /* interfaces; NULL for all */
    gboolean is_event;       /* the run is for an event: it changes no holds, and a time limit may interrupt a change */
    gboolean writes;         /* the run changes the kernel or our files, so it takes the lock */
    gboolean undo;           /* the run is --undo or, with a plan(), takes back an unconfirmed --apply */
    /* Makes the plan; NULL for the plan of --apply or --undo. */
    GPtrArray *(*plan)(const struct IbhRun *run);
    /* Updates the state after the change; if NULL, ibh_run_change() itself remembers rails and holds. */
    void (*remember)(const struct IbhRun *run, IbhState *state);
    gconstpointer data;      /* for plan() and remember() */
    gboolean respects_holds; /* leave held and kept NICs alone */
    GString *warnings;       /* lines that ibh_run_warn() adds; owned by the caller */

    /* The results so far. */
    IbhConfig *config;
    gboolean bad_config; /* with `undo`: files are bad, or table= settings conflict, so `config` has the defaults */
    IbhNetlink *netlink;
    IbhStore *store;     /* NULL if it could not be opened: then old sysctl values and holds are not remembered */
    gboolean is_unsaved; /* the state could not be saved */
    gboolean has_holds;  /* the saved state has holds */
    IbhState *state;     /* as read; the snapshot has a copy, adapted to its links (ibh_state_match_links()) */
    IbhSnapshot *snapshot;
    IbhRails *rails;
    GArray *spared;     /* int: the ifindexes of spared NICs; NULL before ibh_plan_restrain(), and for commands */
    gboolean announced; /* we tried to announce, and have not paused since: peers may still send to another NIC */
    int packet_socket;  /* for announcements; -1 if not open */
} IbhRun;

void ibh_run_warn(IbhRun *run, const char *message);

/* Drops capabilities, opens netlink, takes the lock if the run writes, reads the saved state. Fails if netlink cannot
 * be opened, if another run keeps the lock for `lock_seconds`, or if the state cannot be read. If the store cannot be
 * opened, or if the lock fails for another reason, warns and goes on. */
gboolean ibh_run_open(IbhRun *run, int lock_seconds, GError **error);
void ibh_run_close(IbhRun *run); /* frees the results; to be called even if ibh_run_open() failed */
/* Reads the configuration. If it is bad, a run with `undo` warns, and goes on with the default configuration; any other
 * run fails. */
gboolean ibh_run_configure(IbhRun *run, GError **error);
/* Warns of the problem, and replaces the configuration with the default configuration. */
void ibh_run_forget_config(IbhRun *run, const GError *problem);

gboolean ibh_run_look(IbhRun *run, GError **error); /* takes a new snapshot */
/* Finds the rails, and returns the plan (IbhOp *), which the caller frees, or NULL on an error. */
GPtrArray *ibh_run_decide(IbhRun *run, GError **error);
/* Runs the plan, and saves the state. Saves old sysctl values before the first change, so that a crash loses none.
 * Never returns NULL. The outcome has the errors of operations; IbhRun.is_unsaved tells if the state was not saved. */
IbhOutcome *ibh_run_change(IbhRun *run, const GPtrArray *plan);

/* ---- the run for an event: like --apply, but it leaves held and kept NICs alone, and drops what an event must not do
 * now (plan/restraint.c) ---- */

typedef struct {
    const char *cause;  /* for the journal */
    const char *config; /* NULL for /etc/ib-hook */
    const char *sysfs;  /* /sys or a copy */
    IbhRestraint restraint;
    /* Each function may be NULL. configure() is called when the files have been read, and may replace run->config,
     * which is NULL if the files are bad. after() is called at the end of each run (an event may have two runs); its
     * `outcome` is NULL if the run ended before the change. */
    void (*configure)(gpointer data, IbhRun *run);
    void (*after)(gpointer data, IbhRun *run, const IbhOutcome *outcome);
    gpointer data;
} IbhEvent;

/* Does the run for an event, and a second run if an operation of the first one fails. Writes lines to the journal about
 * what changed (ibh_ops_log_text()), and about problems. `complained` has the problems of the previous event, and gets
 * those of this event. If both are equal, writes no problem: a lasting problem is reported once. Returns FALSE if the
 * final run ended before the change, or if one of its operations failed. */
gboolean ibh_event_run(const IbhEvent *event, GString *complained);

/* ---- a hook: one or more runs over all interfaces, in a process that never harms its caller ---- */

int ibh_hook_run(const IbhTrigger *trigger); /* returns 0, the exit status */

/* ---- lines for the journal, else syslog; these functions never block ---- */

/* `priority` is LOG_WARNING, LOG_INFO, … With `or_stderr`, writes a line to standard error if neither the journal nor
 * syslog takes the line. A command such as --apply needs no `or_stderr`, because its own output says the same. */
void ibh_log_lines(int priority, const char *lines, gboolean or_stderr);
/* Sends a datagram to the socket at this path, or with this abstract name ("@…"). Returns FALSE if that fails, for
 * example because nobody listens or the socket is full. A signal handler calls this function, so it must not allocate
 * memory or take locks. */
gboolean ibh_datagram_send(int fd, const char *path, const char *text, gsize length);

/* ---- the start of main(): prevents core dumps, sets the umask, ignores SIGXFSZ, and opens descriptors 0 to 2 if the
 * caller closed them ---- */

void ibh_process_start(void);

/* ---- a hook that SELinux or a container forbids to act ---- */

/* Tests the accesses that every run needs. If root is refused one of them, replaces the warnings with a line that names
 * this access, or with nothing if such a line was reported since the last boot. */
void ibh_confined_explain(GString *warnings);
