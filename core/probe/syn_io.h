/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --probe of IPv6: sends a TCP SYN beside the echoes, and hears by which NIC of the peer the answer comes.
 */
#pragma once

#include "probe/sockets_io.h"

/* `first` and the next `pairs`, whose echoes are over and whose hardware addresses are known. */
void ibh_prober_ask_syns(IbhProber *prober, guint first, guint pairs);
