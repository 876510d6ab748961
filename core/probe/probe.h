/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --probe sends packets from the rails to peers, and says who is at fault if something is wrong. With --iface, the user
 * names the NICs that send; the comments call these NICs rails even if they are no rails. Start reading in run_io.c.
 * The files *_io.c do input and output; the other files do none:
 *
 *   pairs.c, flight.c         choose which rail asks which peer, through which next hop, and which packet is sent next
 *   packets.c                 builds the packets
 *   evidence.c, claims.c      find what each packet that was heard proves about a pair, and about who has an address
 *   judge.c                   finds what is wrong with each pair, stage by stage
 *   causes.c, words.c         have the text of each cause, and the words that these texts contain
 *   verdict.c, whole.c        decide who is at fault, and make the findings
 *
 * Many pairs are under way at the same time; on average, all together send at most 4,000 packets a second. A pair that
 * sends to its peer directly adds an entry for the peer to the kernel's neighbour table, unless the table has one
 * already. The whole machine shares this table, so in each family, at most ibh_probe_room() such pairs are under way at
 * the same time (one pair if there is no room). When such a pair is finished, its entry is deleted, and the next pair
 * begins.
 */
#pragma once

#include "model/arp.h"
#include "plan/rails.h"
#include "probe/stages.h"

#define IBH_PROBE_ERROR (g_quark_from_static_string("ibh-probe-error"))

#define IBH_PROBE_INTERVAL (G_USEC_PER_SEC / 5) /* the least time between two small echoes of a pair */
#define IBH_PROBE_TIMEOUT G_USEC_PER_SEC        /* the longest `patience` in flight.c */
#define IBH_PROBE_SPACING 250                   /* µs: the least average time between two packets (wire_io.c) */
/* by default, a proxy answers up to 0.8 s late (proxy_delay); this is a little more */
#define IBH_PROBE_PROXY_WAIT (G_USEC_PER_SEC * 9 / 10)
#define IBH_PROBE_PACKETS_MAX 1000000 /* the most small echoes (pairs times IbhProbe.count); they take 4 minutes */
#define IBH_PROBE_PACKET 40           /* bytes of a small echo: ICMP header, tag, cookie, pair, number, zeros */
#define IBH_PROBE_SIZE_MAX 65535      /* bytes of the largest echo, with its IP header */
#define IBH_PROBE_SIZED 0x80000000u   /* flag in an echo's number: the other bits are the size of the packet */
#define IBH_PROBE_FREE 0x40000000u    /* the number of an echo that, like most programs' packets, is tied to no NIC */
#define IBH_PROBE_NAMED 4             /* the most names in one list of a finding; a range of peers is one name */
#define IBH_SYN_PORT 1                /* tcpmux, which has been unused for decades */
#define IBH_SYN_LENGTH 20             /* bytes of a TCP header without options */

typedef struct IbhProbe IbhProbe;
typedef struct IbhProbePair IbhProbePair;

/* ---- what is asked, and what comes back ---- */

typedef struct {
    guint8 bytes[IBH_LLADDR_MAX];
    guint len; /* 0: unknown */
} IbhLladdr;

#define IBH_PROBE_LISTS 7  /* lists of causes (judge.c); a pair has at most one cause from each list */
#define IBH_PROBE_HOSTS 32 /* the most claimants of an address that ibh_probe_list_hosts() lists */
#define IBH_PROBE_CLAIMS 8 /* the most hardware addresses that IbhProbeHop keeps as claimants */

/* An ARP packet or a neighbour advertisement: it says that a hardware address has an IP address. Or a solicitation that
 * this host sends: it claims nothing, so only `to` counts. */
typedef struct {
    IbhIp from;         /* the IP address that is claimed */
    IbhIp to;           /* the target of the ARP packet or solicitation; all zeros in an advertisement that comes in */
    IbhLladdr lladdr;   /* the hardware address that has `from` */
    IbhLladdr sender;   /* the hardware address that the frame comes from; length 0: unknown */
    gboolean is_answer; /* it answers a question of this host */
    gboolean proxy;     /* IPv6: the Override flag is off, so the sender may answer for another host */
} IbhArpClaim;

