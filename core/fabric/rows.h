/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of all that --check can find about RDMA, and its predicates.
 */
#pragma once

#include "check/row.h"
#include "fabric/fabric.h"

extern const IbhRow ibh_fabric_rows[];

/* ports.c */
IbhPredicate ibh_port_lacks_sm, ibh_port_is_inactive;
IbhPredicate ibh_port_lacks_guid, ibh_port_shares_guid, ibh_port_is_slow, ibh_port_has_slow_slot, ibh_port_has_errors;
/* netdevs.c */
IbhPredicate ibh_netdev_has_other_mtu, ibh_netdev_lacks_pkey, ibh_netdev_is_limited, ibh_netdev_has_stale_prefix;
IbhPredicate ibh_netdev_has_wrong_gid, ibh_netdev_has_other_pkey, ibh_netdev_has_other_prefix, ibh_netdev_has_other_sm;

/* Returns the netdev that a finding about the port names: one that the user asked for, else a rail, else one with an
 * address, else any; NULL if the port has none. */
const IbhPortNic *ibh_port_netdev(const IbhSubject *about);
/* TRUE if the user named no interfaces, or named this netdev. `netdev` is NULL for a port without a netdev. */
gboolean ibh_netdev_is_asked(const IbhSubject *about, const IbhPortNic *netdev);
/* TRUE if the state is ACTIVE, and the physical state is LinkUp, unknown, or a number that InfiniBand does not have. */
gboolean ibh_port_is_active(const IbhPort *port);
/* TRUE if the port is active and, with InfiniBand, does not lack a subnet manager. If FALSE, other faults of the
 * port may be mere consequences. */
gboolean ibh_port_is_right(const IbhPort *port);
/* TRUE if the port is used (PORT_USED in ports.c), and its state is right (ibh_port_is_right()). */
gboolean ibh_port_is_sound(const IbhSubject *about);
