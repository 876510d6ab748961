/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Receives the replies to --probe's small echoes and ARP requests.
 */
#pragma once

#include "probe/sockets_io.h"

/* Reads all that has come in until now. */
void ibh_prober_take_all(IbhProber *prober);
/* Reads what is left. FALSE: packet sockets missed some, so that nothing follows from what they did not see. */
gboolean ibh_prober_heard_all(IbhProber *prober);
/* Until something comes, or the time does. */
void ibh_prober_wait(IbhProber *prober, gint64 until);
/* Reads replies until then, and reports progress. */
void ibh_prober_pass(IbhProber *prober, gint64 until, const char *doing);
