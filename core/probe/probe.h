/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --probe: echoes from every rail to every peer: when each is sent, what a reply proves, and which findings follow.
 * Pure: probe_io.c sends and receives.
 *
 * All pairs are asked side by side, at most 4,000 packets a second together. Each pair costs the kernel an entry in its
 * neighbour table, which the whole machine shares: so a window slides over the pairs (probe_window.h), and the requests
 * after the echoes go in waves. Our entries are deleted if more pairs follow; without CAP_NET_ADMIN a pause lets them
 * grow old instead.
 */
#pragma once

#include "probe/arp.h"
#include "check/finding.h"
#include "plan/rails.h"

#define IBH_PROBE_ERROR (g_quark_from_static_string("ibh-probe-error"))

#define IBH_PROBE_INTERVAL (G_USEC_PER_SEC / 5) /* from one echo of a pair to the next */
#define IBH_PROBE_TIMEOUT G_USEC_PER_SEC        /* that the last one waits for its reply */
#define IBH_PROBE_SPACING 250                   /* µs between two packets */
#define IBH_PROBE_PAUSE (6 * G_USEC_PER_SEC)    /* from wave to wave: the kernel collects what is older than 5 s */
#define IBH_PROBE_TABLE 1024                    /* neighbours, where the kernel's limit cannot be read: its default */
#define IBH_PROBE_PACKETS_MAX 1000000           /* of one run: 17 minutes */
#define IBH_PROBE_PACKET 40                     /* bytes of an echo: header, cookie, pair, number, zeros */

/* What can be wrong with a pair; the names are stable codes of findings. */
typedef enum {
    IBH_PROBE_UNSENT,      /* the kernel refused to send */
    IBH_PROBE_DROPPED,     /* the reply came to this host, which dropped it */
    IBH_PROBE_LOST,        /* no reply to some or all */
    IBH_PROBE_ROUTE,       /* without a device named, this host sends it by another NIC */
    IBH_PROBE_REPLY,       /* the reply came in by another NIC */
    IBH_PROBE_FLUX,        /* two hardware addresses answer for it, or another peer has the same one */
    IBH_PROBE_PEER_SENDER, /* the reply came from another hardware address than the request went to */
    IBH_PROBE_MTU,         /* packets of full size do not come through whole */
    IBH_PROBE_RDMA,        /* echoes come through, RDMA does not, or cannot */
    IBH_PROBE_NO_DEVICE,   /* there is nothing to do RDMA with behind this NIC */
    IBH_PROBE_NOT_KNOWN,   /* echoes come through; which hosts sent them is not known */
    IBH_PROBE_TRANSLATED,  /* echoes come through, but this host's own NAT changes them */
    IBH_PROBE_N_FAULTS
} IbhProbeFault;

const char *ibh_probe_fault_name(IbhProbeFault fault);

typedef struct {
    const IbhNic *nic;
    IbhIp ip;
} IbhProbeSource;

/* The result of a pair's RDMA request. */
typedef enum {
    IBH_RDMA_UNWANTED, /* without --rdma */
    IBH_RDMA_UNASKED,  /* not (yet): the next four say why not */
    IBH_RDMA_NO_ECHO,
    IBH_RDMA_NO_MODULE,
    IBH_RDMA_FILTERED, /* this host would drop it */
    IBH_RDMA_BLOCKED,  /* the process that should ask said nothing */
    IBH_RDMA_NO_DEVICE,
    IBH_RDMA_NO_GID,  /* the device does not know the source address */
    IBH_RDMA_REFUSED, /* by the kernel, with an errno */
    IBH_RDMA_SILENT,  /* no answer to any of several requests */
    IBH_RDMA_ANSWERED,
    IBH_N_RDMA
} IbhRdmaOutcome;

/* The last step that the request reached. */
typedef enum { IBH_RDMA_AT_ADDRESS, IBH_RDMA_AT_ROUTE, IBH_RDMA_AT_PEER } IbhRdmaStep;

typedef struct {
    IbhRdmaOutcome outcome;
    IbhRdmaStep step;
    int error; /* errno of that step; 0: none */
} IbhRdmaAnswer;

/* The result of a pair's TCP SYN (probe_syn.h). */
typedef enum {
    IBH_SYN_UNWANTED, /* not IPv6, not a neighbour, or no echo came back */
    IBH_SYN_UNASKED,
    IBH_SYN_NO_RIGHT, /* to send it, or to hear the answer */
    IBH_SYN_UNSENT,   /* the kernel refused */
    IBH_SYN_SILENT,
    IBH_SYN_ANSWERED
} IbhSynOutcome;

typedef struct {
    IbhSynOutcome outcome;
    guint8 sender[IBH_LLADDR_MAX]; /* from which the answer came */
    guint sender_len;              /* 0: the kernel does not tell */
} IbhSynAnswer;

