/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's own answers: the meaning of a wrong one, and its cause. Pure.
 */
#pragma once

#include "check/foreign.h"

void ibh_judge_answer(IbhCheck *check, const IbhQuestion *question);
