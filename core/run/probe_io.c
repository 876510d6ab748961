/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/probe_io.h"

#include "check/probe_arp.h"
#include "kernel/sysctl.h"
#include "run/probe_rdma.h"
#include "run/probe_size.h"
#include "run/probe_syn.h"
#include "run/probe_wait.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <net/if_arp.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_MAX 64      /* packets of one socket at a time: a flood does not keep us from sending, nor from ending */
#define RECEIVE_SIZE 256 /* longer than any reply of ours: what is cut short is none */
#define ARP_TIMEOUT (G_USEC_PER_SEC / 4)
#define CONTROL_SIZE 128 /* may hold more than we asked for */
#define PROGRESS_EVERY (G_USEC_PER_SEC / 5)

/* ---- sending ---- */

typedef union {
    struct cmsghdr header;
    guint8 room[CMSG_SPACE(sizeof(struct in_pktinfo))];
} Control;

/* IPv6 has the device from the socket (IPV6_UNICAST_IF): before 5.18 its ping sockets take no other hint. */
static void name_device(struct msghdr *message, Control *control, const IbhProbeSource *source)
{
    struct in_pktinfo way = {.ipi_ifindex = source->nic->link->ifindex};

    if (source->ip.family != AF_INET)
        return;
    memcpy(&way.ipi_spec_dst, source->ip.bytes, 4);
    control->header =
        (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof way), .cmsg_level = IPPROTO_IP, .cmsg_type = IP_PKTINFO};
    memcpy(CMSG_DATA(&control->header), &way, sizeof way);
    message->msg_control = control->room;
    message->msg_controllen = CMSG_SPACE(sizeof way);
}

static void send_echo(IbhProber *prober, guint i, guint number)
{
    IbhProbe *probe = prober->probe;
    IbhProbePair *pair = &g_array_index(probe->pairs, IbhProbePair, i);
    const IbhProbeSocket *sock = &prober->sockets[pair->source];
    guint8 packet[IBH_PROBE_PACKET];
    struct iovec part = {.iov_base = packet, .iov_len = sizeof packet};
    Control control = {.room = {0}};
    socklen_t size;
    IbhSockAddress peer = ibh_sock_address(ibh_probe_peer(probe, pair), &size);
    struct msghdr message = {.msg_name = &peer, .msg_namelen = size, .msg_iov = &part, .msg_iovlen = 1};
    gint64 before = ibh_prober_now();

    ibh_probe_packet(probe, i, number, sock->id, packet);
    name_device(&message, &control, ibh_probe_source(probe, pair));
    if (sock->error || sendmsg(sock->fd, &message, 0) < 0) {
        pair->send_error = sock->error ? sock->error : errno;
    } else {
        ibh_probe_sent(probe, i, number, before);
        prober->sent++;
    }
    prober->last_sent = before;
}

/* IbhSockAddress is larger than sockaddr_ll: InfiniBand's broadcast address has 20 bytes. */
static void send_arp(IbhProber *prober, const IbhLink *link, const IbhIp *from, const IbhIp *whom)
{
    guint8 frame[IBH_ARP_MAX];
    gsize length = ibh_arp_request(link, from, whom, frame);
    IbhSockAddress to = {.link = {.sll_family = AF_PACKET,
                                  .sll_protocol = htons(ETH_P_ARP),
                                  .sll_ifindex = link->ifindex,
                                  .sll_halen = (guint8)link->lladdr_len}};

    memcpy(to.room + offsetof(struct sockaddr_ll, sll_addr), link->broadcast, link->lladdr_len);
    if (length)
        (void)sendto(prober->arp, frame, length, 0, &to.generic, sizeof to); /* a NIC that is down is told of anyway */
    prober->last_sent = ibh_prober_now();
}

/* ---- receiving ---- */

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
    return length >= 0 || errno == EINTR || errno == ENETDOWN; /* of a link that went down: not the end of the queue */
}

static IbhIp to_ip(int family, const void *bytes)
{
    IbhIp ip = {.family = family};

    memcpy(ip.bytes, bytes, family == AF_INET6 ? 16 : 4);
    return ip;
}

