/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --probe: packets from every rail to every peer, what a packet that is heard means, and which findings follow. Pure:
 * the files *_io.c send and receive.
 *
 * All pairs are asked side by side, at most 4,000 packets a second together. Each pair costs the kernel an entry in its
 * neighbour table, which the whole machine shares: so a window slides over the pairs, and an entry of ours is deleted
 * when its pair is over.
 */
#pragma once

#include "check/finding.h"
#include "model/arp.h"
#include "plan/rails.h"

#define IBH_PROBE_ERROR (g_quark_from_static_string("ibh-probe-error"))

#define IBH_PROBE_INTERVAL (G_USEC_PER_SEC / 5)        /* from one echo of a pair to the next */
#define IBH_PROBE_TIMEOUT G_USEC_PER_SEC               /* that the last one waits for its reply */
#define IBH_PROBE_SPACING 250                          /* µs between two packets */
#define IBH_PROBE_PROXY_WAIT (G_USEC_PER_SEC * 9 / 10) /* a proxy answers up to 0.8 s late (proxy_delay) */
#define IBH_PROBE_PACKETS_MAX 1000000                  /* of one run: 17 minutes */
#define IBH_PROBE_PACKET 40                            /* bytes of a small echo: header, cookie, pair, number, zeros */
#define IBH_PROBE_SIZE_MAX 65535                       /* of a large one, with its IP header */
#define IBH_PROBE_SIZED 0x80000000u                    /* in an echo's number: one of this size */
#define IBH_PROBE_FREE 0x40000000u                     /* one that is bound to no NIC, as programs send */
#define IBH_PROBE_NAMED 4                              /* peers, rails or pairs that a finding names */
#define IBH_SYN_PORT 1                                 /* tcpmux: unused for decades */
#define IBH_SYN_LENGTH 20                              /* bytes of a segment */

/* ---- what can be wrong with a pair: one table from cause to code, severity, words and advice ---- */

/* The way of a packet. What is told of a pair is of the first stage that was not seen. */
typedef enum {
    IBH_STAGE_WAY,       /* the rail's own traffic leaves through the rail */
    IBH_STAGE_QUESTION,  /* who has the next hop's address: asked */
    IBH_STAGE_ANSWER,    /* by one host, once */
    IBH_STAGE_ENTRY,     /* which is what the kernel uses */
    IBH_STAGE_SENT,      /* an echo left */
    IBH_STAGE_REPLY,     /* its reply came in, whole */
    IBH_STAGE_DELIVERED, /* and was not dropped here */
    IBH_STAGE_SENDER,    /* it came from the right NIC, into the right NIC */
    IBH_STAGE_SIZE,      /* the same at full size */
    IBH_STAGE_RDMA,      /* and by RDMA */
    IBH_N_STAGES
} IbhProbeStage;

