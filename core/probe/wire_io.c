/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --probe: packets leave, and come in. */
#include "probe/prober_io.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <netinet/icmp6.h>
#include <poll.h>
#include <sys/socket.h>

#define TRIES 3
#define READ_MAX 64  /* packets read from one socket at a time: a flood must not stop us from sending, or ending */
#define LEFT_MAX 256 /* such rounds at the end */

/* ---- sending ---- */

/* With IP_RECVERR a send may report an earlier packet's error; then it has to be repeated. */
static int send_to(IbhProber *prober, int fd, guint i, gsize length)
{
    socklen_t size;
    const IbhSockAddress to = ibh_socket_address(ibh_probe_peer(ibh_probe_pair(prober->probe, i)), &size);
    int problem = 0;

    for (int try = 0; try < TRIES && (problem || !try); try++)
        problem = sendto(fd, prober->bytes, length, 0, &to.generic, size) < 0 ? errno : 0;
    ibh_prober_pace(prober);
    return problem;
}

static int send_echo(IbhProber *prober, guint i, guint number)
{
    const IbhProbeSocket *sock = &prober->sockets[ibh_probe_pair(prober->probe, i)->source];

    if (sock->error)
        return sock->error;
    return send_to(prober, sock->fd, i, ibh_probe_packet(prober->probe, i, number, prober->bytes));
}

static int send_free(IbhProber *prober, guint i, guint number)
{
    const guint at = ibh_probe_pair(prober->probe, i)->source;
    const IbhProbeSource *source = &g_array_index(prober->probe->sources, IbhProbeSource, at);
    const int fd = prober->sockets[at].fd;
    int problem;

    if (!ibh_socket_tie(fd, source, FALSE))
        return errno;
    problem = send_echo(prober, i, number);
    return ibh_socket_tie(fd, source, TRUE) ? problem : errno;
}

static int send_syn(IbhProber *prober, guint i)
{
    const int problem = ibh_socket_bind(prober->tcp, ibh_probe_source(ibh_probe_pair(prober->probe, i)));

    if (problem)
        return problem;
    ibh_probe_syn(prober->probe, i, prober->bytes);
    return send_to(prober, prober->tcp, i, IBH_SYN_LENGTH);
}

/* IbhSockAddress is larger than sockaddr_ll: InfiniBand's broadcast address has 20 bytes. */
static int send_arp(IbhProber *prober, const IbhLink *link, const IbhIp *from, const IbhIp *whom)
{
    guint8 frame[IBH_ARP_MAX];
    gsize length = ibh_arp_request(link, from, whom, frame);
    IbhSockAddress to = {.link = {.sll_family = AF_PACKET,
                                  .sll_protocol = htons(ETH_P_ARP),
                                  .sll_ifindex = link->ifindex,
                                  .sll_halen = (guint8)link->lladdr_len}};

    memcpy(to.room + offsetof(struct sockaddr_ll, sll_addr), link->broadcast, link->lladdr_len);
    return length && sendto(prober->ear, frame, length, 0, &to.generic, sizeof to) < 0 ? errno : 0;
}

/* To the group that the address's holders are in (RFC 4291, 2.7.1); the kernel adds sender and checksum. */
static int send_solicitation(IbhProber *prober, const IbhLink *link, const IbhIp *whom)
{
    guint8 packet[IBH_NA_MAX];
    gsize length = ibh_nd_packet(link, whom, ND_NEIGHBOR_SOLICIT, ND_OPT_SOURCE_LINKADDR, packet);
    struct sockaddr_in6 to = {
        .sin6_family = AF_INET6,
        .sin6_addr.s6_addr = {0xff, 0x02, [11] = 1, [12] = 0xff, whom->bytes[13], whom->bytes[14], whom->bytes[15]},
        .sin6_scope_id = (guint32)link->ifindex};

    return length && sendto(prober->solicit, packet, length, 0, (struct sockaddr *)&to, sizeof to) < 0 ? errno : 0;
}

/* What passes a packet socket is not heard by that socket: so a question that is heard is the kernel's. */
int ibh_prober_send_who(IbhProber *prober, const IbhLink *link, const IbhIp *from, const IbhIp *whom)
{
    const int problem =
        whom->family == AF_INET6 ? send_solicitation(prober, link, whom) : send_arp(prober, link, from, whom);

    ibh_prober_pace(prober);
    return problem;
}

int ibh_prober_send(IbhProber *prober, const IbhShot *shot)
{
    const IbhProbe *probe = prober->probe;
    const IbhProbePair *pair = ibh_probe_pair(probe, shot->pair);

    if (shot->ask == IBH_ASK_SYN)
        return send_syn(prober, shot->pair);
    if (shot->ask == IBH_ASK_FREE)
        return send_free(prober, shot->pair, shot->number);
    if (shot->ask == IBH_ASK_RDMA)
        return ibh_prober_send_rdma(prober, shot->pair);
    if (shot->ask == IBH_ASK_WHO)
        return ibh_prober_send_who(prober, ibh_probe_link(pair), &ibh_probe_source(pair)->ip, &pair->hop->ip);
    return send_echo(prober, shot->pair, shot->number);
}

/* ---- receiving ---- */

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
    const IbhProbeSource *of = &g_array_index(prober->probe->sources, IbhProbeSource, source);
    const IbhIp *own = &of->ip;
    const gboolean six = own->family == AF_INET6;
    IbhSockAddress from = {.room = {0}};
    const gssize length = receive(prober, prober->sockets[source].fd, &from);
    const gsize offset = length <= 0 || six ? 0 : ibh_icmp_offset(AF_INET, prober->bytes, (gsize)length);

    if (length <= 0)
        return length == 0;
    if (from.generic.sa_family == own->family && (offset || six)) {
        const IbhProbeReply reply = {.ifindex = of->nic->link->ifindex,
                                     .from = six ? ibh_ip_from_bytes(AF_INET6, &from.six.sin6_addr)
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
    heard.sender = ibh_lladdr_from_bytes(from.room + offsetof(struct sockaddr_ll, sll_addr), link->sll_halen);
    if (heard.outgoing || link->sll_pkttype == PACKET_HOST || link->sll_pkttype == PACKET_MULTICAST ||
        (link->sll_pkttype == PACKET_BROADCAST && heard.protocol == ETH_P_ARP))
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

/* A flood fills the socket: what it did not hear may have passed all the same. */
gboolean ibh_prober_heard_all(IbhProber *prober)
{
    struct tpacket_stats stats = {.tp_drops = 0};
    socklen_t size = sizeof stats;

    for (int n = 0; n < LEFT_MAX && ibh_prober_wait(prober, 0);)
        n++;
    return getsockopt(prober->ear, SOL_PACKET, PACKET_STATISTICS, &stats, &size) == 0 && !stats.tp_drops;
}
