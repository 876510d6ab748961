/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --probe sends packets from every rail to every peer, and says who is at fault if something is wrong. The story begins
 * in run_io.c; the files *_io.c send and receive, all others are pure:
 *
 *   pairs.c, flight.c         which rail asks which peer, through which next hop; which packet is sent next
 *   packets.c                 the packets that are sent
 *   evidence.c, claims.c      what each packet that was heard proves about a pair, and about who has an address
 *   judge.c                   stage by stage: what is wrong with each pair
 *   causes.c, words.c         one table of all that can be said of a pair, and the words that its texts contain
 *   verdict.c, whole.c        who is at fault: the findings
 *
 * All pairs are asked side by side, with at most 4,000 packets a second. Each pair costs an entry in the kernel's
 * neighbour table, which the whole machine shares; so a window slides over the pairs, and the entry of a finished pair
 * is deleted.
 */
#pragma once

#include "model/arp.h"
#include "plan/rails.h"
#include "probe/stages.h"

#define IBH_PROBE_ERROR (g_quark_from_static_string("ibh-probe-error"))

#define IBH_PROBE_INTERVAL (G_USEC_PER_SEC / 5)        /* between two echoes of a pair */
#define IBH_PROBE_TIMEOUT G_USEC_PER_SEC               /* how long the last echo may take */
#define IBH_PROBE_SPACING 250                          /* µs between two packets */
#define IBH_PROBE_PROXY_WAIT (G_USEC_PER_SEC * 9 / 10) /* a proxy answers up to 0.8 s late (proxy_delay) */
#define IBH_PROBE_PACKETS_MAX 1000000                  /* a run of 17 minutes */
#define IBH_PROBE_PACKET 40                            /* bytes of a small echo: header, cookie, pair, number, zeros */
#define IBH_PROBE_SIZE_MAX 65535                       /* bytes of a large echo, with its IP header */
#define IBH_PROBE_SIZED 0x80000000u /* in an echo's number: its low bits are the size of the packet */
#define IBH_PROBE_FREE 0x40000000u  /* the number of an echo that is bound to no NIC, as programs send */
#define IBH_PROBE_NAMED 4           /* how many peers, rails or pairs a finding names */
#define IBH_SYN_PORT 1              /* tcpmux: unused for decades */
#define IBH_SYN_LENGTH 20           /* bytes of a TCP segment */

typedef struct IbhProbe IbhProbe;
typedef struct IbhProbePair IbhProbePair;

/* ---- what is asked, and what comes back ---- */

typedef struct {
    guint8 bytes[IBH_LLADDR_MAX];
    guint len; /* 0: unknown */
} IbhLladdr;

#define IBH_PROBE_LISTS 7  /* lists of causes: a pair has at most one cause of each */
#define IBH_PROBE_HOSTS 32 /* hosts that claim one address */
#define IBH_PROBE_CLAIMS 8 /* claims of one address on one wire that are kept */

/* An ARP packet or a neighbour advertisement says who has an address. */
typedef struct {
    IbhIp from, to;
    IbhLladdr lladdr;   /* which has the address `from` */
    IbhLladdr sender;   /* of the frame; length 0: unknown */
    gboolean is_answer; /* to a question of `to` */
    gboolean proxy;     /* IPv6: the sender answers for another host */
} IbhArpClaim;

/* A hardware address that claims an IP address. */
typedef struct {
    IbhLladdr lladdr;
    guint answers;  /* how often it answered this host */
    gboolean proxy; /* it claims an address of this host only towards a host that names itself */
    gboolean took;  /* our echoes' replies came from it */
} IbhProbeClaim;

/* An IP address on the wire of one of our NICs: a peer's, a gateway's, or the NIC's own. It keeps all claims of the
 * address on that wire, asked or unasked. */
