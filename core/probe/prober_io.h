/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The acting parts of --probe: one loop (run_io.c) sends, receives and waits.
 */
#pragma once

#include "kernel/netlink.h"
#include "probe/probe.h"

#include <linux/if_packet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>

/* The order of what the loop waits for. First a packet socket, which hears what passes the NICs in both ways, dropped
 * or not. Then, for each source, a raw socket for echoes that is bound to its address, or a negative errno if there is
 * none; and a socket to the process that sends RDMA requests, or -1. Each source has a process of its own, because one
 * may block for ever. */
enum { IBH_EAR, IBH_ECHOES, IBH_ASKER };

typedef struct {
    IbhProbe *probe;
    IbhFlight flight;
    IbhNetlink *netlink;
    const char *sysfs;       /* replaces /sys */
    gboolean shows_progress; /* on standard error */
    gint64 shown;            /* when it was last shown */
    struct pollfd *fds;
    guint n_fds;
    int tcp, solicit; /* raw sockets of IPv6 that only send; -1: no IPv6 */
    guint8 *bytes;    /* one packet */
    gint64 next;      /* when the next packet may leave */
} IbhProber;

typedef union {
    struct sockaddr generic;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
    struct sockaddr_ll link; /* with room for 20 bytes of InfiniBand */
    guint8 room[offsetof(struct sockaddr_ll, sll_addr) + IBH_LLADDR_MAX];
} IbhSockAddress;

/* ---- run_io.c ---- */

/* Asks all pairs; then `probe` can be judged. */
gboolean ibh_probe_run(IbhProbe *probe, IbhNetlink *netlink, const char *sysfs, gboolean shows_progress,
                       GError **error);

/* ---- sockets_io.c ---- */

/* Fails if nothing can be sent at all. */
gboolean ibh_prober_open(IbhProber *prober, GError **error);
void ibh_prober_close(IbhProber *prober);
IbhSockAddress ibh_socket_address(const IbhIp *ip, socklen_t *ret_size);
/* Packets leave from this address through its NIC; replies may come in through any. Returns 0 or an errno. */
int ibh_socket_bind(int fd, const IbhProbeSource *source);
/* Ties a socket to the source's NIC for sending, or to none. */
gboolean ibh_socket_tie(int fd, const IbhProbeSource *source, gboolean is_tied);

/* ---- wire_io.c: functions that send return 0 or an errno ---- */

int ibh_prober_send(IbhProber *prober, const IbhShot *shot);
/* Asks through this link who has the address `whom`; `from` names the sender in IPv4. */
int ibh_prober_send_who(IbhProber *prober, const IbhLink *link, const IbhIp *from, const IbhIp *whom);
/* Waits until something comes or until this time, and takes what came. FALSE: nothing did. */
gboolean ibh_prober_wait(IbhProber *prober, gint64 until);
/* The packet socket missed nothing. */
gboolean ibh_prober_heard_all(IbhProber *prober);

/* ---- local_io.c, rdma_io.c ---- */

/* Reads the kernel's counters before and after the run, and then also what is attached to NICs. */
void ibh_prober_read_local(IbhProber *prober, gboolean after);
/* Reads the neighbour tables' limits and use: IPv4, IPv6. */
gboolean ibh_prober_read_tables(IbhProber *prober, IbhNeighbourTable ret_tables[2], GError **error);
/* Lets another process send an RDMA request. If the kernel blocks that process, nobody waits for it. */
int ibh_prober_send_rdma(IbhProber *prober, IbhProbePair *pair);
void ibh_prober_take_rdma(IbhProber *prober, int *asker);
