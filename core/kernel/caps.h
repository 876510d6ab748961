/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Capabilities: reports missing ones, gives up those that are not needed.
 */
#pragma once

#include <glib.h>

gboolean ibh_caps_have(int capability); /* CAP_NET_ADMIN, … */
/* Of its capabilities this process keeps CAP_NET_ADMIN and CAP_NET_RAW; it can gain none. */
void ibh_caps_keep_net(void);
