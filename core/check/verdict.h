/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether each packet goes where it should, and the rule or route that is the cause where it does not. Pure.
 */
#pragma once

#include "check/fixes.h"

/* Sets `wrong` of the questions, and adds a finding for each owner. Returns what is wrong because something of ours is
 * missing, in words; NULL: nothing. The caller frees it. */
char *ibh_judge_ways(IbhCheck *check, GArray *questions);
