/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --watch is a process that keeps running, and starts an event (run/run.h) when the kernel reports a change. So it also
 * reacts to changes that no network manager announces. The command ib-hook contains --watch; hooks do not.
 */
#pragma once

#include <glib.h>

/* Runs until SIGTERM or SIGINT. SIGHUP starts an event at once, with the configuration that the files have now.
 * `config` is the path of --config; NULL for /etc/ib-hook. Returns FALSE if --watch could not begin. */
gboolean ibh_watch_run(const char *config, const char *sysfs);

/* ---- parts of --watch ---- */

/* holder_io.c: returns "NAME (PID)" of the process of this network namespace that probably has this netlink port. This
 * is a guess, because a process may choose its port. Returns NULL if no socket has the port any more, if no process
 * can be found that may have it, or if several may have it. */
char *ibh_netlink_port_holder(guint32 port);

/* missing_io.c: writes to the journal which rails are missing (IbhKnownRail). Reports a rail when it has had the same
 * fault (ibh_missing_is_fault()) for a while. After that, reports at once when the rail no longer has a fault, or has
 * another fault. `missed` has all rails that could be missing, each with what has become of it (`why`); the function
 * sets the member `due` of each. If `missed` is NULL (not known), writes nothing. `*last` is an empty list at the first
 * call; the function replaces it with `missed`, unless `missed` is NULL. Returns when to call this function again;
 * G_MAXINT64: not before something happens. This time and `now` are monotonic, in microseconds. */
gint64 ibh_missing_log(GArray **last, GArray *missed, gint64 now);

/* systemd_io.c: tells systemd "READY=1", "WATCHDOG=1" or "STOPPING=1". Does nothing without systemd. */
void ibh_notify(const char *state);
/* Returns within how many microseconds systemd expects each sign of life; 0 if it expects none. */
gint64 ibh_notify_interval(void);
