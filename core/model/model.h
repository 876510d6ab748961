/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The nouns of the program: plain values, no I/O.
 *
 * A snapshot holds the routing state of one network namespace at one moment. The decisions of a run depend only on the
 * snapshot, the configuration and the request (IbhRequest in plan/rails.h). The words "rail", "candidate", "foreign",
 * "held" and so on are explained in core/README.md.
 */
#pragma once

#include "model/each.h"

#include <glib.h>
#include <net/if.h>

/* The mark, "ibhk": our routes have it as their metric, our rules as their suppress_ifgroup. */
#define IBH_MARK 0x6962686bu

#define IBH_TABLE_SPREAD 940u        /* the table of main=spread (plan/spread.c) */
#define IBH_TABLE_DEFAULTS 2000u     /* D, the table of a rail's default route, is T + 2000 */
#define IBH_PRIORITY_DEFAULTS 32765u /* our rule that leads to D: after the rules of VPNs, before main */
#define IBH_PRIORITY_MAIN 32766u     /* the kernel's rule that leads to main */
#define IBH_TABLE_MAIN 254u
#define IBH_TABLE_LOCAL 255u
#define IBH_LLADDR_MAX 32 /* bytes of a hardware address: the kernel's MAX_ADDR_LEN */

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

guint ibh_ip_bits(const IbhIp *ip); /* 32 or 128; 0 for AF_UNSPEC */
gboolean ibh_ip_parse(const char *text, IbhIp *ret_ip);
IbhIp ibh_ip_from_bytes(int family, const void *bytes);                 /* network byte order */
const char *ibh_ip_format(const IbhIp *ip, char buffer[IBH_IP_STRLEN]); /* "none" for AF_UNSPEC */
int ibh_ip_compare(const IbhIp *a, const IbhIp *b);
gboolean ibh_ip_equal(const IbhIp *a, const IbhIp *b);

guint ibh_ip_hash(gconstpointer ip);            /* a GHashFunc for IbhIp */
gboolean ibh_ip_is_unicast(const IbhIp *ip);    /* not multicast, loopback, 0/8, 240/4 or ::/120 */
gboolean ibh_ip_is_link_local(const IbhIp *ip); /* 169.254/16, fe80::/10 */
gboolean ibh_ip_is_fe80(const IbhIp *ip);       /* fe80::/10: most links have such an address; it makes no NIC a rail */

IbhPrefix ibh_prefix_of(const IbhIp *ip, guint length); /* clears the host bits */
IbhPrefix ibh_prefix_of_host(const IbhIp *ip);
/* Reads ADDRESS/LENGTH, and clears the host bits; an ADDRESS alone is the prefix of a single host. Returns FALSE for
 * any other text. */
gboolean ibh_prefix_parse(const char *text, IbhPrefix *ret_prefix);
const char *ibh_prefix_format(const IbhPrefix *prefix, char buffer[IBH_PREFIX_STRLEN]);
int ibh_prefix_compare(const IbhPrefix *a, const IbhPrefix *b);
gboolean ibh_prefix_equal(const IbhPrefix *a, const IbhPrefix *b);
gboolean ibh_prefix_contains(const IbhPrefix *outer, const IbhIp *ip);
gboolean ibh_prefix_covers(const IbhPrefix *outer, const IbhPrefix *inner); /* inner is equal, or inside outer */
gboolean ibh_prefix_overlaps(const IbhPrefix *a, const IbhPrefix *b);
gboolean ibh_prefix_is_inside(const IbhPrefix *inner, const IbhPrefix *outer); /* FALSE if both are equal */

gboolean ibh_prefixes_have(const GArray *prefixes, const IbhPrefix *prefix); /* an array of IbhPrefix */

/* ---- per-interface IPv4 sysctls ---------------------------------------------------------------- */

