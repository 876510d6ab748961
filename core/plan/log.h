/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a run on an event says of its changes: one line per interface that changed. Pure.
 */
#pragma once

#include "model/operation.h"

/* The snapshot: for the names of NICs that are gone, and for why something was removed. */
char *ibh_log_changes(const GPtrArray *done, const IbhSnapshot *snapshot); /* const IbhOp * */
