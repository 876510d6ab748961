/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * main=remove: the rails' connected routes leave main, and come back when they may. Pure.
 */
#pragma once

#include "plan/emit.h"

/* The last operations: routes that leave main for this NIC. */
void ibh_emit_removal(IbhPlan *plan, const IbhRails *rails, const IbhNic *nic);
/* As main had it. */
IbhRoute ibh_saved_route(const IbhSavedRoute *saved);
/* The saved routes that the kernel would accept now and that main lacks. */
gboolean ibh_can_return(const IbhRails *rails, const IbhSavedRoute *saved);
/* The first operations: routes that come back for a present NIC. With `undo`, also if the configuration has changed. */
void ibh_emit_return(IbhPlan *plan, const IbhRails *rails, const IbhSavedRoute *saved, gboolean undo);
/* The route by which main will reach this address, among those that come back for these NICs (a set); NULL: none. */
const IbhSavedRoute *ibh_find_returning(const IbhRails *rails, GHashTable *nics, const IbhIp *address);
