/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Asks a running --watch to do the work of an event, and waits. Of the C library alone.
 */
#pragma once

#include "hook/trigger.h"

/* true: done, by a look that began after the question. false: --watch is absent, failed or was too slow. */
bool ibh_ask(const IbhTrigger *trigger);
