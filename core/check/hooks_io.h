/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Will the next event of each manager be answered? Yes, if its hook can be called or --watch runs.
 */
#pragma once

#include "model/model.h"

/* Where ib-hook is installed: sets IbhManager.inactive for managers whose next event will not be answered. */
void ibh_hook_files_read(const char *root, GArray *managers);