typedef enum {
    IBH_SYSCTL_RP_FILTER,
    IBH_SYSCTL_ARP_FILTER,
    IBH_SYSCTL_ARP_ANNOUNCE,
    IBH_SYSCTL_ARP_IGNORE,
    IBH_N_SYSCTLS
} IbhSysctl;

const char *ibh_sysctl_name(IbhSysctl key);
gboolean ibh_sysctl_parse(const char *name, IbhSysctl *ret_key);

/* ---- links and addresses ----------------------------------------------------------------------- */

gboolean ibh_iface_name_is_valid(const char *name); /* TRUE if the kernel accepts the name for a netdev */
/* FALSE for "all" and "default". A netdev may have such a name, but /proc/sys/net/ipv4/conf/all and conf/default belong
 * to no netdev, so a netdev with such a name has no sysctls. */
gboolean ibh_iface_name_has_sysctls(const char *name);

#define IBH_SLOT_LEN 40

/* host/sysfs.c sets vf, rdma and slot; kernel/links.c sets the other members. */
typedef struct {
    int ifindex;
    char name[IFNAMSIZ];
    guint16 type; /* ARPHRD_* */
    guint flags;  /* IFF_* */
    gboolean carrier;
    int master;          /* ifindex; 0 if there is none */
    guint32 group;       /* the link group: a rule with this suppress_ifgroup suppresses routes through the link; 0 is
                            the default group */
    int mtu;             /* bytes; 0 if unknown */
    int mtu6;            /* the largest packet that IPv6 sends, in bytes; 0 if unknown */
    gboolean keeps_mtu6; /* IPv6 ignores the MTU of router advertisements */
    int parent;          /* ifindex of the link below a VLAN, macvlan, macvtap, ipvlan or IPoIB child; 0 for other
                            links, and if the link below is in another network namespace */
    char kind[16];       /* "ipoib", "vlan", "veth", …; "" if the kernel names none (Ethernet hardware, lo, …) */
    guint32 vrf;         /* the table of a VRF; 0 if the link is not a VRF */
    gboolean representor;
    gboolean vf;             /* a virtual function, which ranks behind the physical NICs (IbhNic.rank); read only for
                                links that have an RDMA port or are InfiniBand */
    char rdma[72];           /* "mlx5_1/1"; "" without an RDMA port */
    char slot[IBH_SLOT_LEN]; /* as in IbhKnownRail; "" if unknown, or if ibh_known_link() need not compare it */
    guint8 lladdr[IBH_LLADDR_MAX];
    guint lladdr_len;                                /* 0 if the link has no hardware address, or has no broadcast
                                                        address of the same length */
    guint8 broadcast[IBH_LLADDR_MAX];                /* lladdr_len bytes */
    int sysctl[IBH_N_SYSCTLS];                       /* the NIC's own values, without those of conf/all */
    gboolean proxy_arp, proxy_arp_pvlan, forwarding; /* the NIC's own IPv4 sysctls that ib-hook only reads */
    /* The NIC's own values of ignore_routes_with_linkdown: TRUE if the kernel skips IPv4 or IPv6 routes through the NIC
     * while it has no carrier. (Since Linux 5.11, conf/all of IPv4 has the same effect on all NICs; ibh_check_look()
     * adds this value.) */
    gboolean ignores_linkdown, ignores_linkdown6;
    gboolean forwarding6; /* the NIC's own IPv6 sysctl, which ib-hook only reads */
} IbhLink;

/* Writes what identifies the hardware: "-" for a link without a hardware address; for InfiniBand, the port GUID (the
 * other bytes of the hardware address can change); for any other link, the whole MAC. */
#define IBH_HARDWARE_LEN (3 * IBH_LLADDR_MAX)
void ibh_link_name_hardware(const IbhLink *link, char text[IBH_HARDWARE_LEN]);
gboolean ibh_link_has_hardware(const IbhLink *link, const char *hardware); /* FALSE for "-" */

gboolean ibh_link_is_of_the_host(const IbhLink *link); /* TRUE if on no LAN: lo, a dummy, a point-to-point link */

