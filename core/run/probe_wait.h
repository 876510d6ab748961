/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How all parts of --probe wait, and what they tell a terminal meanwhile.
 */
#pragma once

#include "run/probe_sockets.h"

#include <poll.h>

gint64 ibh_prober_now(void); /* µs */

/* Until one of these has something, or the time comes. */
void ibh_prober_poll(struct pollfd *fds, guint n, gint64 until);

/* A line on a terminal of what takes longer than a second. */
void ibh_prober_tell(IbhProber *prober, const char *doing);
/* Takes the line away. */
void ibh_prober_tell_end(IbhProber *prober);
