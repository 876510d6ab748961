/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The per-interface sysctls of IPv4. Reading those of an interface needs no file: netlink brings them along.
 */
#pragma once

#include "model/model.h"

/* net.ipv4.conf.all; a value that is not there counts as 0. */
gboolean ibh_sysctl_read_all(int values[IBH_N_SYSCTLS], GError **error);
gboolean ibh_sysctl_read_proxy_arp(void); /* of all */
/* TRUE if this interface sends no solicitation (mcast_solicit, app_solicit). */
gboolean ibh_sysctl_read_mute(const char *iface, int family);
int ibh_sysctl_read_hash_policy(void);
/* The most neighbours that the machine keeps (gc_thresh3); 0: only the initial network namespace can tell. */
int ibh_sysctl_read_neighbour_limit(int family);
gboolean ibh_sysctl_write(const char *iface, IbhSysctl key, int value, GError **error);