/* Why a pair lost echoes. The table of judge.c has what each means, and whose fault it is. */
typedef enum {
    IBH_LOSS_NONE,
    IBH_LOSS_NO_CARRIER, /* the rail is down: told as that */
    IBH_LOSS_DUPLICATE,  /* another host has the rail's address, too: told as that */
    IBH_LOSS_TABLE,      /* the neighbour table was full: told as that */
    IBH_LOSS_OURS,       /* a route says that the peer's address is this host's own */
    IBH_LOSS_NO_WAY,     /* the kernel has no route by this NIC, or one that is an error */
    IBH_LOSS_FIREWALL,   /* it refuses to send */
    IBH_LOSS_QUEUE,
    IBH_LOSS_UNTRIED,
    IBH_LOSS_STATIC,     /* a permanent neighbour entry has another hardware address than the host that answers */
    IBH_LOSS_ARP_OFF,    /* the rail sends no ARP request */
    IBH_LOSS_HELD,       /* no echo leaves by the rail */
    IBH_LOSS_TRANSLATED, /* they leave with another address */
    IBH_LOSS_DROPPED,    /* a reply comes in, and is dropped before the kernel's IP */
    IBH_LOSS_REFUSED,    /* a reply comes in, and is dropped by it */
    IBH_LOSS_GATEWAY,    /* the gateway does not answer ARP */
    IBH_LOSS_SOME,       /* others came back */
    IBH_LOSS_AFTER_ARP,  /* ARP was answered */
    IBH_LOSS_NOTHING,    /* not even ARP was */
    IBH_LOSS_UNKNOWN,    /* ARP was not asked */
    IBH_N_LOSSES
} IbhProbeLoss;

/* In words, with its code. */
typedef struct {
    const char *code, *why, *advice;
} IbhLocalCause;

/* One more echo of a pair that lost all of them, with an ear at its NIC (probe_trace.h). */
typedef struct {
    gboolean asked;
    gboolean delivered;     /* this one's reply was */
    gboolean left, came;    /* the echo, a reply */
    gboolean is_translated; /* it left with other addresses: these */
    IbhIp from, to;
    gboolean asks, told; /* for the peer's hardware address: a question left, an answer came in */
} IbhProbeTrace;

/* How long packets may be, with their IP header. 0: not known. */
typedef struct {
    guint passed;   /* the longest that was answered */
    guint failed;   /* the shortest that was not */
    guint fragment; /* a reply came in pieces of this size */
    IbhIp told_by;  /* the host that reported one as too long; family 0: none */
    guint told;     /* and the size that it accepts */
    guint seen;     /* the longest whose reply came in whole, delivered or not */
    gboolean held;  /* the kernel does not let longer ones leave: this host's own firewall */
} IbhProbeSize;

typedef struct {
    guint source; /* index into sources */
    guint peer;   /* index into peers */
    gboolean on_link;
    int sent, received;
    gint64 rtt;                    /* µs, the shortest; -1: none */
    int send_error;                /* errno, 0: none */
    IbhLookup route;               /* the kernel's answer where no device is named */
    int reply_ifindex;             /* where replies came in: a wrong NIC, if any did; 0: none came */
    gboolean dropped;              /* a reply came in and was not delivered */
    guint8 lladdr[IBH_LLADDR_MAX]; /* to which requests go */
    guint lladdr_len;
    guint8 sender[IBH_LLADDR_MAX]; /* from which the last reply came */
    guint sender_len;
    guint8 answer[4][IBH_LLADDR_MAX]; /* to ARP, asked anew: the first different ones */
    guint answer_len;                 /* of each; 0: none */
    guint answers;
    gboolean known_before; /* the neighbour table had an entry when we came */
    gboolean fixed;        /* `lladdr` is of a permanent entry */
    gboolean is_over;      /* all were answered or given up: later replies do not count */
    IbhProbeTrace trace;
    IbhProbeLoss loss;
    const IbhLocalCause *local; /* local.h: how this host explains the loss; NULL: not at all */
    gboolean hindered;          /* this host itself is to blame for that loss */
    IbhProbeSize mtu;
    IbhSynAnswer syn;
    IbhRdmaAnswer rdma;
    guint faults; /* bits: 1 << IbhProbeFault */
} IbhProbePair;

/* A host, not this one, that answers ARP for an address of this host. */
typedef struct {
    guint source; /* index into sources: the address */
    guint8 lladdr[IBH_LLADDR_MAX];
    guint lladdr_len;
    gboolean proxy; /* only to a host that has an address itself */
    int own;        /* ifindex: it is this host, by a NIC that is no rail; 0: it is another host */
} IbhProbeStranger;

typedef struct {
    gint64 sent_at; /* µs */
    gboolean sent, received, seen;
} IbhProbeEcho;

typedef struct {
    GArray *peers; /* IbhIp: who is asked */
    int count;     /* echoes to each of them from each rail */
    gboolean rdma; /* asks by RDMA, too */
} IbhProbeRequest;

