/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Capabilities: what is missing, and giving up what is not needed.
 */
#pragma once

#include <glib.h>

gboolean ibh_caps_have(int capability); /* CAP_NET_ADMIN, … */
/* What is kept of what this process has; it can gain nothing. */
typedef enum {
    IBH_CAPS_NET,   /* CAP_NET_ADMIN, CAP_NET_RAW */
    IBH_CAPS_FILES, /* to read a copy of /sys, or write one, in anybody's directory */
} IbhCaps;
void ibh_caps_keep(IbhCaps caps);
