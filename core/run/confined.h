/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A hook that may not act although it is root's: SELinux keeps its caller's programs from what ib-hook does. */
#ifndef IBH_RUN_CONFINED_H
#define IBH_RUN_CONFINED_H

#include <glib.h>

/* Asks for what every run needs. Where something is forbidden: what warnings has from this length on is replaced by one
 * line that says so and what to do; by none if that was said since the last boot. */
void ibh_confined_explain(GString *warnings, gsize from);

#endif
