/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hand-written files of root's, where the managers look for hooks and rules.
 */
#pragma once

#include "model/model.h"

/* Fills in the snapshot's scripts. `root`: what is before /etc. */
void ibh_scripts_read(const char *root, IbhSnapshot *snapshot);
