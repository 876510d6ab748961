/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --check: findings from the plan, from the kernel's own answers, and from foreign rules, routes and NICs. Pure.
 */
#pragma once

#include "check/finding.h"
#include "check/questions.h"
#include "plan/plan.h"

/* `plan`: what --apply would do; `questions`: answered; `findings`: begins with those of the RDMA ports, which explain
 * others. */
void ibh_check_judge(const IbhRails *rails, const IbhPlan *plan, GArray *questions, const char *const *only,
                     GPtrArray *findings);
