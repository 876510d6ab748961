/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How all parts of --probe wait, and the progress that they show on a terminal.
 */
#pragma once

#include "probe/sockets_io.h"

#include <poll.h>

gint64 ibh_prober_now(void); /* µs */

/* From now on SIGINT and SIGTERM end no more than the asking, and a second one of them ends the program. */
void ibh_prober_catch_signals(void);
void ibh_prober_release_signals(void);
gboolean ibh_prober_is_stopped(void);

/* A packet was sent: sets when the next one may follow. */
void ibh_prober_pace(IbhProber *prober);

/* Until one of these has something, the time comes, or a signal. */
void ibh_prober_poll(struct pollfd *fds, guint n, gint64 until);

/* Writes a line of progress to a terminal, if it takes longer than a second. */
void ibh_prober_tell(IbhProber *prober, const char *doing);
/* Removes the line. */
void ibh_prober_tell_end(IbhProber *prober);
