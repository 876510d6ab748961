/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The questions of --check to the kernel about its own routing. Pure: run/look.c asks the kernel in between.
 *
 * One address stands for all of its NIC that have the same subnet and that the same foreign rules can match. Foreign
 * rules and main's longer prefixes cut its subnet into pieces: one neighbour in each piece is asked about.
 */
#pragma once

#include "check/outcome.h"

GArray *ibh_check_questions(const IbhRails *rails, const char *const *only); /* IbhQuestion */
