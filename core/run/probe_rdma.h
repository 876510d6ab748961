/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --probe --rdma: asks pairs by RDMA. Where the kernel does not let go of a process that asks, the pairs that it should
 * still have asked are told so, and nobody waits for it.
 */
#pragma once

#include "run/probe_sockets.h"

/* `first` and the next `pairs`, whose echoes are over. */
void ibh_prober_ask_rdma(IbhProber *prober, guint first, guint pairs);
