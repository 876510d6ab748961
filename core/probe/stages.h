/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What can be wrong with a pair of rail and peer: one table from cause to code, severity, words and advice. And what of
 * this host could drop packets: one table from counter or attachment to words.
 */
#pragma once

#include "check/finding.h"

/* The stages of a packet's way. A report tells the first one that was not seen. */
typedef enum {
    IBH_STAGE_WAY,       /* the rail's own traffic leaves through the rail */
    IBH_STAGE_QUESTION,  /* this host asks who has the next hop's address */
    IBH_STAGE_ANSWER,    /* one host answers, once */
    IBH_STAGE_ENTRY,     /* the kernel uses that answer */
    IBH_STAGE_SENT,      /* the echo leaves */
    IBH_STAGE_REPLY,     /* its reply comes in, intact */
    IBH_STAGE_DELIVERED, /* this host does not drop the reply */
    IBH_STAGE_SENDER,    /* the right NIC sent the reply, to the right NIC */
    IBH_STAGE_SIZE,      /* packets of full size pass, too */
    IBH_STAGE_RDMA,      /* RDMA requests are answered */
    IBH_N_STAGES
} IbhProbeStage;

typedef enum {
    IBH_CAUSE_NONE,
    /* why echoes were lost: the first one that is proved */
    IBH_LOSS_DOWN,
    IBH_LOSS_NO_CARRIER,
    IBH_LOSS_OURS,     /* a route says that the peer's address is this host's own, or of many hosts */
    IBH_LOSS_ARP_OFF,  /* the NIC does not use ARP */
    IBH_LOSS_TABLE,    /* the neighbour table was full */
    IBH_LOSS_UNHEARD,  /* this host dropped the answer to ARP */
    IBH_LOSS_HELD,     /* echoes do not leave through the rail, or the kernel refuses to send them */
    IBH_LOSS_MARKED,   /* the kernel finds a route, but refuses what is sent */
    IBH_LOSS_NO_WAY,   /* no route by this NIC, or an error route */
    IBH_LOSS_DROPPED,  /* a reply came in, and this host dropped it */
    IBH_LOSS_MANGLED,  /* a reply came in with a wrong checksum */
    IBH_LOSS_TOLD,     /* another finding explains the loss */
    IBH_LOSS_REDIRECT, /* an ICMP redirect overrides the route */
    IBH_LOSS_REFUSED,  /* the peer or a router sent an ICMP error */
    IBH_LOSS_SOME,     /* other echoes came back */
    IBH_LOSS_TRANSLATED,
    IBH_LOSS_DETOUR,    /* the peer is a neighbour, but the route has a gateway */
    IBH_LOSS_GATEWAY,   /* the gateway does not answer ARP */
    IBH_LOSS_BEYOND,    /* the gateway answers ARP, and echoes left for it */
    IBH_LOSS_AFTER_ARP, /* the peer answers ARP, and echoes left for it */
    IBH_LOSS_NOTHING,   /* not even ARP was answered */
    IBH_LOSS_UNKNOWN,   /* it is not known which way the echoes took */
    /* the way of the rail's own traffic */
    IBH_WAY_NONE,
    IBH_WAY_OTHER_NIC,
    IBH_WAY_FILTERED, /* the kernel's answer is right, but an echo left elsewhere */
    /* the entry in this host's neighbour table */
    IBH_ENTRY_FIXED,
    IBH_ENTRY_WRONG,
    IBH_ENTRY_UNANSWERED,
    /* who answers for the next hop's address */
    IBH_PEER_FLUX,    /* several NICs of one host: other addresses show the same */
    IBH_PEER_TWO,     /* two hosts: other addresses do not show the same */
    IBH_PEER_MANY,    /* one or the other: there is nothing to compare with */
    IBH_PEER_TWICE,   /* two hosts with one hardware address */
    IBH_PEER_DOUBLED, /* one host: the wire doubles its frames */
    /* the way of replies */
    IBH_BACK_TRANSLATED,
    IBH_BACK_ENTRY, /* the next hop sent them to another NIC of this host */
    IBH_BACK_OTHER, /* another host did */
    IBH_BACK_SENDER,
    IBH_BACK_STRANGER,
    IBH_WAY_NOT_KNOWN,
    /* packets of full size */
    IBH_SIZE_LOWERED, /* IPv6 has a smaller MTU here than the link */
    IBH_SIZE_PIECES,
    IBH_SIZE_TOLD,
    IBH_SIZE_BEYOND, /* a router reports a smaller MTU, which is no fault */
    IBH_SIZE_MANGLED,
    IBH_SIZE_OURS,
    IBH_SIZE_SILENT,
    /* how far an RDMA request came: from IBH_RDMA_NO_WAY on, an answer may still come */
    IBH_RDMA_UNASKED,
    IBH_RDMA_NO_ECHO,
    IBH_RDMA_NO_MODULE,
    IBH_RDMA_FILTERED, /* this host's firewall would drop the request */
    IBH_RDMA_BLOCKED,  /* the process that sends requests hangs */
    IBH_RDMA_NO_DEVICE,
    IBH_RDMA_NO_GID,  /* the device does not know the source address */
    IBH_RDMA_REFUSED, /* the kernel refused a step, with an errno */
    IBH_RDMA_NO_WAY,  /* waits for the address to be resolved */
    IBH_RDMA_NO_PATH, /* waits for the subnet manager */
    IBH_RDMA_SILENT,  /* waits for the peer */
    IBH_N_CAUSES
} IbhCause;