typedef enum {
    IBH_CAUSE_NONE,
    /* of lost echoes: the first that is proved */
    IBH_LOSS_DOWN,
    IBH_LOSS_NO_CARRIER,
    IBH_LOSS_OURS,     /* a route says that the peer's address is this host's own, or of many hosts */
    IBH_LOSS_ARP_OFF,  /* the rail sends no ARP request */
    IBH_LOSS_TABLE,    /* the neighbour table was full */
    IBH_LOSS_UNHEARD,  /* the answer to ARP came in, and was not taken */
    IBH_LOSS_HELD,     /* echoes do not leave through the rail, or the kernel refuses to send them */
    IBH_LOSS_MARKED,   /* it has a route by this NIC, and not for what is sent */
    IBH_LOSS_NO_WAY,   /* it has no route by this NIC, or one that is an error */
    IBH_LOSS_DROPPED,  /* a reply comes in, and is not delivered */
    IBH_LOSS_MANGLED,  /* or with a wrong checksum */
    IBH_LOSS_TOLD,     /* what is told elsewhere explains it */
    IBH_LOSS_REDIRECT, /* an ICMP redirect stands before the route */
    IBH_LOSS_REFUSED,  /* the peer, or a router, says so by ICMP */
    IBH_LOSS_SOME,     /* others came back */
    IBH_LOSS_TRANSLATED,
    IBH_LOSS_DETOUR,    /* the peer is a neighbour, and the route leads to another host */
    IBH_LOSS_GATEWAY,   /* the gateway does not answer ARP */
    IBH_LOSS_BEYOND,    /* the gateway does, and echoes left for it */
    IBH_LOSS_AFTER_ARP, /* the peer answers ARP, and echoes left for it */
    IBH_LOSS_NOTHING,   /* not even ARP was */
    IBH_LOSS_UNKNOWN,   /* which way they went is not known */
    /* of the way of the rail's own traffic */
    IBH_WAY_NONE,
    IBH_WAY_OTHER_NIC,
    IBH_WAY_FILTERED, /* not by the kernel's answer, but by what left */
    /* of the entry of this host's neighbour table */
    IBH_ENTRY_FIXED,
    IBH_ENTRY_WRONG,
    IBH_ENTRY_UNANSWERED,
    /* of those who answer for the peer's address */
    IBH_PEER_FLUX,    /* NICs of one host, as other addresses show */
    IBH_PEER_TWO,     /* others do not */
    IBH_PEER_MANY,    /* nothing to compare with */
    IBH_PEER_TWICE,   /* two, with one hardware address */
    IBH_PEER_DOUBLED, /* one, and the wire doubles what it says */
    /* of the way of replies */
    IBH_BACK_TRANSLATED,
    IBH_BACK_ENTRY, /* the peer sent them to another NIC of this host, */
    IBH_BACK_OTHER, /* or another host did */
    IBH_BACK_SENDER,
    IBH_BACK_STRANGER,
    IBH_WAY_NOT_KNOWN,
    /* of full size */
    IBH_SIZE_LOWERED, /* of IPv6, here: all that is sent comes through */
    IBH_SIZE_PIECES,
    IBH_SIZE_TOLD,
    IBH_SIZE_BEYOND, /* the same, behind a router: no fault */
    IBH_SIZE_MANGLED,
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

/* What of this host could drop a packet: its filters, what is attached to a NIC, and the kernel's counters that grew.
 * All that could drop what was lost is told with it. */
typedef enum {
    IBH_FACT_QUEUE, /* counters: they have to grow by what was lost */
    IBH_FACT_IPSEC_OUT,
    IBH_FACT_IPSEC_IN,
    IBH_FACT_RP_FILTER,
    IBH_FACT_TC, /* from here on, attached */
    IBH_FACT_TCX_OUT,
    IBH_FACT_TCX_IN,
    IBH_FACT_MACVLAN,
    IBH_FACT_XDP,
    IBH_FACT_ENCAP,      /* to the pair's route */
    IBH_FACT_FILTER_OUT, /* from here on, always there: nothing counts what filters drop */
    IBH_FACT_FILTER_IN,
    IBH_N_FACTS
} IbhProbeFact;

enum {
    IBH_DROPS_OUT = 1,    /* before it is seen to leave */
    IBH_DROPS_IN = 2,     /* after it was heard */
    IBH_DROPS_UNHEARD = 4 /* before it is heard */
};

typedef struct {
    guint drops;
    const char *why, *advice;
    const char *file, *key; /* of the whole host: below /proc/net, and how names begin; NULL: of a NIC */
} IbhFactRow;

typedef struct IbhProbe IbhProbe;
typedef struct IbhProbePair IbhProbePair;

/* One row is all that is said of a cause: at which stage of the way it is, which side it is on, and the words. In
 * texts, words in braces stand for the pair's (words.c). What proves a cause is in judge.c. */
typedef struct {
    IbhProbeStage stage;
    const char *problem; /* of its pairs, a code; NULL: that of the finding */
    IbhProbePlace place;
    IbhSeverity severity;
    const char *code; /* NULL: told elsewhere, beside a loss, or no fault */
    const char *why, *advice, *fix;
    guint drops;           /* facts that are told, too: those that drop there */
    const char *peer_code; /* where all rails have it of a peer; NULL: the same */
} IbhCauseRow;

extern const IbhCauseRow ibh_probe_causes[IBH_N_CAUSES];
extern const IbhFactRow ibh_probe_facts[IBH_N_FACTS];

/* ---- what is asked, and what comes back ---- */

typedef struct {
    guint8 bytes[IBH_LLADDR_MAX];
    guint len; /* 0: not known */
} IbhLladdr;

#define IBH_PROBE_LISTS 7  /* of causes, of which a pair has one each */
#define IBH_PROBE_HOSTS 32 /* that claim one address */
#define IBH_PROBE_CLAIMS 8 /* different ones of an address on a wire, which are kept */

/* What ARP, or an advertisement, says on the wire: who has an address. */
typedef struct {
    IbhIp from, to;
    IbhLladdr lladdr;   /* of the host that has the address `from` */
    IbhLladdr sender;   /* of the frame; its length 0: not known */
    gboolean is_answer; /* to a question, of `to` */
    gboolean proxy;     /* IPv6: it says that it stands for another host */
} IbhArpClaim;

/* A hardware address that claims an address. */
typedef struct {
    IbhLladdr lladdr;
    guint answers;  /* to questions of this host; 0: it was not asked */
    gboolean proxy; /* of an address of this host: it says so only to a host that has an address itself */
    gboolean took;  /* replies to our echoes came from there */
} IbhProbeClaim;

/* An address on the wire of a NIC of this host: of a peer, of a gateway, or of the NIC itself. All that was said of it
 * there, asked or unasked. */
typedef struct IbhProbeHop IbhProbeHop;
struct IbhProbeHop {
    const IbhLink *link;
    IbhIp ip;
    gboolean is_own;
    IbhProbeHop *next; /* the same address on the wire of another NIC */
    gboolean is_begun; /* some pair's packets to it are under way, or were */
    gboolean in_table; /* the neighbour table had an entry before, */
    IbhLladdr entry;   /* with this hardware address: no answer of now */
    IbhLladdr lladdr;  /* to which packets go; its length 0: not known */
    gboolean fixed;    /* by a permanent entry */
    /* What the kernel asked, and was answered, before we asked: our own questions may mend its entry. */
    gboolean asks, is_answered;
    guint questions;           /* all of them, */
    const IbhProbePair *asker; /* and which pair asks for us; NULL: none did yet */
    gboolean forged;           /* a host speaks in the name of others: what the kernel believes is not known */
    guint n_claims;
    IbhProbeClaim claims[IBH_PROBE_CLAIMS]; /* the first different ones */
};

typedef struct {
    const IbhNic *nic;
    IbhIp ip;
} IbhProbeSource;

/* The result of a pair's TCP SYN, to a port on which no program listens. A reply to an echo leaves through the NIC that
 * received the echo, and proves nothing of the peer's rules; the RST follows these rules. Its source hardware address
 * tells which NIC of the peer sent it. */
typedef enum {
    IBH_SYN_UNWANTED, /* not IPv6, not a neighbour, or no echo came back */
    IBH_SYN_SILENT,
    IBH_SYN_ANSWERED
} IbhSynOutcome;

typedef struct {
    gint64 sent_at; /* µs; 0: it was not */
    gboolean left;  /* through the pair's NIC */
    gboolean received;
    gboolean twice; /* its reply came in, through one NIC */
    int seen;       /* ifindex where a reply came in, delivered or not: the right NIC, if it did there; 0: none did */
} IbhProbeEcho;

/* How long packets may be, with their IP header. 0: not known. */
typedef struct {
    guint passed;     /* the longest that was answered */
    gboolean failed;  /* one of full size was not, twice */
    guint fragment;   /* a reply came in pieces of this size */
    IbhIp limited_by; /* the host that reported one as too long; family 0: none */
    guint limit;      /* and the size that it accepts */
    guint seen;       /* the longest whose reply came in whole, delivered or not */
    guint left;       /* the longest that was seen to leave */
    gboolean held;    /* the kernel refuses to send longer ones */
    gboolean mangled; /* a reply came in with a wrong checksum */
} IbhProbeSize;

/* Where a pair is on its way (flight.c). */
typedef enum {
    IBH_STEP_WAITS,
    IBH_STEP_ECHOES,    /* they are under way */
    IBH_STEP_SETTLED,   /* they are answered or given up: the neighbour table has to be read */
    IBH_STEP_QUESTIONS, /* those of below are under way */
    IBH_STEP_FINISHED,  /* its entry of the neighbour table has to go */
    IBH_STEP_GONE
} IbhProbeStep;

/* What a pair is asked with. */
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
    guint8 cookie[16]; /* random, and in all packets of this pair: who knows it got one of them */
    /* when it sends (flight.c) */
    IbhProbeStep step;
    guint refusals; /* by a full queue, or a full neighbour table */
    guint tries[IBH_N_ASKS];
    gint64 until[IBH_N_ASKS]; /* that the last try is waited for */
    gint64 at;                /* nothing is sent before */
    /* the way */
    IbhLookup route;     /* the kernel's answer where no device is named */
    gboolean redirected; /* an ICMP redirect gives the gateway, not the route */
    int free_ifindex;    /* by which an echo left that is bound to no NIC; 0: none was seen */
    /* question, answer, entry */
    IbhProbeHop *hop; /* to which its packets go: the peer, or a gateway; NULL: not known */
    /* sent: echoes, */
    IbhProbeEcho *echoes; /* probe->count */
    int sent, received;
    int send_error;         /* errno, 0: none */
    gboolean left;          /* and one was seen to leave, */
    gboolean is_translated; /* with other addresses: these */
    IbhIp leaves_from, leaves_to;
    /* reply, delivered, sender */
    gint64 rtt;       /* µs, the shortest; -1: none */
    gboolean gone;    /* an echo left, and its reply was not delivered */
    gboolean dropped; /* a reply came in and was not delivered */
    gboolean doubled; /* or came in twice */
    gboolean mangled; /* or with a wrong checksum */
    IbhIp refused_by; /* the host that sent an ICMP error about an echo; family 0: none did */
    guint8 icmp_type, icmp_code;
    int reply_ifindex; /* where replies came in: a wrong NIC, if any did; 0: none came */
    IbhLladdr sender;  /* from which the last reply came, */
    IbhLladdr strayed; /* or the last that came in through another NIC */
    IbhSynOutcome syn;
    IbhLladdr syn_sender; /* from which the answer came; its length 0: the kernel does not tell */
    /* size, RDMA */
    IbhProbeSize mtu;
    IbhCause rdma;  /* how far its request came; IBH_CAUSE_NONE: it was answered, or not wanted */
    int rdma_error; /* errno of that step; 0: none */
    /* the verdict */
    IbhCause causes[IBH_PROBE_LISTS]; /* of each list (judge.c); the first: why echoes were lost */
};

