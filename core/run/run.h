/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pipeline: lock → configuration → snapshot → plan → apply → report.
 */
#pragma once

#include "cli/options.h"
#include "run/event.h"

/* The text for the user: `out` for standard output, `warnings` for standard error. Returns the exit status. */
int ibh_run(const IbhOptions *options, gboolean color, GString *out, GString *warnings);

/* Frees its last results, if any. */
void ibh_reconcile_clear(IbhReconcile *event);
int ibh_reconcile(IbhReconcile *event, GString *out, GString *warnings);
