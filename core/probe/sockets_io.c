/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/arp.h"
#include "probe/prober_io.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <net/if_arp.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef IPV6_UNICAST_IF
#define IPV6_UNICAST_IF 76
#endif

#define HEAD 128 /* bytes of a packet that passes a NIC: longer than the parts of ours that count */
#define RECEIVE_BUFFER (32 * 1024 * 1024) /* 200 replies of 9,000 bytes overflow the default; a flood, more */
#define FLAGS (SOCK_CLOEXEC | SOCK_NONBLOCK)

/* ---- filters, in the kernel, before others' packets fill a socket's buffer ---- */

#define LOAD(size, mode, at) BPF_STMT(BPF_LD | (size) | (mode), (guint32)(at))
/* Where `then` and `otherwise` are places in the program; 0: the next one. */
#define IF(test, value, then, otherwise) BPF_JUMP(BPF_JMP | (test) | BPF_K, value, then, otherwise)
#define RETURN(bytes) BPF_STMT(BPF_RET | BPF_K, bytes)

static void attach(int fd, struct sock_filter *steps, gsize count)
{
    struct sock_fprog program = {.len = (unsigned short)count, .filter = steps};

    for (gsize i = 0; i < count; i++) {
        if (BPF_CLASS(steps[i].code) != BPF_JMP)
            continue;
        steps[i].jt = (guint8)(steps[i].jt ? steps[i].jt - i - 1 : 0);
        steps[i].jf = (guint8)(steps[i].jf ? steps[i].jf - i - 1 : 0);
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program); /* packets are looked at anyway */
}

/* Replies with our number and cookie. A raw socket of IPv4 gets the IP header, too. */
static void filter_replies(const IbhProbe *probe, int fd, guint16 id, gboolean six)
{
    enum { DROP = 7 };
    struct sock_filter steps[] = {
        six ? (struct sock_filter)BPF_STMT(BPF_LDX | BPF_IMM, 0)
            : (struct sock_filter)BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0),
        LOAD(BPF_B, BPF_IND, 0),
        IF(BPF_JEQ, six ? ICMP6_ECHO_REPLY : ICMP_ECHOREPLY, 0, DROP),
        LOAD(BPF_W, BPF_IND, 8),
        IF(BPF_JEQ, ibh_get32(probe->cookie), 0, DROP),
        LOAD(BPF_H, BPF_IND, 4),
        IF(BPF_JEQ, id, DROP + 1, DROP),
        RETURN(0),
        RETURN(IBH_PROBE_SIZE_MAX),
    };

    attach(fd, steps, G_N_ELEMENTS(steps));
}

/* Our echoes and their replies, whole ones and first fragments; answers to ARP, and the kernel's questions; the same of
 * neighbour discovery; answers to our SYNs. */