/* All claims of one hardware address to one IP address. */
typedef struct {
    IbhLladdr lladdr;
    guint answers;      /* how many times the hardware address answered this host */
    gboolean proxy;     /* all claims may be those of a proxy; see ibh_probe_take_claim() */
    gboolean replied;   /* a pair's last reply (IbhProbePair.sender) came from the hardware address */
    gboolean stands_in; /* another host has the IP address, and the hardware address answers for that host, as a proxy
                           does; see set_stand_ins_apart() (judge.c) */
} IbhProbeClaim;

/* The IP address of a peer, of a gateway or of this host, on the wire of one NIC. `claims` has the claims that claims.c
 * believes, including unsolicited ones. For the address of a peer or gateway, these are the claims heard on this wire;
 * for an address of this host, the claims heard on the wire of any NIC that probes. */
typedef struct IbhProbeHop IbhProbeHop;
struct IbhProbeHop {
    const IbhLink *link;
    IbhIp ip;
    gboolean is_own;   /* the address belongs to this host */
    IbhProbeHop *next; /* the same address on the wire of another NIC; NULL: no more */
    gboolean is_begun; /* a pair with this next hop has begun */
    gboolean in_table; /* the neighbour table had an entry for the address before the first such pair began */
    IbhLladdr entry;   /* the hardware address in that earlier entry; length 0: unknown */
    IbhLladdr lladdr;  /* the first hardware address read from the table after such a pair began; length 0: none */
    gboolean fixed;    /* `lladdr` comes from a fixed entry; see IbhNeighbour */
    /* The answer to a question of --probe may repair the kernel's entry. So `kernel_asked` and `is_answered` tell only
     * what happened before --probe asked. */
    gboolean kernel_asked;     /* the kernel asked for the hardware address */
    gboolean is_answered;      /* a host answered the kernel */
    guint questions;           /* how many times the kernel or --probe asked; right only in IPv4 (flight.c) */
    const IbhProbePair *asker; /* the pair for which --probe asked; NULL: --probe has not asked yet */
    gboolean forged;     /* a host claims the address in another host's name, and the kernel may believe the claim */
    gboolean is_virtual; /* a virtual router has the address, as ibh_probe_believe_routers() found */
    /* find_rivals() (judge.c) sets the next two members: for a link-local address, in each hop; for any other address,
     * only in the first hop that has the address. */
    gboolean is_compared; /* `rivals` is known */
    IbhCause rivals;      /* who claims the address, as compare_claims() says (judge.c) */
    guint n_claims;
    IbhProbeClaim claims[IBH_PROBE_CLAIMS]; /* one for each of the first hardware addresses that claimed `ip` */
};

/* An address of this host that was chosen as the source of a pair, or an address of IbhProbe.own for which add_peers()
 * (pairs.c) found a rail that can ask. --probe asks who else has the address. */
typedef struct {
    const IbhNic *nic; /* the NIC that sends or asks; an address of IbhProbe.own may be on another NIC */
    IbhIp ip;
} IbhProbeSource;

/* The result of a TCP SYN to a port on which normally no program listens. With IPv6, the reply to an echo leaves
 * through the NIC that received the echo, so the reply proves nothing about the peer's rules. The RST that answers a
 * SYN follows these rules, and its source hardware address tells which NIC of the peer sent it. */
typedef enum {
    IBH_SYN_UNWANTED, /* no SYN was sent (yet): IPv4, a distant peer, no echo came back, or sending failed */
    IBH_SYN_SILENT,   /* nothing answered the SYN */
    IBH_SYN_ANSWERED
} IbhSynOutcome;

typedef struct {
    gint64 sent_at;    /* µs; 0: never */
    gboolean left;     /* the echo was seen to leave through the pair's NIC */
    gboolean received; /* the reply was delivered */
    int seen; /* the NIC where a reply came in, delivered or not; if several, preferably the pair's own; 0: none */
} IbhProbeEcho;

