/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the facts about RDMA ports from sysfs and procfs, or from a captured tree of them.
 */
#pragma once

#include "check/fabric.h"
#include "host/tree.h"

/* `links`: with their `rdma` found (sysfs.c). */
IbhFabric *ibh_fabric_read(IbhTree *tree, const GArray *links);

/* Adds rails that have no RDMA (manage=yes): their MTU matters as well. */
void ibh_fabric_read_rails(IbhTree *tree, const IbhRails *rails, IbhFabric *fabric);

/* For a captured tree, which has no netlink: takes netdevs from class/net, and their subnets from proc/net/route and
 * proc/net/if_inet6. */
IbhFabric *ibh_fabric_read_captured(IbhTree *tree, GError **error);
