/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/prober_io.h"

#include <errno.h>
#include <linux/errqueue.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_MAX 64      /* packets read from one socket at a time: a flood must not stop us from sending, or ending */
#define LEFT_MAX 256     /* such rounds at the end */
#define CONTROL_SIZE 256 /* may hold more than we asked for */

typedef struct {
    _Alignas(struct cmsghdr) guint8 control[CONTROL_SIZE];
    IbhSockAddress from;
    struct iovec part;
    struct msghdr message;
} Packet;

/* Into prober->bytes. Negative: nothing is left to read. 0: an earlier packet's error, or a link that went down. */
static gssize receive(IbhProber *prober, int fd, int flags, Packet *packet)
{
    gssize length;

    packet->part = (struct iovec){.iov_base = prober->bytes, .iov_len = IBH_PROBE_SIZE_MAX};
    packet->message = (struct msghdr){.msg_name = &packet->from,
                                      .msg_namelen = sizeof packet->from,
                                      .msg_iov = &packet->part,
                                      .msg_iovlen = 1,
                                      .msg_control = packet->control,
                                      .msg_controllen = sizeof packet->control};
    length = recvmsg(fd, &packet->message, MSG_TRUNC | flags);
    if (length < 0)
        return errno == EAGAIN || flags ? -1 : 0;
    return length > IBH_PROBE_SIZE_MAX ? 0 : length;
}

static IbhIp sender_of(const Packet *packet, int family)
{
    return family == AF_INET6 ? ibh_ip_from_bytes(AF_INET6, &packet->from.six.sin6_addr)
                              : ibh_ip_from_bytes(AF_INET, &packet->from.four.sin_addr);
}

/* The NIC by which it came in; 0: not known. */
static int read_ifindex(Packet *packet)
{
    int ifindex = 0;

    for (struct cmsghdr *at = CMSG_FIRSTHDR(&packet->message); at; at = CMSG_NXTHDR(&packet->message, at)) {
        const gsize offset = at->cmsg_level == IPPROTO_IP && at->cmsg_type == IP_PKTINFO
                                 ? offsetof(struct in_pktinfo, ipi_ifindex)
                             : at->cmsg_level == IPPROTO_IPV6 && at->cmsg_type == IPV6_PKTINFO
                                 ? offsetof(struct in6_pktinfo, ipi6_ifindex)
                                 : CONTROL_SIZE;

        if (at->cmsg_len >= CMSG_LEN(offset + sizeof ifindex))
            memcpy(&ifindex, CMSG_DATA(at) + offset, sizeof ifindex);
    }
    return ifindex;
}

/* FALSE: nothing is left to read. */
static gboolean take_reply(IbhProber *prober, guint source)
{
    const IbhProbeSocket *sock = &prober->sockets[source];
    const IbhIp *own = &g_array_index(prober->probe->sources, IbhProbeSource, source).ip;
    Packet packet;
    gssize length = receive(prober, sock->fd, 0, &packet);
    gsize offset = 0;

    if (length <= 0)
        return length == 0;
    if (sock->raw && own->family == AF_INET)
        offset = ibh_icmp_offset(AF_INET, prober->bytes, (gsize)length);
    if (packet.from.generic.sa_family == own->family && (offset || !sock->raw || own->family == AF_INET6)) {
        const IbhProbeReply reply = {.from = sender_of(&packet, own->family),
                                     .to = *own,
                                     .ifindex = read_ifindex(&packet),
                                     .id = sock->id,
                                     .icmp = prober->bytes + offset,
                                     .length = (gsize)length - offset};

        (void)ibh_probe_received(prober->probe, &reply, ibh_prober_now());
    }
    return TRUE;
}

/* An ICMP error about one of our packets: its sender, and the size that it accepts. Other errors are ignored: a host
 * that does not answer shows in the echoes. */
