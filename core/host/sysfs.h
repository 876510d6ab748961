/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RDMA ports in sysfs: which netdev belongs to which port, and the PCI slot of a port.
 */
#pragma once

#include "host/tree.h"
#include "model/model.h"

/* Sets `rdma` of the links, and `vf` of those that have an RDMA port or are InfiniBand. A tree without RDMA devices is
 * not an error: then no link has a port. Fails if something may exist but could not be read (IbhTree.problem). */
gboolean ibh_sysfs_find_rdma(IbhTree *tree, GArray *links, GError **error);

/* Reads an entry of a port's GID table. `directory` is the port's, "sys/class/infiniband/mlx5_1/ports/1". A GID has the
 * form of an IPv6 address. Returns FALSE if the entry is missing or cannot be read. */
gboolean ibh_sysfs_read_gid(IbhTree *tree, const char *directory, int index, IbhIp *ret_gid);
#define IBH_NDEV_LEN 64
/* Reads the name of the netdev of an entry of the GID table; "" if there is none. */
void ibh_sysfs_read_ndev(IbhTree *tree, const char *directory, int index, char name[IBH_NDEV_LEN]);

/* Sets the slot of the RDMA port `port` ("mlx5_1/1"): PCI address and port number ("0000:81:00.0/1"), or `port` itself
 * if the device is not on PCI. Returns FALSE if the device has gone, or is software (rxe; siw since Linux 5.11), which
 * has no slot. */
gboolean ibh_sysfs_find_slot(IbhTree *tree, const char *port, char slot[IBH_SLOT_LEN]);
/* Sets the slot of links that have the name and port of a known rail (IbhKnownRail) but another hardware address: in
 * the same slot, the link is still that rail, with a new hardware address or a new card; in another slot, it is not. */
void ibh_sysfs_find_slots(IbhTree *tree, const GArray *known, GArray *links);
