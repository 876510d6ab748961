/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the facts about RDMA devices, ports and their netdevs from sysfs and procfs. --check, --show and --render
 * need them; no event does.
 */
#pragma once

#include "fabric/fabric.h"
#include "host/sysfs.h"

/* Reads all facts but those of GPUs. The links must have their `rdma` (ibh_sysfs_find_rdma()). If `rails` is not NULL,
 * also reads the rails without an RDMA port of their own, because their MTU matters. */
IbhFabric *ibh_fabric_read(IbhTree *tree, const GArray *links, const IbhRails *rails);
/* Returns at most `limit` bytes of a file as a string, which the caller frees; NULL if the file cannot be read. */
char *ibh_fabric_read_text(IbhTree *tree, gsize limit, const char *path);
void ibh_fabric_read_modules(IbhTree *tree, IbhFabric *fabric); /* sets `modules` and `bare`; needs `nics` */
/* TRUE if the class of the PCI device is one of `classes`, such as "0c06 0207". */
gboolean ibh_pci_has_class(IbhTree *tree, const char *device, const char *classes);
void ibh_fabric_read_gpus(IbhTree *tree, IbhFabric *fabric);
/* Reads error counters, SM lids and subnet prefixes a second time, and sets `new_errors` and `is_steady` of each port.
 * If any port has errors, or if InfiniBand ports have different SM lids or prefixes, waits a moment before the second
 * reading. Never waits for a copy of /sys, which does not change. */
void ibh_fabric_read_again(IbhTree *tree, IbhFabric *fabric);