/* What is known about how large a pair's packets may be. Sizes are in bytes, with the IP header; 0: unknown. */
typedef struct {
    guint passed;     /* the largest echo whose reply was delivered */
    gboolean failed;  /* neither of two echoes of full size was answered; ibh_probe_judge() sets the final value */
    guint fragment;   /* the size of the fragments that a reply came in; 0: no reply was fragmented */
    IbhIp limited_by; /* the host that reported an echo as too long; family 0: none */
    guint limit;      /* the size that the host `limited_by` accepts */
    guint seen;       /* the largest echo whose reply came in, delivered or not */
    guint left;       /* the largest echo that was seen to leave through the pair's NIC */
    gboolean held;    /* a large echo could not be sent (EPERM): a filter of this host drops it */
    gboolean mangled; /* a reply to a large echo came in with a wrong checksum */
} IbhProbeSize;

/* How far a pair has come (flight.c). */
typedef enum {
    IBH_STEP_WAITS,     /* it has not begun */
    IBH_STEP_ECHOES,    /* its echoes are under way */
    IBH_STEP_SETTLED,   /* its echoes are answered or given up; next, the neighbour table is read */
    IBH_STEP_QUESTIONS, /* the other questions are under way */
    IBH_STEP_FINISHED,  /* it asks nothing more; next, the neighbour entry that it added is deleted */
    IBH_STEP_GONE       /* it has nothing more to do */
} IbhProbeStep;

/* What is sent for a pair. */
typedef enum {
    IBH_ASK_ECHO, /* a small echo */
    IBH_ASK_SIZE, /* a large echo */
    IBH_ASK_SYN,  /* a TCP SYN */
    IBH_ASK_RDMA, /* an RDMA request */
    IBH_ASK_WHO,  /* a question by ARP or neighbour discovery: who has the next hop's address? */
    IBH_ASK_FREE, /* an echo that is tied to no NIC */
    IBH_N_ASKS
} IbhProbeAsk;

/* A rail and a peer that it asks, and what was sent and seen at each stage. --probe hears a packet after this host's
 * filters when the packet leaves, and before the filters (but after an XDP program) when it comes in. So --probe can
 * tell the faults of this host from those of the wire and of the peer. */
struct IbhProbePair {
    const IbhProbe *probe;
    const IbhNic *nic;
    guint source;      /* index into probe->sources */
    guint peer;        /* index into probe->peers */
    guint rail;        /* index into probe->nics */
    gboolean on_link;  /* the peer is in a subnet of the rail */
    guint8 cookie[16]; /* random; a host that knows the cookie received a packet of this pair */
    /* what the pair sends, and when (flight.c) */
    IbhProbeStep step;
    guint refusals;           /* how many times an echo was put off because a queue or the neighbour table was full */
    guint tries[IBH_N_ASKS];  /* how many tries are used up */
    gint64 until[IBH_N_ASKS]; /* when to stop waiting for the answer to the latest try; for echoes, when the latest try
                                 was made */
    gint64 at;                /* send nothing before this time */
    /* stage: way */
    IbhLookup route;     /* the look-up from our address to the peer, tied to no NIC, and its answer; but `gateway` and
                            `oif` are those that the kernel uses, even if an ICMP redirect overrides the route */
    gboolean redirected; /* the gateway comes from an ICMP redirect, not from the route */
    int free_ifindex;    /* the NIC through which the echo IBH_PROBE_FREE left; 0: it was not seen to leave */
    /* stages: question, answer, entry */
    IbhProbeHop *hop; /* the next hop of the pair's packets: the peer or a gateway; NULL: unknown */
    /* stage: sent */
    IbhProbeEcho *echoes;   /* array of probe->count elements */
    int sent;               /* how many small echoes were sent, without the extra echo of flight.c */
    int received;           /* how many of their replies were delivered */
    int send_error;         /* the errno of the last small echo that could not be sent; 0: none */
    gboolean left;          /* a small echo was seen to leave through the pair's NIC */
    gboolean is_translated; /* the small echo that left last had other addresses than the pair's */
    IbhIp leaves_from;      /* the source of the echo that left last */
    IbhIp leaves_to;        /* the destination of that echo */
    /* stages: reply, delivered, sender */
    gint64 rtt;       /* the shortest round trip in µs; -1: no reply */
    gboolean is_lost; /* a small echo left, but its reply was not delivered */
    gboolean dropped; /* a reply to a small echo came in, but was not delivered */
    gboolean doubled; /* a reply to a small echo came in twice through one NIC */
    gboolean mangled; /* a reply to a small echo came in with a wrong checksum */
    IbhIp refused_by; /* the host that sent an ICMP error (unreachable, time exceeded) about an echo; family 0: none */
    guint8 icmp_type, icmp_code;
    int reply_ifindex; /* the NIC where replies came in; if several, one that is not the pair's own; 0: none */
    /* The hardware addresses from which the last replies came; length 0: no reply, or the kernel does not tell. */
    IbhLladdr sender;  /* of the last reply that came in through the pair's NIC */
    IbhLladdr strayed; /* of the last reply that came in through another NIC */
    IbhSynOutcome syn;
    IbhLladdr syn_sender; /* the sender of the answer to the SYN; length 0: no answer, or the kernel does not tell */
    /* stages: size, RDMA */
    IbhProbeSize mtu;
    IbhCause rdma;  /* how far the RDMA request came; IBH_CAUSE_NONE: it was answered, or no request was wanted */
    int rdma_error; /* the errno with which the step in `rdma` failed; 0: none */
    /* the verdict */
    IbhCause causes[IBH_PROBE_LISTS]; /* at most one from each list (judge.c); causes[0] tells why echoes were lost */
};

