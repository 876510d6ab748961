/*
 * What all hooks are: one run over all interfaces, that never hurts the caller.
 */
#pragma once

#include "config/trigger.h"

/* `config`, `sysfs`: NULL for the system's. Its caller returns what it returns: 0. */
int ibh_hook(const IbhTrigger *trigger, const char *config, const char *sysfs);
