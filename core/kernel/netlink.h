/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's routing state: the only part that talks netlink.
 *
 *   netlink.c                 the socket: one request at a time, errors in the kernel's own words
 *   links.c, rules.c, read.c,
 *   nexthops.c                strict, filtered dumps → values; look-ups
 *   write.c                   operations → requests
 */
#pragma once

#include "model/operation.h"

#include <linux/netlink.h>

#define IBH_NETLINK_ERROR (g_quark_from_static_string("ibh-netlink-error")) /* the code is an errno */

typedef struct IbhNetlink IbhNetlink;

IbhNetlink *ibh_netlink_open(GError **error);
void ibh_netlink_close(IbhNetlink *netlink);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IbhNetlink, ibh_netlink_close)

/* Identifies this network namespace until the next boot; 0: the kernel (before 5.14) cannot say. */
guint64 ibh_netlink_namespace_cookie(IbhNetlink *netlink);
guint64 ibh_socket_netns_cookie(int fd); /* any socket tells it */
/* A number that no other network namespace has at the same time; when this one is gone, the kernel gives it to another.
 * 0: not known. */
guint64 ibh_netns_number(void);

/* The kernel names this port when it reports our changes to other processes. */
guint32 ibh_netlink_port(IbhNetlink *netlink);

/* The kernel checks the filters of dumps (4.20): it sends what the filter asks for, and no more. */
gboolean ibh_netlink_is_strict(const IbhNetlink *netlink);

/* ---- reading: each appends to an array; of both families ---- */

/* FALSE of a route that is dropped while it is read. */
typedef gboolean (*IbhRouteMatters)(gconstpointer of, const IbhRoute *route);

typedef struct {
    int family;           /* AF_UNSPEC: both */
    guint32 table;        /* 0: all */
    guint8 protocol;      /* 0: all */
    guint8 type;          /* 0: all */
    int ifindex;          /* of the device, 0: any; the kernel alone filters by it */
    gboolean cached;      /* only what is cached (IPv6), which is else left out */
    guint limit;          /* none, if more would come; 0: any number */
    IbhRouteMatters keep; /* which gets `of`; NULL: all are kept */
    gconstpointer of;
} IbhRouteFilter;

gboolean ibh_netlink_read_links(IbhNetlink *netlink, GArray *links, GError **error);
/* Of all links that have been read: finds parents that are in another namespace. */
void ibh_netlink_check_parents(GArray *links);
gboolean ibh_netlink_read_addresses(IbhNetlink *netlink, GArray *addresses, GError **error);
gboolean ibh_netlink_name(IbhNetlink *netlink, int ifindex, char ret_name[IFNAMSIZ]); /* FALSE: there is none */
gboolean ibh_netlink_read_rules(IbhNetlink *netlink, GArray *rules, GError **error);
gboolean ibh_netlink_read_routes(IbhNetlink *netlink, const IbhRouteFilter *filter, GArray *routes, GError **error);
/* Unicast routes of main by these devices (int), of a multipath route each device's part; AF_UNSPEC: of both families.
 */
gboolean ibh_netlink_read_main(IbhNetlink *netlink, const GArray *ifindexes, int family, IbhRouteMatters keep,
                               gconstpointer of, GArray *parts, GError **error);

typedef enum {
    IBH_NEIGHBOURS_FOUND, /* by ARP or ND */
    IBH_NEIGHBOURS_ALL,   /* also permanent ones and those of a control plane */
    IBH_NEIGHBOURS_PROXY  /* for which this host answers on behalf of other hosts */
} IbhNeighbours;
gboolean ibh_netlink_read_neighbours(IbhNetlink *netlink, int family, IbhNeighbours which, GArray *neighbours,
                                     GError **error);

/* ---- asking the kernel how it would route ---- */

gboolean ibh_netlink_lookup(IbhNetlink *netlink, IbhLookup *lookup, GError **error);

/* ---- writing ---- */

/* Runs a rule, route or neigh operation. Succeeds also if nothing had to be changed. */
gboolean ibh_netlink_execute(IbhNetlink *netlink, const IbhOp *op, GError **error);

/* Makes the kernel send an ARP request for its own address: a gratuitous ARP. Works only for the address that the
 * kernel chooses as source (IbhOp.by_kernel). */
gboolean ibh_netlink_announce(IbhNetlink *netlink, int ifindex, const IbhIp *ip, GError **error);
/* Deletes one entry of the neighbour table; IBH_OP_NEIGH_DEL deletes all that were found through a NIC. */
gboolean ibh_netlink_forget_neighbour(IbhNetlink *netlink, int ifindex, const IbhIp *ip, GError **error);

/* What a message about a rule says; its fixed header is valid. */
IbhRule ibh_rule_of(struct nlmsghdr *header);

/* `process`: its number, "1". The files of a network namespace in /proc have inodes of its own, and unlike its handle
 * they may be looked at without any capability. */
gboolean ibh_process_is_in_this_netns(const char *process);

/* ---- telling peers which hardware address an IP address has now ---- */

typedef struct {
    int packet; /* sockets, opened at need; -1: none */
    int icmp6;
} IbhAnnouncer;

#define IBH_ANNOUNCER_INIT ((IbhAnnouncer){.packet = -1, .icmp6 = -1})

/* Sends a gratuitous ARP for any address from any link, or (IPv6) an unsolicited neighbour advertisement. Closing its
 * packet socket costs some milliseconds (the kernel waits for an RCU grace period), so where the kernel's own ARP will
 * do, use ibh_netlink_announce(). */
gboolean ibh_announcer_send(IbhAnnouncer *announcer, const IbhLink *link, const IbhIp *ip, GError **error);
void ibh_announcer_clear(IbhAnnouncer *announcer);

/* ---- capabilities ---- */

gboolean ibh_caps_have(int capability); /* CAP_NET_ADMIN, … */
/* Of its capabilities this process keeps CAP_NET_ADMIN and CAP_NET_RAW; it can gain none. */
void ibh_caps_keep_net(void);

/* ---- the sysctls of IPv4; those of an interface come with its link, and need no file to be read ---- */

/* net.ipv4.conf.all; a value that is not there counts as 0. */
gboolean ibh_sysctl_read_all(int values[IBH_N_SYSCTLS], GError **error);
/* One below net, "ipv4/conf/all/proxy_arp"; -1, with errno: it is not there, or cannot be read. */
G_GNUC_PRINTF(1, 2) int ibh_sysctl_read(const char *format, ...);
/* Of the NIC with this index, which had the name `iface` when it was looked at. */
gboolean ibh_sysctl_write(IbhNetlink *netlink, int ifindex, const char *iface, IbhSysctl key, int value,
                          GError **error);