/* Where it came in, and to whom. */
static gboolean read_way(Packet *packet, IbhProbeReply *reply)
{
    struct in_pktinfo four;
    struct in6_pktinfo six;

    for (struct cmsghdr *at = CMSG_FIRSTHDR(&packet->message); at; at = CMSG_NXTHDR(&packet->message, at)) {
        if (at->cmsg_level == IPPROTO_IP && at->cmsg_type == IP_PKTINFO && at->cmsg_len >= CMSG_LEN(sizeof four)) {
            memcpy(&four, CMSG_DATA(at), sizeof four);
            reply->to = to_ip(AF_INET, &four.ipi_addr);
            reply->ifindex = four.ipi_ifindex;
            return TRUE;
        }
        if (at->cmsg_level == IPPROTO_IPV6 && at->cmsg_type == IPV6_PKTINFO && at->cmsg_len >= CMSG_LEN(sizeof six)) {
            memcpy(&six, CMSG_DATA(at), sizeof six);
            reply->to = to_ip(AF_INET6, &six.ipi6_addr);
            reply->ifindex = (int)six.ipi6_ifindex;
            return TRUE;
        }
    }
    return FALSE;
}

/* Behind the IPv4 header. */
static gboolean skip_header(const Packet *packet, gsize *ret_offset)
{
    gsize offset = packet->length ? (gsize)(packet->bytes[0] & 0xf) * 4 : 0;

    *ret_offset = offset;
    return offset >= 20 && offset < packet->length && packet->bytes[0] >> 4 == 4 && packet->bytes[9] == IPPROTO_ICMP;
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
        !read_way(&packet, &reply) || (sock->raw && family == AF_INET && !skip_header(&packet, &offset)))
        return TRUE;
    reply.from =
        family == AF_INET6 ? to_ip(AF_INET6, &packet.from.six.sin6_addr) : to_ip(AF_INET, &packet.from.four.sin_addr);
    reply.icmp = packet.bytes + offset;
    reply.length = packet.length - offset;
    if (ibh_probe_received(prober->probe, &reply, ibh_prober_now()))
        prober->received++;
    return TRUE;
}

static gsize get16(const guint8 *at)
{
    return (gsize)at[0] << 8 | at[1];
}

