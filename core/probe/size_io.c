/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/size_io.h"

#include "probe/size.h"
#include "model/bytes.h"
#include "probe/wait_io.h"

#include <errno.h>
#include <linux/errqueue.h>
#include <linux/if_ether.h>
#include <netinet/ip_icmp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_MAX 64
#define HEAD_SIZE 128                    /* of a fragment, what has to be known */
#define RECEIVE_BUFFER (8 * 1024 * 1024) /* 200 replies of 9,000 bytes overflow the default */
#define WAIT_AT_ONCE (G_USEC_PER_SEC / 10)
#define WAIT_FOR_QUEUE (G_USEC_PER_SEC / 200)
#define WAITS_MAX 100
#define TRIES 3

typedef struct {
    guint pair, size;
} Sent;

/* IPv4, IPv6: replies in pieces, the first of them; whole replies. */
#define HEADS 4
#define IS_SIX(n) (1 & (n))
#define IS_WHOLE(n) (2 & (n))

typedef struct {
    IbhProber *prober;
    IbhProbeSocket *sockets; /* one for each source; closed until it is needed */
    int heads[HEADS];        /* packet sockets: the beginnings of replies; -1: none */
    guint8 *bytes;           /* IBH_PROBE_SIZE_MAX */
    GArray *sent;            /* Sent, in this round */
    guint waits;             /* for a queue, so far */
} Sizer;

static const IbhProbeSource *source_at(const Sizer *sizer, guint i)
{
    return &g_array_index(sizer->prober->probe->sources, IbhProbeSource, i);
}

/* ---- sockets ---- */

/* Don't Fragment, whether or not the kernel has learned a smaller MTU of the way. */
static gboolean set_up(const IbhProbeSocket *sock, const IbhProbeSource *source)
{
    const int on = 1, size = RECEIVE_BUFFER, six = source->ip.family == AF_INET6;
    const int probe = six ? IPV6_PMTUDISC_PROBE : IP_PMTUDISC_PROBE;
    const int device = (int)g_htonl((guint32)source->nic->link->ifindex);

    if (setsockopt(sock->fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size) < 0)
        (void)setsockopt(sock->fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    if (six)
        return setsockopt(sock->fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &probe, sizeof probe) == 0 &&
               setsockopt(sock->fd, IPPROTO_IPV6, IPV6_RECVERR, &on, sizeof on) == 0;
    return setsockopt(sock->fd, IPPROTO_IP, IP_UNICAST_IF, &device, sizeof device) == 0 &&
           setsockopt(sock->fd, IPPROTO_IP, IP_MTU_DISCOVER, &probe, sizeof probe) == 0 &&
           setsockopt(sock->fd, IPPROTO_IP, IP_RECVERR, &on, sizeof on) == 0;
}

static IbhProbeSocket *open_for(Sizer *sizer, guint source)
{
    IbhProbeSocket *sock = &sizer->sockets[source];
    guint16 id = ibh_probe_id_of_sizes(sizer->prober->probe);

    if (sock->fd < 0 && !sock->error) {
        if (!ibh_probe_socket_open(sizer->prober->probe, source_at(sizer, source), id, sock, NULL))
            sock->error = sock->error ? sock->error : EPERM;
        else if (!sock->error && !set_up(sock, source_at(sizer, source)))
            sock->error = errno;
    }
    return sock->error ? NULL : sock;
}

static void close_all(Sizer *sizer)
{
    for (guint i = 0; i < sizer->prober->probe->sources->len; i++) {
        if (sizer->sockets[i].fd >= 0)
            close(sizer->sockets[i].fd);
    }
    for (int n = 0; n < HEADS; n++) {
        if (sizer->heads[n] >= 0)
            close(sizer->heads[n]);
    }
}

/* ---- receiving ---- */

/* The socket is bound to the source: it gets packets to that address only. FALSE: nothing is left to read. */
static gboolean take_reply(Sizer *sizer, guint source)
{
    const IbhProbeSocket *sock = &sizer->sockets[source];
    int family = source_at(sizer, source)->ip.family;
    IbhSockAddress from = {.room = {0}};
    socklen_t size = sizeof from;
    gssize length = recvfrom(sock->fd, sizer->bytes, IBH_PROBE_SIZE_MAX, MSG_TRUNC, &from.generic, &size);
    gsize offset = 0;
    IbhProbeReply reply = {.to = source_at(sizer, source)->ip, .id = sock->id};

    if (length < 0)
        return errno == EINTR || errno == EMSGSIZE || errno == EHOSTUNREACH || errno == ENETUNREACH;
    if (length > IBH_PROBE_SIZE_MAX || from.generic.sa_family != family)
        return TRUE;
    if (sock->raw && family == AF_INET)
        offset = length ? (gsize)(sizer->bytes[0] & 0xf) * 4 : 0;
    if (offset >= (gsize)length)
        return TRUE;
    reply.from = family == AF_INET6 ? ibh_ip_from_bytes(AF_INET6, &from.six.sin6_addr)
                                    : ibh_ip_from_bytes(AF_INET, &from.four.sin_addr);
    reply.icmp = sizer->bytes + offset;
    reply.length = (gsize)length - offset;
    (void)ibh_probe_size_received(sizer->prober->probe, &reply);
    return TRUE;
}

/* An ICMP error about one of our packets: its sender, and the size that it accepts. This host's own errors are ignored.
 */
static gboolean take_refusal(Sizer *sizer, guint source)
{
    guint8 bytes[HEAD_SIZE] = {0};
    _Alignas(struct cmsghdr) guint8 control[256];
    IbhSockAddress to = {.generic = {.sa_family = AF_UNSPEC}};
    struct iovec part = {.iov_base = bytes, .iov_len = sizeof bytes};
    struct msghdr message = {.msg_name = &to,
                             .msg_namelen = sizeof to,
                             .msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof control};
    int family = source_at(sizer, source)->ip.family;

    if (recvmsg(sizer->sockets[source].fd, &message, MSG_ERRQUEUE) < 0)
        return FALSE;
    for (struct cmsghdr *at = CMSG_FIRSTHDR(&message); at; at = CMSG_NXTHDR(&message, at)) {
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
            to.generic.sa_family != family)
            continue;
        peer = family == AF_INET6 ? ibh_ip_from_bytes(family, &to.six.sin6_addr)
                                  : ibh_ip_from_bytes(family, &to.four.sin_addr);
        by = family == AF_INET6 ? ibh_ip_from_bytes(family, &what.by.six.sin6_addr)
                                : ibh_ip_from_bytes(family, &what.by.four.sin_addr);
        ibh_probe_size_refused(sizer->prober->probe, source, &peer, &by, what.error.ee_info);
    }
    return TRUE;
}

