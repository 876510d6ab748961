/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One action of the command line: shared by action_io.c, change_io.c and look_io.c.
 */
#pragma once

#include "cli/options.h"
#include "cli/report.h"
#include "fabric/read_io.h"
#include "run/run.h"

typedef struct {
    IbhRun run;
    const IbhOptions *options;
    const IbhWriter *writer;
    IbhStyle style;
    GString *out;
    IbhFabric *fabric; /* --show, --check */
} IbhCommand;

int ibh_command_fail(IbhCommand *command, int status, const GError *error);
/* TRUE while a process waits for --confirm; with a token in the options, only if it is that token's process. */
gboolean ibh_command_has_token(const IbhCommand *command);
