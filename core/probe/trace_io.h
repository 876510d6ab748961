/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --probe sends one more echo for pairs that lost all of theirs, and hears what passes their NICs.
 */
#pragma once

#include "probe/sockets_io.h"

void ibh_prober_trace(IbhProber *prober);
