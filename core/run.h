/*
 * The pipeline: lock → configuration → snapshot → plan → apply → report.
 */
#pragma once

#include "options.h"

#define IBH_EXIT_OK 0
#define IBH_EXIT_FINDINGS 1
#define IBH_EXIT_USAGE 2
#define IBH_EXIT_SYSTEM 3

/* What went to the user: `out` for standard output, `warnings` for standard error. Returns the exit status. */
int ibh_run(const IbhOptions *options, gboolean color, GString *out, GString *warnings);