typedef struct IbhProbeHop IbhProbeHop;
struct IbhProbeHop {
    const IbhLink *link;
    IbhIp ip;
    gboolean is_own;
    IbhProbeHop *next; /* the same address on the wire of another NIC */
    gboolean is_begun; /* a pair has begun to send packets to it */
    gboolean in_table; /* the neighbour table had an entry before that, */
    IbhLladdr entry;   /* with this hardware address */
    IbhLladdr lladdr;  /* where packets go now; length 0: unknown */
    gboolean fixed;    /* because of a permanent entry */
    /* The kernel asked and got an answer before we asked. Our own questions may mend the kernel's entry. */
    gboolean asks, is_answered;
    guint questions;           /* the kernel's and ours */
    const IbhProbePair *asker; /* the pair that asks; NULL: none did yet */
    gboolean forged;           /* a host answers in the name of others: the kernel may believe anything */
    guint n_claims;
    IbhProbeClaim claims[IBH_PROBE_CLAIMS]; /* the first different ones */
};

typedef struct {
    const IbhNic *nic;
    IbhIp ip;
} IbhProbeSource;

/* The result of a TCP SYN to a port on which no program listens. In IPv6 the reply to an echo leaves through the NIC
 * that received the echo, so it proves nothing about the peer's rules; the RST follows these rules. Its source hardware
 * address tells which NIC of the peer sent it. */
typedef enum {
    IBH_SYN_UNWANTED, /* not IPv6, not a neighbour, or no echo came back */
    IBH_SYN_SILENT,
    IBH_SYN_ANSWERED
} IbhSynOutcome;

typedef struct {
    gint64 sent_at; /* µs; 0: never */
    gboolean left;  /* it left through the pair's NIC */
    gboolean received;
    int seen; /* the NIC where a reply came in, delivered or not: the right one, if it came in there, too; 0: none */
} IbhProbeEcho;

/* How long packets may be, with their IP header; 0: unknown. */
typedef struct {
    guint passed;     /* the longest that was answered */
    gboolean failed;  /* two of full size were not answered */
    guint fragment;   /* a reply came in fragments of this size */
    IbhIp limited_by; /* the host that reported a packet as too long; family 0: none */
    guint limit;      /* the size that this host accepts */
    guint seen;       /* the longest whose reply came in, delivered or not */
    guint left;       /* the longest that was seen to leave */
    gboolean held;    /* the kernel refuses to send longer ones */
    gboolean mangled; /* a reply came in with a wrong checksum */
} IbhProbeSize;

/* What a pair does (flight.c). */
typedef enum {
    IBH_STEP_WAITS,
    IBH_STEP_ECHOES,    /* its echoes are under way */
    IBH_STEP_SETTLED,   /* echoes are answered or given up: it waits for the neighbour table to be read */
    IBH_STEP_QUESTIONS, /* the other questions are under way */
    IBH_STEP_FINISHED,  /* its entry in the neighbour table has to be deleted */
    IBH_STEP_GONE
} IbhProbeStep;

/* What is sent for a pair. */
typedef enum {
    IBH_ASK_ECHO,
    IBH_ASK_SIZE,
    IBH_ASK_SYN,
    IBH_ASK_RDMA,
    IBH_ASK_WHO,
    IBH_ASK_FREE,
    IBH_N_ASKS
} IbhProbeAsk;

/* A rail and a peer: what was sent and seen, stage by stage. A packet is heard on its NIC behind this host's filters on
 * the way out, and before them on the way in: that tells this host's faults from those of the wire and the peer. */
