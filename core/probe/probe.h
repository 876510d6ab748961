/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --probe: packets from every rail to every peer, what a packet that is heard means, and which findings follow. Pure:
 * the files *_io.c send and receive.
 *
 * All pairs are asked side by side, at most 4,000 packets a second together. Each pair costs the kernel an entry in its
 * neighbour table, which the whole machine shares: so a window slides over the pairs (flight.h), and an entry of ours
 * is deleted when its pair is over. Without CAP_NET_ADMIN it grows old instead.
 */
#pragma once

#include "probe/arp.h"
#include "check/finding.h"
#include "plan/rails.h"

#define IBH_PROBE_ERROR (g_quark_from_static_string("ibh-probe-error"))

#define IBH_PROBE_INTERVAL (G_USEC_PER_SEC / 5)        /* from one echo of a pair to the next */
#define IBH_PROBE_TIMEOUT G_USEC_PER_SEC               /* that the last one waits for its reply */
#define IBH_PROBE_SPACING 250                          /* µs between two packets */
#define IBH_PROBE_PAUSE (6 * G_USEC_PER_SEC)           /* the kernel collects entries that are older than 5 s */
#define IBH_PROBE_PROXY_WAIT (G_USEC_PER_SEC * 9 / 10) /* a proxy answers up to 0.8 s late (proxy_delay) */
#define IBH_PROBE_TABLE 1024          /* neighbours, where the kernel's limit cannot be read: its default */
#define IBH_PROBE_PACKETS_MAX 1000000 /* of one run: 17 minutes */
#define IBH_PROBE_PACKET 40           /* bytes of a small echo: header, cookie, pair, number, zeros */
#define IBH_PROBE_SIZE_MAX 65535      /* of a large one, with its IP header */
#define IBH_PROBE_SIZED 0x80000000u   /* in an echo's number: one of this size */
#define IBH_SYN_PORT 1                /* tcpmux: unused for decades */
#define IBH_SYN_LENGTH 20             /* bytes of a segment */

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

/* The result of a pair's TCP SYN, to a port on which no program listens. A reply to an echo leaves by the NIC that
 * received the echo, and proves nothing of the peer's rules; the RST follows these rules. Its source hardware address
 * tells which NIC of the peer sent it. */