/* A rail does not ask a peer, or has no result. */
typedef struct {
    const IbhNic *nic;
    guint peer;
    const char *why; /* for people; equal reasons are one pointer */
} IbhProbeUnasked;

/* A host sent answers about an address in the name of another hardware address. */
typedef struct {
    IbhLladdr sender;
    IbhIp ip;
    int ifindex; /* of the NIC that they came in through */
    IbhLladdr name;
    gboolean has_more; /* names: the first one is told */
} IbhProbeForgery;

typedef struct {
    GArray *peers; /* IbhIp: who is asked */
    int count;     /* echoes to each of them from each rail */
    gboolean rdma; /* asks by RDMA, too */
} IbhProbeRequest;

struct IbhProbe {
    const IbhRails *rails;
    GPtrArray *nics;      /* const IbhNic *: the rows */
    GArray *peers;        /* IbhIp: the columns */
    GArray *own;          /* IbhIp: peers that are this host's addresses, left out */
    GArray *sources;      /* IbhProbeSource */
    GArray *pairs;        /* IbhProbePair, by peer */
    GArray *unasked;      /* IbhProbeUnasked, by peer */
    GArray *unfinished;   /* the same: a signal came before they had a result */
    GHashTable *hops;     /* IbhIp → IbhProbeHop, the first of that address */
    GArray *forgeries;    /* IbhProbeForgery */
    GArray *children;     /* IbhLladdr: of macvlans on our NICs, which are in other network namespaces */
    GHashTable *numbers;  /* IbhIp → index of its first pair */
    IbhProbeEcho *echoes; /* `count` of each pair */
    guint count;
    gboolean rdma;
    gboolean hears;       /* all that passes the NICs: what was not heard did not pass */
    guint32 tag;          /* in each echo of this run: the kernel's filter knows them by it */
    gboolean interrupted; /* by a signal */
    gboolean was_full[2]; /* the kernel's table of neighbours, meanwhile: IPv4, IPv6 */
    GHashTable *facts;    /* (ifindex, fact) → gint64 */
    GPtrArray *findings;  /* IbhFinding *; NULL: not judged yet */
};

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
IbhProbePair *ibh_probe_pair(const IbhProbe *probe, guint i);                           /* NULL: there is none */
gboolean ibh_probe_is_direct(const IbhProbePair *pair);                                 /* its next hop is the peer */
const IbhLink *ibh_probe_link(const IbhProbePair *pair);                                /* by which its echoes leave */
IbhProbePair *ibh_probe_find_pair(const IbhProbe *probe, int ifindex, const IbhIp *ip); /* NULL: not asked */
int ibh_probe_family(const IbhProbePair *pair);                                         /* 0: IPv4; 1: IPv6 */
guint ibh_probe_full_size(const IbhProbePair *pair);

