/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the facts about RDMA devices, ports and their netdevs from sysfs and procfs. Only --check and --show do, never
 * an event.
 */
#pragma once

#include "fabric/fabric.h"
#include "host/sysfs.h"

/* `links`: with their `rdma` found (sysfs.c). Adds rails that have no RDMA (manage=yes), too: their MTU matters. */
IbhFabric *ibh_fabric_read(IbhTree *tree, const GArray *links, const IbhRails *rails);
/* Reads at most `limit` bytes of a file; NULL if there is no such file. */
char *ibh_fabric_read_text(IbhTree *tree, gsize limit, const char *path);
void ibh_fabric_read_modules(IbhTree *tree, IbhFabric *fabric); /* after the ports and netdevs */
gboolean ibh_pci_has_class(IbhTree *tree, const char *device, const char *classes);
void ibh_fabric_read_gpus(IbhTree *tree, IbhFabric *fabric);
/* Reads the values that may change a second time: counters of errors, subnet managers. On a running host where some are
 * not 0 it waits a moment before. */
void ibh_fabric_read_again(IbhTree *tree, IbhFabric *fabric);
