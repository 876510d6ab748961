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

/* What else can belong to ports than what has a name in sysfs. */
typedef struct {
    gboolean infiniband; /* children of an IPoIB link, which have its GUID */
    gboolean ethernet;   /* VLANs and macvlans on one */
} IbhSysfsKinds;

/* Adds the names (char *) of the netdevs that ports name, each a link of this namespace or not. FALSE: of some port
 * only a look at all links would tell which are its own (iWARP before Linux 6.6), or there is none. */
gboolean ibh_sysfs_name_links(IbhTree *tree, GPtrArray *names, IbhSysfsKinds *kinds);

/* Adds the names (char *) of the netdevs that are stacked on this one. FALSE: this tree does not have it. */
gboolean ibh_sysfs_name_upper(IbhTree *tree, const IbhLink *link, GPtrArray *names);
