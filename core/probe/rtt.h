/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --probe: round trips that are far from the others, and losses that so few echoes can miss. Pure.
 */
#pragma once

#include "probe/probe.h"

/* The share of packets, in 1/1000, that a pair may lose while all of so many echoes come back, in one of 20 cases. */
guint ibh_probe_unseen_loss(guint echoes);

/* A part of ibh_probe_judge(): one line for a peer that is slow to all rails, one for each rail. */
void ibh_probe_report_outliers(IbhProbe *probe);
