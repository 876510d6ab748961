/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is wrong with RDMA ports: their state, the subnet manager, P_Keys, RoCE versions. Pure.
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
/* A command with a word in it that may hold anything. The caller frees it. */
char *ibh_command(const char *before, const char *word, const char *after);

/* The netdev that speaks for the port: one that was asked for, else a rail, else one with an address, else any. */
const IbhPortNic *ibh_find_nic_of_port(const IbhFabricJudge *judge, const IbhPort *port);
/* It is asked about, in use, and nothing is wrong with its state, which would explain the rest. */
gboolean ibh_port_is_judged(const IbhFabricJudge *judge, const IbhPort *port);
/* No address is on it, or it is a container's. */
gboolean ibh_port_is_free(const IbhFabricJudge *judge, const IbhPort *port);
gboolean ibh_port_is_omni_path(const IbhPort *port);
gboolean ibh_port_is_active(const IbhPort *port);
gboolean ibh_port_is_wrong(const IbhPort *port);

void ibh_judge_port(IbhFabricJudge *judge, const IbhPort *port);
void ibh_judge_pkey(IbhFabricJudge *judge, const IbhPort *port, const IbhPortNic *nic);
void ibh_judge_roce(IbhFabricJudge *judge);
