/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The nouns of the program: plain values, no I/O.
 *
 * A snapshot is what one network namespace looked like at one moment. Everything that decides
 * anything (rails, want, plan, undo, check) reads it and touches nothing else.
 */
#pragma once

#include "model/each.h"

#include <glib.h>
#include <net/if.h>

/* "ibhk": the mark, which is the metric of our routes and the suppress_ifgroup of our rules. */
#define IBH_MARK 0x6962686bu

#define IBH_TABLE_SPREAD 940u        /* of main=spread */
#define IBH_TABLE_DEFAULTS 2000u     /* a rail's default routes lie in a table of their own: D = T + this */
#define IBH_PRIORITY_DEFAULTS 32765u /* of the rule that leads to D: after VPNs, before main */
#define IBH_PRIORITY_MAIN 32766u     /* of the kernel's own rule that leads to main */
#define IBH_TABLE_MAIN 254u
#define IBH_TABLE_LOCAL 255u
#define IBH_LLADDR_MAX 32

/* ---- addresses and prefixes ------------------------------------------------------------------ */

typedef struct {
    int family; /* AF_INET, AF_INET6, or AF_UNSPEC for "none" */
    guint8 bytes[16];
} IbhIp;

typedef struct {
    IbhIp ip; /* host bits are zero */
    guint length;
} IbhPrefix;

#define IBH_IP_STRLEN 48
#define IBH_PREFIX_STRLEN 52

guint ibh_ip_bits(const IbhIp *ip); /* 32 or 128 */
gboolean ibh_ip_parse(const char *text, IbhIp *ret_ip);
IbhIp ibh_ip_from_bytes(int family, const void *bytes); /* as in a packet */
const char *ibh_ip_format(const IbhIp *ip, char buffer[IBH_IP_STRLEN]);
int ibh_ip_compare(const IbhIp *a, const IbhIp *b);
gboolean ibh_ip_equal(const IbhIp *a, const IbhIp *b);

guint ibh_ip_hash(gconstpointer ip); /* of an IbhIp, for hash tables */
/* The address of one host: no multicast, no unspecified or loopback address. */
gboolean ibh_ip_is_unicast(const IbhIp *ip);
gboolean ibh_ip_is_link_local(const IbhIp *ip); /* 169.254/16, fe80::/10 */
gboolean ibh_ip_is_fe80(const IbhIp *ip);       /* valid on one link only; each that is up has one by itself */

IbhPrefix ibh_prefix_of(const IbhIp *ip, guint length); /* clears the host bits */
IbhPrefix ibh_prefix_of_host(const IbhIp *ip);
IbhPrefix ibh_prefix_of_world(int family); /* of length 0 */
gboolean ibh_prefix_parse(const char *text, IbhPrefix *ret_prefix);
const char *ibh_prefix_format(const IbhPrefix *prefix, char buffer[IBH_PREFIX_STRLEN]);
int ibh_prefix_compare(const IbhPrefix *a, const IbhPrefix *b);
gboolean ibh_prefix_equal(const IbhPrefix *a, const IbhPrefix *b);
guint ibh_prefix_hash(gconstpointer prefix); /* of an IbhPrefix */
gboolean ibh_prefix_contains(const IbhPrefix *outer, const IbhIp *ip);
gboolean ibh_prefix_covers(const IbhPrefix *outer, const IbhPrefix *inner); /* contains all of it */
gboolean ibh_prefix_overlaps(const IbhPrefix *a, const IbhPrefix *b);
gboolean ibh_prefix_is_inside(const IbhPrefix *inner, const IbhPrefix *outer); /* and longer */
/* Lists of IbhPrefix. */
gboolean ibh_prefixes_have(const GArray *prefixes, const IbhPrefix *prefix);
gboolean ibh_prefixes_overlap(const GArray *prefixes, const IbhPrefix *prefix);
void ibh_prefixes_add(GArray *prefixes, const IbhPrefix *prefix); /* where none of them contains it */
/* An address of this prefix that no longer one has, of those in order from `first` on; FALSE: they cover it all. */
gboolean ibh_prefixes_find_gap(const GArray *sorted, guint first, const IbhPrefix *prefix, IbhIp *ret_ip);

/* ---- per-interface IPv4 sysctls ---------------------------------------------------------------- */

typedef enum {
    IBH_SYSCTL_RP_FILTER,
    IBH_SYSCTL_ARP_FILTER,
    IBH_SYSCTL_ARP_ANNOUNCE,
    IBH_SYSCTL_ARP_IGNORE,
    IBH_SYSCTL_IGNORE_LINKDOWN, /* routes of a link without carrier are not used; ib-hook never sets it */
    IBH_N_SYSCTLS
} IbhSysctl;

