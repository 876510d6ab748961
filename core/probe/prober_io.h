/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The acting parts of --probe. One loop sends, receives and waits (run_io.c); all that has to be heard comes in by the
 * sockets of below.
 */
#pragma once

#include "kernel/netlink.h"
#include "probe/asker_io.h"
#include "probe/flight.h"

#include <linux/if_packet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>

#define IBH_ASKERS 16 /* a device whose process blocks takes no other rail's answers away */

typedef struct {
    int fd;
    guint16 id; /* of its echoes */
    gboolean raw;
    int error; /* why nothing can be sent from here, 0: it can */
} IbhProbeSocket;

typedef struct {
    IbhProbe *probe;
    IbhFlight flight;
    IbhNetlink *netlink;
    const char *sysfs; /* stands for /sys */
    gboolean progress;
    IbhProbeSocket *sockets; /* for echoes: one per source */
    int ear;                 /* a packet socket: what passes a NIC, in both ways, dropped or not; -1: not allowed */
    int solicit, tcp;        /* raw sockets of IPv6 that only send; -1: not allowed, or not needed */
    IbhRdmaAsker askers[IBH_ASKERS]; /* each of some of the sources */
    guint8 *bytes;                   /* one packet */
    gint64 started;
    gint64 next;       /* no packet leaves before */
    gint64 told;       /* progress; 0: not yet */
    gint64 full_since; /* the neighbour table, or a queue, has no room for an echo; 0: it has */
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
gboolean ibh_probe_uses_family(const IbhProbe *probe, int family);

/* ---- sockets_io.c ---- */

/* Fails where nothing can be sent at all. */
gboolean ibh_prober_open(IbhProber *prober, GError **error);
void ibh_prober_close(IbhProber *prober);

/* ---- send_io.c: each returns 0 or an errno ---- */

int ibh_prober_send_echo(IbhProber *prober, guint pair, guint number);
int ibh_prober_send_syn(IbhProber *prober, guint pair);
/* Who has this address? Asks by this link, from this address (IPv4; family 0: none). */
int ibh_prober_send_who(IbhProber *prober, const IbhLink *link, const IbhIp *from, const IbhIp *whom);
/* A packet was sent: sets when the next one may follow. */
void ibh_prober_pace(IbhProber *prober);

/* ---- receive_io.c ---- */

/* Until something comes, this time, or a signal; takes what came. FALSE: nothing. */
gboolean ibh_prober_wait(IbhProber *prober, gint64 until);
/* Waits until then, and takes all that comes. */
void ibh_prober_pass(IbhProber *prober, gint64 until, const char *doing);
/* Nothing that passed a NIC was missed. */
gboolean ibh_prober_heard_all(IbhProber *prober);

/* ---- wait_io.c ---- */

gint64 ibh_prober_now(void); /* µs */
/* From now on SIGINT and SIGTERM end no more than the asking, and a second one of them ends the program. */
void ibh_prober_catch_signals(void);
void ibh_prober_release_signals(void);
gboolean ibh_prober_is_stopped(void);
/* Until one of these has something, the time comes, or a signal. */
void ibh_prober_poll(struct pollfd *fds, guint n, gint64 until);
/* Writes a line of progress to a terminal, if it takes longer than a second; removes it. */
void ibh_prober_tell(IbhProber *prober, const char *doing);
void ibh_prober_tell_end(IbhProber *prober);

/* ---- room_io.c: the neighbour table ---- */

gboolean ibh_prober_read_neighbours(IbhProber *prober, GArray *neighbours, GError **error);
/* How many entries may be added: IPv4, IPv6. */
gboolean ibh_prober_read_room(IbhProber *prober, guint ret_room[2], GError **error);
/* Deletes the pair's entry, if it is ours. FALSE: it cannot. */
gboolean ibh_prober_forget(IbhProber *prober, guint pair);

/* ---- local_io.c, rdma_io.c ---- */

/* The kernel's counters, before and after; after, what is attached to NICs, too. */
void ibh_prober_read_local(IbhProber *prober, gboolean after);
/* Another process asks the pair by RDMA. If the kernel blocks that process, nothing waits for it. */
int ibh_prober_send_rdma(IbhProber *prober, guint32 pair);
void ibh_prober_take_rdma(IbhProber *prober, IbhRdmaAsker *asker);
