/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Findings on rails that were there and are not. Pure.
 */
#pragma once

#include "check/finding.h"
#include "plan/known.h"

/* `missed`: IbhMissed; `findings` has those of the RDMA ports, which say more of a port than its link does. */
void ibh_check_missing(const IbhRails *rails, const GArray *missed, const char *const *only, GPtrArray *findings);