typedef struct {
    int ifindex;
    IbhIp local;
    IbhPrefix subnet;       /* IFA_ADDRESS/length; IFA_ADDRESS of a point-to-point address is the peer's address */
    guint8 scope;           /* RT_SCOPE_* */
    gboolean secondary;     /* IPv4: an earlier address of the NIC has the same subnet; IPv6: a temporary address */
    gboolean noprefixroute; /* the kernel adds no route to the subnet */
    gboolean dynamic;       /* has a finite lifetime, or the kernel made it from a router's prefix */
    gboolean tentative;     /* IPv6: DAD has failed, or DAD still runs and the address is not optimistic. We add nothing
                               for such an address, but may leave the rules and routes that the address will need after
                               DAD (waits_for_dad() in plan/difference.c). */
    gboolean failed;        /* IPv6: DAD found another host with this address */
    gboolean deprecated;    /* IPv6: new connections should not use the address */
} IbhAddress;

/* TRUE if a rail can have rules for this address: an IPv4 address whose scope is wider than host, or an IPv6 address
 * that has scope global and is not tentative. FALSE for multicast addresses. */
gboolean ibh_address_counts(const IbhAddress *address);
gboolean ibh_address_is_host(const IbhAddress *address); /* a /32 or /128 without a peer (a VIP): it has no subnet */

/* ---- rules ------------------------------------------------------------------------------------- */

/* The selectors of a rule besides `from`. Of these, our rules can have only `to`. */
typedef enum {
    IBH_SELECT_TO = 1 << 0,
    IBH_SELECT_IIF = 1 << 1,
    IBH_SELECT_OIF = 1 << 2,
    IBH_SELECT_FWMARK = 1 << 3,
    IBH_SELECT_TOS = 1 << 4,
    IBH_SELECT_UID = 1 << 5,
    IBH_SELECT_PORT = 1 << 6, /* ipproto, sport, dport */
    IBH_SELECT_NOT = 1 << 7,
    IBH_SELECT_OTHER = 1 << 8 /* tunnel id, flow label, newer attributes: we cannot tell whether the rule matches */
} IbhSelector;

#define IBH_DSCP_ALL 0x3fu /* a mask of all bits of a DSCP */

/* The values of the selectors; a value is valid if IbhRule.selectors has its bit. Three values have the bit
 * IBH_SELECT_PORT: ip_protocol, sport and dport. Each of the three matches anything if it is 0. */
typedef struct {
    guint32 mark, mask;         /* fwmark, not our mark */
    guint32 uid[2];             /* from, to */
    guint16 sport[2], dport[2]; /* from, to */
    /* If dscp_mask is 0, the rule compares the whole TOS; else only the bits of dscp_mask in the DSCP (tos >> 2). */
    guint8 tos, dscp_mask;
    guint8 ip_protocol;
    char iif[IFNAMSIZ], oif[IFNAMSIZ];
} IbhSelection;

typedef struct {
    int family;
    guint32 priority;
    IbhPrefix from;               /* length 0 for all */
    IbhPrefix to;                 /* length 0 for all; else `selectors` has IBH_SELECT_TO */
    guint8 action;                /* FR_ACT_* */
    guint32 table;                /* for FR_ACT_TO_TBL */
    guint32 target;               /* for FR_ACT_GOTO: a priority */
    guint8 protocol;              /* RTPROT_* */
    gint64 suppress_prefixlength; /* -1 if absent */
    gint64 suppress_ifgroup;      /* -1 if absent */
    guint selectors;              /* IbhSelector */
    IbhSelection by;
    gboolean l3mdev; /* the table is that of the packet's VRF, not `table` */
    guint32 realms;  /* IPv4: routing realms, for accounting; 0 if there are none */
} IbhRule;

