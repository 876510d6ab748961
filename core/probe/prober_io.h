/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of --probe that do input and output. One loop (run_io.c) sends, receives and waits.
 */
#pragma once

#include "kernel/netlink.h"
#include "probe/probe.h"

#include <linux/if_packet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>

/* The places of descriptors in IbhProber.fds. The loop waits for all of these descriptors. Source i has the places
 * IBH_ECHOES + 2 * i and IBH_ASKER + 2 * i. */
enum {
    IBH_EAR,    /* a packet socket; sends ARP requests; hears what comes in through any NIC, even if this host drops it
                   later, and what leaves, except the ARP requests that it sends itself */
    IBH_ECHOES, /* a raw socket for echoes, bound to the source's address; a negative errno if it could not be opened */
    IBH_ASKER   /* a socket to the process that sends the source's RDMA requests; -1 if there is no process. Each source
                   has its own process, because a process may block for ever. */
};

typedef struct {
    IbhProbe *probe;
    IbhFlight flight;
    IbhNetlink *netlink;
    const char *sysfs;       /* "/sys", or the directory from --sysfs */
    gboolean shows_progress; /* on standard error */
    gint64 shown;            /* when progress was last shown; at the start, a time in the future */
    struct pollfd *fds;
    guint n_fds;
    int tcp, solicit; /* raw IPv6 sockets: `tcp` only sends SYNs, `solicit` only solicitations; -1 without IPv6 */
    guint8 *bytes;    /* room for one packet */
    gint64 next;      /* the earliest time for the next packet */
} IbhProber;

typedef union {
    struct sockaddr generic;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
    struct sockaddr_ll link;
    guint8 room[offsetof(struct sockaddr_ll, sll_addr) + IBH_LLADDR_MAX]; /* `link` with any hardware address */
} IbhSockAddress;

/* ---- run_io.c ---- */

/* Asks all pairs. If it returns TRUE, ibh_probe_judge() can judge `probe`. */
gboolean ibh_probe_run(IbhProbe *probe, IbhNetlink *netlink, const char *sysfs, gboolean shows_progress,
                       GError **error);

/* ---- sockets_io.c ---- */

/* Opens the sockets, except those to the processes that make RDMA requests. Fails only if the packet socket cannot be
 * opened, for example without CAP_NET_RAW; any other socket may be missing. Call ibh_prober_close() also on failure. */
gboolean ibh_prober_open(IbhProber *prober, GError **error);
void ibh_prober_close(IbhProber *prober);
/* Returns the address without a port. */
IbhSockAddress ibh_socket_address(const IbhIp *ip, socklen_t *ret_size);
/* Makes packets leave from the source's address through its NIC. Replies may come in through any NIC. Returns 0 or an
 * errno. */
int ibh_socket_bind(int fd, const IbhProbeSource *source);
/* With `is_tied`, makes the socket send through the source's NIC; without `is_tied`, as the routes say. On failure,
 * returns FALSE, and errno is set. */
gboolean ibh_socket_tie(int fd, const IbhProbeSource *source, gboolean is_tied);

/* ---- wire_io.c: functions that send return 0 or an errno ---- */

int ibh_prober_send(IbhProber *prober, const IbhShot *shot);
/* Asks through this link for the hardware address of `whom`. In IPv4, the question names `from` as its sender (0.0.0.0:
 * no sender); in IPv6, `from` is not used. If the link has no hardware address, sends nothing, and returns 0. */
int ibh_prober_send_who(IbhProber *prober, const IbhLink *link, const IbhIp *from, const IbhIp *whom);
/* Waits until something comes in, until this time, or until a signal, and takes what came in. Returns FALSE if nothing
 * came in. */
gboolean ibh_prober_wait(IbhProber *prober, gint64 until);
/* Reads what has come in. Returns TRUE if the packet socket has missed no packet so far. */
gboolean ibh_prober_read_rest(IbhProber *prober);

/* ---- local_io.c, rdma_io.c ---- */

/* Reads the kernel's counters, and to which NICs tc filters may be attached; with `after`, also what else is attached
 * to NICs, and the NICs' forwarding tables. Call it before the run, and again, with `after`, after the run. */
void ibh_prober_read_local(IbhProber *prober, gboolean after);
/* Reads the limits and use of the neighbour tables of IPv4 and IPv6. */
gboolean ibh_prober_read_tables(IbhProber *prober, IbhNeighbourTable ret_tables[2], GError **error);
/* Lets another process send an RDMA request, so that --probe does not wait if the kernel blocks that process. Returns
 * an errno if this host would drop the request, or if no process could be started; `pair->rdma` then tells which. In
 * all other cases, returns 0. */
int ibh_prober_send_rdma(IbhProber *prober, IbhProbePair *pair);
/* Takes what the process at the other end of this socket tells. If the process has ended, closes the socket, and sets
 * it to -1. */
void ibh_prober_take_rdma(IbhProber *prober, int *asker);
