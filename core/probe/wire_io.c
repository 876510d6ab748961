/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sends and receives the packets of --probe. */
#include "probe/prober_io.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <netinet/icmp6.h>
#include <sys/socket.h>

#define TRIES 3                          /* how many times sendto() is tried */
#define LATE_MAX (8 * IBH_PROBE_SPACING) /* µs: the most lost time that is made up for; see pace() */
#define LEFT_MAX 256                     /* how many times all sockets are read at the end, at most */
/* How many packets are read from one socket at a time: a flood must not keep us from sending or ending. */
#define READ_MAX 64

/* ---- sending ---- */

/* Sets when the next packet may leave. If a packet left late, the packets after it may follow faster, to make up for
 * the lost time (at most LATE_MAX). */
static void pace(IbhProber *prober)
{
    prober->next = MAX(prober->next, g_get_monotonic_time() - LATE_MAX) + IBH_PROBE_SPACING;
}

/* An ARP request goes to the link's broadcast address. On InfiniBand this address has 20 bytes, for which
 * IbhSockAddress has room. A solicitation goes to the solicited-node multicast group of `whom` (RFC 4291, 2.7.1);
 * the kernel adds the source address and the checksum. A packet socket does not hear the ARP requests that it sends
 * itself. So of the ARP requests that leave, evidence.c hears only those of the kernel and of other programs. */
int ibh_prober_send_who(IbhProber *prober, const IbhLink *link, const IbhIp *from, const IbhIp *whom)
{
    const gboolean six = whom->family == AF_INET6;
    guint8 packet[IBH_NA_MAX + IBH_ARP_MAX];
    const gsize length = six ? ibh_nd_packet(link, whom, ND_NEIGHBOR_SOLICIT, ND_OPT_SOURCE_LINKADDR, packet)
                             : ibh_arp_request(link, from, whom, packet);
    IbhSockAddress to = {.link = {.sll_family = AF_PACKET,
                                  .sll_protocol = htons(ETH_P_ARP),
                                  .sll_ifindex = link->ifindex,
                                  .sll_halen = (guint8)link->lladdr_len}};
    int problem = 0;

    memcpy(to.room + offsetof(struct sockaddr_ll, sll_addr), link->broadcast, link->lladdr_len);
    if (six)
        to.six = (struct sockaddr_in6){
            .sin6_family = AF_INET6,
            .sin6_addr.s6_addr = {0xff, 0x02, [11] = 1, [12] = 0xff, whom->bytes[13], whom->bytes[14], whom->bytes[15]},
            .sin6_scope_id = (guint32)link->ifindex};
    if (length && sendto(six ? prober->solicit : prober->fds[IBH_EAR].fd, packet, length, 0, &to.generic,
                         six ? sizeof to.six : sizeof to) < 0)
        problem = errno;
    pace(prober);
    return problem;
}

/* With IP_RECVERR, sendto() may return the error of an earlier packet, and send nothing. So sendto() is tried several
 * times. */
int ibh_prober_send(IbhProber *prober, const IbhShot *shot)
{
    const IbhProbePair *pair = shot->pair;
    const IbhProbeSource *source = ibh_probe_source(pair);
    const gboolean is_syn = shot->ask == IBH_ASK_SYN, is_free = shot->ask == IBH_ASK_FREE;
    const int fd = is_syn ? prober->tcp : prober->fds[IBH_ECHOES + 2 * pair->source].fd;
    socklen_t size;
    const IbhSockAddress to = ibh_socket_address(ibh_probe_peer(pair), &size);
    gsize length;
    int problem;

    if (shot->ask == IBH_ASK_RDMA) {
        problem = ibh_prober_send_rdma(prober, shot->pair);
        if (!problem)
            pace(prober);
        return problem;
    }
    if (shot->ask == IBH_ASK_WHO)
        return ibh_prober_send_who(prober, source->nic->link, &source->ip, &pair->hop->ip);
    /* all pairs share the socket for SYNs, so it is bound for each SYN; a socket for echoes is bound already */
    problem = is_syn ? ibh_socket_bind(fd, source) : fd < 0 ? -fd : 0;
    if (problem)
        return problem;
    /* for the one echo that is tied to no NIC, untie the socket; afterwards tie it again */
    if (is_free && !ibh_socket_tie(fd, source, FALSE))
        return errno;
    length =
        is_syn ? ibh_probe_write_syn(pair, prober->bytes) : ibh_probe_write_echo(pair, shot->number, prober->bytes);
    for (int try = 0; try < TRIES; try++) {
        problem = sendto(fd, prober->bytes, length, 0, &to.generic, size) < 0 ? errno : 0;
        if (!problem)
            break;
    }
    pace(prober);
    if (is_free && !ibh_socket_tie(fd, source, TRUE))
        return errno;
    return problem;
}

/* ---- receiving ---- */

/* Reads one packet into prober->bytes, and returns the packet's length. Returns a negative number if nothing is left.
 * Returns 0 if there is no packet to take, but perhaps more to read: the packet is too long, or the kernel reported an
 * error of an earlier packet, or of a link that went down. */