static gboolean take_refusal(IbhProber *prober, guint source)
{
    const int family = g_array_index(prober->probe->sources, IbhProbeSource, source).ip.family;
    Packet packet;

    if (receive(prober, prober->sockets[source].fd, MSG_ERRQUEUE, &packet) < 0)
        return FALSE;
    for (struct cmsghdr *at = CMSG_FIRSTHDR(&packet.message); at; at = CMSG_NXTHDR(&packet.message, at)) {
        struct {
            struct sock_extended_err error;
            IbhSockAddress by;
        } what = {.error = {0}};
        IbhIp peer, by;

        if (!((at->cmsg_level == IPPROTO_IP && at->cmsg_type == IP_RECVERR) ||
              (at->cmsg_level == IPPROTO_IPV6 && at->cmsg_type == IPV6_RECVERR)))
            continue;
        memcpy(&what, CMSG_DATA(at), MIN(sizeof what, at->cmsg_len - CMSG_LEN(0)));
        if (what.error.ee_errno != EMSGSIZE || what.error.ee_origin == SO_EE_ORIGIN_LOCAL ||
            packet.from.generic.sa_family != family)
            continue;
        peer = sender_of(&packet, family);
        by = family == AF_INET6 ? ibh_ip_from_bytes(family, &what.by.six.sin6_addr)
                                : ibh_ip_from_bytes(family, &what.by.four.sin_addr);
        ibh_probe_size_refused(prober->probe, source, &peer, &by, what.error.ee_info);
    }
    return TRUE;
}

static gboolean take_heard(IbhProber *prober)
{
    Packet packet;
    gssize length = receive(prober, prober->ear, 0, &packet);
    const struct sockaddr_ll *link = &packet.from.link;
    IbhHeard heard = {.bytes = prober->bytes, .length = (gsize)MAX(length, 0)};

    if (length <= 0)
        return length == 0;
    heard.ifindex = link->sll_ifindex;
    heard.protocol = g_ntohs(link->sll_protocol);
    heard.outgoing = link->sll_pkttype == PACKET_OUTGOING;
    heard.sender = ibh_lladdr(packet.from.room + offsetof(struct sockaddr_ll, sll_addr), link->sll_halen);
    if (heard.outgoing || link->sll_pkttype == PACKET_HOST || link->sll_pkttype == PACKET_MULTICAST)
        ibh_probe_hear(prober->probe, &heard);
    return TRUE;
}

/* ---- waiting ---- */

enum { EAR, SIGNALS, OTHERS }; /* then two of each source: echoes, RDMA */

/* What passed the NICs is read before what was delivered: so a reply that was not delivered by then was dropped. */
static gboolean take_all(IbhProber *prober, const struct pollfd *fds)
{
    struct signalfd_siginfo info;
    gboolean any = fds[EAR].revents != 0;

    prober->stopped |= fds[SIGNALS].revents && read(prober->signals, &info, sizeof info) > 0;
    for (int n = 0; any && n < READ_MAX && take_heard(prober);)
        n++;
    for (guint i = 0; i < prober->probe->sources->len; i++) {
        const struct pollfd *of = &fds[OTHERS + 2 * i];

        any |= of[0].revents || of[1].revents;
        for (int n = 0; of[0].revents & POLLERR && n < READ_MAX && take_refusal(prober, i);)
            n++;
        for (int n = 0; of[0].revents && n < READ_MAX && take_reply(prober, i);)
            n++;
        if (of[1].revents)
            ibh_prober_take_rdma(prober, &prober->sockets[i]);
    }
    return any;
}

gint64 ibh_prober_now(void)
{
    return g_get_monotonic_time();
}

gboolean ibh_prober_wait(IbhProber *prober, gint64 until)
{
    const guint n = OTHERS + 2 * prober->probe->sources->len;
    const gint64 left = MAX(until - ibh_prober_now(), 0);
    const struct timespec limit = {.tv_sec = (time_t)(left / G_USEC_PER_SEC),
                                   .tv_nsec = (long)(left % G_USEC_PER_SEC) * 1000};
    g_autofree struct pollfd *fds = g_new0(struct pollfd, n);

    for (guint i = 0; i < n; i++) {
        const IbhProbeSocket *sock = i < OTHERS ? NULL : &prober->sockets[(i - OTHERS) / 2];

        fds[i].events = POLLIN;
        fds[i].fd = i == EAR ? prober->ear : i == SIGNALS ? prober->signals : i % 2 ? sock->asker : sock->fd;
    }
    return ppoll(fds, n, &limit, NULL) > 0 && take_all(prober, fds);
}

void ibh_prober_pass(IbhProber *prober, gint64 until)
{
    while (ibh_prober_now() < until && !prober->stopped)
        (void)ibh_prober_wait(prober, until);
}

/* A flood fills the socket: what it did not hear may have passed all the same. */
gboolean ibh_prober_heard_all(IbhProber *prober)
{
    struct tpacket_stats stats = {.tp_drops = 0};
    socklen_t size = sizeof stats;

    for (int n = 0; n < LEFT_MAX && ibh_prober_wait(prober, 0);)
        n++;
    return prober->ear >= 0 && getsockopt(prober->ear, SOL_PACKET, PACKET_STATISTICS, &stats, &size) == 0 &&
           !stats.tp_drops;
}
