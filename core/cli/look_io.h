/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The actions that change nothing. Each returns the exit status.
 */
#pragma once

#include "cli/command_io.h"

int ibh_command_plan(IbhCommand *command);
int ibh_command_check(IbhCommand *command); /* --show, too */
int ibh_command_render(IbhCommand *command);
int ibh_command_probe(IbhCommand *command);
