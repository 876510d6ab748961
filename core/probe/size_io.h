/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --probe at full size: sends packets as long as the rails' MTU, which may not be cut in pieces, and where these do not
 * come back, shorter ones.
 */
#pragma once

#include "probe/sockets_io.h"

/* `first` and the next `pairs`, whose echoes are over. */
void ibh_prober_ask_sizes(IbhProber *prober, guint first, guint pairs);