/* A rail and a peer that it does not ask, or did not finish asking. */
typedef struct {
    const IbhNic *nic;
    guint peer;
    const char *why; /* the reason in words; equal reasons are the same pointer */
} IbhProbeUnasked;

/* A host whose frames claim an IP address for another hardware address than its own. */
typedef struct {
    IbhLladdr sender;  /* the hardware address that the frames come from */
    IbhIp ip;          /* the IP address that they claim */
    int ifindex;       /* the NIC where the frames came in */
    IbhLladdr name;    /* the hardware address that the frames name */
    gboolean has_more; /* other frames named other hardware addresses */
} IbhProbeForgery;

typedef struct {
    GArray *peers; /* IbhIp: the addresses to ask */
    int count;     /* echoes from each rail to each peer */
    gboolean rdma; /* send RDMA requests, too */
} IbhProbeRequest;

struct IbhProbe {
    const IbhRails *rails;
    GPtrArray *nics;      /* const IbhNic *: the NICs that ask */
    GStringChunk *texts;  /* texts that live as long as the run; equal texts are the same pointer */
    GArray *peers;        /* IbhIp: the peers to ask, also those that no rail asks (`unasked`) */
    GArray *own;          /* IbhIp: requested peers that are this host's own addresses */
    GArray *sources;      /* IbhProbeSource */
    GArray *pairs;        /* IbhProbePair, ordered by peer */
    GArray *unasked;      /* IbhProbeUnasked: which rails do not ask which peers */
    GArray *unfinished;   /* IbhProbeUnasked: the pairs that had no result when a signal came */
    GHashTable *hops;     /* IbhIp → the first IbhProbeHop with that address */
    GArray *forgeries;    /* IbhProbeForgery */
    GArray *children;     /* IbhLladdr: hardware addresses in our NICs' forwarding tables; macvlans in other network
                             namespaces have some of them */
    GHashTable *numbers;  /* IbhIp → the index of the peer's first pair; meaningless if the peer has no pair */
    IbhProbeEcho *echoes; /* `count` for each pair */
    guint count;          /* echoes of each pair */
    gboolean rdma;        /* send RDMA requests, too */
    gboolean hears;       /* the packet socket missed no packet that passed the NICs */
    guint32 tag;          /* in each echo of this run, so that the filter in the kernel recognises the echo */
    gboolean interrupted; /* a signal ended the run */
    gboolean was_full[2]; /* the neighbour table of IPv4 and IPv6 was full during the run */
    GHashTable *facts;    /* (ifindex, fact) → gint64; see ibh_probe_fact() */
    GPtrArray *findings;  /* IbhFinding *; NULL before ibh_probe_judge() */
};

