/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The programs in the managers' hook directories: their common part. Of the C library alone.
 */
#pragma once

#include "hook/trigger.h"

/* The first argument of the ib-hook that a hook executes; then follow the seconds that it has, what happened (one of
 * the words below), and the interface, if it has a name. */
#define IBH_EVENT "--event"
#define IBH_EVENT_CHANGED "changed"
#define IBH_EVENT_EARLY "early"
#define IBH_EVENT_DOWN "down"

/* Makes ib-hook do the work of the event. The caller returns its result: 0. */
int ibh_hook_program(const IbhTrigger *trigger);