typedef enum {
    IBH_SYN_UNWANTED, /* not IPv6, not a neighbour, or no echo came back */
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

/* What passed the pair's NIC while its echoes were under way. It is heard behind this host's filters on the way out,
 * and before them on the way in: so it tells this host's faults from those of the wire and the peer. */
typedef struct {
    gboolean left;          /* an echo */
    gboolean is_translated; /* with other addresses: these */
    IbhIp from, to;
    gboolean asks, told; /* for the peer's hardware address: a question left, an answer came in */
} IbhProbeTrace;

/* How long packets may be, with their IP header. 0: not known. */
typedef struct {
    guint passed;    /* the longest that was answered */
    gboolean failed; /* one of full size was not, twice */
    guint fragment;  /* a reply came in pieces of this size */
    IbhIp told_by;   /* the host that reported one as too long; family 0: none */
    guint told;      /* and the size that it accepts */
    guint seen;      /* the longest whose reply came in whole, delivered or not */
    gboolean held;   /* the kernel does not let longer ones leave: this host's own firewall */
} IbhProbeSize;

/* Where a pair is on its way (flight.h). */
typedef enum {
    IBH_STEP_WAITS,
    IBH_STEP_ECHOES,  /* they are under way */
    IBH_STEP_SETTLED, /* they are answered or given up: the neighbour table has to be read */
    IBH_STEP_QUESTIONS /* those of below are under way */,
    IBH_STEP_FINISHED, /* its entry of the neighbour table has to go */
    IBH_STEP_AGES,     /* it has to grow old, since it cannot be deleted */
    IBH_STEP_GONE
} IbhProbeStep;

/* What a pair is asked with. */
typedef enum { IBH_ASK_ECHO, IBH_ASK_SIZE, IBH_ASK_SYN, IBH_ASK_RDMA, IBH_ASK_WHO, IBH_N_ASKS } IbhProbeAsk;

typedef struct {
    guint source; /* index into sources */
    guint peer;   /* index into peers */
    gboolean on_link;
    int sent, received;
    gint64 rtt;                    /* µs, the shortest; -1: none */
    int send_error;                /* errno, 0: none */
    IbhLookup route;               /* the kernel's answer where no device is named */
    int reply_ifindex;             /* where replies came in: a wrong NIC, if any did; 0: none came */
    int seen_elsewhere;            /* another NIC where one came in, delivered or not */
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
    IbhProbeTrace trace;
    IbhProbeSize mtu;
    IbhSynAnswer syn;
    IbhRdmaAnswer rdma;
    IbhProbeStep step;
    guint refusals; /* of a packet of full size, by a full queue */
    guint tries[IBH_N_ASKS];
    gint64 until[IBH_N_ASKS]; /* that the last try is waited for */
    GSequenceIter *turn;      /* in flight.c; NULL: it waits for none */
    gint64 at;                /* when that is */
    guint cause;              /* causes.h: why echoes were lost; 0: none was */
    gboolean hindered;        /* this host itself is to blame for that loss */
    guint faults;             /* bits: 1 << IbhProbeFault */
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
    gboolean sent, received;
    gboolean seen, seen_here; /* a reply came in; by the right NIC */
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
    gboolean hears;       /* all that passes the NICs: what was not heard did not pass */
    guint16 id;           /* of an echo, where the kernel does not choose it */
    guint8 cookie[16];    /* so that a reply cannot be guessed */
    guint table_size[2];  /* the kernel's limit of neighbours: IPv4, IPv6; 0: not known */
    gboolean was_full[2]; /* that limit was reached meanwhile */
    GArray *local;        /* readings of the kernel's counters (judge.c); NULL: none */
    GPtrArray *findings;  /* IbhFinding *; NULL: not judged yet */
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
gboolean ibh_probe_is_direct(const IbhProbe *probe, const IbhProbePair *pair);          /* that neighbour is the peer */
const IbhLink *ibh_probe_link(const IbhProbe *probe, const IbhProbePair *pair);         /* by which its echoes leave */
IbhProbePair *ibh_probe_find_pair(const IbhProbe *probe, int ifindex, const IbhIp *ip); /* NULL: not asked */
int ibh_probe_family(const IbhIp *ip);                                                  /* index into table_size */
guint ibh_probe_full_size(const IbhProbe *probe, const IbhProbePair *pair);

/* The content of the neighbour table (IbhNeighbour) before anything was sent: these entries are not ours, and are not
 * deleted; and later: the hardware addresses of pairs that are settled. */
void ibh_probe_note_known(IbhProbe *probe, const GArray *neighbours);
void ibh_probe_learn(IbhProbe *probe, const GArray *neighbours);
/* The entry of the neighbour table that exists only for this pair's echoes. */
gboolean ibh_probe_owns_entry(const IbhProbePair *pair);

/* A signal ended the probe: echoes that had no time to be answered do not count as lost, and pairs that were not asked
 * are put aside. */
void ibh_probe_interrupt(IbhProbe *probe, gint64 now);

/* ---- packets ---- */

/* An echo in `packet`, which has room for it; `id`: as the socket has it. Returns its length. */
gsize ibh_probe_packet(const IbhProbe *probe, guint pair, guint number, guint16 id, guint8 *packet);
void ibh_probe_sent(IbhProbe *probe, guint pair, guint number, gint64 now);
/* A TCP segment; the kernel writes its checksum. */
guint16 ibh_probe_syn_port(const IbhProbe *probe); /* ours */
void ibh_probe_syn(const IbhProbe *probe, guint pair, guint8 segment[IBH_SYN_LENGTH]);

typedef struct {
    IbhIp from, to;
    int ifindex;        /* where it came in */
    guint16 id;         /* that it has to have */
    const guint8 *icmp; /* header and payload, from the wire */
    gsize length;
} IbhProbeReply;

/* Where ICMP begins in a packet; 0: it is none. */
gsize ibh_icmp_offset(int family, const guint8 *bytes, gsize length);

/* An echo reply that was delivered. TRUE: it is the first that answers one of ours. */
gboolean ibh_probe_received(IbhProbe *probe, const IbhProbeReply *reply, gint64 now);
/* A host reports that packets from here to there are too long for it. `limit`: its own; 0: not reported. */
void ibh_probe_size_refused(IbhProbe *probe, guint source, const IbhIp *to, const IbhIp *by, guint limit);

/* A packet that passed a NIC, from its network header on; it may be cut short. */
typedef struct {
    int ifindex;
    guint16 protocol; /* ETH_P_… */
    gboolean outgoing;
    const guint8 *bytes;
    gsize length;
    const guint8 *sender; /* hardware address */
    guint sender_len;     /* 0: unknown */
} IbhHeard;

/* TRUE: it is the first answer to the SYN of `ret_pair`. */
gboolean ibh_probe_hear(IbhProbe *probe, const IbhHeard *heard, guint *ret_pair);
/* An answer to ARP, or to a neighbour solicitation, that came in there. */
void ibh_probe_answered(IbhProbe *probe, int ifindex, const IbhArpReply *reply);
/* The source that can ask for this one's address in its own name, so that a proxy on the wire would answer; -1: none.
 */
int ibh_probe_witness(const IbhProbe *probe, guint source);

/* Why the peer's NIC for replies is not known, for people; NULL: it is known, or was not asked for. */
const char *ibh_probe_syn_why(const IbhProbePair *pair);

/* ---- RDMA ---- */

/* Takes a result that another process sent: how far the pair's request came. FALSE: there is no such pair, or it has
 * its result already. */
gboolean ibh_probe_take_rdma(IbhProbe *probe, guint pair, const IbhRdmaAnswer *answer);
/* Why RDMA was not answered, for people; NULL: it was, or was not asked for. */
char *ibh_probe_rdma_why(const IbhProbe *probe, const IbhProbePair *pair);

/* ---- the verdict ---- */

/* Once all is over: sets faults and findings. */
void ibh_probe_judge(IbhProbe *probe);
/* "172.16.34.1-.8, 172.16.35.1 and 3 more"; IbhIp. Consecutive ones are one, and at most `max` are named. */
char *ibh_probe_name_peers(const GArray *peers, guint max);
