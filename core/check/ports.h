/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problems of RDMA ports: their state, the subnet manager, P_Keys, RoCE versions. Pure.
 */
#pragma once

#include "check/fabric.h"
#include "check/finding.h"

typedef struct {
    const IbhFabric *fabric;
    const char *const *only; /* NULL: all */
    GPtrArray *findings;
    GPtrArray *good; /* char *: lines about facts that are right, or not known; NULL: not collected */
} IbhFabricJudge;

gboolean ibh_fabric_is_asked(const IbhFabricJudge *judge, const char *iface);
/* A line for `good`. */
G_GNUC_PRINTF(2, 3) void ibh_fabric_report_good(IbhFabricJudge *judge, const char *format, ...);
/* A command with a quoted word, which may hold any characters. The caller frees it. */
char *ibh_command(const char *before, const char *word, const char *after);

/* The netdev that is named for the port: one that was asked for, else a rail, else one with an address, else any. */
const IbhPortNic *ibh_find_nic_of_port(const IbhFabricJudge *judge, const IbhPort *port);
/* TRUE if it was asked for, is in use, and its state is right: a wrong state would explain the rest. */
gboolean ibh_port_is_judged(const IbhFabricJudge *judge, const IbhPort *port);
/* TRUE if it has no address, or is a container's. */
gboolean ibh_port_is_free(const IbhFabricJudge *judge, const IbhPort *port);
gboolean ibh_port_is_omni_path(const IbhPort *port);
gboolean ibh_port_is_active(const IbhPort *port);
gboolean ibh_port_is_wrong(const IbhPort *port);

void ibh_judge_port(IbhFabricJudge *judge, const IbhPort *port);
void ibh_judge_pkey(IbhFabricJudge *judge, const IbhPort *port, const IbhPortNic *nic);
void ibh_judge_roce(IbhFabricJudge *judge);