#define IBH_EACH_RAIL(x, probe) IBH_EACH_POINTER (const IbhNic, x, (probe)->nics)
#define IBH_EACH_PAIR(x, probe) IBH_EACH (IbhProbePair, x, (probe)->pairs)
#define IBH_EACH_SOURCE(x, probe) IBH_EACH (const IbhProbeSource, x, (probe)->sources)
/* For each IbhProbeHop that has this address. */
#define IBH_EACH_WIRE(x, probe, ip) for (IbhProbeHop *x = g_hash_table_lookup((probe)->hops, ip); x; x = x->next)
/* For each IbhProbeHop whose address the same host should have: each hop with the address of `of`. But a link-local
 * address (169.254/16, fe80::/10) may belong to a different host on each wire, so then only `of`. */
#define IBH_EACH_SAME(x, probe, of)                                                                                    \
    for (IbhProbeHop *x = ibh_probe_first_hop(probe, of); x; x = ibh_ip_is_link_local(&x->ip) ? NULL : x->next)
/* For each claim of the hop's address. */
#define IBH_EACH_CLAIM(x, hop) for (IbhProbeClaim *x = (hop)->claims; x < (hop)->claims + (hop)->n_claims; x++)

/* Returns NULL, with an error, if the request names no other host, or is too large. If there is no NIC to probe, the
 * result has no pairs. */
IbhProbe *ibh_probe_new(const IbhRails *rails, const IbhProbeRequest *request, GError **error);
void ibh_probe_free(IbhProbe *probe);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IbhProbe, ibh_probe_free)

const IbhProbeSource *ibh_probe_source(const IbhProbePair *pair);
const IbhIp *ibh_probe_peer(const IbhProbePair *pair);
IbhProbePair *ibh_probe_pair(const IbhProbe *probe, guint i); /* NULL if there is no such pair */
gboolean ibh_probe_is_direct(const IbhProbePair *pair);       /* TRUE if the next hop is known, and is the peer */
const IbhLink *ibh_probe_link(const IbhProbePair *pair);      /* the NIC that the pair's echoes are sent through */
/* Returns the pair of this NIC and this peer; NULL if there is none. */
IbhProbePair *ibh_probe_find_pair(const IbhProbe *probe, int ifindex, const IbhIp *ip);
int ibh_probe_is_ipv6(const IbhProbePair *pair); /* 0 or 1, to be used as an index */
/* Returns the size of the largest packet that the NIC sends in the pair's family, with its IP header; at most
 * IBH_PROBE_SIZE_MAX. */
guint ibh_probe_full_size(const IbhProbePair *pair);

IbhLladdr ibh_lladdr_from_bytes(const guint8 *bytes, guint length);
gboolean ibh_lladdr_equal(const IbhLladdr *one, const IbhLladdr *other);
char *ibh_lladdr_format(const IbhLladdr *lladdr);        /* NULL if its length is 0 */
gboolean ibh_lladdr_is_virtual(const IbhLladdr *lladdr); /* TRUE if the address is reserved for virtual routers */
/* Finds each pair's next hop. Makes an IbhProbeHop for each next hop and each source (IbhProbe.sources), so that claims
 * of their addresses are noted. */
void ibh_probe_find_hops(IbhProbe *probe);
IbhProbeHop *ibh_probe_hop(const IbhProbe *probe, int ifindex, const IbhIp *ip); /* NULL if none was made */
/* Returns the claim of this hardware address; NULL if there is none. */
IbhProbeClaim *ibh_hop_claim(IbhProbeHop *hop, const IbhLladdr *lladdr);
/* TRUE if this hardware address claims the hop's address, or was in the kernel's neighbour entry after a pair began
 * (IbhProbeHop.lladdr). FALSE if the length of the hardware address is 0. */
gboolean ibh_hop_has(IbhProbeHop *hop, const IbhLladdr *lladdr);
gboolean ibh_hop_has_answer(IbhProbeHop *hop);  /* TRUE if a host answered a question of this host */
gboolean ibh_hop_has_virtual(IbhProbeHop *hop); /* TRUE if a virtual router claims the address */
/* Returns the NIC of this host that has this hardware address; NULL if none has it. */
const IbhLink *ibh_probe_own_link(const IbhProbe *probe, const IbhLladdr *lladdr);

