/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/prober_io.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#define READ_MAX 64  /* packets read from one socket at a time: a flood must not stop us from sending, or ending */
#define LEFT_MAX 256 /* such rounds at the end */

/* Into prober->bytes. Negative: nothing is left to read. 0: an earlier packet's error, or a link that went down. */
static gssize receive(IbhProber *prober, int fd, IbhSockAddress *from)
{
    socklen_t size = sizeof *from;
    const gssize length = recvfrom(fd, prober->bytes, IBH_PROBE_SIZE_MAX, MSG_TRUNC, &from->generic, &size);

    if (length < 0)
        return errno == EAGAIN ? -1 : 0;
    return length > IBH_PROBE_SIZE_MAX ? 0 : length;
}

/* FALSE: nothing is left to read. A raw socket of IPv4 gets the IP header, too. */
static gboolean take_reply(IbhProber *prober, guint source)
{
    const IbhIp *own = &g_array_index(prober->probe->sources, IbhProbeSource, source).ip;
    const gboolean six = own->family == AF_INET6;
    IbhSockAddress from = {.room = {0}};
    const gssize length = receive(prober, prober->sockets[source].fd, &from);
    const gsize offset = length <= 0 || six ? 0 : ibh_icmp_offset(AF_INET, prober->bytes, (gsize)length);

    if (length <= 0)
        return length == 0;
    if (from.generic.sa_family == own->family && (offset || six)) {
        const IbhProbeReply reply = {.from = six ? ibh_ip_from_bytes(AF_INET6, &from.six.sin6_addr)
                                                 : ibh_ip_from_bytes(AF_INET, &from.four.sin_addr),
                                     .to = *own,
                                     .icmp = prober->bytes + offset,
                                     .length = (gsize)length - offset};

        (void)ibh_probe_received(prober->probe, &reply, g_get_monotonic_time());
    }
    return TRUE;
}

static gboolean take_heard(IbhProber *prober)
{
    IbhSockAddress from = {.room = {0}};
    const gssize length = receive(prober, prober->ear, &from);
    const struct sockaddr_ll *link = &from.link;
    IbhHeard heard = {.bytes = prober->bytes, .length = (gsize)MAX(length, 0)};

    if (length <= 0)
        return length == 0;
    heard.ifindex = link->sll_ifindex;
    heard.protocol = g_ntohs(link->sll_protocol);
    heard.outgoing = link->sll_pkttype == PACKET_OUTGOING;
    heard.sender = ibh_lladdr(from.room + offsetof(struct sockaddr_ll, sll_addr), link->sll_halen);
    if (heard.outgoing || link->sll_pkttype == PACKET_HOST || link->sll_pkttype == PACKET_MULTICAST)
        ibh_probe_hear(prober->probe, &heard);
    return TRUE;
}

/* ---- waiting ---- */

enum { EAR, OTHERS }; /* then two of each source: echoes, RDMA */

/* An ICMP error about one of our packets, which the ear has heard. FALSE: none is left. */
static gboolean drop_error(IbhProber *prober, guint source)
{
    return recv(prober->sockets[source].fd, prober->bytes, IBH_PROBE_SIZE_MAX, MSG_ERRQUEUE) >= 0;
}

/* What passed the NICs is read before what was delivered: so a reply that was not delivered by then was dropped. */
static gboolean take_all(IbhProber *prober, const struct pollfd *fds)
{
    gboolean any = fds[EAR].revents != 0;

    for (int n = 0; any && n < READ_MAX && take_heard(prober);)
        n++;
    for (guint i = 0; i < prober->probe->sources->len; i++) {
        const struct pollfd *of = &fds[OTHERS + 2 * i];

        any |= of[0].revents || of[1].revents;
        for (int n = 0; of[0].revents & POLLERR && n < READ_MAX && drop_error(prober, i);)
            n++;
        for (int n = 0; of[0].revents && n < READ_MAX && take_reply(prober, i);)
            n++;
        if (of[1].revents)
            ibh_prober_take_rdma(prober, &prober->sockets[i]);
    }
    return any;
}

gboolean ibh_prober_wait(IbhProber *prober, gint64 until)
{
    const guint n = OTHERS + 2 * prober->probe->sources->len;
    const gint64 left = MAX(until - g_get_monotonic_time(), 0);
    const struct timespec limit = {.tv_sec = (time_t)(left / G_USEC_PER_SEC),
                                   .tv_nsec = (long)(left % G_USEC_PER_SEC) * 1000};
    g_autofree struct pollfd *fds = g_new0(struct pollfd, n);

    for (guint i = 0; i < n; i++) {
        const IbhProbeSocket *sock = i < OTHERS ? NULL : &prober->sockets[(i - OTHERS) / 2];

        fds[i].events = POLLIN;
        fds[i].fd = i == EAR ? prober->ear : i % 2 ? sock->fd : sock->asker;
    }
    return ppoll(fds, n, &limit, NULL) > 0 && take_all(prober, fds);
}

void ibh_prober_pass(IbhProber *prober, gint64 until)
{
    while (g_get_monotonic_time() < until)
        (void)ibh_prober_wait(prober, until);
}

/* A flood fills the socket: what it did not hear may have passed all the same. */
gboolean ibh_prober_heard_all(IbhProber *prober)
{
    struct tpacket_stats stats = {.tp_drops = 0};
    socklen_t size = sizeof stats;

    for (int n = 0; n < LEFT_MAX && ibh_prober_wait(prober, 0);)
        n++;
    return getsockopt(prober->ear, SOL_PACKET, PACKET_STATISTICS, &stats, &size) == 0 && !stats.tp_drops;
}
