/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which manager configures each netdev, from the managers' own state files. Only NetworkManager is asked, through nm.so
 * (nm-dispatcher/connections.c), for the names of its connections.
 */
#pragma once

#include "plan/rails.h"

/* Fills in the snapshot's managers and hand-written scripts. `sysfs` stands for /sys. A manager whose files cannot be
 * read is unknown. */
void ibh_managers_read(const char *sysfs, const IbhRails *rails, IbhSnapshot *snapshot);

/* ---- hooks_io.c: files in the managers' directories; `root`: what is before /etc ---- */

gboolean ibh_hooks_are_called(const char *root); /* ib-hook is installed, and --watch does not run */
/* Sets IbhManager.inactive where its next event will not be answered. `places`: where our hook may lie. */
void ibh_hook_look(const char *root, const char *const *places, IbhManager *manager);
void ibh_scripts_read(const char *root, IbhSnapshot *snapshot); /* hand-written, and root's own */

/* What nm.so exports. For each IbhManager of NetworkManager's it sets the connection's name, sets the manager to NULL
 * if NetworkManager only watches, and notes where NetworkManager prunes. Returns after this time at the latest. */
#define IBH_NM_FUNCTION "ibh_nm_name_connections"
typedef void IbhNmFunction(GArray *managers, guint milliseconds);