typedef struct {
    const IbhRails *rails;
    GPtrArray *nics;      /* const IbhNic *: the rows */
    GArray *peers;        /* IbhIp: the columns */
    GArray *own;          /* IbhIp: peers that are this host's addresses, left out */
    GArray *sources;      /* IbhProbeSource */
    GArray *pairs;        /* IbhProbePair, by peer */
    GArray *strangers;    /* IbhProbeStranger */
    gboolean interrupted; /* by a signal */
    GArray *missed;       /* IbhProbePair that nothing was sent to, because of that */
    GHashTable *numbers;  /* IbhIp → index into peers */
    IbhProbeEcho *echoes; /* `count` of each pair */
    int count;
    gint64 interval, timeout; /* µs: IBH_PROBE_INTERVAL, IBH_PROBE_TIMEOUT */
    gboolean rdma;
    gboolean hears_replies; /* all of them, also those that are not delivered */
    gboolean hears_arp;     /* an address that did not answer ARP within this time is silent */
    guint16 id;             /* of an echo, where the kernel does not choose it */
    guint8 cookie[16];      /* so that a reply cannot be guessed */
    guint table_size[2];    /* the kernel's limit of neighbours: IPv4, IPv6; 0: not known */
    gboolean was_full[2];   /* that limit was reached meanwhile */
    GArray *local;          /* readings of local.h; NULL: none */
    GPtrArray *findings;    /* IbhFinding *; NULL: not judged yet */
} IbhProbe;

/* Fails if the request is empty or too large. No NIC to probe is no failure: then there are no pairs. */
IbhProbe *ibh_probe_new(const IbhRails *rails, const IbhProbeRequest *request, GError **error);
void ibh_probe_free(IbhProbe *probe);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IbhProbe, ibh_probe_free)

const IbhProbeSource *ibh_probe_source(const IbhProbe *probe, const IbhProbePair *pair);
const IbhIp *ibh_probe_peer(const IbhProbe *probe, const IbhProbePair *pair);
const IbhProbePair *ibh_probe_find(const IbhProbe *probe, const IbhNic *nic, guint peer); /* NULL: not asked */
/* Why this NIC does not ask that peer, for people; NULL: it does. */
const char *ibh_probe_why_unasked(const IbhProbe *probe, const IbhNic *nic, guint peer);
gboolean ibh_probe_was_missed(const IbhProbe *probe, const IbhNic *nic, guint peer);
IbhProbePair *ibh_probe_pair(const IbhProbe *probe, guint i);
IbhProbeEcho *ibh_probe_echo(const IbhProbe *probe, guint pair, guint number);
/* The neighbour that the pair's packets go to: the peer, or a gateway; NULL: not known. */
const IbhIp *ibh_probe_via(const IbhProbe *probe, const IbhProbePair *pair);
const IbhLink *ibh_probe_link(const IbhProbe *probe, const IbhProbePair *pair); /* by which the pair's echoes leave */
IbhProbePair *ibh_probe_find_pair(const IbhProbe *probe, int ifindex, guint peer); /* NULL: not asked */
guint ibh_probe_first_pair(const IbhProbe *probe, guint peer); /* pairs are in the order of the peers */
int ibh_probe_family(const IbhIp *ip);                         /* index into table_size */

/* How many pairs, from this one on, are asked together, where so many entries may be added to the neighbour tables. */
guint ibh_probe_wave(const IbhProbe *probe, guint first, const guint room[2]);

/* ---- echoes ---- */

/* `id`: as the socket has it. */
void ibh_probe_packet(const IbhProbe *probe, guint pair, guint number, guint16 id, guint8 packet[IBH_PROBE_PACKET]);
void ibh_probe_sent(IbhProbe *probe, guint pair, guint number, gint64 now);

typedef struct {
    IbhIp from, to;
    int ifindex;        /* where it came in */
    guint16 id;         /* that it has to have */
    const guint8 *icmp; /* header and payload, from the wire */
    gsize length;
    const guint8 *sender; /* hardware address */
    guint sender_len;     /* 0: unknown */
} IbhProbeReply;

/* Where ICMP begins in a packet; 0: it is none. */
gsize ibh_icmp_offset(int family, const guint8 *bytes, gsize length);

/* One that was delivered. TRUE: it is the first that answers one of ours. */
gboolean ibh_probe_received(IbhProbe *probe, const IbhProbeReply *reply, gint64 now);
/* A packet that came in, whether or not it was delivered. */
void ibh_probe_seen(IbhProbe *probe, const IbhProbeReply *reply);
/* An answer to ARP, which came in there. */
void ibh_probe_answered(IbhProbe *probe, int ifindex, const IbhArpReply *reply);
/* The content of the neighbour table: IbhNeighbour. */
void ibh_probe_learn(IbhProbe *probe, const GArray *pairs, GArray *neighbours); /* guint */

/* Its content before anything was sent: these entries are not ours, and are not deleted. */
void ibh_probe_note_known(IbhProbe *probe, GArray *neighbours);
/* The entry of the neighbour table that exists only for this pair's echoes. */
gboolean ibh_probe_owns_entry(const IbhProbePair *pair);

/* A signal ended the probe: echoes that had no time to be answered do not count as lost, and pairs that were not asked
 * are put aside. */
void ibh_probe_interrupt(IbhProbe *probe, gint64 now);

/* ---- the verdict ---- */

/* Once all is over: sets faults and findings. */
void ibh_probe_judge(IbhProbe *probe);