IbhLladdr ibh_lladdr_from_bytes(const guint8 *bytes, guint length);
gboolean ibh_lladdr_equal(const IbhLladdr *one, const IbhLladdr *other);
char *ibh_lladdr_format(const IbhLladdr *lladdr);        /* NULL: not known */
gboolean ibh_lladdr_is_virtual(const IbhLladdr *lladdr); /* of a router: of no NIC */
/* Where the routes of the pairs lead to, and this host's own addresses: once the routes are known. */
void ibh_probe_find_hops(IbhProbe *probe);
IbhProbeHop *ibh_probe_hop(const IbhProbe *probe, int ifindex, const IbhIp *ip); /* NULL: not of interest */
IbhProbeClaim *ibh_hop_claim(IbhProbeHop *hop, const IbhLladdr *lladdr);         /* NULL: it claims nothing */
gboolean ibh_hop_has(IbhProbeHop *hop, const IbhLladdr *lladdr); /* it claims the address, or packets go there */
gboolean ibh_hop_has_answer(IbhProbeHop *hop);                   /* a host answered, now */
gboolean ibh_hop_has_virtual(IbhProbeHop *hop);                  /* a virtual router claims the address */
const IbhLink *ibh_probe_own_link(const IbhProbe *probe, const IbhLladdr *lladdr); /* NULL: of no NIC of this host */