static gboolean take_seen(IbhProber *prober, int fd, int family)
{
    gboolean six = family == AF_INET6;
    Packet packet;
    IbhProbeReply reply = {.id = prober->probe->id};
    gsize offset = 40, total;

    if (!receive(fd, &packet))
        return FALSE;
    if (packet.length < 40 || packet.length > sizeof packet.bytes || packet.from.link.sll_pkttype != PACKET_HOST ||
        (six ? packet.bytes[6] != IPPROTO_ICMPV6 : !skip_header(&packet, &offset)))
        return TRUE;
    reply.from = to_ip(family, packet.bytes + (six ? 8 : 12));
    reply.to = to_ip(family, packet.bytes + (six ? 24 : 16));
    reply.ifindex = packet.from.link.sll_ifindex;
    total = six ? 40 + get16(packet.bytes + 4) : get16(packet.bytes + 2);
    if (total < offset || total > packet.length) /* less: behind it is what fills up a short frame */
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

/* What came in is read before what was delivered: so whatever was not delivered by then was dropped. */
static void take_all(IbhProber *prober)
{
    for (int n = 0; prober->arp >= 0 && n < READ_MAX && take_arp(prober);)
        n++;
    for (int six = 0; six <= 1; six++) {
        int n = 0;

        while (prober->seen[six] >= 0 && n < READ_MAX && take_seen(prober, prober->seen[six], six ? AF_INET6 : AF_INET))
            n++;
    }
    for (guint i = 0; i < prober->probe->sources->len; i++) {
        int family = g_array_index(prober->probe->sources, IbhProbeSource, i).ip.family, n = 0;

        while (n < READ_MAX && take_delivered(prober, &prober->sockets[i], family))
            n++;
    }
}

/* Until something comes, or the time does. */
static void wait_for(IbhProber *prober, gint64 until)
{
    guint n = prober->probe->sources->len;
    g_autofree struct pollfd *fds = g_new0(struct pollfd, n + 3);

    for (guint i = 0; i < n + 3; i++) {
        fds[i].fd = i < n ? prober->sockets[i].fd : i < n + 2 ? prober->seen[i - n] : prober->arp;
        fds[i].events = POLLIN;
    }
    ibh_prober_poll(fds, n + 3, until);
}

/* ---- waves ---- */

static gboolean read_neighbours(IbhProber *prober, GArray *neighbours, guint used[2], GError **error)
{
    for (int six = 0; six <= 1; six++) {
        guint before = neighbours->len;

        if (ibh_probe_uses_family(prober->probe, six ? AF_INET6 : AF_INET) &&
            !ibh_netlink_read_all_neighbours(prober->netlink, six ? AF_INET6 : AF_INET, neighbours, error))
            return FALSE;
        used[six] = neighbours->len - before;
    }
    return TRUE;
}

static guint count_outstanding(const IbhProbe *probe, guint first, guint pairs)
{
    guint outstanding = 0;

    for (guint i = first; i < first + pairs; i++) {
        const IbhProbePair *pair = &g_array_index(probe->pairs, IbhProbePair, i);

        outstanding += (guint)(pair->sent - pair->received);
    }
    return outstanding;
}

static void ask_wave(IbhProber *prober, guint first, guint pairs)
{
    const IbhProbe *probe = prober->probe;
    guint packets = pairs * (guint)probe->count, k = 0;
    gint64 start = ibh_prober_now();

    while (k < packets) {
        gint64 due = MAX(start + ibh_probe_slot(probe, pairs, k), prober->last_sent + IBH_PROBE_SPACING);

        if (ibh_prober_now() >= due) {
            send_echo(prober, first + k % pairs, k / pairs);
            k++;
        } else {
            wait_for(prober, due);
        }
        take_all(prober);
        ibh_prober_tell(prober, "");
    }
    while (ibh_prober_now() < prober->last_sent + probe->timeout && count_outstanding(probe, first, pairs)) {
        wait_for(prober, MIN(prober->last_sent + probe->timeout, ibh_prober_now() + PROGRESS_EVERY));
        take_all(prober);
        ibh_prober_tell(prober, ", waiting for the others");
    }
    take_all(prober); /* both of a reply: as it came in, and as it was delivered */
}

static void pass(IbhProber *prober, gint64 until, const char *doing)
{
    while (ibh_prober_now() < until) {
        wait_for(prober, MIN(until, ibh_prober_now() + PROGRESS_EVERY));
        take_all(prober);
        ibh_prober_tell(prober, doing);
    }
}

/* The kernel believes the first that answers, and asks again only when its entry is old. With ARP flux several answer:
 * so all are asked, and all that answer are heard. */
static void ask_arp(IbhProber *prober, guint first, guint pairs)
{
    IbhProbe *probe = prober->probe;

    probe->hears_arp = prober->arp >= 0;
    for (guint i = first; prober->arp >= 0 && i < first + pairs; i++) {
        const IbhProbePair *pair = &g_array_index(probe->pairs, IbhProbePair, i);

        if (!pair->on_link || ibh_probe_peer(probe, pair)->family != AF_INET)
            continue;
        pass(prober, prober->last_sent + IBH_PROBE_SPACING, ", asking who answers ARP");
        send_arp(prober, ibh_probe_link(probe, pair), &ibh_probe_source(probe, pair)->ip, ibh_probe_peer(probe, pair));
    }
    if (prober->arp >= 0)
        pass(prober, prober->last_sent + MIN(probe->timeout, ARP_TIMEOUT), ", asking who answers ARP");
}

/* Who else has our own addresses, or stands for them. Returns until when answers may come; 0: there is no way to ask.
 */
static gint64 ask_own(IbhProber *prober)
{
    const IbhProbe *probe = prober->probe;
    const IbhIp nobody = {.family = AF_INET};
    gboolean witnessed = FALSE;

    for (guint i = 0; prober->arp >= 0 && i < probe->sources->len; i++) {
        const IbhProbeSource *source = &g_array_index(probe->sources, IbhProbeSource, i);
        int witness = ibh_probe_witness(probe, i);

        if (source->ip.family != AF_INET)
            continue;
        pass(prober, prober->last_sent + IBH_PROBE_SPACING, "");
        send_arp(prober, source->nic->link, &nobody, &source->ip);
        if (witness >= 0) {
            const IbhProbeSource *other = &g_array_index(probe->sources, IbhProbeSource, witness);

            witnessed = TRUE;
            send_arp(prober, other->nic->link, &other->ip, &source->ip);
        }
    }
    return witnessed ? ibh_prober_now() + IBH_PROBE_PROXY_WAIT : 0;
}

/* Makes room for the next wave. FALSE: it may not, or the kernel keeps one: then they have to grow old. */
static gboolean delete_entries(IbhProber *prober, guint first, guint pairs)
{
    gboolean all = TRUE;

    for (guint i = first; i < first + pairs; i++) {
        const IbhProbePair *pair = ibh_probe_pair(prober->probe, i);
        const IbhOp op = {.type = IBH_OP_NEIGH_DEL,
                          .ifindex = ibh_probe_link(prober->probe, pair)->ifindex,
                          .ip = *ibh_probe_peer(prober->probe, pair)};

        if (ibh_probe_owns_entry(pair))
            all &= ibh_netlink_execute(prober->netlink, &op, NULL);
    }
    return all;
}

static gboolean ask_all(IbhProber *prober, GError **error)
{
    IbhProbe *probe = prober->probe;
    g_autoptr(GArray) neighbours = g_array_new(FALSE, TRUE, sizeof(IbhNeighbour));
    guint used[2], pairs;
    gint64 before = 0, proxies;

    if (!read_neighbours(prober, neighbours, used, error))
        return FALSE;
    ibh_probe_note_known(probe, neighbours);
    proxies = ask_own(prober);
    for (guint first = 0; first < probe->pairs->len; first += pairs) {
        if (before)
            pass(prober, before + IBH_PROBE_PAUSE, ", waiting for room in the neighbour table");
        pairs = ibh_probe_wave(probe, first, used);
        before = ibh_prober_now();
        ask_wave(prober, first, pairs);
        g_array_set_size(neighbours, 0);
        if (!read_neighbours(prober, neighbours, (guint[2]){0}, error))
            return FALSE;
        ibh_probe_learn(probe, first, pairs, neighbours);
        ask_arp(prober, first, pairs);
        ibh_prober_ask_sizes(prober, first, pairs);
        ibh_prober_ask_syns(prober, first, pairs);
        if (probe->rdma)
            ibh_prober_ask_rdma(prober, first, pairs);
        if (pairs < probe->pairs->len && delete_entries(prober, first, pairs))
            before = 0;
    }
    pass(prober, proxies, ", listening for proxies");
    return TRUE;
}

/* By which NIC the address's own traffic would leave: the kernel knows, without a packet. */
static gboolean ask_routes(IbhProber *prober, GError **error)
{
    IBH_EACH (IbhProbePair, pair, prober->probe->pairs) {
        if (!ibh_netlink_lookup(prober->netlink, &pair->route, error))
            return FALSE;
    }
    return TRUE;
}

gboolean ibh_probe_run(IbhProbe *probe, IbhNetlink *netlink, const char *sysfs, gboolean progress, GError **error)
{
    IbhProber prober = {.probe = probe,
                        .netlink = netlink,
                        .sysfs = sysfs,
                        .progress = progress,
                        .started = ibh_prober_now(),
                        .arp = -1,
                        .seen = {-1, -1}};
    guint8 random[sizeof probe->cookie + sizeof probe->id];
    gboolean done;

    if (getrandom(random, sizeof random, 0) != (gssize)sizeof random) {
        g_set_error(error, IBH_PROBE_ERROR, 0, "--probe: no random numbers: %s", g_strerror(errno));
        return FALSE;
    }
    memcpy(probe->cookie, random, sizeof probe->cookie);
    memcpy(&probe->id, random + sizeof probe->cookie, sizeof probe->id);
    probe->table_size[0] = ibh_sysctl_read_neighbour_limit(AF_INET);
    probe->table_size[1] = ibh_sysctl_read_neighbour_limit(AF_INET6);
    prober.sockets = g_new0(IbhProbeSocket, probe->sources->len);
    for (guint i = 0; i < probe->sources->len; i++)
        prober.sockets[i].fd = -1;
    done = ibh_prober_open(&prober, error) && ask_routes(&prober, error) && ask_all(&prober, error);
    ibh_prober_tell_end(&prober);
    ibh_prober_close(&prober);
    return done;
}
