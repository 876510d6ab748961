/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The actions that change nothing. Each returns the exit status.
 */
#pragma once

#include "run/session.h"

int ibh_run_plan(IbhRun *run);
int ibh_run_check(IbhRun *run); /* --show, too */
int ibh_run_render(IbhRun *run);
int ibh_run_probe(IbhRun *run);
