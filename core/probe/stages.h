/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stages, and two tables, which are in causes.c. One table has a row for each cause, which is something that can be
 * wrong with a pair. The row has the code, the severity, the words and the advice of a finding about the cause. The
 * other table has a row for each fact, which is something on this host that could drop packets.
 */
#pragma once

#include "check/finding.h"

/* The stages of a packet's way. A report names the first stage at which a pair has a problem. */
typedef enum {
    IBH_STAGE_WAY,       /* the rail's own traffic, sent from its address and tied to no NIC, leaves through the rail */
    IBH_STAGE_QUESTION,  /* this host asks which hardware address the next hop has */
    IBH_STAGE_ANSWER,    /* one host answers, once */
    IBH_STAGE_ENTRY,     /* the kernel uses that answer */
    IBH_STAGE_SENT,      /* the echo leaves */
    IBH_STAGE_REPLY,     /* the reply comes in intact */
    IBH_STAGE_DELIVERED, /* this host does not drop the reply */
    IBH_STAGE_SENDER,    /* the right NIC of the peer sent the reply to the right NIC of this host */
    IBH_STAGE_SIZE,      /* packets of full size pass, and not only small ones */
    IBH_STAGE_RDMA,      /* RDMA requests are answered */
    IBH_N_STAGES
} IbhProbeStage;

/* In these comments, ARP also stands for neighbour discovery. */
typedef enum {
    IBH_CAUSE_NONE,
    /* why echoes were lost: judge.c takes the first cause that is proved */
    IBH_LOSS_DOWN,
    IBH_LOSS_NO_CARRIER,
    IBH_LOSS_NOT_UNICAST, /* the peer's address has a local, broadcast, anycast or multicast route */
    IBH_LOSS_ARP_OFF,     /* ARP is off on a NIC that needs it, and the next hop has no fixed entry (IbhNeighbour) */
    IBH_LOSS_TABLE,       /* the neighbour table was full */
    IBH_LOSS_UNHEARD,     /* this host dropped the answer to ARP */
    IBH_LOSS_HELD,        /* echoes do not leave through the rail, or a filter or a full queue refuses them */
    IBH_LOSS_MARKED,      /* a look-up finds a route through the rail, but echoes find none: a filter may mark them */
    IBH_LOSS_NO_WAY,      /* sending fails for another reason, mostly for lack of a route through this NIC */
    IBH_LOSS_DROPPED,     /* a reply came in, and this host dropped it */
    IBH_LOSS_MANGLED,     /* a reply came in with a wrong checksum */
    IBH_LOSS_TOLD,        /* another finding explains the loss */
    IBH_LOSS_REDIRECT,    /* an ICMP redirect overrides the route */
    IBH_LOSS_REFUSED,     /* the peer or a router sent an ICMP error */
    IBH_LOSS_SOME,        /* some echoes came back, others did not */
    IBH_LOSS_TRANSLATED,  /* this host's address translation changed the echoes */
    IBH_LOSS_DETOUR,      /* the peer is a neighbour, but the route has a gateway, which answers ARP */
    IBH_LOSS_GATEWAY,     /* the gateway does not answer ARP */
    IBH_LOSS_BEYOND,      /* the gateway answers ARP, and echoes left for it */
    IBH_LOSS_AFTER_ARP,   /* the peer answers ARP, and echoes left for it */
    IBH_LOSS_NOTHING,     /* not even ARP was answered; accuses nobody */
    IBH_LOSS_UNKNOWN,     /* what was heard proves no cause above: see find_loss() */
    /* which NIC the rail's own traffic leaves through */
    IBH_WAY_NONE, /* the rail's own traffic has no route, or an error route */
    IBH_WAY_OTHER_NIC,
    IBH_WAY_FILTERED, /* the route look-up finds the rail, but an echo tied to no NIC left through another NIC */
    /* what is wrong with the entry in this host's neighbour table */
    IBH_ENTRY_FIXED,      /* a fixed entry (IbhNeighbour) has another hardware address than those that answer */
    IBH_ENTRY_WRONG,      /* before the first packet, the entry had another hardware address than those that answer */
    IBH_ENTRY_UNANSWERED, /* echoes come back, but nothing answers ARP */
    /* who answers for the next hop's address */
    IBH_PEER_PROXY,   /* one host, beside stand-ins (IbhProbeClaim.stands_in) */
    IBH_PEER_FLUX,    /* several NICs of one host, which claim the host's other addresses together, too */
    IBH_PEER_TWO,     /* two hosts, which claim no other address together */
    IBH_PEER_MANY,    /* one host or two: the claims of other addresses do not tell which */
    IBH_PEER_TWICE,   /* two hosts with one hardware address */
    IBH_PEER_DOUBLED, /* one host, whose frames the wire doubles */
    /* which way replies come */
    IBH_BACK_TRANSLATED, /* echoes left with other addresses than the pair's, and were answered */
    IBH_BACK_ENTRY,      /* the next hop sent the replies to another NIC of this host */
    IBH_BACK_OTHER,      /* replies came to another NIC of this host, and not from the next hop */
    IBH_BACK_SENDER,     /* a NIC that has another peer's address sent the replies, or the answer to the SYN */
    IBH_BACK_STRANGER,   /* a NIC that has no peer's address sent the replies, or the answer to the SYN */
    IBH_BACK_NOT_KNOWN,  /* neither neighbour entry nor replies tell a hardware address: the sender cannot be judged */
    /* what happens to packets of full size */
    IBH_SIZE_LOWERED, /* on this host, IPv6 has a smaller MTU than the link, and accept_ra_mtu is on */
    IBH_SIZE_PIECES,  /* they pass, but replies come in fragments */
    IBH_SIZE_TOLD,    /* a host reports them as too long, and the peer is a neighbour or replies come in fragments */
    IBH_SIZE_BEYOND,  /* a router on the way to a distant peer reports them as too long, which is normal */
    IBH_SIZE_MANGLED, /* replies come in with a wrong checksum */
    IBH_SIZE_OURS,    /* this host drops them or their replies */
    IBH_SIZE_SILENT,  /* they are lost without an ICMP error */
    /* how far an RDMA request came; from IBH_RDMA_NO_WAY on, an answer may still come */
    IBH_RDMA_UNASKED,   /* no request was sent yet */
    IBH_RDMA_NO_ECHO,   /* no echo came back; a request was not sent, or not answered */
    IBH_RDMA_NO_MODULE, /* the module rdma_ucm is not loaded */
    IBH_RDMA_FILTERED,  /* this host's firewall or queue would drop the request */
    IBH_RDMA_BLOCKED,   /* the process that sends requests hangs */
    IBH_RDMA_NO_DEVICE, /* the NIC has no RDMA device */
    IBH_RDMA_NO_GID,    /* the RDMA device has no GID for the source address */
    IBH_RDMA_REFUSED,   /* the kernel refused the device rdma_cm, a command, or a process for the requests */
    IBH_RDMA_NO_WAY,    /* the kernel is resolving the address, or could not */
    IBH_RDMA_NO_PATH,   /* the kernel (on InfiniBand, the subnet manager) is looking for a path, or found none */
    IBH_RDMA_SILENT,    /* the peer has not answered */
    IBH_N_CAUSES
} IbhCause;

