/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command line of ib-hook: words → values. Pure.
 *
 * A row of a table in options.c is one option: its help, its argument, the actions it goes with.
 */
#pragma once

#include "probe/probe.h"

#define IBH_OPTIONS_ERROR (g_quark_from_static_string("ibh-options-error"))

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

typedef struct {
    IbhAction action;
    GPtrArray *ifaces; /* char *, NULL-terminated when not empty */
    char *config;      /* NULL: the system's */
    char *render;      /* the format of --render, one that is known */
    char *sysfs;
    gboolean json;
    gboolean prometheus;
    gboolean verbose;
    gboolean quiet;
    int confirm; /* seconds after which --apply is undone, 0: never */
    char *token; /* of the --apply that waits for a confirmation; NULL: none */
    IbhProbeRequest probe;
} IbhOptions;

/* Sets `ret_options` in any case (`json` as far as it was read, so that an error is reported as asked). */
gboolean ibh_options_parse(char **argv, IbhOptions *ret_options, GError **error);
void ibh_options_clear(IbhOptions *options);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IbhOptions, ibh_options_clear)

/* The interfaces that were named, NULL-terminated; NULL: all. */
const char *const *ibh_options_only(const IbhOptions *options);

char *ibh_options_help(void); /* the caller frees it */
