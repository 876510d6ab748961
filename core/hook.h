/*
 * What all hooks are: one run over all interfaces, that never hurts the caller.
 */
#pragma once

#include "trigger.h"

/* `config`, `sysfs`: NULL for the system's. Its caller returns what it returns: 0. */
int ibh_hook(const IbhTrigger *trigger, const char *config, const char *sysfs);

/* Where a caller closed 0, 1 or 2, nothing that is opened later may take their place. */
void ibh_open_standard_descriptors(void);
