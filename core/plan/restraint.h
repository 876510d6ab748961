/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a run on an event leaves alone, where --apply would not. Pure.
 *
 * systemd-networkd 252 takes every address away when it restarts, and adds it again up to 165 ms later. Hooks run in
 * between, the last one too: what they collected then would stay away.
 */
#pragma once

#include "plan/emit.h"

typedef struct {
    const char *const *down;  /* interfaces that were taken down on purpose, NULL at the end; NULL: none */
    const GArray *given_up;   /* int: NICs whose addresses have been away for long enough; NULL: none */
    const GArray *backed_off; /* int: units that something else undoes again and again; NULL: none */
} IbhRestraint;

/* Takes out of the plan what it should not do now. Returns the NICs (int) that were spared: their addresses may come
 * back in a moment. */
GArray *ibh_restrain(IbhPlan *plan, const IbhRails *rails, const IbhRestraint *restraint);
