/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state that must be remembered between runs, as text, and how a plan changes it. Pure; store.c has the file.
 */
#pragma once

#include "model/operation.h"

/* Lines without sense are left out: that loses old sysctl values and holds, nothing else. */
IbhState *ibh_state_parse(const char *text, gsize length);
char *ibh_state_format(const IbhState *state);
IbhState *ibh_state_copy(const IbhState *state);

/* Remembers the administrator's value of each sysctl that these operations (IbhOp *) change. Before they run (`done` is
 * FALSE) it is remembered for every intermediate value, too, in case the run is cut short. */
void ibh_state_remember(IbhState *state, const GPtrArray *ops, gboolean done);

void ibh_state_set_rails(IbhState *state, const GArray *rails); /* IbhSavedRail */

void ibh_state_hold(IbhState *state, const char *iface);
void ibh_state_lift(IbhState *state, const char *iface); /* NULL: all holds */
