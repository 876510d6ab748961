/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sends the echoes of --probe and takes their replies.
 */
#pragma once

#include "kernel/netlink.h"
#include "probe/probe.h"

/* Asks all pairs, with raw sockets or, without CAP_NET_RAW, with ping sockets. `sysfs` stands for /sys. Then `probe`
 * can be judged. */
gboolean ibh_probe_run(IbhProbe *probe, IbhNetlink *netlink, const char *sysfs, GError **error);
