/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/receive_io.h"

#include "probe/answers.h"
#include "model/bytes.h"
#include "probe/wait_io.h"

#include <errno.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <string.h>
#include <sys/socket.h>

#define READ_MAX 64      /* packets read from one socket at a time: a flood must not stop us from sending, or ending */
#define LEFT_MAX 16384   /* packets read from one at the end */
#define RECEIVE_SIZE 256 /* longer than any reply of ours: a packet that is cut short is none */
#define CONTROL_SIZE 128 /* may hold more than we asked for */
#define OTHERS 4         /* sockets, beside those of the sources */
#define AT_A_TIME (G_USEC_PER_SEC / 5)

typedef struct {
    guint8 bytes[RECEIVE_SIZE];
    _Alignas(struct cmsghdr) guint8 control[CONTROL_SIZE];
    IbhSockAddress from;
    struct iovec part;
    struct msghdr message;
    gsize length;
} Packet;

static gboolean receive(int fd, Packet *packet)
{
    gssize length;

    packet->part = (struct iovec){.iov_base = packet->bytes, .iov_len = sizeof packet->bytes};
    packet->message = (struct msghdr){.msg_name = &packet->from,
                                      .msg_namelen = sizeof packet->from,
                                      .msg_iov = &packet->part,
                                      .msg_iovlen = 1,
                                      .msg_control = packet->control,
                                      .msg_controllen = sizeof packet->control};
    length = recvmsg(fd, &packet->message, MSG_TRUNC);
    packet->length = length < 0 ? 0 : (gsize)length;
    return length >= 0 || errno != EAGAIN; /* an earlier packet's error, or a link that went down: reading goes on */
}

/* The NIC by which it came in, and its destination. */
static gboolean read_way(Packet *packet, IbhProbeReply *reply)
{
    struct in_pktinfo four;
    struct in6_pktinfo six;

    for (struct cmsghdr *at = CMSG_FIRSTHDR(&packet->message); at; at = CMSG_NXTHDR(&packet->message, at)) {
        if (at->cmsg_level == IPPROTO_IP && at->cmsg_type == IP_PKTINFO && at->cmsg_len >= CMSG_LEN(sizeof four)) {
            memcpy(&four, CMSG_DATA(at), sizeof four);
            reply->to = ibh_ip_from_bytes(AF_INET, &four.ipi_addr);
            reply->ifindex = four.ipi_ifindex;
            return TRUE;
        }
        if (at->cmsg_level == IPPROTO_IPV6 && at->cmsg_type == IPV6_PKTINFO && at->cmsg_len >= CMSG_LEN(sizeof six)) {
            memcpy(&six, CMSG_DATA(at), sizeof six);
            reply->to = ibh_ip_from_bytes(AF_INET6, &six.ipi6_addr);
            reply->ifindex = (int)six.ipi6_ifindex;
            return TRUE;
        }
    }
    return FALSE;
}

/* ICMP errors are ignored: a host that does not answer shows in the echoes. */
static void drop_errors(int fd)
{
    Packet packet;

    for (int n = 0; n < READ_MAX; n++) {
        packet.message = (struct msghdr){.msg_control = packet.control, .msg_controllen = sizeof packet.control};
        if (recvmsg(fd, &packet.message, MSG_ERRQUEUE) < 0)
            return;
    }
}

/* FALSE: nothing is left to read. */
static gboolean take_delivered(IbhProber *prober, const IbhProbeSocket *sock, int family)
{
    Packet packet;
    IbhProbeReply reply = {.id = sock->id};
    gsize offset = 0;

    if (!receive(sock->fd, &packet))
        return FALSE;
    if (!packet.length || packet.length > sizeof packet.bytes || packet.from.generic.sa_family != family ||
        !read_way(&packet, &reply))
        return TRUE;
    if (sock->raw && family == AF_INET && !(offset = ibh_icmp_offset(AF_INET, packet.bytes, packet.length)))
        return TRUE;
    reply.from = family == AF_INET6 ? ibh_ip_from_bytes(AF_INET6, &packet.from.six.sin6_addr)
                                    : ibh_ip_from_bytes(AF_INET, &packet.from.four.sin_addr);
    reply.icmp = packet.bytes + offset;
    reply.length = packet.length - offset;
    if (ibh_probe_received(prober->probe, &reply, ibh_prober_now()))
        prober->received++;
    return TRUE;
}

static gboolean take_seen(IbhProber *prober, int fd, int family)
{
    gboolean six = family == AF_INET6;
    Packet packet;
    IbhProbeReply reply = {.id = prober->probe->id};
    gsize offset, total;

    if (!receive(fd, &packet))
        return FALSE;
    if (packet.length < 40 || packet.length > sizeof packet.bytes || packet.from.link.sll_pkttype != PACKET_HOST ||
        !(offset = ibh_icmp_offset(family, packet.bytes, packet.length)))
        return TRUE;
    reply.from = ibh_ip_from_bytes(family, packet.bytes + (six ? 8 : 12));
    reply.to = ibh_ip_from_bytes(family, packet.bytes + (six ? 24 : 16));
    reply.ifindex = packet.from.link.sll_ifindex;
    total = six ? 40 + ibh_get16(packet.bytes + 4) : ibh_get16(packet.bytes + 2);
    if (total < offset || total > packet.length) /* bytes behind it fill up a short frame */
        return TRUE;
    reply.icmp = packet.bytes + offset;
    reply.length = total - offset;
    reply.sender = packet.from.room + offsetof(struct sockaddr_ll, sll_addr);
    reply.sender_len = MIN(packet.from.link.sll_halen, IBH_LLADDR_MAX);
    ibh_probe_seen(prober->probe, &reply);
    return TRUE;
}