int ibh_rule_compare(const IbhRule *a, const IbhRule *b); /* ignores `target` and `by`, which our rules lack */
gboolean ibh_rule_is_ours(const IbhRule *rule);
gboolean ibh_rule_is_spread(const IbhRule *rule); /* one of our rules for main=spread */
gboolean ibh_rule_asks_main(const IbhRule *rule); /* "lookup main suppress_prefixlength N" */

/* ---- routes ------------------------------------------------------------------------------------ */

typedef struct {
    int ifindex;
    guint16 weight;      /* rtnh_hops: the weight minus 1; 0 for members of a group of objects */
    guint8 dead;         /* RTNH_F_DEAD: the kernel skips this nexthop, because its link is down, has lost its last
                            address, or has no carrier (with ignore_routes_with_linkdown) */
    guint8 encapsulated; /* RTA_ENCAP: the packet goes into a tunnel or gets an MPLS label */
    IbhIp gateway;       /* AF_UNSPEC if on link */
} IbhHop;

/* A pool stores the nexthops and the metrics of routes, equal data only once. An IbhRoute does not own its data in the
 * pool: you can copy an IbhRoute like a plain value, but the copy is valid only while the pool exists. */
GHashTable *ibh_pool_new(void);
/* Returns the pool's copy of `data`; NULL if `size` is 0. */
gconstpointer ibh_pool_keep(GHashTable *pool, gconstpointer data, gsize size);

/* If you add a member that our own routes use, add it to kernel/read.c, kernel/write.c and ibh_route_compare(). The
 * kernel has to report the attribute as we sent it; otherwise each event would replace the route again. */
typedef struct {
    int family;
    guint32 table;
    IbhPrefix dst;
    guint8 type;     /* RTN_UNICAST, RTN_THROW, … */
    guint8 protocol; /* RTPROT_* */
    guint8 scope;    /* RT_SCOPE_* */
    guint32 metric;
    int ifindex;           /* With `hops`, the ifindex of the first nexthop. 0 in three cases: the route is neither
                              unicast nor broadcast; its nexthop object is not read yet; no nexthop of the object can be
                              read, for example because the object has gone. */
    IbhIp gateway;         /* AF_UNSPEC if on link; also AF_UNSPEC with `hops`: each hop has its own gateway */
    gboolean onlink;       /* the kernel does not check that the gateway is on link */
    IbhIp src;             /* AF_UNSPEC if there is none */
    guint nexthops;        /* the number of nexthops: 0 if `ifindex` is 0, more than 1 for a multipath route; see also
                              ibh_route_part() */
    const IbhHop *hops;    /* `nexthops` elements in a pool for a multipath route or a group of objects; else NULL */
    guint32 object;        /* the id of a nexthop object (ip nexthop); 0 if there is none */
    gboolean special;      /* the route is for one TOS or one source prefix only; FALSE for our routes */
    gboolean encapsulated; /* as in IbhHop; a multipath route has this flag in its hops */
    gboolean cached;       /* IPv6: a path MTU or redirect that the kernel has learned for one host */
    int expires;           /* IPv6: the lifetime that is left, in clock ticks; negative if it is over; 0: no limit */
    const guint8 *metrics; /* RTA_METRICS (mtu, advmss, locks, …) as the kernel sent them, in a pool */
    guint metrics_size;    /* 0 if there are none */
} IbhRoute;

/* Sets `ret_part` to a copy of the route that has only the nexthops through this NIC. In the copy, `hops` is NULL, and
 * `nexthops` is the number of these nexthops; dead nexthops of a multipath route do not count. If several nexthops
 * count, `gateway` is that of the last one. If no nexthop counts, returns FALSE, and the copy has no meaning. */
