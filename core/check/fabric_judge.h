/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is wrong with RDMA ports and their netdevs: facts → findings. Pure.
 */
#pragma once

#include "check/fabric.h"
#include "check/finding.h"

/* Appends to `findings` (IbhFinding *); `good` (char *) gets a line for each fact that is right, or could not be read;
 * it may be NULL. */
void ibh_fabric_judge(const IbhFabric *fabric, const char *const *only, GPtrArray *findings, GPtrArray *good);
/* TRUE if the port explains a missing carrier of the interface. */
gboolean ibh_fabric_explains(const IbhFabric *fabric, const char *iface);