const char *ibh_sysctl_name(IbhSysctl key);
gboolean ibh_sysctl_parse(const char *name, IbhSysctl *ret_key);
/* The value that the kernel uses: max() with `all`, or OR for keys that are on or off. */
int ibh_sysctl_effective(IbhSysctl key, int own, int all);

/* ---- links and addresses ----------------------------------------------------------------------- */

/* Names that the kernel accepts for a netdev. */
gboolean ibh_iface_name_is_valid(const char *name);
/* The kernel lets a netdev be renamed to "all" or "default", which in /proc/sys/net stand for all netdevs: such a
 * netdev has no settings of its own there. */
gboolean ibh_iface_name_has_sysctls(const char *name);

#define IBH_SLOT_LEN 40

typedef struct {
    int ifindex;
    char name[IFNAMSIZ];
    guint16 type; /* ARPHRD_* */
    guint flags;  /* IFF_* */
    gboolean carrier;
    int master;          /* ifindex, 0: none */
    guint32 group;       /* that rules can suppress; 0: the default one */
    int mtu;             /* 0: not known */
    int mtu6;            /* the largest packet that IPv6 sends, 0: not known */
    gboolean keeps_mtu6; /* of IPv6, whatever routers advertise */
    int parent;          /* ifindex of the link it is stacked on in this namespace, 0: none */
    char kind[16];       /* "ipoib", "vlan", "veth", …; "": hardware */
    guint32 vrf;         /* the table of a VRF; 0: the link is none */
    gboolean representor;
    gboolean vf;             /* a virtual function: ranks after physical ones */
    char rdma[72];           /* "mlx5_1/1", "": no RDMA port known */
    char slot[IBH_SLOT_LEN]; /* of IbhKnownRail; read only where a known rail has its name and port, and is not it */
    guint8 lladdr[IBH_LLADDR_MAX];
    guint lladdr_len;
    guint8 broadcast[IBH_LLADDR_MAX]; /* as long as lladdr */
    int sysctl[IBH_N_SYSCTLS];
    gboolean proxy_arp, proxy_arp_pvlan, forwarding; /* its own IPv4 sysctls that ib-hook never sets */
    gboolean forwarding6;
} IbhLink;

/* By what a NIC is recognised later: what of its hardware address belongs to the hardware (of InfiniBand the port's
 * GUID, else all; "-": none). */
#define IBH_HARDWARE_LEN (3 * IBH_LLADDR_MAX)
void ibh_link_name_hardware(const IbhLink *link, char text[IBH_HARDWARE_LEN]);
gboolean ibh_link_has_hardware(const IbhLink *link, const char *hardware); /* FALSE for "-" */

/* lo, or a similar netdev: its addresses are the host's own, on no wire. */
gboolean ibh_link_is_of_the_host(const IbhLink *link);

typedef struct {
    int ifindex;
    IbhIp local;
    IbhPrefix subnet; /* IFA_ADDRESS/length: of a point-to-point address, the peer's */
    guint8 scope;     /* RT_SCOPE_* */
    gboolean secondary;
    gboolean noprefixroute;
    gboolean dynamic;   /* not permanent: it has a lifetime */
    gboolean tentative; /* IPv6: not (yet) proved to be unique: nothing is added for it, nothing taken away */
    gboolean failed;    /* … and another host has it */
    gboolean deprecated;
} IbhAddress;

/* An address that a rail serves: every IPv4 address, global IPv6 addresses. */
gboolean ibh_address_counts(const IbhAddress *address);

/* A single address (a VIP, a lease of /32): it names no subnet. */
gboolean ibh_address_is_host(const IbhAddress *address);

/* ---- rules ------------------------------------------------------------------------------------- */

/* Selectors beside `from` that a rule can have. Ours have none of them but `to`. */
typedef enum {
    IBH_SELECT_TO = 1 << 0,
    IBH_SELECT_IIF = 1 << 1,
    IBH_SELECT_OIF = 1 << 2,
    IBH_SELECT_FWMARK = 1 << 3,
    IBH_SELECT_TOS = 1 << 4,
    IBH_SELECT_UID = 1 << 5,
    IBH_SELECT_PORT = 1 << 6, /* ipproto, sport, dport */
    IBH_SELECT_NOT = 1 << 7,
    IBH_SELECT_OTHER = 1 << 8 /* tunnel id, flow label, any newer attribute: never guess whether the rule matches */
} IbhSelector;

#define IBH_DSCP_ALL 0x3fu /* the mask of all bits of a DSCP */