static void filter_ear(const IbhProbe *probe, int fd)
{
    enum {
        ARP = 4,
        FOUR = 6,
        SIX = 12,
        FRAGMENT = 17,
        DISCOVERY = 20,
        ECHO = 23,
        TCP = 25,
        LEAVES = 29,
        DROP = 31,
        TAKE
    };
    struct sock_filter steps[] = {
        LOAD(BPF_H, BPF_ABS, SKF_AD_OFF + SKF_AD_PROTOCOL),
        IF(BPF_JEQ, ETH_P_ARP, ARP, 0),
        IF(BPF_JEQ, ETH_P_IP, FOUR, 0),
        IF(BPF_JEQ, ETH_P_IPV6, SIX, DROP),
        LOAD(BPF_H, BPF_ABS, 6), /* ARP */
        IF(BPF_JEQ, ARPOP_REPLY, TAKE, LEAVES),
        LOAD(BPF_B, BPF_ABS, 9), /* FOUR */
        IF(BPF_JEQ, IPPROTO_ICMP, 0, DROP),
        LOAD(BPF_H, BPF_ABS, 6),
        IF(BPF_JSET, 0x1fff, DROP, 0),
        BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0),
        IF(BPF_JEQ, 0, ECHO, ECHO),
        BPF_STMT(BPF_LDX | BPF_IMM, 40), /* SIX */
        LOAD(BPF_B, BPF_ABS, 6),
        IF(BPF_JEQ, IPPROTO_TCP, TCP, 0),
        IF(BPF_JEQ, IPPROTO_ICMPV6, DISCOVERY, 0),
        IF(BPF_JEQ, IPPROTO_FRAGMENT, 0, DROP),
        BPF_STMT(BPF_LDX | BPF_IMM, 48), /* FRAGMENT */
        LOAD(BPF_H, BPF_ABS, 42),
        IF(BPF_JSET, 0xfff8, DROP, ECHO),
        LOAD(BPF_B, BPF_ABS, 40), /* DISCOVERY */
        IF(BPF_JEQ, ND_NEIGHBOR_ADVERT, TAKE, 0),
        IF(BPF_JEQ, ND_NEIGHBOR_SOLICIT, LEAVES, ECHO),
        LOAD(BPF_W, BPF_IND, 8), /* ECHO */
        IF(BPF_JEQ, ibh_get32(probe->cookie), TAKE, DROP),
        LOAD(BPF_H, BPF_ABS, 40), /* TCP */
        IF(BPF_JEQ, IBH_SYN_PORT, 0, DROP),
        LOAD(BPF_H, BPF_ABS, 42),
        IF(BPF_JEQ, ibh_probe_syn_port(probe), TAKE, DROP),
        LOAD(BPF_B, BPF_ABS, SKF_AD_OFF + SKF_AD_PKTTYPE), /* LEAVES */
        IF(BPF_JEQ, PACKET_OUTGOING, TAKE, DROP),
        RETURN(0),    /* DROP */
        RETURN(HEAD), /* TAKE */
    };

    attach(fd, steps, G_N_ELEMENTS(steps));
}

/* ---- echoes ---- */

IbhSockAddress ibh_sock_address(const IbhIp *ip, socklen_t *ret_size)
{
    IbhSockAddress address = {.generic = {.sa_family = (sa_family_t)ip->family}};

    if (ip->family == AF_INET6)
        memcpy(&address.six.sin6_addr, ip->bytes, 16);
    else
        memcpy(&address.four.sin_addr, ip->bytes, 4);
    *ret_size = ip->family == AF_INET6 ? sizeof address.six : sizeof address.four;
    return address;
}

gboolean ibh_probe_uses_family(const IbhProbe *probe, int family)
{
    IBH_EACH (const IbhProbeSource, source, probe->sources) {
        if (source->ip.family == family)
            return TRUE;
    }
    return FALSE;
}

static gboolean set(int fd, int level, int option, int value)
{
    return setsockopt(fd, level, option, &value, sizeof value) == 0;
}

static void enlarge(int fd)
{
    if (!set(fd, SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BUFFER))
        (void)set(fd, SOL_SOCKET, SO_RCVBUF, RECEIVE_BUFFER);
}

/* The sender's address bound; the device goes with each packet, so that replies are taken from any. Don't Fragment,
 * whether or not the kernel has learned a smaller MTU of the way; and errors: without, the kernel does not say that its
 * neighbour table is full. IPv6 has the device from the socket: before 5.18 its ping sockets take no other hint. */
static gboolean set_up(const IbhProbe *probe, IbhProbeSocket *sock, const IbhProbeSource *source)
{
    const gboolean six = source->ip.family == AF_INET6;
    const int fd = sock->fd, level = six ? IPPROTO_IPV6 : IPPROTO_IP;
    socklen_t size;
    IbhSockAddress address = ibh_sock_address(&source->ip, &size);

    if (bind(fd, &address.generic, size) < 0 ||
        (six && !set(fd, level, IPV6_UNICAST_IF, (int)htonl((guint32)source->nic->link->ifindex))) ||
        !set(fd, level, six ? IPV6_RECVPKTINFO : IP_PKTINFO, 1) ||
        !set(fd, level, six ? IPV6_MTU_DISCOVER : IP_MTU_DISCOVER, six ? IPV6_PMTUDISC_PROBE : IP_PMTUDISC_PROBE))
        return FALSE;
    (void)set(fd, level, six ? IPV6_RECVERR : IP_RECVERR, 1);
    enlarge(fd);
    if (sock->raw) {
        sock->id = probe->id;
        filter_replies(probe, fd, sock->id, six);
        return TRUE;
    }
    if (getsockname(fd, &address.generic, &size) < 0)
        return FALSE;
    sock->id = g_ntohs(six ? address.six.sin6_port : address.four.sin_port);
    return TRUE;
}

