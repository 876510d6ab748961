/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What --check asks the kernel about its own routing. Pure: run/look.c asks in between.
 *
 * One address stands for all of its NIC that have the same subnet and that the same rules of others can match. Its
 * subnet is cut into pieces by those rules and by main's longer prefixes: a neighbour in each piece is asked about.
 */
#pragma once

#include "check/outcome.h"

GArray *ibh_check_questions(const IbhRails *rails, const char *const *only); /* IbhQuestion */
