/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The actions that change something: --apply, --undo, --confirm. Each returns the exit status.
 */
#pragma once

#include "cli/confirm_io.h"
#include "cli/command_io.h"

/* `again`: starts a run anew, in the process that waits for --confirm. */
int ibh_command_change(IbhCommand *command, IbhCommandAgain again);
int ibh_command_confirm(IbhCommand *command);
