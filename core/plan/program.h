/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A plan, rail by rail: routes, the rules that lead to them, then the deletion of what they replace. Pure.
 */
#pragma once

#include "plan/difference.h"

void ibh_program_rails(IbhWork *work);
/* NICs that need each other's tables stand or fall together. */
void ibh_join_units(const IbhWork *work);

void ibh_drop(IbhWork *work, IbhStale *stale, char *why); /* takes `why` */
char *ibh_why_stale(const IbhWork *work, const IbhStale *stale);
