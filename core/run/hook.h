/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The programs that hooks execute: one run over all interfaces, which never harms the caller. Both return 0, the exit
 * status.
 */
#pragma once

#include <glib.h>

/* --apply --hook. `config`, `sysfs`: NULL for the system's. */
int ibh_hook(const char *config, const char *sysfs);

/* The program that a manager's hook executes (hook/program.h): argv[1] is IBH_EVENT. */
int ibh_hook_event(char **argv);