/* `pair->route` and `used` are two look-ups for the same packet: `pair->route`, with IbhLookup.match, says which route
 * decides; `used`, without `match`, says which gateway and NIC the kernel uses. Puts the gateway and NIC of `used` into
 * `pair->route`, and notes in pair->redirected whether an ICMP redirect made the two gateways differ. Changes nothing
 * if a look-up failed, or if `used` is not a unicast route. */
void ibh_probe_take_hop(IbhProbePair *pair, const IbhLookup *used);
/* Takes out the pairs whose rail leaves the peer to the main table (why_left_to_main() in pairs.c says when), and lists
 * them in IbhProbe.unasked. A NIC that is down, or has no carrier, keeps its pairs. Call this function when the routes
 * of all pairs are known. */
void ibh_probe_leave_to_main(IbhProbe *probe);
/* After a signal, takes out the pairs that have no result, and lists them in IbhProbe.unfinished. */
void ibh_probe_take_out_unfinished(IbhProbe *probe);

/* Takes the content of the neighbour table (IbhNeighbour). If an entry for a next hop was there before any pair with
 * this next hop began, the entry is not ours, and is not deleted. If a pair with the next hop has begun, the next hop
 * gets the hardware address of its entry, unless it has a hardware address already. Settled pairs go on with their
 * questions. */
void ibh_probe_learn(IbhProbe *probe, const GArray *neighbours);
/* TRUE if this pair adds the entry for its peer to the neighbour table. */
gboolean ibh_probe_adds_entry(const IbhProbePair *pair);

/* ---- which packet is sent next ---- */

/* All pairs that have begun take turns: each has something to send, waits, or is finished. A pair that adds an entry to
 * the neighbour table begins when fewer than `room` entries of --probe are in the table; deleting the entry of a
 * finished pair makes room for another. If `room` is 0, such pairs begin all the same, one at a time. */
typedef struct {
    IbhProbe *probe;
    guint gone;       /* all pairs before this index have reached IBH_STEP_GONE */
    guint begun;      /* the index of the first pair that has not begun */
    guint turn;       /* the index of the pair that has its turn next */
    guint room[2];    /* how many entries --probe may add to the neighbour tables of IPv4 and IPv6 */
    guint added[2];   /* how many entries --probe has added to each table and not yet deleted */
    gboolean settled; /* a pair waits for ibh_probe_learn() */
} IbhFlight;

/* One packet that is sent for a pair. */
typedef struct {
    IbhProbePair *pair;
    IbhProbeAsk ask;
    guint number; /* of an echo: its number, its size with IBH_PROBE_SIZED, or IBH_PROBE_FREE */
} IbhShot;

/* Begins pairs, and gives pairs their turns. Returns TRUE if `ret_shot` should be sent now. Returns FALSE if nothing
 * should be sent before `ret_due`, unless a packet comes in, or ibh_probe_learn() or ibh_flight_end() is called. */
gboolean ibh_flight_next(IbhFlight *flight, gint64 now, IbhShot *ret_shot, gint64 *ret_due);
/* Notes that the packet was sent, or could not be sent. */
void ibh_flight_note_sent(IbhFlight *flight, const IbhShot *shot, gint64 now, gboolean sent);
/* Notes that a finished pair has nothing more to do: the entry that it added, if any, has been deleted. */
void ibh_flight_end(IbhFlight *flight, IbhProbePair *pair);

/* The kernel's neighbour table of one family, which the whole machine shares. */
typedef struct {
    guint limit;  /* gc_thresh3; 0: unknown */
    guint used;   /* how many entries all network namespaces have */
    guint64 full; /* how many entries could not be added since boot */
} IbhNeighbourTable;

/* Returns how many entries --probe may add. The table may become half full: beyond gc_thresh2, which is half of
 * gc_thresh3 by default, the kernel deletes old entries, perhaps those of other programs. If the table is half full or
 * fuller already, --probe may use half of what is free. Returns 0 if the limit is unknown. */
