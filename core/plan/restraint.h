/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Changes that --apply would make, and a run on an event leaves out. Pure.
 *
 * systemd-networkd 252 takes every address away when it restarts, and adds it again up to 165 ms later. Hooks run in
 * between, the last one too: if they cleaned up then, no later event would repair it.
 */
#pragma once

#include "plan/emit.h"

typedef struct {
    const char *const *down;  /* interfaces that were taken down on purpose, NULL at the end; NULL: none */
    const GArray *given_up;   /* int: NICs whose addresses have been away for long enough; NULL: none */
    const GArray *backed_off; /* int: units that another program undoes again and again; NULL: none */
} IbhRestraint;

/* Removes operations that should not run now. Returns the NICs (int) that were spared: their addresses may come back in
 * a moment. */
GArray *ibh_restrain(IbhPlan *plan, const IbhRails *rails, const IbhRestraint *restraint);
