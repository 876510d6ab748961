/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The per-interface sysctls of IPv4. Reading those of an interface needs no file: netlink brings them along.
 */
#pragma once

#include "model/model.h"

/* net.ipv4.conf.all; a value that is not there counts as 0. */
gboolean ibh_sysctl_read_all(int values[IBH_N_SYSCTLS], GError **error);
/* One below net, "ipv4/conf/all/proxy_arp"; -1: it is not there. */
G_GNUC_PRINTF(1, 2) int ibh_sysctl_read(const char *format, ...);
gboolean ibh_sysctl_write(const char *iface, IbhSysctl key, int value, GError **error);
