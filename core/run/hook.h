/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the hooks execute: one run over all interfaces, that never hurts the caller. Both return 0, the exit status.
 */
#pragma once

#include <glib.h>

/* --apply --hook. `config`, `sysfs`: NULL for the system's. */
int ibh_hook(const char *config, const char *sysfs);

/* What a program in a manager's hook directory executes (hook/program.h): argv[1] is IBH_EVENT. */
int ibh_hook_event(char **argv);
