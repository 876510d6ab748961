/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files in the managers' directories: our hooks, and hand-written ones. `root`: what is before /etc.
 */
#pragma once

#include "model/model.h"

/* Where ib-hook is installed: sets IbhManager.inactive for managers whose next event will not be answered: their hook
 * cannot be called, and --watch does not run. */
void ibh_hook_files_read(const char *root, GArray *managers);
void ibh_scripts_read(const char *root, IbhSnapshot *snapshot); /* root's own */
