/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel says about packets that this host itself drops: its counters, before and after the echoes, and what
 * is attached to a NIC. Pure; local_io.c reads.
 */
#pragma once

#include "probe/probe.h"

typedef enum {
    IBH_LOCAL_XDP, /* attached to the NIC */
    IBH_LOCAL_PASSTHRU,
    IBH_LOCAL_QDISC, /* counted at the NIC */
    IBH_LOCAL_TMPL,  /* counted in the network namespace */
    IBH_LOCAL_NO_POLICY,
    IBH_LOCAL_IN_BLOCK,
    IBH_LOCAL_OUT_BLOCK,
    IBH_LOCAL_NO_STATE,
    IBH_LOCAL_RP_FILTER,
    IBH_N_LOCAL
} IbhLocalFact;

/* Of the network namespace where ifindex is 0. An attachment counts 1 afterwards. */
void ibh_probe_local_before(IbhProbe *probe, int ifindex, IbhLocalFact fact, guint64 value);
void ibh_probe_local_after(IbhProbe *probe, int ifindex, IbhLocalFact fact, guint64 value);

/* A counter's file below /proc/net and its name there; NULL: it is no such counter. */
const char *ibh_probe_local_file(IbhLocalFact fact, const char **ret_key);

/* How this host explains the loss of the pair (IbhProbeLoss); NULL: not at all. */
const IbhLocalCause *ibh_probe_local_cause(const IbhProbe *probe, const IbhProbePair *pair);
