/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Capabilities: reports missing ones, gives up those that are not needed.
 */
#pragma once

#include <glib.h>

gboolean ibh_caps_have(int capability); /* CAP_NET_ADMIN, … */
/* What this process keeps of its capabilities; it can gain none. */
typedef enum {
    IBH_CAPS_NET,   /* CAP_NET_ADMIN, CAP_NET_RAW */
    IBH_CAPS_FILES, /* to read a copy of /sys, or write one, in any user's directory */
} IbhCaps;
void ibh_caps_keep(IbhCaps caps);