typedef enum {
    IBH_AT_HOME,  /* this host is at fault, on these rails */
    IBH_AT_PEER,  /* the peer is at fault, whichever rails saw it */
    IBH_AT_EITHER /* which pairs have the cause tells who is at fault */
} IbhProbePlace;

/* What could drop a packet on this host: counters of the kernel that grew, what is attached to a NIC, and filters. A
 * finding about packets that this host dropped lists all of these. */
typedef enum {
    IBH_FACT_QUEUE, /* counters, which have to grow by what was lost */
    IBH_FACT_IPSEC_OUT,
    IBH_FACT_IPSEC_IN,
    IBH_FACT_RP_FILTER,
    IBH_FACT_TC, /* attached to a NIC */
    IBH_FACT_TCX_OUT,
    IBH_FACT_TCX_IN,
    IBH_FACT_MACVLAN,
    IBH_FACT_XDP,
    IBH_FACT_ENCAP,      /* attached to the pair's route */
    IBH_FACT_FILTER_OUT, /* always listed: nothing counts what filters drop */
    IBH_FACT_FILTER_IN,
    IBH_N_FACTS
} IbhProbeFact;

enum {
    IBH_DROPS_OUT = 1,    /* before --probe hears the packet leave */
    IBH_DROPS_IN = 2,     /* after --probe heard it come in */
    IBH_DROPS_UNHEARD = 4 /* before --probe could hear it */
};

typedef struct {
    guint drops;
    const char *why, *advice;
    const char *file,
        *key; /* a counter of the whole host: its file in /proc/net and the beginning of its name; NULL: of a NIC */
} IbhFactRow;

/* One row is all that is said of a cause. Words in braces stand for values of the pair (words.c). judge.c has what
 * proves a cause. */
typedef struct {
    IbhProbeStage stage;
    const char *problem; /* the code that its pairs have; NULL: the finding's; "": none */
    IbhProbePlace place;
    IbhSeverity severity;
    const char *code; /* NULL: no finding */
    const char *why, *advice, *fix;
    guint drops;           /* which facts are listed: IBH_DROPS_* */
    const char *peer_code; /* the code if all rails have it towards a peer; NULL: the same */
} IbhCauseRow;

extern const IbhCauseRow ibh_probe_causes[IBH_N_CAUSES];
extern const IbhFactRow ibh_probe_facts[IBH_N_FACTS];