/* Values that a rule matches by, where `selectors` names them. */
typedef struct {
    guint32 mark, mask;
    guint32 uid[2]; /* from, to */
    guint16 sport[2], dport[2];
    guint8 tos, dscp_mask; /* a mask: the rule is by DSCP, the upper six bits of tos */
    guint8 ip_protocol;
    char iif[IFNAMSIZ], oif[IFNAMSIZ];
} IbhSelection;

typedef struct {
    int family;
    guint32 priority;
    IbhPrefix from;               /* length 0: from all */
    IbhPrefix to;                 /* length 0: to all. With IBH_SELECT_TO among the selectors */
    guint8 action;                /* FR_ACT_* */
    guint32 table;                /* of a table action */
    guint32 target;               /* of a goto: the priority that it leads to */
    guint8 protocol;              /* RTPROT_* */
    gint64 suppress_prefixlength; /* -1: absent */
    gint64 suppress_ifgroup;      /* -1: absent */
    guint selectors;              /* IbhSelector */
    IbhSelection by;
    gboolean l3mdev;
    guint32 realms; /* of IPv4: which packets count as, for accounting; 0: none */
} IbhRule;

/* A total order over all that rules of ours have: `target` and `by` do not count. */
int ibh_rule_compare(const IbhRule *a, const IbhRule *b);
gboolean ibh_rule_is_ours(const IbhRule *rule);
gboolean ibh_rule_is_spread(const IbhRule *rule); /* rules of ours that lead unbound traffic to the rails */
/* A rule that asks main for longer prefixes; it belongs to the rules around it. */
gboolean ibh_rule_asks_main(const IbhRule *rule);

/* ---- routes ------------------------------------------------------------------------------------ */

typedef struct {
    int ifindex;
    guint16 weight; /* above 1, as the kernel counts it */
    guint8 dead;    /* its link or its last address went */
    guint8 encapsulated;
    IbhIp gateway; /* AF_UNSPEC: on link */
} IbhHop;

/* Next hops and metrics, lists of any length: a pool keeps equal ones once, and a route that refers to one stays a
 * plain value, valid as long as the pool. */
GHashTable *ibh_pool_new(void);
gconstpointer ibh_pool_keep(GHashTable *pool, gconstpointer data, gsize size); /* NULL: of size 0 */

/* A new member has its places in kernel/read.c, in kernel/write.c, and in model/route.c, which compares routes, carries
 * attributes from main's to ours, and has their words. The kernel must show what it took: else each event would replace
 * the route again.
 */
typedef struct {
    int family;
    guint32 table;
    IbhPrefix dst;
    guint8 type;     /* RTN_UNICAST, RTN_THROW, … */
    guint8 protocol; /* RTPROT_* */
    guint8 scope;    /* RT_SCOPE_* */
    guint32 metric;
    int ifindex;           /* 0: none (an error) */
    IbhIp gateway;         /* AF_UNSPEC: on link */
    gboolean onlink;       /* the gateway counts as reachable by the device, even if other routes differ */
    IbhIp src;             /* AF_UNSPEC: none */
    guint nexthops;        /* more than 1: multipath; ifindex is that of the first */
    const IbhHop *hops;    /* of a multipath route, `nexthops` of them, of a pool; else NULL */
    gboolean is_part;      /* one NIC's part of a multipath route */
    guint32 object;        /* the nexthop object (ip nexthop) that it goes by; 0: none */
    gboolean special;      /* for one TOS or source prefix only: never ours */
    gboolean encapsulated; /* of a multipath route, its hops have that */
    gboolean cached;       /* of IPv6: what the kernel has learned of one host, beside the route that leads there */
    gboolean expires;      /* of IPv6: it has a lifetime */
    const guint8 *metrics; /* mtu, advmss, locks, …: the kernel's attributes, `metrics_size` bytes of a pool */
    guint metrics_size;    /* 0: none */
} IbhRoute;