struct IbhProbePair {
    const IbhProbe *probe;
    const IbhNic *nic;
    guint source; /* index into sources */
    guint peer;   /* index into peers, */
    guint rail;   /* and into nics */
    gboolean on_link;
    guint8 cookie[16]; /* random; who knows it received a packet of this pair */
    /* what it sends, and when (flight.c) */
    IbhProbeStep step;
    guint refusals; /* how often a queue or the neighbour table was full */
    guint tries[IBH_N_ASKS];
    gint64 until[IBH_N_ASKS]; /* how long to wait after the last try */
    gint64 at;                /* send nothing before this time */
    /* stage: way */
    IbhLookup route;     /* the kernel's answer if no NIC is given */
    gboolean redirected; /* the gateway comes from an ICMP redirect, not from the route */
    int free_ifindex;    /* the NIC through which an unbound echo left; 0: none was seen */
    /* stages: question, answer, entry */
    IbhProbeHop *hop; /* where its packets go: the peer or a gateway; NULL: unknown */
    /* stage: sent */
    IbhProbeEcho *echoes; /* probe->count of them */
    int sent, received;
    int send_error;         /* errno, 0: none */
    gboolean left;          /* an echo was seen to leave, */
    gboolean is_translated; /* with other addresses than ours: these */
    IbhIp leaves_from, leaves_to;
    /* stages: reply, delivered, sender */
    gint64 rtt;       /* µs, the shortest; -1: none */
    gboolean gone;    /* an echo left, but its reply was not delivered */
    gboolean dropped; /* a reply came in, but was not delivered */
    gboolean doubled; /* a reply came in twice through one NIC */
    gboolean mangled; /* a reply came in with a wrong checksum */
    IbhIp refused_by; /* who sent an ICMP error about an echo; family 0: nobody */
    guint8 icmp_type, icmp_code;
    int reply_ifindex; /* where replies came in: a wrong NIC, if one did; 0: none came in */
    IbhLladdr sender;  /* of the last reply through the right NIC, */
    IbhLladdr strayed; /* and through another NIC */
    IbhSynOutcome syn;
    IbhLladdr syn_sender; /* who answered the SYN; length 0: the kernel does not tell */
    /* stages: size, RDMA */
    IbhProbeSize mtu;
    IbhCause rdma;  /* how far the request came; IBH_CAUSE_NONE: it was answered, or not wanted */
    int rdma_error; /* errno of that step; 0: none */
    /* the verdict */
    IbhCause causes[IBH_PROBE_LISTS]; /* one of each list (judge.c); the first is why echoes were lost */
};

/* A rail that does not ask a peer, or has no result. */
typedef struct {
    const IbhNic *nic;
    guint peer;
    const char *why; /* in words; equal reasons are one pointer */
} IbhProbeUnasked;

/* A host that claims an address in the name of another hardware address. */
typedef struct {
    IbhLladdr sender;
    IbhIp ip;
    int ifindex; /* the NIC through which its frames came in */
    IbhLladdr name;
    gboolean has_more; /* it used other names, too */
} IbhProbeForgery;

typedef struct {
    GArray *peers; /* IbhIp: who is asked */
    int count;     /* echoes from each rail to each peer */
    gboolean rdma; /* send RDMA requests, too */
} IbhProbeRequest;

struct IbhProbe {
    const IbhRails *rails;
    GPtrArray *nics;      /* const IbhNic *: which ask */
    GArray *peers;        /* IbhIp: which are asked */
    GArray *own;          /* IbhIp: requested peers that are this host's own addresses */
    GArray *sources;      /* IbhProbeSource */
    GArray *pairs;        /* IbhProbePair, by peer */
    GArray *unasked;      /* IbhProbeUnasked, by peer */
    GArray *unfinished;   /* IbhProbeUnasked: pairs without a result when a signal came */
    GHashTable *hops;     /* IbhIp → the first IbhProbeHop with that address */
    GArray *forgeries;    /* IbhProbeForgery */
    GArray *children;     /* IbhLladdr: macvlans on our NICs that are in other network namespaces */
    GHashTable *numbers;  /* IbhIp → the index of its first pair */
    IbhProbeEcho *echoes; /* `count` for each pair */
    guint count;
    gboolean rdma;
    gboolean hears;       /* everything that passed the NICs was heard */
    guint32 tag;          /* in each echo of this run, for the filter in the kernel */
    gboolean interrupted; /* a signal ended the run */
    gboolean was_full[2]; /* the neighbour table of IPv4 and IPv6 was full during the run */
    GHashTable *facts;    /* (ifindex, fact) → gint64 */
    GPtrArray *findings;  /* IbhFinding *; NULL before ibh_probe_judge() */
};

