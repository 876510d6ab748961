/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --probe --rdma: asks pairs by RDMA. If the kernel blocks a process that asks, its remaining pairs get that result,
 * and no other process waits for it.
 */
#pragma once

#include "probe/sockets_io.h"

/* `first` and the next `pairs`, whose echoes are over. */
void ibh_prober_ask_rdma(IbhProber *prober, guint first, guint pairs);
