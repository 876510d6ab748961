/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is wrong with RDMA ports and their netdevs: facts → findings. Pure.
 */
#pragma once

#include "check/fabric.h"
#include "check/finding.h"

/* Appends to `findings` (IbhFinding *); `good` (char *) gets a line for everything that was looked at and is right, or
 * could not be looked at; it may be NULL. */
void ibh_fabric_judge(const IbhFabric *fabric, const char *const *only, GPtrArray *findings, GPtrArray *good);
/* The port is the cause, should the interface have no carrier. */
gboolean ibh_fabric_explains(const IbhFabric *fabric, const char *iface);
