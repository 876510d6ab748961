/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Explains in words why a NIC is a rail or not, and why a plan has an operation. Pure.
 */
#pragma once

#include "plan/plan.h"

/* Both return a clause, which the caller frees. `rails` are those for which the plan was made. */
char *ibh_nic_why(const IbhNic *nic);
char *ibh_op_why(const IbhRails *rails, const IbhOp *op);
