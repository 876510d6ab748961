/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the options to an action: main_io.c, and what it calls.
 */
#pragma once

#include "cli/cli.h"
#include "fabric/read_io.h"
#include "run/run.h"

typedef struct {
    IbhRun run;
    const IbhOptions *options;
    GString *out;
} IbhCommand;

/* The text for the user: `out` for standard output, `warnings` for standard error. Returns the exit status, as all
 * that follow. */
int ibh_action(const IbhOptions *options, GString *out, GString *warnings);

/* Where `error` is set, it is told instead, and decides the exit status. look_io.c: they change nothing. */
int ibh_command_plan(IbhCommand *command, GError **error);
int ibh_command_check(IbhCommand *command, GError **error); /* --show, too */
int ibh_command_render(IbhCommand *command, GError **error);
int ibh_command_probe(IbhCommand *command, GError **error);
/* change_io.c */
int ibh_command_change(IbhCommand *command, GError **error); /* --apply, --undo */
int ibh_command_confirm(IbhCommand *command, GError **error);

/* main_io.c, for these: writes a report, whose parts they set. */
int ibh_command_say(IbhCommand *command, IbhReport *report);
/* TRUE while a process waits for --confirm; with a token in the options, only if it is that token's process. */
gboolean ibh_command_has_token(const IbhCommand *command);