guint ibh_probe_room(const IbhNeighbourTable *table);

/* ---- packets ---- */

/* Like ibh_put16(): numbers in packets are in network order. */
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

/* Adds bytes to the sum of 16-bit words from which a checksum is made (RFC 1071), and returns the new sum. A checksum
 * is the complement of this sum, so an intact packet with its checksum has the sum 0xffff. In ICMPv6, the sum also
 * covers addresses, length and protocol. */
guint ibh_probe_sum(guint32 sum, const guint8 *bytes, gsize length);
/* Returns the length of the echo with this number, without its IP header; 0 if the number has a size that is too small
 * for an echo, or larger than IBH_PROBE_SIZE_MAX. */
gsize ibh_probe_length(guint number, gboolean six);
/* Writes the first IBH_PROBE_PACKET bytes of an echo. A small echo has no more bytes. In a large echo, zeros follow,
 * which this function does not write. */
void ibh_probe_write_head(const IbhProbePair *pair, guint number, guint8 head[IBH_PROBE_PACKET]);
/* Writes an echo, and returns its length. */
gsize ibh_probe_write_echo(const IbhProbePair *pair, guint number, guint8 *packet);
/* Notes that a small echo was sent. */
void ibh_probe_note_sent(IbhProbePair *pair, guint number, gint64 now);
/* Writes a TCP SYN, and returns its length; the kernel adds the checksum. */
gsize ibh_probe_write_syn(const IbhProbePair *pair, guint8 segment[IBH_SYN_LENGTH]);

/* An ICMP packet that was delivered to this host, or heard when it passed a NIC. */
typedef struct {
    int ifindex;      /* the NIC of the socket that it was delivered to, or the NIC that it passed */
    IbhLladdr sender; /* the hardware address that the frame came from; length 0: unknown, as for a delivered packet */
    IbhIp from, to;
    const guint8 *icmp;   /* header and payload */
    gsize length;         /* bytes of `icmp` that were read */
    gsize cut;            /* bytes of `icmp` that were cut off */
    gsize total;          /* bytes of the packet or fragment, with its IP header; 0 for a delivered packet */
    gboolean is_fragment; /* this is the first fragment of a packet that was heard; later fragments are ignored */
} IbhPacket;

/* Returns the offset of ICMP in an IPv4 packet; 0 if the packet is not ICMP. */
gsize ibh_icmp_offset(const guint8 *bytes, gsize length);

/* Takes a packet that may be a reply to one of our echoes. The packet was delivered to this host at the time `now`; if
 * `now` is 0, the packet was heard on a NIC. Returns TRUE if the packet is a reply that counts. */
gboolean ibh_probe_take_reply(IbhProbe *probe, const IbhPacket *reply, gint64 now);

/* A packet that passed a NIC. The bytes begin with its network header, and may be cut short. */
typedef struct {
    int ifindex;
    guint16 protocol; /* ETH_P_… */
    gboolean outgoing;
    const guint8 *bytes;
    gsize length;
    IbhLladdr sender; /* the hardware address that the frame came from; length 0: unknown */
} IbhHeard;

/* Takes everything that a packet proves. */
void ibh_probe_hear(IbhProbe *probe, const IbhHeard *heard);
/* Parses an ARP packet of IPv4 into *ret_arp, and returns its operation; returns 0 if `frame` is something else.
 * `sender` has the length 0, and `is_answer` is FALSE, because the packet alone does not tell them. */
guint ibh_arp_parse(const guint8 *frame, gsize length, IbhArpClaim *ret_arp);
/* Takes a claim that came in through this NIC. If the claim is a forgery, notes only the forgery. A claim is a forgery
 * if three things are true: the sender of the frame is known, the claim names another hardware address than the
 * sender's, and this other address is not that of a virtual router. */
void ibh_probe_take_claim(IbhProbe *probe, int ifindex, const IbhArpClaim *claim);
/* Finds out which forgeries are claims of a virtual router after all, and makes them claims. Call this when all packets
 * are heard. */
