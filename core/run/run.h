/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The steps of one run, for events and commands: lock → configuration → snapshot → rails → plan → change.
 */
#pragma once

#include "host/snapshot.h"
#include "host/store.h"
#include "kernel/announce.h"
#include "plan/apply.h"
#include "plan/rails.h"

#define IBH_RUN_ERROR (g_quark_from_static_string("ibh-run-error"))

typedef struct {
    /* What is asked for. */
    const char *config_path; /* NULL: the system's */
    const char *sysfs;
    const char *const *only; /* interfaces; NULL: all */
    gboolean is_event;       /* holds stay, and its own time limit holds during a change */
    gboolean writes;
    gboolean undo;
    gboolean respects_holds; /* when it looks for rails */
    const char *speaker;     /* before each warning */
    GString *warnings;

    /* What is known. */
    IbhConfig *config;
    gboolean bad_config; /* and the defaults replace it: --undo */
    IbhNetlink *netlink;
    IbhStore *store;  /* NULL: without one; then old sysctl values and holds are not remembered */
    gboolean forgets; /* the state cannot be written, which was said */
    IbhState *state;  /* as it was read, before parts of it were dropped */
    IbhSnapshot *snapshot;
    IbhRails *rails;
    gboolean restrained; /* some operation was left undone on purpose */
    IbhAnnouncer announcer;
    gboolean announced; /* just now: peers may still send to the other NIC */
} IbhRun;

void ibh_run_warn(IbhRun *run, const char *message);

/* Gives up capabilities, opens netlink and, to write, takes the lock. */
gboolean ibh_run_open(IbhRun *run, int lock_seconds, GError **error);
void ibh_run_close(IbhRun *run);
gboolean ibh_run_configure(IbhRun *run, GError **error);
gboolean ibh_run_load(IbhRun *run, GError **error); /* the saved state */

/* Everything is read; then the rails are found. */
gboolean ibh_run_read(IbhRun *run, GError **error);
gboolean ibh_run_find_rails(IbhRun *run, GError **error);
/* The same of what is near, if that is enough: then `rails` is set. */
gboolean ibh_run_look_near(IbhRun *run, GError **error);

IbhPlan *ibh_run_plan(IbhRun *run);
/* Old values are stored before the first change, so that a crash loses none. */
IbhOutcome *ibh_run_change(IbhRun *run, const IbhPlan *plan);
/* IbhMissed: what was a rail and is none, and why. */
GArray *ibh_run_missed(IbhRun *run);
/* What a command holds back, or releases, in the state. */
void ibh_run_update_holds(const IbhRun *run, const IbhPlan *plan, IbhState *state);
