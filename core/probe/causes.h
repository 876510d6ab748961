/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What can be wrong with a pair of rail and peer: one table from cause to code, severity, words and advice. Pure.
 */
#pragma once

#include "check/finding.h"

typedef enum {
    IBH_CAUSE_NONE,
    /* of lost echoes */
    IBH_LOSS_DOWN,
    IBH_LOSS_NO_CARRIER,
    IBH_LOSS_OURS,      /* a route says that the peer's address is this host's own */
    IBH_LOSS_ARP_OFF,   /* the rail sends no ARP request */
    IBH_LOSS_HELD,      /* no echo leaves by the rail */
    IBH_LOSS_TABLE,     /* the neighbour table was full */
    IBH_LOSS_FIREWALL,  /* the kernel refuses to send */
    IBH_LOSS_NO_WAY,    /* it has no route by this NIC, or one that is an error */
    IBH_LOSS_DROPPED,   /* a reply comes in, and is not delivered */
    IBH_LOSS_SOME,      /* others came back */
    IBH_LOSS_DUPLICATE, /* another host has the rail's address, too: answers.c tells it */
    IBH_LOSS_STATIC,    /* a permanent neighbour entry has another hardware address than the host that answers */
    IBH_LOSS_TRANSLATED,
    IBH_LOSS_GATEWAY,   /* the gateway does not answer ARP */
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
    IBH_SIZE_OURS,
    IBH_SIZE_SILENT,
    /* of RDMA, as far as a request came: from IBH_RDMA_NO_WAY on, it may still be answered */
    IBH_RDMA_UNASKED,
    IBH_RDMA_NO_ECHO,
    IBH_RDMA_NO_MODULE,
    IBH_RDMA_FILTERED, /* this host would drop it */
    IBH_RDMA_BLOCKED,  /* the process that should ask said nothing */
    IBH_RDMA_NO_DEVICE,
    IBH_RDMA_NO_GID,  /* the device does not know the source address */
    IBH_RDMA_REFUSED, /* by the kernel, with an errno */
    IBH_RDMA_NO_WAY,  /* by now, the rail's device does not find the peer; */
    IBH_RDMA_NO_PATH, /* the subnet manager says nothing; */
    IBH_RDMA_SILENT,  /* nor does the peer */
    IBH_N_CAUSES
} IbhCause;

typedef enum {
    IBH_AT_HOME,  /* this host is at fault, on the rails that have it */
    IBH_AT_PEER,  /* the peer is, whichever rails saw it */
    IBH_AT_EITHER /* the pairs that have it tell */
} IbhProbePlace;

/* What is lost, so that a fact about this host may explain it better. */
enum { IBH_LOST_OUT = 1, IBH_LOST_IN = 2, IBH_LOST_ALL = 4, IBH_LOST_SOME = 8 };

/* In texts, words in braces stand for the pair's: ibh_probe_fill_in(). */
typedef struct {
    IbhProbePlace place;
    IbhSeverity severity;
    const char *code;    /* NULL: told elsewhere, or no fault */
    const char *problem; /* of its pairs, a code, too; NULL: the same */
    const char *why;
    const char *fix, *advice;
    const char *peer_code, *peer_advice; /* where a peer is at fault; NULL: the same */
    guint lost;                          /* of a loss, what this is; of what explains losses, which */
    const char *file, *key; /* of the kernel's counters: below /proc/net, and how their names begin; NULL: not there */
} IbhCauseRow;

const IbhCauseRow *ibh_probe_cause(IbhCause cause);
