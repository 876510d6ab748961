/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages to and from systemd (sd_notify's protocol): silent without systemd.
 */
#pragma once

#include <glib.h>

void ibh_notify(const char *state); /* "READY=1", "STATUS=…", "WATCHDOG=1" … */

/* How often systemd expects a sign of life, in microseconds; 0: never. */
gint64 ibh_notify_interval(void);
