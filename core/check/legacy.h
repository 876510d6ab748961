/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a hand-written script does to a rail, and what takes it back. Pure: host/scripts.c reads them.
 */
#pragma once

#include "check/finding.h"
#include "plan/rails.h"

/* The first of its commands that gives this rail a rule, or a route in a table of its own; NULL: none. The caller frees
 * it. */
char *ibh_legacy_command(const IbhScript *script, const IbhRails *rails, const IbhNic *nic);
/* A warning to read before its fix is pasted; NULL: none. The caller frees it. */
char *ibh_legacy_caution(const IbhScript *script, const IbhRails *rails);
/* Commands to paste, or a step to do, that remove it. Nothing is lost: removed lines are kept elsewhere. `deletes`:
 * with its rules and routes, which only one fix of a NIC may. The caller frees it. */
IbhRemedy ibh_legacy_fix(const IbhScript *script, const IbhRails *rails, const IbhNic *nic, const char *command,
                         gboolean deletes);
