/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which modules RDMA lacks, and which adapters and drivers show that it is wanted.
 */
#pragma once

#include "fabric/fabric.h"
#include "host/tree.h"

/* After the ports and netdevs. */
void ibh_modules_read(IbhTree *tree, IbhFabric *fabric);