gboolean ibh_route_part(const IbhRoute *route, int ifindex, IbhRoute *ret_part);
/* Gives the route the metrics of `from`, whose pool must live as long as the route. */
void ibh_route_set_metrics(IbhRoute *route, const IbhRoute *from);
/* Returns the value of the metric `wanted` (RTAX_*); 0 if the route lacks the metric. */
guint32 ibh_route_metric(const IbhRoute *route, guint wanted);
/* Appends the metrics that have a word in ip(8): " mtu lock 1400 advmss 1360". */
void ibh_route_put_metrics(GString *text, const IbhRoute *route);
int ibh_route_compare(const IbhRoute *a, const IbhRoute *b); /* ignores `object` and `expires`, which our routes lack */
gboolean ibh_route_is_ours(const IbhRoute *route);
gboolean ibh_route_is_spread(const IbhRoute *route);     /* one of our routes for main=spread */
gboolean ibh_route_is_advertised(const IbhRoute *route); /* IPv6: protocol ra, or protocol kernel with a lifetime */
gboolean ibh_route_is_error(const IbhRoute *route);      /* unreachable, blackhole, prohibit: no rule suppresses them */
/* Returns the route to exactly this subnet through this NIC (through any NIC if `ifindex` is 0) that has the lowest
 * metric; NULL if there is none. Ignores special routes. A multipath route counts as a route through its first NIC. */
const IbhRoute *ibh_routes_find_best(const GArray *routes, int ifindex, const IbhPrefix *subnet);
/* TRUE if family, table, prefix and metric are equal. Then one route, sent with NLM_F_REPLACE, replaces the other one.
 * There are two exceptions: one of the two routes is special (IbhRoute.special); or, before Linux 5.6, the new IPv6
 * route is on link and the old IPv6 route has a gateway. */
gboolean ibh_route_same_place(const IbhRoute *a, const IbhRoute *b);
/* TRUE if `than` is NULL, if the route has the longer prefix, or if both prefixes are equally long and the route has
 * the lower metric. */
gboolean ibh_route_is_better(const IbhRoute *route, const IbhRoute *than);

/* ---- the state: what we remember between runs ------------------------------------------------------ */

typedef struct {
    char iface[IFNAMSIZ];
    int ifindex;
    char hardware[IBH_HARDWARE_LEN]; /* as ibh_link_name_hardware() writes it */
    IbhSysctl key;
    int old; /* the administrator's value; equal to `set` if we have lost the administrator's value */
    int set; /* our value */
} IbhSavedSysctl;

/* The table of a NIC that was a rail in the last run, or that was a rail in an earlier run and is kept or spared. */
typedef struct {
    char iface[IFNAMSIZ];
    int ifindex;
    guint32 table;
    gboolean is_explicit; /* the number comes from table=; when table= is removed, give_again() (plan/tables.c)
                             decides whether the NIC keeps the number */
} IbhSavedRail;

#define IBH_KNOWN_ADDRESSES 8

/* What has become of a known rail. The faults come last, from IBH_LACKS_ADDRESS (ibh_missing_is_fault()). */
typedef enum {
    IBH_IS_THERE,   /* the NIC lacks nothing: it is a rail, or is alone in its subnet while its partners are away. Or it
                       does not matter what the NIC lacks: the NIC is held, blocked, or no candidate although it has an
                       RDMA port or manage=yes */
    IBH_FORGOTTEN,  /* nobody expects a rail any more: the NIC has manage=no (and is not kept), has a master (bond,
                       bridge, VRF), or is alone because it has other subnets now or has no partner left
                       (IbhNic.is_alone_for_good) */
    IBH_ON_PURPOSE, /* the administrator took the link down */
    IBH_ELSEWHERE,  /* no netdev here, but a driver has the hardware: a pod or VM uses it, or ib_ipoib is missing */
    IBH_LACKS_ADDRESS,
    IBH_LACKS_SUBNET, /* the NIC's addresses have the prefix length of a single host now, but another candidate has the
                         subnet */
    IBH_LACKS_CARRIER,
    IBH_LACKS_RDMA, /* the netdev exists, but its RDMA device does not */
    IBH_IS_GONE,    /* no netdev, and no driver has the hardware */
    IBH_NO_SUCH_NIC /* manage=yes for a name that neither a NIC nor a known rail has */
} IbhMissing;

