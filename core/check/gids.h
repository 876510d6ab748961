/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * GID tables of ports: a rail's own addresses have to be in them. Pure.
 */
#pragma once

#include "check/ports.h"

/* The entry that RoCE v2 has for an IPv4 address of the NIC; NULL: none. */
const IbhGid *ibh_find_gid(const IbhPort *port, const IbhPortNic *nic);

/* An active InfiniBand port whose table is empty. */
gboolean ibh_port_lacks_gid(const IbhPort *port);

/* `gid-missing` */
void ibh_judge_gids(IbhFabricJudge *judge, const IbhPort *port);
