/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who configures each netdev, from the managers' own state files. NetworkManager alone is asked, by nm.so
 * (nm-dispatcher/connections.c), for what people call a connection.
 */
#pragma once

#include "render/render.h"

/* Fills in the snapshot's managers. `sysfs`: what stands for /sys. Whatever cannot be read is not known. */
void ibh_managers_read(const char *sysfs, const IbhRails *rails, IbhSnapshot *snapshot);

/* What nm.so writes profiles with; NULL: it cannot be loaded. Call it after ibh_managers_read(). */
IbhProfileWriter *ibh_manager_profile_writer(void);
#define IBH_NM_PROFILE_FUNCTION "ibh_nm_write_profile"

/* What nm.so exports. Of the IbhManager that are NetworkManager's it sets the connection to its name, and the manager
 * to NULL where NetworkManager only watches; and it says where it prunes. It returns after this time at the latest. */
#define IBH_NM_FUNCTION "ibh_nm_name_connections"
typedef void IbhNmFunction(GArray *managers, guint milliseconds);
