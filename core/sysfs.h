/*
 * Which netdev belongs to which RDMA port, from /sys/class/infiniband (or a captured tree of it).
 */
#pragma once

#include "model.h"

/* Fills in `rdma` and `vf` of the links. `root` stands for /sys. No such tree: no RDMA, no error. */
gboolean ibh_sysfs_find_rdma(const char *root, GArray *links, GError **error);