static gssize receive_packet(IbhProber *prober, int fd, IbhSockAddress *from)
{
    socklen_t size = sizeof *from;
    const gssize length = recvfrom(fd, prober->bytes, IBH_PROBE_SIZE_MAX, MSG_TRUNC, &from->generic, &size);

    if (length < 0)
        return errno == EAGAIN ? -1 : 0;
    return length > IBH_PROBE_SIZE_MAX ? 0 : length;
}

/* Reads and takes one packet of the socket for echoes of source `i`. Returns FALSE if nothing is left. A raw socket of
 * IPv4 receives the IP header, too; a raw socket of IPv6 does not. */
static gboolean take_reply(IbhProber *prober, guint i)
{
    const IbhProbeSource *source = &g_array_index(prober->probe->sources, IbhProbeSource, i);
    const gboolean six = source->ip.family == AF_INET6;
    IbhSockAddress from = {.room = {0}};
    const gssize length = receive_packet(prober, prober->fds[IBH_ECHOES + 2 * i].fd, &from);
    const gsize header = !six && length > 0 ? ibh_icmp_offset(prober->bytes, (gsize)length) : 0;
    const gboolean is_icmp = six || header > 0;
    IbhPacket reply = {.ifindex = source->nic->link->ifindex, .to = source->ip, .icmp = prober->bytes + header};

    if (length < 0)
        return FALSE;
    if (length == 0 || from.generic.sa_family != source->ip.family || !is_icmp)
        return TRUE;
    reply.from =
        six ? ibh_ip_from_bytes(AF_INET6, &from.six.sin6_addr) : ibh_ip_from_bytes(AF_INET, &from.four.sin_addr);
    reply.length = (gsize)length - header;
    (void)ibh_probe_take_reply(prober->probe, &reply, g_get_monotonic_time());
    return TRUE;
}

/* Reads one packet from the packet socket. Takes the packet if it leaves this host, if it is addressed to this host or
 * to a multicast group, or if it is an ARP broadcast. Returns FALSE if nothing is left. */
static gboolean take_heard(IbhProber *prober)
{
    IbhSockAddress from = {.room = {0}};
    const gssize length = receive_packet(prober, prober->fds[IBH_EAR].fd, &from);
    const struct sockaddr_ll *link = &from.link;
    const IbhHeard heard = {
        .bytes = prober->bytes,
        .length = (gsize)MAX(length, 0),
        .ifindex = link->sll_ifindex,
        .protocol = g_ntohs(link->sll_protocol),
        .outgoing = link->sll_pkttype == PACKET_OUTGOING,
        .sender = ibh_lladdr_from_bytes(from.room + offsetof(struct sockaddr_ll, sll_addr), link->sll_halen)};

    if (length > 0 && (heard.outgoing || link->sll_pkttype == PACKET_HOST || link->sll_pkttype == PACKET_MULTICAST ||
                       (link->sll_pkttype == PACKET_BROADCAST && heard.protocol == ETH_P_ARP)))
        ibh_probe_hear(prober->probe, &heard);
    return length >= 0;
}

/* Reads the packet socket first, because the kernel gives each packet to this socket before it gives the packet to a
 * socket for echoes. Throws away the ICMP errors that the sockets for echoes report, because the packet socket hears
 * the ICMP errors, too. */
gboolean ibh_prober_wait(IbhProber *prober, gint64 until)
{
    const gint64 left = MAX(until - g_get_monotonic_time(), 0);
    const struct timespec limit = {.tv_sec = (time_t)(left / G_USEC_PER_SEC),
                                   .tv_nsec = (long)(left % G_USEC_PER_SEC) * 1000};

    if (ppoll(prober->fds, prober->n_fds, &limit, NULL) <= 0)
        return FALSE;
    for (int k = 0; prober->fds[IBH_EAR].revents && k < READ_MAX && take_heard(prober);)
        k++;
    for (guint i = 0; i < prober->probe->sources->len; i++) {
        const struct pollfd *echoes = &prober->fds[IBH_ECHOES + 2 * i];
        struct pollfd *asker = &prober->fds[IBH_ASKER + 2 * i];

        for (int k = 0; echoes->revents & POLLERR && k < READ_MAX &&
                        recv(echoes->fd, prober->bytes, IBH_PROBE_SIZE_MAX, MSG_ERRQUEUE) >= 0;)
            k++;
        for (int k = 0; echoes->revents && k < READ_MAX && take_reply(prober, i);)
            k++;
        if (asker->revents)
            ibh_prober_take_rdma(prober, &asker->fd);
    }
    return TRUE;
}

/* A flood may fill the buffer of the packet socket; then the kernel counts the packets that the socket missed. */
gboolean ibh_prober_read_rest(IbhProber *prober)
{
    struct tpacket_stats stats = {.tp_drops = 0};
    socklen_t size = sizeof stats;

    for (int n = 0; n < LEFT_MAX && ibh_prober_wait(prober, 0); n++)
        ;
    return getsockopt(prober->fds[IBH_EAR].fd, SOL_PACKET, PACKET_STATISTICS, &stats, &size) == 0 && !stats.tp_drops;
}