#define IBH_EACH_RAIL(x, probe) IBH_EACH_POINTER (const IbhNic, x, (probe)->nics)
#define IBH_EACH_PAIR(x, probe) IBH_EACH (IbhProbePair, x, (probe)->pairs)
#define IBH_EACH_SOURCE(x, probe) IBH_EACH (const IbhProbeSource, x, (probe)->sources)
/* All wires on which this address is of interest; all claims of a hop. */
#define IBH_EACH_WIRE(x, probe, ip) for (IbhProbeHop *x = g_hash_table_lookup((probe)->hops, ip); x; x = x->next)
#define IBH_EACH_CLAIM(x, hop) for (IbhProbeClaim *x = (hop)->claims; x < (hop)->claims + (hop)->n_claims; x++)

/* Fails if the request is empty or too large. No NIC to probe is no failure: then there are no pairs. */
IbhProbe *ibh_probe_new(const IbhRails *rails, const IbhProbeRequest *request, GError **error);
void ibh_probe_free(IbhProbe *probe);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IbhProbe, ibh_probe_free)

const IbhProbeSource *ibh_probe_source(const IbhProbePair *pair);
const IbhIp *ibh_probe_peer(const IbhProbePair *pair);
IbhProbePair *ibh_probe_pair(const IbhProbe *probe, guint i); /* NULL: there is no such pair */
gboolean ibh_probe_is_direct(const IbhProbePair *pair);       /* the next hop is the peer */
const IbhLink *ibh_probe_link(const IbhProbePair *pair);      /* the NIC that its echoes leave through */
IbhProbePair *ibh_probe_find_pair(const IbhProbe *probe, int ifindex, const IbhIp *ip); /* NULL: not asked */
int ibh_probe_family(const IbhProbePair *pair);                                         /* 0: IPv4; 1: IPv6 */
guint ibh_probe_full_size(const IbhProbePair *pair);

IbhLladdr ibh_lladdr_from_bytes(const guint8 *bytes, guint length);
gboolean ibh_lladdr_equal(const IbhLladdr *one, const IbhLladdr *other);
char *ibh_lladdr_format(const IbhLladdr *lladdr);        /* NULL: unknown */
gboolean ibh_lladdr_is_virtual(const IbhLladdr *lladdr); /* a virtual router's, which no NIC has */
/* Sets the next hop of each pair from its route. This host's own addresses are of interest, too. */
void ibh_probe_find_hops(IbhProbe *probe);
IbhProbeHop *ibh_probe_hop(const IbhProbe *probe, int ifindex, const IbhIp *ip); /* NULL: not of interest */
IbhProbeClaim *ibh_hop_claim(IbhProbeHop *hop, const IbhLladdr *lladdr);         /* NULL: it claims nothing */
gboolean ibh_hop_has(IbhProbeHop *hop, const IbhLladdr *lladdr); /* it claims the address, or packets go to it */
gboolean ibh_hop_has_answer(IbhProbeHop *hop);                   /* a host answered this host */
gboolean ibh_hop_has_virtual(IbhProbeHop *hop);                  /* a virtual router claims the address */
const IbhLink *ibh_probe_own_link(const IbhProbe *probe,
                                  const IbhLladdr *lladdr); /* NULL: no NIC of this host has it */

/* Sets the next hop that the kernel uses: `used` is the look-up of the pair's route without `match`. */
void ibh_probe_take_hop(IbhProbePair *pair, const IbhLookup *used);
/* Removes the pairs that are not asked, once their routes are known: a rail without a gateway of its own asks no peer
 * beyond its subnets. After an interruption, removes the pairs that have no result. */