/* The next hop that the kernel uses for the pair, to `used`, the same question as its route without `match`. */
void ibh_probe_take_hop(IbhProbePair *pair, const IbhLookup *used);
/* Leaves out the pairs that are not asked, once the kernel has said how it routes them: a rail without a gateway of its
 * own asks no peer beyond its subnets. And where a person has ended the run, the pairs that have no result yet. */
void ibh_probe_sift(IbhProbe *probe);

/* The content of the neighbour table (IbhNeighbour): entries of pairs whose turn has not come are not ours, and are not
 * deleted; pairs that are settled have their hardware addresses from it, and their questions follow. */
void ibh_probe_learn(IbhProbe *probe, const GArray *neighbours);
/* An entry of the neighbour table exists only for this pair's echoes. */
gboolean ibh_probe_takes_entry(const IbhProbePair *pair);

/* ---- which packet is sent next ---- */

/* All pairs have their turn, one after the other: each has something to send, or waits until a time, or is over. A new
 * pair is asked after an earlier one is finished and its entry deleted. */
typedef struct {
    IbhProbe *probe;
    guint finished, begun; /* pairs: the window is from the one to the other */
    guint turn;            /* the pair that is next */
    guint room[2];         /* entries that may stand at a time: IPv4, IPv6 */
    guint standing[2];     /* entries of pairs that are not gone */
    gboolean settled;      /* some pair is, and waits for ibh_probe_learn() */
} IbhFlight;

typedef struct {
    IbhProbePair *pair;
    IbhProbeAsk ask;
    guint number; /* of an echo, its size with IBH_PROBE_SIZED */
} IbhShot;

/* TRUE: this is to be sent now. FALSE: unless something comes, nothing is before `ret_due`. */
gboolean ibh_flight_next(IbhFlight *flight, gint64 now, IbhShot *ret_shot, gint64 *ret_due);
/* It was sent, or could not be sent: `sent` is FALSE where that proves nothing of the way. */
void ibh_flight_launched(IbhFlight *flight, const IbhShot *shot, gint64 now, gboolean sent);
/* The finished pair is over, and its entry deleted. */
void ibh_flight_end(IbhFlight *flight, IbhProbePair *pair);

/* The kernel's table of neighbours of one family, which the whole machine shares. */
typedef struct {
    guint limit;  /* gc_thresh3; 0: not known */
    guint used;   /* entries, of all network namespaces */
    guint64 full; /* number of entries that could not be added, since the boot */
} IbhNeighbourTable;

/* How many entries may be added to a table with so many entries: up to half of its limit, above which the kernel
 * deletes old ones, perhaps those of other programs; a fuller table gets half of its free room. */
guint ibh_probe_room(const IbhNeighbourTable *table);

/* ---- packets ---- */

/* Numbers in them, as ibh_put16(). */
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

