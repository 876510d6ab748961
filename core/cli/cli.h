/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command line of ib-hook: words → values. Pure.
 */
#pragma once

#include "report/report.h"

typedef struct {
    IbhAction action;
    IbhStyle style;     /* its first two are options */
    char **ifaces;      /* NULL: all */
    const char *config; /* NULL: the system's */
    const char *render; /* the format of --render, one that is known */
    const char *sysfs;
    gboolean json;
    gboolean prometheus;
    int confirm; /* seconds after which the state before --apply comes back; 0: it stays */
    IbhProbeRequest probe;
    GPtrArray *names; /* const char *: peers by name, which are not among probe.peers yet */
} IbhOptions;

/* Sets `ret_options` in any case, `json` also after an error, which is reported as asked. It keeps words of `argv`. */
gboolean ibh_options_parse(char **argv, IbhOptions *ret_options, GError **error);
void ibh_options_clear(IbhOptions *options);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IbhOptions, ibh_options_clear)

void ibh_options_help(GString *out);

/* names_io.c: asks the resolver for the peers that are named; `said` tells which addresses they have. */
gboolean ibh_options_resolve(IbhOptions *options, GString *said, GError **error);

/* caller_io.c: "--apply, SUDO_USER=alice, loginuid=1000, tty=/dev/pts/0": of these, what can be seen. The caller frees
 * it. */
char *ibh_caller(const char *action);
/* What an action changed, and who ran it, into the journal. */
void ibh_caller_log(const IbhOutcome *outcome, const IbhSnapshot *snapshot, const char *action);
