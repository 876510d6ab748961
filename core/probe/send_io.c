/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/prober_io.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <netinet/icmp6.h>
#include <string.h>
#include <sys/socket.h>

#define TRIES 3
#define LATE_MAX (8 * IBH_PROBE_SPACING)

/* After a late wake-up, the next packets may go a little faster. */
void ibh_prober_pace(IbhProber *prober)
{
    prober->next = MAX(prober->next, g_get_monotonic_time() - LATE_MAX) + IBH_PROBE_SPACING;
}

/* With IP_RECVERR a send may report an earlier packet's error; then it has to be repeated. */
static int send_to(IbhProber *prober, int fd, guint i, gsize length)
{
    socklen_t size;
    const IbhSockAddress to = ibh_sock_address(ibh_probe_peer(prober->probe, ibh_probe_pair(prober->probe, i)), &size);
    int problem = 0;

    for (int try = 0; try < TRIES && (problem || !try); try++)
        problem = sendto(fd, prober->bytes, length, 0, &to.generic, size) < 0 ? errno : 0;
    ibh_prober_pace(prober);
    return problem;
}

int ibh_prober_send_echo(IbhProber *prober, guint i, guint number)
{
    const IbhProbeSocket *sock = &prober->sockets[ibh_probe_pair(prober->probe, i)->source];

    if (sock->error)
        return sock->error;
    return send_to(prober, sock->fd, i, ibh_probe_packet(prober->probe, i, number, prober->bytes));
}

int ibh_prober_send_syn(IbhProber *prober, guint i)
{
    const int problem = ibh_sock_bind(prober->tcp, ibh_probe_source(prober->probe, ibh_probe_pair(prober->probe, i)));

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