static gboolean take_arp(IbhProber *prober)
{
    Packet packet;
    IbhArpReply reply;

    if (!receive(prober->arp, &packet))
        return FALSE;
    if (packet.length <= sizeof packet.bytes && packet.from.link.sll_pkttype == PACKET_HOST &&
        ibh_arp_parse_reply(packet.bytes, packet.length, &reply))
        ibh_probe_answered(prober->probe, packet.from.link.sll_ifindex, &reply);
    return TRUE;
}

/* A packet that a router forwarded has fewer hops left: no neighbour sent it. */
static gboolean is_from_wire(Packet *packet)
{
    int hops = 0;

    for (struct cmsghdr *at = CMSG_FIRSTHDR(&packet->message); at; at = CMSG_NXTHDR(&packet->message, at)) {
        if (at->cmsg_level == IPPROTO_IPV6 && at->cmsg_type == IPV6_HOPLIMIT && at->cmsg_len >= CMSG_LEN(sizeof hops))
            memcpy(&hops, CMSG_DATA(at), sizeof hops);
    }
    return hops == 255;
}

static gboolean take_advertisement(IbhProber *prober)
{
    Packet packet;
    IbhProbeReply way = {.ifindex = 0};
    IbhArpReply reply;
    const IbhLink *link;

    if (!receive(prober->solicit, &packet))
        return FALSE;
    if (packet.length > sizeof packet.bytes || !is_from_wire(&packet) || !read_way(&packet, &way))
        return TRUE;
    link = ibh_snapshot_link(prober->probe->rails->snapshot, way.ifindex);
    if (link && ibh_na_parse(link, packet.bytes, packet.length, &reply))
        ibh_probe_answered(prober->probe, way.ifindex, &reply);
    return TRUE;
}

/* The packet sockets are read before the echo sockets: so a reply that was not delivered by then was dropped. */
void ibh_prober_take_all(IbhProber *prober)
{
    for (int n = 0; prober->arp >= 0 && n < READ_MAX && take_arp(prober);)
        n++;
    for (int n = 0; prober->solicit >= 0 && n < READ_MAX && take_advertisement(prober);)
        n++;
    for (int six = 0; six <= 1; six++) {
        int n = 0;

        while (prober->seen[six] >= 0 && n < READ_MAX && take_seen(prober, prober->seen[six], six ? AF_INET6 : AF_INET))
            n++;
    }
    for (guint i = 0; i < prober->probe->sources->len; i++) {
        int family = g_array_index(prober->probe->sources, IbhProbeSource, i).ip.family, n = 0;

        drop_errors(prober->sockets[i].fd);
        while (n < READ_MAX && take_delivered(prober, &prober->sockets[i], family))
            n++;
    }
}

/* No packet of this family was missed. A flood fills the socket: what it did not see may have come all the same. */
static gboolean heard_all(IbhProber *prober, int family)
{
    int fd = prober->seen[family == AF_INET6];
    struct tpacket_stats stats = {.tp_drops = 0};
    socklen_t size = sizeof stats;

    if (!ibh_probe_uses_family(prober->probe, family))
        return TRUE;
    for (int n = 0; n < LEFT_MAX && fd >= 0; n++) {
        if (!take_seen(prober, fd, family))
            return getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &stats, &size) == 0 && !stats.tp_drops;
    }
    return FALSE;
}

gboolean ibh_prober_heard_all(IbhProber *prober)
{
    gboolean heard = heard_all(prober, AF_INET) && heard_all(prober, AF_INET6);

    ibh_prober_take_all(prober);
    return heard;
}

void ibh_prober_wait(IbhProber *prober, gint64 until)
{
    guint n = prober->probe->sources->len;
    g_autofree struct pollfd *fds = g_new0(struct pollfd, n + OTHERS);
    const int others[OTHERS] = {prober->seen[0], prober->seen[1], prober->arp, prober->solicit};

    for (guint i = 0; i < n + OTHERS; i++) {
        fds[i].fd = i < n ? prober->sockets[i].fd : others[i - n];
        fds[i].events = POLLIN;
    }
    ibh_prober_poll(fds, n + OTHERS, until);
}

void ibh_prober_pass(IbhProber *prober, gint64 until, const char *doing)
{
    while (ibh_prober_now() < until && !ibh_prober_is_stopped()) {
        ibh_prober_wait(prober, MIN(until, ibh_prober_now() + AT_A_TIME));
        ibh_prober_take_all(prober);
        ibh_prober_tell(prober, doing);
    }
}
