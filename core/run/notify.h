/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What systemd is told, and asks to be told (sd_notify's protocol): silent without systemd.
 */
#pragma once

#include <glib.h>

void ibh_notify(const char *state); /* "READY=1", "STATUS=…", "WATCHDOG=1" … */

/* How often systemd wants a sign of life, in microseconds; 0: it does not. */
gint64 ibh_notify_interval(void);