/* The part of a route that goes by this device; FALSE: none does. */
gboolean ibh_route_part(const IbhRoute *route, int ifindex, IbhRoute *ret_part);
void ibh_route_set_metrics(IbhRoute *route, const IbhRoute *from);
guint32 ibh_route_metric(const IbhRoute *route, guint wanted); /* of the number RTAX_*; 0: it has none of its own */
/* Appends the metrics as ip(8) takes them, those that have a name: " mtu lock 1400 advmss 1360". */
void ibh_route_put_metrics(GString *text, const IbhRoute *route);
int ibh_route_compare(const IbhRoute *a, const IbhRoute *b);
gboolean ibh_route_is_ours(const IbhRoute *route);
gboolean ibh_route_is_spread(const IbhRoute *route);     /* routes of ours for unbound traffic */
gboolean ibh_route_is_default(const IbhRoute *route);    /* an error does not count */
gboolean ibh_route_is_advertised(const IbhRoute *route); /* of IPv6: a router made it, not the administrator */
gboolean ibh_route_is_error(const IbhRoute *route);      /* unreachable, blackhole, prohibit: no rule suppresses it */
/* An order in which routes of one table can be deleted. */
typedef enum { IBH_ROUTE_BY_GATEWAY, IBH_ROUTE_SUBNET } IbhRouteKind;
IbhRouteKind ibh_route_kind(const IbhRoute *route);
/* The best route to exactly this subnet: through this NIC, 0: any. NULL: none. */
const IbhRoute *ibh_routes_find_best(const GArray *routes, int ifindex, const IbhPrefix *subnet);
/* TRUE if the kernel would keep only one of them: they have one table, prefix and metric. */
gboolean ibh_route_same_place(const IbhRoute *a, const IbhRoute *b);
const IbhRoute *ibh_routes_find_place(const GArray *routes, const IbhRoute *route); /* NULL: none is in its place */
/* The longer prefix, then the lower metric. Of equals the first decides; NULL: none yet. */
gboolean ibh_route_is_better(const IbhRoute *route, const IbhRoute *than);

/* ---- what must be remembered between runs --------------------------------------------------------- */

typedef struct {
    char iface[IFNAMSIZ];
    int ifindex;
    char hardware[IBH_HARDWARE_LEN];
    IbhSysctl key;
    int old; /* the administrator's value; equal to `set`: it is lost */
    int set; /* the value we gave it */
} IbhSavedSysctl;

/* A rail as the last run programmed it. */
typedef struct {
    char iface[IFNAMSIZ];
    int ifindex;
    guint32 table;
    gboolean is_explicit; /* the configuration gave the number: it does not stick */
} IbhSavedRail;

#define IBH_KNOWN_ADDRESSES 8

typedef enum {
    IBH_IS_THERE,   /* a rail whose link works, or what only lacks a partner: the partner is missing then */
    IBH_FORGOTTEN,  /* not missed any more: it is not managed, a port of something, or has other subnets */
    IBH_ON_PURPOSE, /* its administrator took it down */
    IBH_ELSEWHERE,  /* its hardware is there, and has no netdev here: a pod has it, or its driver is not loaded */
    IBH_LACKS_ADDRESS,
    IBH_LACKS_CARRIER,
    IBH_LACKS_RDMA, /* a netdev without an RDMA device */
    IBH_IS_GONE,
    IBH_NO_SUCH_NIC /* never seen: only the configuration names it */
} IbhMissing;

/* Hardware that was a rail (plan/known.h). */
typedef struct {
    char iface[IFNAMSIZ];            /* its last name */
    char port[72];                   /* "mlx5_1/1" */
    char slot[IBH_SLOT_LEN];         /* PCI address and port, "0000:81:00.0/1" (host/sysfs.c) */
    char hardware[IBH_HARDWARE_LEN]; /* port GUID or MAC */
    IbhIp addresses[IBH_KNOWN_ADDRESSES];
    guint n_addresses;
    gint64 since; /* seconds since 1970: missing since then; 0: it is there */
    /* What it is now; not kept. */
    const IbhLink *link; /* owned by the snapshot; NULL: none */
    IbhMissing why;
    gint64 due; /* when the journal is told that it is missing; 0: it was */
} IbhKnownRail;

typedef struct {
    GArray *sysctls;     /* IbhSavedSysctl */
    GPtrArray *holds;    /* char *: interface names that --undo left alone */
    GPtrArray *kept;     /* char *: others that stay as they are since an --apply was not confirmed, rails standing */
    GArray *rails;       /* IbhSavedRail: of the last run */
    GArray *known;       /* IbhKnownRail */
    gboolean recalled;   /* what was known in earlier boots is among it: a line of its own, IBH_STATE_RECALLED */
    char *config;        /* in force, that of the last run that programmed: ibh_config_text(); NULL: not known */
    gboolean is_private; /* not all users may read the files of that, nor the one of this */
} IbhState;

#define IBH_STATE_RECALLED "recalled"

IbhState *ibh_state_new(void);
void ibh_state_free(IbhState *state);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IbhState, ibh_state_free)

/* ---- the snapshot ------------------------------------------------------------------------------ */

typedef struct {
    int ifindex;
    IbhIp ip;
    guint8 lladdr[IBH_LLADDR_MAX];
    guint lladdr_len; /* 0: not (yet) known */
    gboolean fixed;   /* permanent, or of a control plane: ARP would not find it again */
    gboolean proxied; /* a proxy entry: an address for which this host answers ARP, on behalf of another host */
    gboolean no_arp;  /* of a kind that is not asked for: ibh_neighbour_is_unasked() */
} IbhNeighbour;

