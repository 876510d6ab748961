/*
 * main=remove: the rails' connected routes leave main, and come back when they may. Pure.
 */
#pragma once

#include "plan.h"

/* Last of all: what leaves main for this NIC. */
void ibh_emit_removal(IbhPlan *plan, const IbhRails *rails, const IbhNic *nic);
/* First of all: what comes back for it. With `undo`, whatever the configuration says now. */
void ibh_emit_return(IbhPlan *plan, const IbhRails *rails, const IbhNic *nic, gboolean undo);
/* The NIC, of these (a set), by which main will reach this address after that; NULL: by none. */
const IbhNic *ibh_find_returning_nic(const IbhRails *rails, GHashTable *nics, const IbhIp *address);