void ibh_probe_believe_routers(IbhProbe *probe);
/* Returns a source of another NIC, in the same IPv4 subnet, that can ask for the address of `source` and name itself as
 * the sender; NULL if there is none, and always in IPv6. A proxy answers this question, but not the question that the
 * NIC of `source` asks, because that question names no sender. */
const IbhProbeSource *ibh_probe_witness(const IbhProbe *probe, const IbhProbeSource *source);

/* Returns why it is unknown which NIC of the peer replies; NULL if that is known, or no SYN was sent. */
const char *ibh_probe_syn_why(const IbhProbePair *pair);
/* Notes how far a pair's RDMA request came, as the process that sends the requests tells: IbhProbePair.rdma and
 * rdma_error. Returns FALSE if there is no such pair or cause, or if the pair has its result already. */
gboolean ibh_probe_take_rdma(IbhProbe *probe, guint pair, IbhCause cause, int error);
/* TRUE if an RDMA request should be sent, or has no answer yet. */
gboolean ibh_probe_awaits_rdma(const IbhProbePair *pair);

/* ---- the verdict ---- */

/* Returns where the value of a fact is kept; the value begins at 0. For a counter, the reading before the run is
 * subtracted, and the reading after the run is added, so the value is the growth. For something attached to a NIC, the
 * value is 1 or more if it is there. With ifindex 0, the fact is about the whole network namespace. */
gint64 *ibh_probe_fact(const IbhProbe *probe, int ifindex, IbhProbeFact fact);

/* Sets the causes of all pairs, and the findings, at the end of a run. */
void ibh_probe_judge(IbhProbe *probe);
gboolean ibh_probe_has(const IbhProbePair *pair, IbhCause cause); /* TRUE if the pair has the cause */
/* Returns the first of the hops that IBH_EACH_SAME() visits. */
IbhProbeHop *ibh_probe_first_hop(const IbhProbe *probe, const IbhProbeHop *of);
/* Lists the hardware addresses that claim the hop's IP address (IBH_EACH_SAME()), and returns how many it lists. Leaves
 * out hardware addresses whose claims do not prove that one more host has the IP address: those of virtual routers from
 * which no replies to echoes came, and in IPv6, those of proxies and anycast hosts. */
guint ibh_probe_list_hosts(const IbhProbe *probe, const IbhProbeHop *of, IbhLladdr hosts[IBH_PROBE_HOSTS]);
const char *ibh_probe_stage(const IbhProbePair *pair);   /* the first stage with a problem; NULL if there is none */
GPtrArray *ibh_probe_problems(const IbhProbePair *pair); /* const char *: each code once */
/* Returns "172.16.34.1-.8, 172.16.35.1 and 3 more" for an array of IbhIp. Consecutive addresses are one range. Names at
 * most `most` ranges; "3 more" counts addresses, not ranges. */
char *ibh_probe_name_peers(const GArray *peers, guint most);
/* Returns "NAME, NAME and N more" with the first `most` names. N is `more` plus the number of names after these. If N
 * is 0, " and N more" is left out. */
char *ibh_probe_join_names(const GPtrArray *names, guint most, guint more);

/* If this errno means that a route refused the packet, or that there was none, returns in words which route, such as
 * "a blackhole route" or "no route"; else returns NULL. */
const char *ibh_probe_route_of_error(int error);
/* Returns the probe's own copy of the text; NULL if the text is NULL. Equal texts share one copy, and so a pointer. */
const char *ibh_probe_keep_text(const IbhProbe *probe, const char *text);

/* Returns the text of a row with the pair's values in place of the words in braces; NULL if the text is NULL. Equal
 * texts are the same pointer. */
const char *ibh_probe_fill_in(const IbhProbePair *pair, const char *text);

/* Parts of ibh_probe_judge(). They make findings about each cause, about who else claims addresses of this host, about
 * hosts that forge answers, and about the run as a whole. */
void ibh_probe_report_causes(IbhProbe *probe);
void ibh_probe_report_strangers(IbhProbe *probe);
void ibh_probe_report_forgeries(IbhProbe *probe);
void ibh_probe_report_whole(IbhProbe *probe);
