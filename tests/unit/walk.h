/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A kernel that answers --check by the rules and routes that the host has. */
#pragma once

#include "check/check.h"

void walk_answer(const IbhCheck *check);
