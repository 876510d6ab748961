/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The acting parts of --probe. One loop sends, receives and waits (run_io.c); all that has to be heard comes in through
 * the sockets of below.
 */
#pragma once

#include "kernel/netlink.h"
#include "probe/probe.h"

#include <linux/if_packet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>

/* What is waited for: a packet socket, which hears what passes a NIC, in both ways, dropped or not; then two of each
 * source: a raw socket for echoes, bound to its address, or a negative errno, why nothing can be sent from there; and a
 * process that asks by RDMA: one that blocks takes no other rail's answers away; -1: none. */
enum { IBH_EAR, IBH_ECHOES, IBH_ASKER };

typedef struct {
    IbhProbe *probe;
    IbhFlight flight;
    IbhNetlink *netlink;
    const char *sysfs;       /* stands for /sys */
    gboolean shows_progress; /* on standard error */
    gint64 shown;            /* when */
    struct pollfd *fds;
    guint n_fds;
    int tcp, solicit; /* raw sockets of IPv6 that only send; -1: there is no IPv6 */
    guint8 *bytes;    /* one packet */
    gint64 next;      /* no packet leaves before */
} IbhProber;

typedef union {
    struct sockaddr generic;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
    struct sockaddr_ll link; /* with room for 20 bytes of InfiniBand */
    guint8 room[offsetof(struct sockaddr_ll, sll_addr) + IBH_LLADDR_MAX];
} IbhSockAddress;

/* ---- run_io.c ---- */

/* Asks all pairs; `sysfs` stands for /sys. Then `probe` can be judged. */
gboolean ibh_probe_run(IbhProbe *probe, IbhNetlink *netlink, const char *sysfs, gboolean shows_progress,
                       GError **error);

/* ---- sockets_io.c ---- */

/* Fails where nothing can be sent at all. */
gboolean ibh_prober_open(IbhProber *prober, GError **error);
void ibh_prober_close(IbhProber *prober);
IbhSockAddress ibh_socket_address(const IbhIp *ip, socklen_t *ret_size);
/* Packets leave from this address, and by its NIC; those that come in are taken from any. 0 or an errno. */
int ibh_socket_bind(int fd, const IbhProbeSource *source);
/* By no NIC of its own, or by the source's. */
gboolean ibh_socket_tie(int fd, const IbhProbeSource *source, gboolean is_tied);

/* ---- wire_io.c; what sends returns 0 or an errno ---- */

int ibh_prober_send(IbhProber *prober, const IbhShot *shot);
/* Who has this address? Asks by this link, from this address (IPv4; family 0: none). */
int ibh_prober_send_who(IbhProber *prober, const IbhLink *link, const IbhIp *from, const IbhIp *whom);
/* Until something comes, or this time; takes what came. FALSE: nothing. */
gboolean ibh_prober_wait(IbhProber *prober, gint64 until);
/* Nothing that passed a NIC was missed. */
gboolean ibh_prober_heard_all(IbhProber *prober);

/* ---- local_io.c, rdma_io.c ---- */

/* The kernel's counters, before and after; after, what is attached to NICs, too. */
void ibh_prober_read_local(IbhProber *prober, gboolean after);
/* IPv4's, IPv6's: every network namespace can read their limits. */
gboolean ibh_prober_read_tables(IbhProber *prober, IbhNeighbourTable ret_tables[2], GError **error);
/* Another process asks the pair by RDMA. If the kernel blocks that process, nothing waits for it. */
int ibh_prober_send_rdma(IbhProber *prober, IbhProbePair *pair);
void ibh_prober_take_rdma(IbhProber *prober, int *asker);