static gboolean is_forbidden(int error)
{
    return error == EPERM || error == EACCES;
}

static gboolean open_echoes(const IbhProbe *probe, const IbhProbeSource *source, IbhProbeSocket *sock, GError **error)
{
    int family = source->ip.family, protocol = family == AF_INET6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP;

    sock->raw = TRUE;
    sock->fd = socket(family, SOCK_RAW | FLAGS, protocol);
    if (sock->fd < 0 && is_forbidden(errno)) {
        sock->raw = FALSE;
        sock->fd = socket(family, SOCK_DGRAM | FLAGS, protocol);
    }
    if (sock->fd < 0 && is_forbidden(errno)) {
        g_autofree char *range = NULL;

        (void)g_file_get_contents("/proc/sys/net/ipv4/ping_group_range", &range, NULL, NULL);
        g_set_error(error, IBH_PROBE_ERROR, 0,
                    "--probe needs CAP_NET_RAW in this network namespace, or a group within net.ipv4.ping_group_range "
                    "(%s): run it as root",
                    range ? g_strstrip(range) : "?");
        return FALSE;
    }
    if (sock->fd < 0) {
        g_set_error(error, IBH_PROBE_ERROR, 0, "--probe: cannot open a socket: %s", g_strerror(errno));
        return FALSE;
    }
    if (!set_up(probe, sock, source)) /* the address went away: others can still be asked from */
        sock->error = errno;
    return TRUE;
}

/* ---- the others ---- */

/* Nothing comes before it is bound, so its filter is attached in between. */
static int open_ear(const IbhProbe *probe)
{
    const struct sockaddr_ll all = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
    int fd = socket(AF_PACKET, SOCK_DGRAM | FLAGS, 0);

    if (fd < 0)
        return -1;
    filter_ear(probe, fd);
    enlarge(fd);
    if (bind(fd, (const struct sockaddr *)&all, sizeof all) == 0)
        return fd;
    close(fd);
    return -1;
}

/* It only sends: it drops what comes in. */
static int open_sender(int protocol, int option, int value)
{
    struct sock_filter none[] = {RETURN(0)};
    int fd = socket(AF_INET6, SOCK_RAW | FLAGS, protocol);

    if (fd < 0)
        return -1;
    attach(fd, none, 1);
    if (set(fd, IPPROTO_IPV6, option, value))
        return fd;
    close(fd);
    return -1;
}

gboolean ibh_prober_open(IbhProber *prober, GError **error)
{
    IbhProbe *probe = prober->probe;

    prober->bytes = g_malloc0(IBH_PROBE_SIZE_MAX);
    prober->sockets = g_new0(IbhProbeSocket, probe->sources->len);
    for (guint i = 0; i < probe->sources->len; i++)
        prober->sockets[i].fd = -1;
    for (guint i = 0; i < probe->sources->len; i++) {
        if (!open_echoes(probe, &g_array_index(probe->sources, IbhProbeSource, i), &prober->sockets[i], error))
            return FALSE;
    }
    prober->ear = open_ear(probe);
    probe->hears = prober->ear >= 0;
    if (ibh_probe_uses_family(probe, AF_INET6)) {
        prober->solicit = open_sender(IPPROTO_ICMPV6, IPV6_MULTICAST_HOPS, 255);
        prober->tcp = open_sender(IPPROTO_TCP, IPV6_CHECKSUM, 16);
    }
    return TRUE;
}

void ibh_prober_close(IbhProber *prober)
{
    const int others[] = {prober->ear, prober->solicit, prober->tcp};

    for (guint i = 0; prober->sockets && i < prober->probe->sources->len; i++) {
        if (prober->sockets[i].fd >= 0)
            close(prober->sockets[i].fd);
    }
    for (guint i = 0; i < G_N_ELEMENTS(others); i++) {
        if (others[i] >= 0)
            close(others[i]);
    }
    for (guint i = 0; i < IBH_ASKERS; i++)
        ibh_rdma_asker_stop(&prober->askers[i]);
    g_free(prober->sockets);
    g_free(prober->bytes);
}
