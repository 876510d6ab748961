/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pipeline: lock → configuration → snapshot → plan → apply → report.
 */
#pragma once

#include "cli/options.h"
#include "run/event.h"

/* What went to the user: `out` for standard output, `warnings` for standard error. Returns the exit status. */
int ibh_run(const IbhOptions *options, gboolean color, GString *out, GString *warnings);

/* Its last results, if any, are freed. */
void ibh_reconcile_clear(IbhReconcile *event);
int ibh_reconcile(IbhReconcile *event, GString *out, GString *warnings);
