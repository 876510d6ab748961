/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "probe/sockets_io.h"

/* Reads what local.h knows, before or after the echoes. What cannot be read is left out. */
void ibh_prober_read_local(IbhProber *prober, gboolean after);
