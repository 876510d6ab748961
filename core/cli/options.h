/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command line of ib-hook: words → values. Pure.
 */
#pragma once

#include "probe/probe.h"

/* The exit status. */
#define IBH_EXIT_OK 0
#define IBH_EXIT_FINDINGS 1
#define IBH_EXIT_USAGE 2
#define IBH_EXIT_SYSTEM 3

typedef enum {
    IBH_ACTION_SHOW,
    IBH_ACTION_CHECK,
    IBH_ACTION_PLAN,
    IBH_ACTION_APPLY,
    IBH_ACTION_UNDO,
    IBH_ACTION_CONFIRM,
    IBH_ACTION_RENDER,
    IBH_ACTION_WATCH,
    IBH_ACTION_PROBE,
    IBH_ACTION_VERSION,
    IBH_ACTION_HELP
} IbhAction;

/* How a report looks. */
typedef struct {
    gboolean verbose; /* of every netdev, and more of each */
    gboolean quiet;
    gboolean color;
    guint width; /* of the terminal; 0: none, lines are whole */
} IbhStyle;

typedef struct {
    IbhAction action;
    IbhStyle style;     /* its first two are options */
    char **ifaces;      /* NULL: all */
    const char *config; /* NULL: the system's */
    const char *render; /* the format of --render, one that is known */
    const char *sysfs;
    gboolean json;
    gboolean prometheus;
    int confirm;       /* seconds after which --apply is undone, 0: never */
    const char *token; /* of the --apply that waits for a confirmation; NULL: none */
    IbhProbeRequest probe;
} IbhOptions;

/* Sets `ret_options` in any case, `json` also after an error, which is reported as asked. It keeps words of `argv`. */
gboolean ibh_options_parse(char **argv, IbhOptions *ret_options, GError **error);
void ibh_options_clear(IbhOptions *options);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IbhOptions, ibh_options_clear)

void ibh_options_help(GString *out);
