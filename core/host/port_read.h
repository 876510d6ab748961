/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Facts about RDMA devices and their ports, from sysfs. Only --check, --show and --capture read them, never an event.
 */
#pragma once

#include "check/fabric.h"
#include "host/tree.h"

/* "4: ACTIVE", "0x8002", "2044"; IBH_UNKNOWN: it is no number. */
int ibh_port_number_of(const char *text);

/* Fills devices and ports. */
void ibh_ports_read(IbhTree *tree, IbhFabric *fabric);
/* Reads a second time the values that may change: counters of errors, subnet managers. On a running host with counters
 * that are not 0 it waits a moment before. */
void ibh_ports_read_again(IbhTree *tree, IbhFabric *fabric);
