/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether the next event of each manager will be answered: its hook can be called, or --watch runs.
 */
#pragma once

#include "model/model.h"

/* Where ib-hook is installed: sets IbhManager.inactive where it will not. */
void ibh_hook_files_read(const char *root, GArray *managers);
