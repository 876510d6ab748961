/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where an event has read everything (near.h), drops links, addresses and rules that concern no rail. Pure.
 *
 * A host may have thousands of them (containers), and most of an event's cost grows with them. The plan is the same
 * with and without: tests with random worlds prove it (tests/unit/test_random.c).
 */
#pragma once

#include "config/config.h"
#include "model/model.h"

/* Removes them from the snapshot. Not for reports: these name every NIC and why it is no rail. FALSE: no NIC could be a
 * rail, and nothing of ours remains. */
gboolean ibh_narrow(IbhSnapshot *snapshot, const IbhConfig *config);
