/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Talks to the kernel: about its routing state (through netlink), and about all else that a run needs.
 *
 *   netlink.c                 the socket: one request at a time, errors with the kernel's text
 *   dump.c                    dumps, repeated until they are complete
 *   links.c, rules.c, read.c,
 *   neighbours.c              dumps → values
 *   nexthops.c                nexthop objects, one by one → the nexthops of routes
 *   write.c                   operations → requests
 *   announce.c, sysctl.c,
 *   caps.c, namespace.c       announcements, sysctls, capabilities, network namespaces
 */
#pragma once

#include "model/operation.h"

#include <linux/netlink.h>

typedef struct IbhNetlink IbhNetlink;

IbhNetlink *ibh_netlink_open(GError **error);
void ibh_netlink_close(IbhNetlink *netlink);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IbhNetlink, ibh_netlink_close)

/* These two functions return the cookie of the socket's network namespace: a number that no other namespace gets until
 * the next boot. They return 0 if the kernel is older than 5.14. */
guint64 ibh_netlink_namespace_cookie(IbhNetlink *netlink);
guint64 ibh_socket_netns_cookie(int fd);
/* Returns a number for the network namespace of a process ("1", "self"). Two namespaces never have the same number at
 * the same time; but after a namespace has gone, a new namespace may get its number. Returns 0 if the number is
 * unknown. */
guint64 ibh_netns_number(const char *process);

/* ---- reading: functions append to an array, for both families unless an argument names the family ---- */

/* Returns FALSE if the route is to be skipped. `of` is IbhRouteFilter.of. Runs before nexthop objects are read, when
 * the route may still lack its nexthops. Runs again afterwards for each route that the first call keeps. */
typedef gboolean (*IbhRouteMatters)(gconstpointer of, const IbhRoute *route);

typedef struct {
    int family;           /* AF_UNSPEC for both */
    guint32 table;        /* 0 for all */
    guint8 protocol;      /* 0 for all */
    guint8 type;          /* 0 for all */
    int ifindex;          /* 0 for all; only kernels with strict dumps apply it */
    gboolean cached;      /* IPv6: TRUE reads cached routes only, FALSE all others */
    IbhRouteMatters keep; /* NULL to keep all */
    gconstpointer of;     /* an argument for `keep` */
} IbhRouteFilter;

gboolean ibh_netlink_read_links(IbhNetlink *netlink, GArray *links, GError **error);
gboolean ibh_netlink_read_addresses(IbhNetlink *netlink, GArray *addresses, GError **error);
gboolean ibh_netlink_read_rules(IbhNetlink *netlink, GArray *rules, GError **error);
gboolean ibh_netlink_read_routes(IbhNetlink *netlink, const IbhRouteFilter *filter, GArray *routes, GError **error);
/* Reads the unicast routes of the main table through these NICs. `ifindexes` is an array of int. Splits a multipath
 * route into parts (ibh_route_part()), one for each of these NICs that the route leads through. `keep` and `of` are
 * those of IbhRouteFilter. */
gboolean ibh_netlink_read_main(IbhNetlink *netlink, const GArray *ifindexes, int family, IbhRouteMatters keep,
                               gconstpointer of, GArray *parts, GError **error);

/* Reads the entries of the neighbour table (ARP or ND); with `proxies`, reads instead the addresses for which this host
 * answers on behalf of other hosts. */
gboolean ibh_netlink_read_neighbours(IbhNetlink *netlink, int family, gboolean proxies, GArray *neighbours,
                                     GError **error);

/* Reads a message about a rule. The caller has checked that the message has a whole struct fib_rule_hdr. */
IbhRule ibh_rule_of(struct nlmsghdr *header);

/* ---- writing ---- */

/* Runs an operation of any type but sysctl-set. Also succeeds if a rule to add is there already, or if something to
 * delete is not there. (Adding a route that is there already fails.) To announce an address, makes the kernel send its
 * own gratuitous ARP. This works only for an address that the kernel would choose as the source (IbhOp.by_kernel). */
gboolean ibh_netlink_execute(IbhNetlink *netlink, const IbhOp *op, GError **error);

/* With `add`, adds a neighbour entry, which makes the kernel ask for the address; fails if there is an entry already.
 * Without `add`, deletes the entry; succeeds if there is none. */
gboolean ibh_netlink_change_neighbour(IbhNetlink *netlink, gboolean add, int ifindex, const IbhIp *ip, GError **error);

/* ---- announcements: tell peers the hardware address of an IP address ---- */

/* Sends a gratuitous ARP for any IPv4 address, or an unsolicited neighbour advertisement for an IPv6 address of this
 * host, through any link; succeeds without sending if the link has no hardware address. The first gratuitous ARP opens
 * `*packet_socket`, which must be -1 until then. Closing a packet socket takes some milliseconds (an RCU grace period),
 * so the caller keeps this socket for the whole run. If the kernel's own ARP can announce the address, the caller
 * should call ibh_netlink_execute() instead, which needs no packet socket. */
gboolean ibh_announce(int *packet_socket, const IbhLink *link, const IbhIp *ip, GError **error);

/* ---- capabilities ---- */

/* Drops all capabilities but CAP_NET_ADMIN and CAP_NET_RAW, for good. Returns FALSE if the process has no
 * CAP_NET_ADMIN. */
gboolean ibh_caps_keep_net(void);

/* ---- sysctls (a dump of links contains the IPv4 sysctls of each interface) ---- */

/* Reads net.ipv4.conf.all; a missing file counts as 0. */
gboolean ibh_sysctl_read_all(int values[IBH_N_SYSCTLS], GError **error);
/* Reads a value below net, such as "ipv4/conf/all/proxy_arp"; a negative value reads as 0. Returns -1 and sets errno if
 * the value cannot be read. */
G_GNUC_PRINTF(1, 2) int ibh_sysctl_read(const char *format, ...);
/* Writes a value of the NIC with this index, whose name was `iface` in the snapshot. */
gboolean ibh_sysctl_write(IbhNetlink *netlink, int ifindex, const char *iface, IbhSysctl key, int value,
                          GError **error);
