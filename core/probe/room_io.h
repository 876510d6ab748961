/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The neighbour tables of this machine, for --probe: their content, their free room, and how entries are deleted.
 */
#pragma once

#include "probe/sockets_io.h"

/* The entries of this network namespace, of the families that are probed. */
gboolean ibh_prober_read_neighbours(IbhProber *prober, GArray *neighbours, GError **error);
/* How many entries may be added now, IPv4 and IPv6. Notes whether the tables were full meanwhile. */
gboolean ibh_prober_read_room(IbhProber *prober, guint ret_room[2], GError **error);

/* Deletes the entry that exists only for this pair, if there is one. FALSE: that is not allowed, or the kernel keeps
 * it: then it has to grow old. */
gboolean ibh_prober_forget(IbhProber *prober, guint pair);
gboolean ibh_prober_forget_range(IbhProber *prober, guint first, guint pairs);
