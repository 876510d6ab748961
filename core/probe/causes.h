/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What can be wrong with a pair of rail and peer: one table from cause to code, severity, words and advice. Pure.
 */
#pragma once

#include "probe/probe.h"

typedef enum {
    IBH_AT_HOME,  /* this host is at fault, on the rails that have it */
    IBH_AT_PEER,  /* the peer is, whichever rails saw it */
    IBH_AT_EITHER /* the pairs that have it tell */
} IbhProbePlace;

typedef enum {
    IBH_CAUSE_NONE,
    /* of lost echoes; the first three are told elsewhere */
    IBH_LOSS_NO_CARRIER, /* the rail is down */
    IBH_LOSS_DUPLICATE,  /* another host has the rail's address, too */
    IBH_LOSS_TABLE,      /* the neighbour table was full */
    IBH_LOSS_OURS,       /* a route says that the peer's address is this host's own */
    IBH_LOSS_NO_WAY,     /* the kernel has no route by this NIC, or one that is an error */
    IBH_LOSS_FIREWALL,   /* it refuses to send */
    IBH_LOSS_QUEUE,
    IBH_LOSS_UNTRIED,
    IBH_LOSS_STATIC,    /* a permanent neighbour entry has another hardware address than the host that answers */
    IBH_LOSS_ARP_OFF,   /* the rail sends no ARP request */
    IBH_LOSS_HELD,      /* no echo leaves by the rail */
    IBH_LOSS_SENT_FROM, /* they leave with another source, */
    IBH_LOSS_SENT_TO,   /* or to another address */
    IBH_LOSS_DROPPED,   /* a reply comes in, and is not delivered */
    IBH_LOSS_GATEWAY,   /* the gateway does not answer ARP */
    IBH_LOSS_SOME,      /* others came back */
    IBH_LOSS_AFTER_ARP, /* ARP was answered */
    IBH_LOSS_NOTHING,   /* not even ARP was */
    IBH_LOSS_UNKNOWN,   /* ARP was not asked */
    /* of lost echoes, by the kernel's counters, and by what is attached to the NIC */
    IBH_LOCAL_XDP,
    IBH_LOCAL_PASSTHRU,
    IBH_LOCAL_QDISC,
    IBH_LOCAL_IPSEC_IN,
    IBH_LOCAL_IPSEC_OUT,
    IBH_LOCAL_RP_FILTER,
    IBH_LOCAL_END,
    /* of the way of echoes, and of replies */
    IBH_WAY_NONE,
    IBH_WAY_OTHER_NIC,
    IBH_WAY_REPLY,
    IBH_WAY_TRANSLATED,
    IBH_WAY_NOT_KNOWN,
    IBH_PEER_FLUX,
    IBH_PEER_TWO,
    IBH_PEER_SENDER,
    /* of full size */
    IBH_SIZE_PIECES,
    IBH_SIZE_TOLD,
    IBH_SIZE_BEYOND, /* the same, behind a router: no fault */
    IBH_SIZE_HELD,
    IBH_SIZE_DROPPED,
    IBH_SIZE_SILENT,
    /* of RDMA; the first three are told elsewhere */
    IBH_CAUSE_RDMA_UNASKED,
    IBH_CAUSE_RDMA_NO_ECHO,
    IBH_CAUSE_RDMA_NO_MODULE,
    IBH_CAUSE_RDMA_FILTERED,
    IBH_CAUSE_RDMA_BLOCKED,
    IBH_CAUSE_RDMA_NO_DEVICE,
    IBH_CAUSE_RDMA_NO_GID,
    IBH_CAUSE_RDMA_REFUSED,
    IBH_CAUSE_RDMA_NO_WAY,
    IBH_CAUSE_RDMA_NO_PATH,
    IBH_CAUSE_RDMA_SILENT,
    IBH_N_CAUSES
} IbhCause;

#define IBH_NO_FAULT IBH_PROBE_N_FAULTS

/* In texts, words in braces stand for the pair's: ibh_probe_fill_in(). */
typedef struct {
    IbhProbePlace place;
    IbhSeverity severity;
    IbhProbeFault fault;
    const char *code;      /* NULL: told elsewhere */
    const char *peer_code; /* where a peer is at fault; NULL: the same */
    const char *why;
    const char *fix, *advice;
    const char *peer_advice; /* where a peer is at fault; NULL: the same */
} IbhCauseRow;

const IbhCauseRow *ibh_probe_cause(IbhCause cause);
/* NULL stays NULL. */
char *ibh_probe_fill_in(const IbhProbe *probe, const IbhProbePair *pair, const char *template);

/* What the kernel says about packets that this host itself drops: its counters, before and after the echoes, and what
 * is attached to a NIC, which counts 1. Of the network namespace where ifindex is 0. */
void ibh_probe_note_local(IbhProbe *probe, int ifindex, IbhCause fact, gboolean after, guint64 value);
/* The file below /proc/net with its counters, and how their names begin; NULL: it has none there. */
const char *ibh_probe_local_file(IbhCause fact, const char **ret_key);
/* A row that explains this loss of the pair better. */
IbhCause ibh_probe_local_cause(const IbhProbe *probe, const IbhProbePair *pair, IbhCause loss);
