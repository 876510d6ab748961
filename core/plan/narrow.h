/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a run on an event need not look at, where it has read everything (near.h): links, addresses and rules that no
 * rail has to do with. Pure.
 *
 * A host may have thousands of them (containers), and most of what an event costs grows with them. The plan is the same
 * with and without: random worlds hold that (tests/unit/test_random.c).
 */
#pragma once

#include "config/config.h"
#include "model/model.h"

/* Takes them out of the snapshot. Reports of what there is, and why it is no rail, want them. FALSE: no NIC could be a
 * rail, and nothing of ours is left of one. */
gboolean ibh_narrow(IbhSnapshot *snapshot, const IbhConfig *config);
