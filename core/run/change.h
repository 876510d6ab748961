/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The actions that change something: --apply, --undo, --confirm. Each returns the exit status.
 */
#pragma once

#include "run/confirm.h"
#include "run/session.h"

/* `again`: starts a run anew, in the process that waits for --confirm. */
int ibh_run_change(IbhRun *run, IbhRunAgain again);
int ibh_run_confirm(IbhRun *run);

/* A first installation: the NICs that would become rails, and have no carrier; NULL: none. */
char *ibh_run_rails_without_carrier(const IbhRun *run);
int ibh_run_hold_back(IbhRun *run, const char *names);
