/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Takes a snapshot of this network namespace: netlink and sysfs → values.
 */
#pragma once

#include "host/tree.h"
#include "kernel/netlink.h"
#include "plan/main_scope.h"
#include "plan/rails.h"

/* `sysfs`: what stands for /sys. The snapshot takes `state`. */
IbhSnapshot *ibh_snapshot_take(IbhNetlink *netlink, const char *sysfs, IbhState *state, GError **error);

/* Reads the tables that rules of others lead addresses of candidates to: they may be routed there already. */
gboolean ibh_snapshot_add_tables_of_foreign_rules(IbhSnapshot *snapshot, IbhNetlink *netlink, const IbhConfig *config,
                                                  GError **error);

/* Adds facts that only some actions need. */
gboolean ibh_snapshot_add_neighbours(IbhSnapshot *snapshot, IbhNetlink *netlink, GError **error);
/* Adds main as the candidates have it. */
gboolean ibh_snapshot_add_main(IbhSnapshot *snapshot, IbhNetlink *netlink, const IbhConfig *config, GError **error);
/* Adds error routes of main; call it once. */
gboolean ibh_snapshot_add_errors(IbhSnapshot *snapshot, IbhNetlink *netlink, GError **error);
gboolean ibh_snapshot_add_table(IbhSnapshot *snapshot, IbhNetlink *netlink, guint32 table, GError **error);

/* ---- main, as the candidates have it ---- */

/* Reads what goes through candidates, each NIC's part, if it matters to `keep`, which gets the scope. */
gboolean ibh_snapshot_read_main(const IbhMainScope *scope, IbhNetlink *netlink, IbhRouteMatters keep, GArray *parts,
                                GError **error);
/* What the scope lacks. Call it after the candidates' own routes have been added. */
gboolean ibh_snapshot_read_main_to_subnets(const IbhMainScope *scope, IbhSnapshot *snapshot, IbhNetlink *netlink,
                                           GError **error);

/* ---- what is near ---- */

/* The candidates, and all that can affect them. The cost does not grow with the host's other links and addresses. Where
 * they do not tell whether the plan is the same as with everything read, everything is read; random worlds prove that
 * it is (tests/unit/test_random.c). */
typedef struct {
    IbhNetlink *netlink;
    const IbhConfig *config;
    IbhSnapshot *snapshot;
    IbhTree tree;
    GPtrArray *ports;    /* of RDMA devices */
    gboolean enough;     /* FALSE: everything has to be read */
    GArray *nics;        /* IbhNicFilter: of this namespace; empty until they are needed */
    GArray *candidates;  /* int */
    GArray *prefixes;    /* IbhPrefix: addresses and subnets of candidates */
    GHashTable *tables;  /* those that were asked for */
    gboolean all_tables; /* were read instead */
} IbhNear;

void ibh_near_clear(IbhNear *near);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IbhNear, ibh_near_clear)

/* `near` has a socket and a configuration. The snapshot takes `state`. */
IbhSnapshot *ibh_near_take(IbhNear *near, const char *sysfs, IbhState *state, GError **error);
/* Once the rails are known: `near->enough` FALSE: other NICs have to be read as well. */
gboolean ibh_near_finish(IbhNear *near, const IbhRails *rails, GError **error);

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
