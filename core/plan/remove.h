/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * main=remove: the rails' connected routes leave main, and come back when they may. Pure.
 */
#pragma once

#include "plan/emit.h"

/* Last of all: what leaves main for this NIC. */
void ibh_emit_removal(IbhPlan *plan, const IbhRails *rails, const IbhNic *nic);
/* As main had it. */
IbhRoute ibh_saved_route(const IbhSavedRoute *saved);
/* What the kernel would take now, and main has not. */
gboolean ibh_can_return(const IbhRails *rails, const IbhSavedRoute *saved);
/* First of all: what comes back for a NIC that is there. With `undo`, also if the configuration has changed. */
void ibh_emit_return(IbhPlan *plan, const IbhRails *rails, const IbhSavedRoute *saved, gboolean undo);
/* Of what comes back for these NICs (a set), the route by which main will reach this address; NULL: none. */
const IbhSavedRoute *ibh_find_returning(const IbhRails *rails, GHashTable *nics, const IbhIp *address);