typedef struct {
    GArray *links;      /* IbhLink */
    GHashTable *places; /* of the links, of which none is taken out: ifindex → place + 1; made when one is asked for */
    GArray *addresses;  /* IbhAddress, in the kernel's order */
    GArray *rules;      /* IbhRule, in the kernel's order: all of the family */
    GArray *routes; /* IbhRoute, in the kernel's order: every route of protocol kernel (ours and connected ones), and
                       all routes of the tables that a foreign rule leads a rail's address to */
    GArray *main_by_nic;     /* IbhRoute: of main, what decides for a candidate: its defaults, and what has one of its
                                addresses or subnets inside. Of a multipath route, each NIC's part */
    GArray *main_to_subnets; /* IbhRoute, in the kernel's order: main's to the subnets of candidates that it does not
                                reach through their own NIC */
    GArray *local;           /* IbhPrefix: IPv4 prefixes that an administrator made local (AnyIP) */
    GArray *neighbours;      /* IbhNeighbour: only --check reads them */
    int all[IBH_N_SYSCTLS];  /* net.ipv4.conf.all */
    IbhState *state;
} IbhSnapshot;

/* A question to the kernel's own routing, and its answer. */
typedef struct {
    IbhIp from, to;
    int iif;        /* the NIC by which the packet comes in; 0: it is sent from here */
    int bound;      /* the NIC that its socket is bound to; 0: none */
    guint8 neutral; /* the IP protocol that stands for none; 0: ICMP */
    gboolean match; /* ask for the route that was found, and its table */
    int error;      /* the answer: errno of a refusal, 0: it has a route */
    guint8 type;    /* RTN_* */
    int oif;
    const IbhHop *hops; /* of a multipath route, as in IbhRoute; oif is the first */
    guint32 table;      /* with `match`: the table of the route that was found, and the length of its prefix */
    guint length;
    IbhIp src;     /* the route's own; AF_UNSPEC: none */
    IbhIp gateway; /* the same */
    gboolean encapsulated;
} IbhLookup;

IbhSnapshot *ibh_snapshot_new(void);
void ibh_snapshot_free(IbhSnapshot *snapshot);
const IbhLink *ibh_snapshot_link(const IbhSnapshot *snapshot, int ifindex);
const IbhLink *ibh_snapshot_link_by_name(const IbhSnapshot *snapshot, const char *name);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IbhSnapshot, ibh_snapshot_free)

/* ---- texts that others wrote, made safe to show and to paste ---- */

/* As a shell reads it: names may hold `;`, `$` and quotes. The caller frees it. */
char *ibh_text_shell_word(const char *word);
/* strerror(), with what to do where descriptors have run out, or nothing can be written. (g_strerror() loads the tables
 * of iconv.) */
const char *ibh_errno_text(int number);
/* In the place of a line of a file that not all users may read. */
#define IBH_NOT_PUBLIC "(not shown: not all users may read this file)"

/* It can be seen, and changes neither what stands beside it nor where the line ends: no control character, no mark for
 * the direction of text, none of no width. */
gboolean ibh_char_is_printable(gunichar c);
/* Without control characters for terminals and journals: a byte that is not printable becomes `?`. Caller frees it. */
char *ibh_text_printable(const char *text);

/* ---- the remembered state as text, and how a plan changes it; host/store.c has the file ---- */

/* Lines without sense are left out: that loses old sysctl values and holds, nothing else. */
IbhState *ibh_state_parse(const char *text, gsize length);
char *ibh_state_format(const IbhState *state);
IbhState *ibh_state_copy(const IbhState *state);

/* Remembers the administrator's value of each sysctl that these operations (IbhOp *) change. Before they run (`done` is
 * FALSE) it is remembered for every intermediate value, too, in case the run is cut short. */
void ibh_state_remember(IbhState *state, const GPtrArray *ops, gboolean done);
/* Forgets the old values of NICs that have gone, and gives all others the name and hardware that their NIC has now. */
void ibh_state_match_links(IbhState *state, const IbhSnapshot *snapshot);

/* `is_private`: not all users may read the files that it is of. */
void ibh_state_set_config(IbhState *state, const char *text, gboolean is_private);
void ibh_state_hold(IbhState *state, const char *iface);
void ibh_state_keep(IbhState *state, const char *iface); /* in the place of a hold */
void ibh_state_lift(IbhState *state, const char *iface); /* both; NULL: of all */