void ibh_probe_sift(IbhProbe *probe);

/* Takes the content of the neighbour table (IbhNeighbour). An entry that stands before its pair begins is not ours, and
 * is not deleted. Settled pairs learn their hardware addresses, and go on with their questions. */
void ibh_probe_learn(IbhProbe *probe, const GArray *neighbours);
/* The entry in the neighbour table exists only because of this pair. */
gboolean ibh_probe_takes_entry(const IbhProbePair *pair);

/* ---- which packet is sent next ---- */

/* All begun pairs take turns: each has something to send, waits until a time, or is finished. A new pair begins when an
 * earlier one is finished and its entry deleted. */
typedef struct {
    IbhProbe *probe;
    guint finished, begun; /* pairs: those between are under way */
    guint turn;            /* the next pair */
    guint room[2];         /* how many entries of ours may stand at a time: IPv4, IPv6 */
    guint standing[2];     /* how many do */
    gboolean settled;      /* a pair waits for ibh_probe_learn() */
} IbhFlight;

typedef struct {
    IbhProbePair *pair;
    IbhProbeAsk ask;
    guint number; /* an echo's; with IBH_PROBE_SIZED its size */
} IbhShot;

/* TRUE: send this now. FALSE: unless a packet comes, there is nothing to send before `ret_due`. */
gboolean ibh_flight_next(IbhFlight *flight, gint64 now, IbhShot *ret_shot, gint64 *ret_due);
/* Tells that it was sent, or could not be sent. */
void ibh_flight_launched(IbhFlight *flight, const IbhShot *shot, gint64 now, gboolean sent);
/* Tells that the entry of a finished pair is deleted. */
void ibh_flight_end(IbhFlight *flight, IbhProbePair *pair);

/* The kernel's neighbour table of one family, which the whole machine shares. */
typedef struct {
    guint limit;  /* gc_thresh3; 0: unknown */
    guint used;   /* entries of all network namespaces */
    guint64 full; /* how many entries could not be added since boot */
} IbhNeighbourTable;

/* How many entries --probe may add: up to half of the limit, above which the kernel deletes old entries, perhaps those
 * of other programs. If the table is fuller, half of what is free. */
guint ibh_probe_room(const IbhNeighbourTable *table);

/* ---- packets ---- */

/* Numbers in packets, as ibh_put16(). */
static inline void ibh_put32(guint8 *at, guint32 value)
{
    ibh_put16(at, value >> 16);
    ibh_put16(at + 2, value & 0xffff);
}

static inline guint ibh_get16(const guint8 *at)
{
    return (guint)at[0] << 8 | at[1];
}

static inline guint32 ibh_get32(const guint8 *at)
{
    return (guint32)ibh_get16(at) << 16 | ibh_get16(at + 2);
}

/* The checksum of IP; an intact packet has 0xffff. */
guint ibh_probe_sum(guint32 sum, const guint8 *bytes, gsize length);
/* The length of an echo without its IP header; 0: there is no such echo. */
gsize ibh_probe_length(guint number, gboolean six);
/* Writes the beginning of an echo; the rest is zeros. */
void ibh_probe_head(const IbhProbePair *pair, guint number, guint8 head[IBH_PROBE_PACKET]);
/* Writes an echo, and returns its length. */
gsize ibh_probe_packet(const IbhProbePair *pair, guint number, guint8 *packet);
void ibh_probe_sent(IbhProbePair *pair, guint number, gint64 now);
/* Writes a TCP SYN, and returns its length; the kernel adds the checksum. */
gsize ibh_probe_syn(const IbhProbePair *pair, guint8 segment[IBH_SYN_LENGTH]);

/* An ICMP packet that came from the wire, or passed a NIC. */
typedef struct {
    int ifindex; /* the NIC that it is for, or came in through */
    IbhLladdr sender;
    IbhIp from, to;
    const guint8 *icmp; /* header and payload */
    gsize length, cut;  /* bytes that were read, and that were cut off */
    gsize total;        /* bytes of the packet, or this fragment, with its IP header */
    gboolean is_fragment;
} IbhPacket;