/* The kernel's filter lets nothing else through. FALSE: nothing is left to read. */
static gboolean take_head(Sizer *sizer, int n)
{
    guint8 bytes[HEAD_SIZE] = {0};
    IbhSockAddress from = {.room = {0}};
    socklen_t size = sizeof from;
    const int family = IS_SIX(n) ? AF_INET6 : AF_INET;
    gssize length = recvfrom(sizer->heads[n], bytes, sizeof bytes, MSG_TRUNC, &from.generic, &size);
    gsize offset = IS_SIX(n) ? IS_WHOLE(n) ? 40 : 48 : (gsize)(bytes[0] & 0xf) * 4;
    IbhProbeReply reply = {.id = ibh_probe_id_of_sizes(sizer->prober->probe)};

    if (length < 0)
        return errno == EINTR || errno == ENETDOWN;
    if (from.link.sll_pkttype != PACKET_HOST || (gsize)length < sizeof bytes ||
        offset + IBH_PROBE_PACKET > sizeof bytes)
        return TRUE;
    reply.from = ibh_ip_from_bytes(family, bytes + (IS_SIX(n) ? 8 : 12));
    reply.to = ibh_ip_from_bytes(family, bytes + (IS_SIX(n) ? 24 : 16));
    reply.icmp = bytes + offset;
    reply.length = sizeof bytes - offset;
    if (IS_WHOLE(n))
        ibh_probe_size_seen(sizer->prober->probe, &reply);
    else
        ibh_probe_size_fragment(sizer->prober->probe, &reply,
                                IS_SIX(n) ? 40 + ibh_get16(bytes + 4) : ibh_get16(bytes + 2));
    return TRUE;
}

static void take_all(Sizer *sizer)
{
    for (int head = 0; head < HEADS; head++) {
        for (int n = 0; sizer->heads[head] >= 0 && n < READ_MAX && take_head(sizer, head);)
            n++;
    }
    for (guint i = 0; i < sizer->prober->probe->sources->len; i++) {
        for (int n = 0; sizer->sockets[i].fd >= 0 && n < READ_MAX && take_refusal(sizer, i);)
            n++;
        for (int n = 0; sizer->sockets[i].fd >= 0 && n < READ_MAX && take_reply(sizer, i);)
            n++;
    }
}

static void wait_until(const Sizer *sizer, gint64 until)
{
    guint n = sizer->prober->probe->sources->len;
    g_autofree struct pollfd *fds = g_new0(struct pollfd, n + HEADS);

    for (guint i = 0; i < n + HEADS; i++) {
        fds[i].fd = i < n ? sizer->sockets[i].fd : sizer->heads[i - n];
        fds[i].events = POLLIN;
    }
    ibh_prober_poll(fds, n + HEADS, until);
}

