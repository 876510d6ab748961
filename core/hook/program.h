/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The programs in the managers' hook directories: what is the same in all of them. Of the C library alone.
 */
#pragma once

#include "hook/trigger.h"

/* The first argument of ib-hook that a hook executes; then come the seconds that it has, what happened (one of the
 * words below), and the interface, if it has a name. */
#define IBH_EVENT "--event"
#define IBH_EVENT_CHANGED "changed"
#define IBH_EVENT_EARLY "early"
#define IBH_EVENT_DOWN "down"

/* What the event asks for, done by ib-hook. Its caller returns what it returns: 0. */
int ibh_hook_program(const IbhTrigger *trigger);
