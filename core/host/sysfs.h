/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What sysfs says of RDMA ports: which netdev belongs to which, and where their hardware is.
 */
#pragma once

#include "host/tree.h"
#include "model/model.h"

/* ---- which netdev belongs to which RDMA port, from /sys/class/infiniband (or another root) ---- */

/* The ports of all RDMA devices. They are gone when the tree is cleared. */
GPtrArray *ibh_sysfs_ports(IbhTree *tree);

/* Fills in `rdma` and `vf` of the links. No such tree: no RDMA, no error. */
gboolean ibh_sysfs_find_rdma(IbhTree *tree, const GPtrArray *ports, GArray *links, GError **error);

/* What a port says, for whom it concerns; `port` is its directory, "sys/class/infiniband/mlx5_1/ports/1". GIDs are
 * written like IPv6 addresses. FALSE: there is no such entry, or it cannot be read. */
gboolean ibh_sysfs_read_gid(IbhTree *tree, const char *port, int index, IbhIp *ret_gid);
gboolean ibh_sysfs_parse_gid(const char *text, IbhIp *ret_gid);
gboolean ibh_sysfs_gid_is_empty(const IbhIp *gid);
#define IBH_NDEV_LEN 64
void ibh_sysfs_read_ndev(IbhTree *tree, const char *port, int index, char name[IBH_NDEV_LEN]); /* "": none */

/* ---- where the hardware of a rail is ---- */

/* Fills in the slot: where its PCI address is not known, its RDMA port. FALSE: it is software (rxe, siw), which comes
 * and goes. */
gboolean ibh_hardware_find(const char *sysfs, IbhKnownRail *known);
/* Fills in the slot of links that have the name and the port of a known rail (IbhKnownRail), but not its hardware
 * address: it may have got another one, or another card may have its name. */
void ibh_sysfs_find_slots(IbhTree *tree, const GArray *known, GArray *links);