/* One's complement, as IP sums up; a right packet has 0xffff. */
guint ibh_probe_sum(guint32 sum, const guint8 *bytes, gsize length);
/* Bytes of an echo, without the IP header. 0: there is no such echo. */
gsize ibh_probe_length(guint number, gboolean six);
/* The beginning of an echo, with all that is not zero. */
void ibh_probe_head(const IbhProbePair *pair, guint number, guint8 head[IBH_PROBE_PACKET]);
/* An echo in `packet`, which has room for it. Returns its length. */
gsize ibh_probe_packet(const IbhProbePair *pair, guint number, guint8 *packet);
void ibh_probe_sent(IbhProbePair *pair, guint number, gint64 now);
/* A TCP segment; the kernel writes its checksum. Returns its length. */
gsize ibh_probe_syn(const IbhProbePair *pair, guint8 segment[IBH_SYN_LENGTH]);

/* An ICMP packet, from the wire. */
typedef struct {
    int ifindex; /* of the NIC that it is for, or came in through */
    IbhLladdr sender;
    IbhIp from, to;
    const guint8 *icmp; /* header and payload */
    gsize length, cut;  /* bytes that were read, and that were not */
    gsize total;        /* of the packet, or of this fragment, with its IP header */
    gboolean is_fragment;
} IbhPacket;

/* Where ICMP begins in a packet of IPv4; 0: it is none. */
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
/* Reads what may be anything. Returns the operation; 0: it is no ARP of IPv4. */
guint ibh_arp_parse(const guint8 *frame, gsize length, IbhArpClaim *ret_arp);
/* It came in there. Its sender is the host that it names, or forges it. */
void ibh_probe_claimed(IbhProbe *probe, int ifindex, const IbhArpClaim *claim);
/* The source that can ask for this one's address in its own name, so that a proxy on the wire would answer; NULL: none.
 */
const IbhProbeSource *ibh_probe_witness(const IbhProbe *probe, const IbhProbeSource *source);

/* Why the peer's NIC for replies is not known, for people; NULL: it is known, or was not asked for. */
const char *ibh_probe_syn_why(const IbhProbePair *pair);
/* How far the pair's RDMA request came, as another process says. FALSE: there is no such pair, or it has its result
 * already. */
gboolean ibh_probe_take_rdma(IbhProbe *probe, guint pair, IbhCause cause, int error);
gboolean ibh_probe_awaits_rdma(const IbhProbePair *pair);

/* ---- the verdict ---- */

/* The value of a fact, from 0: a counter is subtracted before the echoes, and added after them; what is attached to a
 * NIC counts 1. Of the network namespace where ifindex is 0. */
gint64 *ibh_probe_fact(const IbhProbe *probe, int ifindex, IbhProbeFact fact);

/* Once all is over: sets causes and findings. */
void ibh_probe_judge(IbhProbe *probe);
gboolean ibh_probe_has(const IbhProbePair *pair, IbhCause cause);
/* All hosts that claim an address, on whichever rail. Returns their number. */
guint ibh_probe_hosts(const IbhProbe *probe, const IbhIp *ip, IbhLladdr hosts[IBH_PROBE_HOSTS]);
const char *ibh_probe_stage(const IbhProbePair *pair);   /* the first that was not seen; NULL: all were */
GPtrArray *ibh_probe_problems(const IbhProbePair *pair); /* const char *: codes, each once */
/* "172.16.34.1-.8, 172.16.35.1 and 3 more"; IbhIp. Consecutive ones are one; so many at most. */
char *ibh_probe_name_peers(const GArray *peers, guint most);
char *ibh_probe_join_names(const GPtrArray *names, guint most, guint more);

/* The route that the kernel's errno stands for, for people; NULL: none. */
const char *ibh_probe_route_of_error(int error);
/* The row's text, with the pair's words in place of those in braces: equal texts are one pointer. NULL: NULL. */
const char *ibh_probe_fill_in(const IbhProbePair *pair, const char *text);

/* Parts of ibh_probe_judge(): a finding for each cause, keyed by who is at fault: a rail of this host, a peer, a pair,
 * the wire; hosts that answer for this host's addresses; what was not asked, and the run as a whole. */
void ibh_probe_report_causes(IbhProbe *probe);
void ibh_probe_report_strangers(IbhProbe *probe);
void ibh_probe_report_forgeries(IbhProbe *probe);
void ibh_probe_report_whole(IbhProbe *probe);
