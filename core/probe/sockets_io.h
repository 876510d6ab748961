/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sockets of --probe, and the filters that keep other packets out of them.
 */
#pragma once

#include "probe/probe.h"
#include "kernel/netlink.h"

#include <linux/if_packet.h>
#include <netinet/in.h>
#include <stddef.h>

/* One socket per source address: the kernel sorts the replies. */
typedef struct {
    int fd;
    guint16 id; /* of its echoes */
    gboolean raw;
    int error; /* why nothing can be sent from here, 0: it can */
} IbhProbeSocket;

typedef struct {
    IbhProbe *probe;
    IbhNetlink *netlink;
    const char *sysfs; /* stands for /sys */
    gboolean progress;
    IbhProbeSocket *sockets; /* one per source */
    int arp;                 /* a packet socket of ARP; -1: not allowed, or not needed */
    int solicit;             /* a raw socket of neighbour advertisements, the same for IPv6 */
    int seen[2]; /* packet sockets, IPv4 and IPv6: all that comes in, even if it is dropped afterwards; -1: not allowed
                  */
    gint64 started;
    gint64 next; /* no packet leaves before */
    gint64 told; /* progress; 0: not yet */
    guint received;
    guint sent;
    gboolean keeps;         /* all entries of ours fit into the neighbour table: none has to be deleted */
    gboolean cannot;        /* delete entries */
    guint64 full[2];        /* IbhNeighbourTable.full when we came */
    gboolean knows_full[2]; /* these */
} IbhProber;

typedef union {
    struct sockaddr generic;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
    struct sockaddr_ll link; /* with room for 20 bytes of InfiniBand */
    guint8 room[offsetof(struct sockaddr_ll, sll_addr) + IBH_LLADDR_MAX];
} IbhSockAddress;

IbhSockAddress ibh_sock_address(const IbhIp *ip, socklen_t *ret_size);

/* A packet socket; nothing comes before it is bound, so its filter is attached in between. To this protocol and NIC (0:
 * any). Both return -1 if that is not allowed. */
int ibh_packet_socket_open(void);
int ibh_packet_socket_bind(int fd, int protocol, int ifindex);

/* Opens a socket for echoes with this id. FALSE: it cannot be opened; `sock->error`: only this source cannot send. */
gboolean ibh_probe_socket_open(const IbhProbe *probe, const IbhProbeSource *source, guint16 id, IbhProbeSocket *sock,
                               GError **error);
/* Echoes of full size have an id of their own, so that their replies do not fill the sockets of small ones. */
guint16 ibh_probe_id_of_sizes(const IbhProbe *probe);
/* A packet socket of their replies: whole ones, or first fragments; -1: not allowed. */
int ibh_probe_sizes_open(const IbhProbe *probe, int family, gboolean whole);

/* A packet socket of all ICMP and ARP that passes this NIC, in both ways; -1: not allowed. */
int ibh_probe_tap_open(int ifindex);

gboolean ibh_probe_uses_family(const IbhProbe *probe, int family);

/* Fails where nothing can be sent at all. */
gboolean ibh_prober_open(IbhProber *prober, GError **error);
void ibh_prober_close(IbhProber *prober);
