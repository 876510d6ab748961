/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The first code of main(): it puts the caller's leftovers into an order that all later code may rely on.
 */
#pragma once

void ibh_start(void);
