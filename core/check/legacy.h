/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a hand-written script does to a rail, and how to revert it. Pure: host/scripts.c reads the scripts.
 */
#pragma once

#include "check/finding.h"
#include "plan/rails.h"

/* The first of its commands that gives this rail a rule, or a route in a table of its own; NULL: none. The caller frees
 * it. */
char *ibh_legacy_command(const IbhScript *script, const IbhRails *rails, const IbhNic *nic);
/* A warning to read before pasting its fix; NULL: none. The caller frees it. */
char *ibh_legacy_caution(const IbhScript *script, const IbhRails *rails);
/* Commands to paste, or a step to do, that remove it. No line is lost: removed lines are kept elsewhere. `deletes`:
 * also its rules and routes, which only one fix of a NIC may do. The caller frees it. */
IbhRemedy ibh_legacy_fix(const IbhScript *script, const IbhRails *rails, const IbhNic *nic, const char *command,
                         gboolean deletes);
