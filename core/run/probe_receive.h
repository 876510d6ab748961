/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What comes back to --probe's small echoes and ARP requests.
 */
#pragma once

#include "run/probe_sockets.h"

/* What came in until now. */
void ibh_prober_take_all(IbhProber *prober);
/* Until something comes, or the time does. */
void ibh_prober_wait(IbhProber *prober, gint64 until);
/* Takes what comes until then, and tells what is being done. */
void ibh_prober_pass(IbhProber *prober, gint64 until, const char *doing);
