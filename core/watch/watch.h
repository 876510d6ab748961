/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --watch: it stays, and starts an event (run/run.h) when the kernel reports a change that no network manager
 * announces. The command ib-hook has it; hooks do not.
 */
#pragma once

#include <glib.h>

/* `config`, `sysfs`: NULL for the system's. Until SIGTERM or SIGINT; SIGHUP looks at once, by the configuration that
 * the files have. FALSE: it could not begin. */
gboolean ibh_watch_run(const char *config, const char *sysfs);

/* ---- parts of it ---- */

/* holder_io.c: "NAME (PID)" of the one process of this network namespace that can have this netlink port; NULL: there
 * is none, or it has ended. A guess: a process may choose its port. */
char *ibh_netlink_port_holder(guint32 port);

/* missing_io.c: which rails are missing, in the journal: once when it begins, once when it ends. `last`: what was found
 * at the last look, first empty. `missed` (IbhKnownRail): NULL: not known now. What has been missing for a while is
 * said, and its end at once. Returns when there may be more to say (G_MAXINT64: when something happens). */
gint64 ibh_missing_log(GArray **last, GArray *missed, gint64 now);

/* systemd_io.c: silent without systemd. */
void ibh_notify(const char *state); /* "READY=1", "STATUS=…", "WATCHDOG=1" … */
/* How often systemd expects a sign of life, in microseconds; 0: never. */
gint64 ibh_notify_interval(void);