/* ---- rounds ---- */

/* With IP_RECVERR a send may report an earlier packet's error; then it has to be repeated. So it has to when the NIC's
 * queue is full. A virtual NIC refuses in the same way, and always, a packet that is too long for its other end. */
static void send_size(Sizer *sizer, guint i, guint size)
{
    const IbhProbe *probe = sizer->prober->probe;
    IbhProbePair *pair = ibh_probe_pair(probe, i);
    const IbhProbeSocket *sock = open_for(sizer, pair->source);
    int family = ibh_probe_peer(probe, pair)->family;
    guint header = family == AF_INET6 ? 40 : 20;
    const Sent sent = {.pair = i, .size = size};
    socklen_t length;
    IbhSockAddress to = ibh_sock_address(ibh_probe_peer(probe, pair), &length);
    int problem = EAGAIN;

    if (!sock)
        return;
    memset(sizer->bytes, 0, size);
    ibh_probe_packet(probe, i, size, sock->id, sizer->bytes);
    for (int try = 0; try < TRIES && problem; try++) {
        if (problem == ENOBUFS && sizer->waits++ < WAITS_MAX)
            wait_until(sizer, ibh_prober_now() + WAIT_FOR_QUEUE);
        problem = sendto(sock->fd, sizer->bytes, size - header, 0, &to.generic, length) < 0 ? errno : 0;
        if (problem)
            take_all(sizer);
    }
    pair->mtu.held |= problem == EPERM;
    if (!(problem == ENOBUFS && probe->was_full[family == AF_INET6])) /* a full table proves nothing of the way */
        g_array_append_val(sizer->sent, sent);
    ibh_prober_pace(sizer->prober);
}

static gboolean is_waiting(const Sizer *sizer)
{
    IBH_EACH (const Sent, sent, sizer->sent) {
        if (ibh_probe_pair(sizer->prober->probe, sent->pair)->mtu.passed < sent->size)
            return TRUE;
    }
    return FALSE;
}

/* FALSE: nothing was left to ask. */
static gboolean ask_round(Sizer *sizer, guint round, guint first, guint pairs)
{
    IbhProber *prober = sizer->prober;
    guint sizes[IBH_PROBE_SIZES_MAX];
    gint64 end;

    g_array_set_size(sizer->sent, 0);
    for (guint i = first; i < first + pairs; i++) {
        guint n = ibh_probe_sizes(prober->probe, ibh_probe_pair(prober->probe, i), round, sizes);

        for (guint k = 0; k < n && !ibh_prober_is_stopped(); k++) {
            while (ibh_prober_now() < prober->next && !ibh_prober_is_stopped()) {
                wait_until(sizer, prober->next);
                take_all(sizer);
            }
            send_size(sizer, i, sizes[k]);
        }
        ibh_prober_tell(prober, ", at full size");
    }
    end = ibh_prober_now() + prober->probe->timeout;
    while (is_waiting(sizer) && ibh_prober_now() < end && !ibh_prober_is_stopped()) {
        wait_until(sizer, MIN(end, ibh_prober_now() + WAIT_AT_ONCE));
        take_all(sizer);
    }
    if (ibh_prober_is_stopped())
        return FALSE;
    IBH_EACH (const Sent, sent, sizer->sent)
        ibh_probe_size_is_lost(ibh_probe_pair(prober->probe, sent->pair), sent->size);
    return sizer->sent->len > 0;
}

void ibh_prober_ask_sizes(IbhProber *prober, guint first, guint pairs)
{
    guint n = prober->probe->sources->len, round = 0;
    g_autofree IbhProbeSocket *sockets = g_new0(IbhProbeSocket, n);
    g_autofree guint8 *bytes = g_malloc0(IBH_PROBE_SIZE_MAX);
    g_autoptr(GArray) sent = g_array_new(FALSE, FALSE, sizeof(Sent));
    Sizer sizer = {.prober = prober, .sockets = sockets, .bytes = bytes, .sent = sent};

    for (guint i = 0; i < n; i++)
        sockets[i].fd = -1;
    for (int head = 0; head < HEADS; head++) {
        int family = IS_SIX(head) ? AF_INET6 : AF_INET;

        sizer.heads[head] = ibh_probe_uses_family(prober->probe, family)
                                ? ibh_probe_sizes_open(prober->probe, family, IS_WHOLE(head) != 0)
                                : -1;
    }
    while (ask_round(&sizer, round, first, pairs))
        round++;
    close_all(&sizer);
}