/* A known rail: hardware that was a rail in this boot or an earlier one (plan/known.h). */
typedef struct {
    char iface[IFNAMSIZ];                 /* the last name */
    char port[72];                        /* "mlx5_1/1" */
    char slot[IBH_SLOT_LEN];              /* PCI address and port, "0000:81:00.0/1"; `port` if not on PCI */
    char hardware[IBH_HARDWARE_LEN];      /* port GUID or MAC; "-": none; "": the entry is only a name (manage=yes) */
    IbhIp addresses[IBH_KNOWN_ADDRESSES]; /* the addresses that the rail had, except advertised ones */
    guint n_addresses;
    gint64 since; /* when the rail went missing, in seconds since 1970; 0 if it is not missing */
    /* The members below are not saved. ibh_known_look() sets `link` and `why`; --watch sets `due`. */
    const IbhLink *link; /* owned by the snapshot; NULL if there is none */
    IbhMissing why;
    gint64 due; /* when --watch writes to the journal that the rail is missing, in monotonic microseconds; 0 once
                   written */
} IbhKnownRail;

typedef struct {
    GArray *sysctls;     /* IbhSavedSysctl */
    GPtrArray *holds;    /* char *: names of NICs that are held since --undo */
    GPtrArray *kept;     /* char *: names of NICs that are kept since an unconfirmed --apply */
    GArray *rails;       /* IbhSavedRail: the rails of the last run, and kept and spared NICs */
    GArray *known;       /* IbhKnownRail */
    gboolean recalled;   /* `known` includes the rails of earlier boots (the line IBH_STATE_RECALLED) */
    char *config;        /* the text of the configuration in force (IbhConfig.text); NULL if unknown */
    gboolean is_private; /* not all users may read the files of that configuration, so only root may read the state */
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
    guint lladdr_len; /* 0 if not resolved (yet) */
    gboolean fixed;   /* permanent, `no_arp`, or written by a control plane: ARP would not restore it after a flush */
    gboolean proxied; /* a proxy entry: this host answers ARP for the address on behalf of another host */
    gboolean no_arp;  /* NUD_NOARP: the kernel never resolves the address; see ibh_neighbour_is_unasked() */
} IbhNeighbour;

typedef struct {
    GArray *links;           /* IbhLink */
    GHashTable *places;      /* ifindex → index in `links` + 1; ibh_snapshot_link() fills it */
    GArray *addresses;       /* IbhAddress, in the kernel's order */
    GArray *rules;           /* IbhRule, in the kernel's order for each family */
    GArray *routes;          /* IbhRoute, in this order:
                                - the unicast routes of protocol kernel in all tables (ours and connected routes);
                                - all other routes of the tables that matter as a whole (ibh_scope_tables()).
                                In each part, the routes of a table are in the kernel's order. */
    GArray *main_by_nic;     /* IbhRoute: the main table's routes through candidates, if plan/scope.c asks for them. A
                                multipath route is split into parts (ibh_route_part()), one for each candidate */
    GArray *main_to_subnets; /* IbhRoute, in the kernel's order: the main table's routes to a candidate's subnet, if
                                the main table has no route to this subnet through the candidate itself
                                (ibh_scope_unreached_subnets()) */
    GArray *local;           /* IbhPrefix: IPv4 prefixes that the administrator made local (AnyIP) */
    GArray *neighbours;      /* IbhNeighbour; empty unless ibh_check_look() has read them */
    int all[IBH_N_SYSCTLS];  /* net.ipv4.conf.all */
    IbhState *state;
} IbhSnapshot;