typedef enum {
    IBH_AT_HOME,  /* this host is at fault, on the rails that have the cause */
    IBH_AT_PEER,  /* the peer is at fault, whichever rails have the cause */
    IBH_AT_EITHER /* the pairs that have the cause tell who is at fault (share_of() in verdict.c) */
} IbhProbePlace;

/* Facts: what could drop a packet on this host. A finding about packets that this host dropped, or may have dropped,
 * lists the kernel's counters that grew, what is attached to a NIC or route, and filters. */
typedef enum {
    /* counters, listed if they grew, and by at least as many packets as the pair lost */
    IBH_FACT_QUEUE,
    IBH_FACT_IPSEC_OUT,
    IBH_FACT_IPSEC_IN,
    IBH_FACT_RP_FILTER,
    /* listed if attached to the pair's NIC */
    IBH_FACT_TC,
    IBH_FACT_TCX_OUT,
    IBH_FACT_TCX_IN,
    IBH_FACT_MACVLAN,
    IBH_FACT_XDP,
    /* listed if attached to the pair's route */
    IBH_FACT_ENCAP,
    /* always listed, because nothing counts what filters drop */
    IBH_FACT_FILTER_OUT,
    IBH_FACT_FILTER_IN,
    IBH_N_FACTS
} IbhProbeFact;

/* Where a fact drops packets. */
enum {
    IBH_DROPS_OUT = 1,    /* on the way out, before --probe hears the packet */
    IBH_DROPS_IN = 2,     /* on the way in, after --probe heard the packet */
    IBH_DROPS_UNHEARD = 4 /* on the way in, before --probe can hear the packet */
};

typedef struct {
    guint drops; /* IBH_DROPS_* */
    /* added to the texts of a finding; with words in braces, as in IbhCauseRow */
    const char *why, *advice;
    const char *file; /* in /proc/net, for a counter of the network namespace; NULL for other facts */
    const char *key;  /* how the counter's name begins; NULL for other facts */
} IbhFactRow;

/* What is reported about a cause. Words in braces stand for values of the pair (words.c). judge.c decides which causes
 * a pair has. */
typedef struct {
    IbhProbeStage stage;
    const char *problem; /* the code reported for pairs that have this cause; NULL: the same as `code`; "": none */
    IbhProbePlace place;
    IbhSeverity severity;
    const char *code;               /* the finding's code; NULL: no finding */
    const char *why, *advice, *fix; /* texts of the finding; NULL: none */
    guint drops;                    /* IBH_DROPS_*: the finding lists the facts that drop packets there */
    const char *peer_code;          /* the finding's code if a peer is to blame; NULL: `code` */
    const char *owner;              /* who is to blame instead of a peer; NULL: the peer */
} IbhCauseRow;

extern const IbhCauseRow ibh_probe_causes[IBH_N_CAUSES];
extern const IbhFactRow ibh_probe_facts[IBH_N_FACTS];
