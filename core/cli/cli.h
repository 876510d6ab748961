/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command line of ib-hook, parsed into values (options.c: pure), and who ran a command.
 */
#pragma once

#include "report/report.h"

typedef struct {
    IbhAction action;
    IbhStyle style;     /* options set `verbose` and `quiet`; main_io.c sets the other members */
    char **ifaces;      /* the names of --iface; NULL for all NICs */
    const char *config; /* the path of --config; NULL for /etc/ib-hook */
    const char *render; /* for --render: a format that ibh_render_knows() accepts; NULL for other actions */
    const char *sysfs;  /* the directory of --sysfs, or /sys */
    gboolean json;
    gboolean prometheus;
    int confirm; /* seconds until an --apply is taken back, unless it is confirmed; 0: it stays */
    IbhProbeRequest probe;
    GPtrArray *names; /* const char *: names of peers, which are not in probe.peers yet */
} IbhOptions;

/* Returns FALSE if the command line is wrong. Sets `ret_options` even then, because its member `json` says in which
 * form to report the error. The options point into `argv`. */
gboolean ibh_options_parse(char **argv, IbhOptions *ret_options, GError **error);
void ibh_options_clear(IbhOptions *options);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IbhOptions, ibh_options_clear)

void ibh_options_help(GString *out);

/* names_io.c: resolves the names of peers, and adds their addresses to probe.peers. Appends to `said` a line for each
 * name, with its addresses. Returns FALSE if a name cannot be resolved, or has no address that --probe can ask. */
gboolean ibh_options_resolve(IbhOptions *options, GString *said, GError **error);

/* caller_io.c: returns the action and what is known of who ran it, such as "--apply, SUDO_USER=alice, loginuid=1000,
 * tty=/dev/pts/0"; unknown parts are left out. Free with g_free(). */
char *ibh_caller(const char *action);
/* Logs what an action changed, who ran it, and what failed. */
void ibh_caller_log(const IbhOutcome *outcome, const IbhSnapshot *snapshot, const char *action);