/* A route look-up (ip route get): the question, then the kernel's answer. */
typedef struct {
    IbhIp from, to; /* `from` has only zeros if the packet has no source address */
    int iif;        /* the NIC through which the packet comes in; 0 if this host sends it */
    int bound;      /* the NIC that the socket is bound to; 0 if there is none */
    guint8 neutral; /* IPv4: the IP protocol of the question: ICMP, TCP or UDP, whichever the fewest rules name; 0
                       stands for ICMP */
    gboolean match; /* also ask for `table` and `length` */

    int error;   /* the errno with which the kernel refuses the packet; 0 if the members below have the route */
    guint8 type; /* RTN_*; for types other than unicast and broadcast, oif is 0 */
    int oif;
    const IbhHop *hops; /* as in IbhRoute; if not NULL, oif is the ifindex of the first hop */
    guint32 table;      /* with `match`: the table of the matching route */
    guint length;       /* with `match`: the prefix length of the matching route */
    IbhIp src;          /* the src of the route; AF_UNSPEC if there is none */
    IbhIp gateway;      /* AF_UNSPEC if on link */
    gboolean encapsulated;
} IbhLookup;

IbhSnapshot *ibh_snapshot_new(void);
void ibh_snapshot_free(IbhSnapshot *snapshot);
/* Returns the value that the kernel uses for a NIC whose own value is `own`: the maximum of `own` and conf/all; for
 * arp_filter, the OR of both. */
int ibh_sysctl_effective(const IbhSnapshot *snapshot, IbhSysctl key, int own);
/* TRUE if a NIC with this arp_ignore does not answer for other NICs' addresses. With 3, the NIC is silent only about
 * addresses of scope host; 4 to 7 and values above 8 have no effect. */
gboolean ibh_arp_ignore_silences(int value);
const IbhLink *ibh_snapshot_link(const IbhSnapshot *snapshot, int ifindex);              /* NULL if there is none */
const IbhLink *ibh_snapshot_link_by_name(const IbhSnapshot *snapshot, const char *name); /* NULL if there is none */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IbhSnapshot, ibh_snapshot_free)

/* ---- text from other programs, made safe to print and to paste ------------------------------------- */

char *ibh_text_shell_word(const char *word); /* quoted for a shell if necessary; the caller frees it */
/* strerror(), with advice for EMFILE, ENFILE and EROFS. (g_strerror() would load the tables of iconv.) */
const char *ibh_errno_text(int number);
/* Messages have this text instead of a line of a file that not all users may read. */
#define IBH_NOT_PUBLIC "(not shown: not all users may read this file)"

/* FALSE for unassigned and control characters, line and paragraph separators, and format characters, such as marks for
 * the direction of text and zero-width spaces. */
gboolean ibh_char_is_printable(gunichar c);
char *ibh_text_printable(const char *text); /* replaces unprintable characters with `?`; the caller frees it */

/* ---- the state as text (host/store.c has the file), and its changes --------------------------------- */

/* Skips lines that it does not understand: what these lines say is lost. */
IbhState *ibh_state_parse(const char *text, gsize length);
char *ibh_state_format(const IbhState *state);
IbhState *ibh_state_copy(const IbhState *state);

/* Saves an entry for each sysctl that these operations (IbhOp *) set to a value of ours, but none for a sysctl that
 * gets the administrator's value back. An entry has our value, and the administrator's value, which ours replaced.
 * - Before the operations run, `done` is FALSE: older entries with other values of ours stay, because the old or the
 *   new value may stand if the run is killed.
 * - After the operations have run, `done` is TRUE: all older entries of these sysctls go. */
void ibh_state_remember(IbhState *state, const GPtrArray *ops, gboolean done);
/* Drops the saved sysctls of NICs that no longer exist. In the other entries, updates names and hardware addresses. */
void ibh_state_match_links(IbhState *state, const IbhSnapshot *snapshot);

void ibh_state_set_config(IbhState *state, const char *text, gboolean is_private);
void ibh_state_hold(IbhState *state, const char *iface); /* also ends a keep */
void ibh_state_keep(IbhState *state, const char *iface); /* also ends a hold */
void ibh_state_lift(IbhState *state, const char *iface); /* ends hold and keep; NULL: of all NICs */
