/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A hook that may not act although it is root's: SELinux does not let programs of its caller do ib-hook's work. */
#ifndef IBH_RUN_CONFINED_H
#define IBH_RUN_CONFINED_H

#include <glib.h>

/* Tests the accesses that every run needs. If some are forbidden, replaces the warnings from this length on by one line
 * that says so and what to do; by none if that was reported since the last boot. */
void ibh_confined_explain(GString *warnings, gsize from);

#endif
