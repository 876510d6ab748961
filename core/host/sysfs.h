/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which netdev belongs to which RDMA port, from /sys/class/infiniband (or a captured tree of it).
 */
#pragma once

#include "model/model.h"
#include "host/tree.h"

/* Fills in `rdma` and `vf` of the links. `sysfs` stands for /sys. No such tree: no RDMA, no error. */
gboolean ibh_sysfs_find_rdma(const char *sysfs, GArray *links, GError **error);
gboolean ibh_sysfs_find_rdma_in(IbhTree *tree, GArray *links, GError **error);
