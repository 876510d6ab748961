/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Takes a snapshot of this network namespace: netlink and sysfs → values.
 */
#pragma once

#include "host/tree.h"
#include "kernel/netlink.h"
#include "plan/main_scope.h"
#include "plan/rails.h"

typedef enum {
    IBH_NEAR, /* the candidates, and all that can affect them. Random worlds prove that the plan is the same, or that
                 some decision asked for more (tests/unit/test_random.c). Where that cannot be: everything */
    IBH_EVERYTHING
} IbhScope;

/* `sysfs`: what stands for /sys. The snapshot takes `state`. */
IbhSnapshot *ibh_snapshot_take(IbhNetlink *netlink, const IbhConfig *config, const char *sysfs, IbhScope scope,
                               IbhState *state, GError **error);

/* ---- what was asked for ---- */

gboolean ibh_snapshot_read_tables(IbhSnapshot *snapshot, IbhNetlink *netlink, GError **error);
gboolean ibh_snapshot_read_neighbours(IbhSnapshot *snapshot, IbhNetlink *netlink, GError **error);
/* Where one of these addresses is of this host, any NIC may have it: that needs everything. */
gboolean ibh_snapshot_find_holders(const IbhSnapshot *snapshot, IbhNetlink *netlink, GError **error);

/* ---- which netdev belongs to which RDMA port, from /sys/class/infiniband (or another root) ---- */

/* The ports of all RDMA devices. They are gone when the tree is cleared. */
GPtrArray *ibh_sysfs_ports(IbhTree *tree);

/* Fills in `rdma` and `vf` of the links. No such tree: no RDMA, no error. */
gboolean ibh_sysfs_find_rdma(IbhTree *tree, const GPtrArray *ports, GArray *links, GError **error);

/* Netdevs that can belong to ports although sysfs does not name them. */
typedef struct {
    gboolean infiniband; /* children of an IPoIB link, which have its GUID */
    gboolean ethernet;   /* VLANs and macvlans on one */
} IbhSysfsKinds;

/* Adds the names (char *) of the netdevs that ports name, whether or not they are links of this namespace. FALSE: at
 * least one port (iWARP before Linux 6.6) can be matched only by a look at all links, or there is no port. */
gboolean ibh_sysfs_name_links(const GPtrArray *ports, GPtrArray *names, IbhSysfsKinds *kinds);

/* Adds the names (char *) of the netdevs that are stacked on this one. FALSE: this tree does not have it. */
gboolean ibh_sysfs_name_upper(IbhTree *tree, const IbhLink *link, GPtrArray *names);

/* ---- where the hardware of a rail is ---- */

/* Fills in the slot: where its PCI address is not known, its RDMA port. FALSE: it is software (rxe, siw), which comes
 * and goes. */
gboolean ibh_hardware_find(const char *sysfs, IbhKnownRail *known);
/* Something is in its slot, and a driver has it: that of a pod or of a virtual machine, perhaps. Where the slot is not
 * known: its RDMA device is there. */
gboolean ibh_hardware_is_there(const char *sysfs, const IbhKnownRail *known);
