/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --probe sends its small echoes, to as many pairs at once as the neighbour table has room for.
 */
#pragma once

#include "probe/sockets_io.h"

/* `room`: entries that may be added at first. Hardware addresses of the peers are known afterwards. */
gboolean ibh_prober_ask_echoes(IbhProber *prober, const guint room[2], GError **error);

/* Sends the pair's n-th echo (again), and counts nothing. Returns 0 or an errno. */
int ibh_prober_send_echo(IbhProber *prober, guint pair, guint number);