/* The offset of ICMP in an IPv4 packet; 0: there is none. */
gsize ibh_icmp_offset(const guint8 *bytes, gsize length);

/* An echo reply that was delivered, or heard on a NIC where `now` is 0. TRUE: it is the first that answers one of ours.
 */
gboolean ibh_probe_received(IbhProbe *probe, const IbhPacket *reply, gint64 now);

/* A packet that passed a NIC, from its network header on; it may be cut short. */
typedef struct {
    int ifindex;
    guint16 protocol; /* ETH_P_… */
    gboolean outgoing;
    const guint8 *bytes;
    gsize length;
    IbhLladdr sender;
} IbhHeard;

void ibh_probe_hear(IbhProbe *probe, const IbhHeard *heard);
/* Returns the operation; 0: the frame is no ARP of IPv4. */
guint ibh_arp_parse(const guint8 *frame, gsize length, IbhArpClaim *ret_arp);
/* A claim came in through this NIC. If its sender is not the host that it names, it is a forgery. */
void ibh_probe_claimed(IbhProbe *probe, int ifindex, const IbhArpClaim *claim);
/* Another source that can ask for this source's address, so that a proxy on the wire would answer; NULL: none. */
const IbhProbeSource *ibh_probe_witness(const IbhProbe *probe, const IbhProbeSource *source);

/* In words, why it is unknown which NIC of the peer replies; NULL: it is known, or was not asked. */
const char *ibh_probe_syn_why(const IbhProbePair *pair);
/* Another process tells how far a pair's RDMA request came. FALSE: there is no such pair, or it has its result already.
 */
gboolean ibh_probe_take_rdma(IbhProbe *probe, guint pair, IbhCause cause, int error);
gboolean ibh_probe_awaits_rdma(const IbhProbePair *pair);

/* ---- the verdict ---- */

/* The value of a fact, which begins at 0: a counter is subtracted before the run and added after it; what is attached
 * to a NIC counts 1. ifindex 0: of the whole network namespace. */
gint64 *ibh_probe_fact(const IbhProbe *probe, int ifindex, IbhProbeFact fact);

/* Sets causes and findings, at the end of a run. */
void ibh_probe_judge(IbhProbe *probe);
gboolean ibh_probe_has(const IbhProbePair *pair, IbhCause cause);
/* All hosts that claim an address on any rail. Returns their number. */
guint ibh_probe_hosts(const IbhProbe *probe, const IbhIp *ip, IbhLladdr hosts[IBH_PROBE_HOSTS]);
const char *ibh_probe_stage(const IbhProbePair *pair);   /* the first stage that was not seen; NULL: all were */
GPtrArray *ibh_probe_problems(const IbhProbePair *pair); /* const char *: codes, each once */
/* "172.16.34.1-.8, 172.16.35.1 and 3 more": IbhIp; consecutive addresses are one range. */
char *ibh_probe_name_peers(const GArray *peers, guint most);
char *ibh_probe_join_names(const GPtrArray *names, guint most, guint more);

/* The route that an errno of the kernel stands for, in words; NULL: none. */
const char *ibh_probe_route_of_error(int error);
/* A row's text with the pair's values in place of words in braces. Equal texts are one pointer. NULL: NULL. */
const char *ibh_probe_fill_in(const IbhProbePair *pair, const char *text);

/* Parts of ibh_probe_judge(): findings about each cause, about hosts that claim this host's addresses or forge answers,
 * and about the run as a whole. */
void ibh_probe_report_causes(IbhProbe *probe);
void ibh_probe_report_strangers(IbhProbe *probe);
void ibh_probe_report_forgeries(IbhProbe *probe);
void ibh_probe_report_whole(IbhProbe *probe);
