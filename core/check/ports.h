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
    GPtrArray *good; /* char *: lines about what is right, or not known; NULL: not collected */
} IbhFabricJudge;

gboolean ibh_fabric_is_asked(const IbhFabricJudge *judge, const char *iface);
/* A line for `good`. */
G_GNUC_PRINTF(2, 3) void ibh_fabric_report_good(IbhFabricJudge *judge, const char *format, ...);
/* A command with a word in it that may hold anything. The caller frees it. */
char *ibh_command(const char *before, const char *word, const char *after);

gboolean ibh_port_is_active(const IbhPort *port);
gboolean ibh_port_is_wrong(const IbhPort *port);

void ibh_judge_port(IbhFabricJudge *judge, const IbhPort *port);
void ibh_judge_pkey(IbhFabricJudge *judge, const IbhPort *port, const IbhPortNic *nic);
void ibh_judge_roce(IbhFabricJudge *judge);
