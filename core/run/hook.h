/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a hook does: one run over all interfaces, in its own process, which never harms the caller.
 */
#pragma once

#include "config/trigger.h"

/* Returns 0, the exit status. */
int ibh_hook(const IbhTrigger *trigger);
