/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/sockets_io.h"

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

#define TAKE 0xffff
#define LOAD(size, mode, at) BPF_STMT(BPF_LD | (size) | (mode), at)
#define UNLESS(value, drop) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, drop)

static void attach(int fd, const struct sock_filter *steps, gsize count)
{
    struct sock_fprog program = {.len = (unsigned short)count, .filter = (struct sock_filter *)(guintptr)steps};

    (void)setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program,
                     sizeof program); /* replies are looked at in any case */
}

static guint32 cookie_start(const IbhProbe *probe)
{
    guint32 start;

    memcpy(&start, probe->cookie, sizeof start);
    return ntohl(start);
}

/* In the kernel, before others' packets fill the socket's buffer: echo replies with our number and cookie only. */
static void filter4(const IbhProbe *probe, int fd, guint16 id)
{
    const struct sock_filter steps[] = {
        LOAD(BPF_B, BPF_ABS, 9),
        UNLESS(IPPROTO_ICMP, 9),
        LOAD(BPF_H, BPF_ABS, 6),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x3fff, 7, 0), /* fragments */
        BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0),             /* the header's length */
        LOAD(BPF_B, BPF_IND, 0),
        UNLESS(ICMP_ECHOREPLY, 4),
        LOAD(BPF_W, BPF_IND, 8),
        UNLESS(cookie_start(probe), 2),
        LOAD(BPF_H, BPF_IND, 4),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, id, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, 0),
        BPF_STMT(BPF_RET | BPF_K, TAKE),
    };

    attach(fd, steps, G_N_ELEMENTS(steps));
}

/* `at`: where the ICMPv6 header is: 0, or 40 behind the IPv6 header. */
static void filter6(const IbhProbe *probe, int fd, guint16 id, guint at)
{
    const struct sock_filter steps[] = {
        LOAD(BPF_B, BPF_ABS, at ? 6 : 0), UNLESS(at ? IPPROTO_ICMPV6 : ICMP6_ECHO_REPLY, 6),
        LOAD(BPF_B, BPF_ABS, at),         UNLESS(ICMP6_ECHO_REPLY, 4),
        LOAD(BPF_W, BPF_ABS, at + 8),     UNLESS(cookie_start(probe), 2),
        LOAD(BPF_H, BPF_ABS, at + 4),     BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, id, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, 0),     BPF_STMT(BPF_RET | BPF_K, TAKE),
    };

    attach(fd, steps, G_N_ELEMENTS(steps));
}

/* The first fragments of such replies, as they come in: IPv4; IPv6, with a header of their own. */
static void filter_pieces4(const IbhProbe *probe, int fd, guint16 id)
{
    const struct sock_filter steps[] = {
        LOAD(BPF_B, BPF_ABS, 9),
        UNLESS(IPPROTO_ICMP, 10),
        LOAD(BPF_H, BPF_ABS, 6),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x1fff, 8, 0), /* not the first */
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x2000, 0, 7), /* not the last */
        BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0),
        LOAD(BPF_B, BPF_IND, 0),
        UNLESS(ICMP_ECHOREPLY, 4),
        LOAD(BPF_W, BPF_IND, 8),
        UNLESS(cookie_start(probe), 2),
        LOAD(BPF_H, BPF_IND, 4),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, id, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, 0),
        BPF_STMT(BPF_RET | BPF_K, TAKE),
    };

    attach(fd, steps, G_N_ELEMENTS(steps));
}

static void filter_pieces6(const IbhProbe *probe, int fd, guint16 id)
{
    const struct sock_filter steps[] = {
        LOAD(BPF_B, BPF_ABS, 6),         UNLESS(IPPROTO_FRAGMENT, 11),
        LOAD(BPF_B, BPF_ABS, 40),        UNLESS(IPPROTO_ICMPV6, 9),
        LOAD(BPF_H, BPF_ABS, 42),        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0xfff8, 7, 0), /* not the first */
        LOAD(BPF_B, BPF_ABS, 48),        UNLESS(ICMP6_ECHO_REPLY, 5),
        LOAD(BPF_W, BPF_ABS, 56),        UNLESS(cookie_start(probe), 3),
        LOAD(BPF_H, BPF_ABS, 52),        UNLESS(id, 1),
        BPF_STMT(BPF_RET | BPF_K, TAKE), BPF_STMT(BPF_RET | BPF_K, 0),
    };

    attach(fd, steps, G_N_ELEMENTS(steps));
}

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

static gboolean is_forbidden(int error)
{
    return error == EPERM || error == EACCES;
}

/* The sender's address bound; the device goes with each packet, so that replies are taken from any. */
static gboolean set_up(const IbhProbe *probe, IbhProbeSocket *sock, const IbhProbeSource *source, guint16 id)
{
    const int on = 1, six = source->ip.family == AF_INET6, device = (int)htonl((guint32)source->nic->link->ifindex);
    socklen_t size;
    IbhSockAddress address = ibh_sock_address(&source->ip, &size);

    if (bind(sock->fd, &address.generic, size) < 0 ||
        (six && setsockopt(sock->fd, IPPROTO_IPV6, IPV6_UNICAST_IF, &device, sizeof device) < 0) ||
        (six ? setsockopt(sock->fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof on)
             : setsockopt(sock->fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof on)) < 0)
        return FALSE;
    /* Without, the kernel does not say that its neighbour table is full. */
    (void)(six ? setsockopt(sock->fd, IPPROTO_IPV6, IPV6_RECVERR, &on, sizeof on)
               : setsockopt(sock->fd, IPPROTO_IP, IP_RECVERR, &on, sizeof on));
    if (sock->raw) {
        sock->id = id;
        (six ? filter6(probe, sock->fd, id, 0) : filter4(probe, sock->fd, id));
        return TRUE;
    }
    if (getsockname(sock->fd, &address.generic, &size) < 0)
        return FALSE;
    sock->id = g_ntohs(six ? address.six.sin6_port : address.four.sin_port);
    return TRUE;
}

static char *read_line(const char *path)
{
    char *text = NULL;

    return g_file_get_contents(path, &text, NULL, NULL) ? g_strstrip(text) : g_strdup("?");
}

gboolean ibh_probe_socket_open(const IbhProbe *probe, const IbhProbeSource *source, guint16 id, IbhProbeSocket *sock,
                               GError **error)
{
    int family = source->ip.family, protocol = family == AF_INET6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP;
    const int flags = SOCK_CLOEXEC | SOCK_NONBLOCK;

    sock->raw = TRUE;
    sock->fd = socket(family, SOCK_RAW | flags, protocol);
    if (sock->fd < 0 && is_forbidden(errno)) {
        sock->raw = FALSE;
        sock->fd = socket(family, SOCK_DGRAM | flags, protocol);
    }
    if (sock->fd < 0 && is_forbidden(errno)) {
        g_autofree char *range = read_line("/proc/sys/net/ipv4/ping_group_range");

        g_set_error(error, IBH_PROBE_ERROR, 0,
                    "--probe needs CAP_NET_RAW in this network namespace, or a group within net.ipv4.ping_group_range "
                    "(%s): run it as root",
                    range);
        return FALSE;
    }
    if (sock->fd < 0) {
        g_set_error(error, IBH_PROBE_ERROR, 0, "--probe: cannot open a socket: %s", g_strerror(errno));
        return FALSE;
    }
    if (!set_up(probe, sock, source, id)) /* the address went away: others can still be asked from */
        sock->error = errno;
    return TRUE;
}

static void filter_arp(int fd)
{
    const struct sock_filter steps[] = {
        LOAD(BPF_H, BPF_ABS, 6),
        UNLESS(ARPOP_REPLY, 1),
        BPF_STMT(BPF_RET | BPF_K, TAKE),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };

    attach(fd, steps, G_N_ELEMENTS(steps));
}

int ibh_packet_socket_open(void)
{
    return socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

int ibh_packet_socket_bind(int fd, int protocol, int ifindex)
{
    struct sockaddr_ll address = {
        .sll_family = AF_PACKET, .sll_protocol = htons((guint16)protocol), .sll_ifindex = ifindex};

    if (bind(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Only packet sockets see replies that rp_filter or a firewall drops (without them these count as lost), and answers to
 * ARP beside the one that the kernel believes. */
static int open_packet_socket(const IbhProbe *probe, int protocol)
{
    int fd = ibh_packet_socket_open();

    if (fd < 0)
        return -1;
    if (protocol == ETH_P_ARP)
        filter_arp(fd);
    else if (protocol == ETH_P_IPV6)
        filter6(probe, fd, probe->id, 40);
    else
        filter4(probe, fd, probe->id);
    return ibh_packet_socket_bind(fd, protocol, 0);
}

/* Neighbour advertisements only, with the NIC and the number of hops that tell whether they come from the wire. */
static int open_solicit_socket(void)
{
    const int on = 1, hops = 255;
    struct icmp6_filter filter;
    int fd = socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_ICMPV6);

    if (fd < 0)
        return -1;
    memset(&filter, 0xff, sizeof filter); /* a bit for each type: blocked. The macros of glibc 2.31 warn */
    filter.icmp6_filt[ND_NEIGHBOR_ADVERT / 32] &= ~(1u << ND_NEIGHBOR_ADVERT % 32);
    if (setsockopt(fd, IPPROTO_ICMPV6, ICMP6_FILTER, &filter, sizeof filter) == 0 &&
        setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof on) == 0 &&
        setsockopt(fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, &on, sizeof on) == 0 &&
        setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, &hops, sizeof hops) == 0)
        return fd;
    close(fd);
    return -1;
}

guint16 ibh_probe_id_of_sizes(const IbhProbe *probe)
{
    return probe->id ^ 0x8000;
}

int ibh_probe_sizes_open(const IbhProbe *probe, int family, gboolean whole)
{
    const guint16 id = ibh_probe_id_of_sizes(probe);
    int fd = ibh_packet_socket_open();

    if (fd < 0)
        return -1;
    if (!whole)
        (family == AF_INET6 ? filter_pieces6 : filter_pieces4)(probe, fd, id);
    else if (family == AF_INET6)
        filter6(probe, fd, id, 40);
    else
        filter4(probe, fd, id);
    return ibh_packet_socket_bind(fd, family == AF_INET6 ? ETH_P_IPV6 : ETH_P_IP, 0);
}

static void filter_tap(int fd)
{
    const struct sock_filter steps[] = {
        LOAD(BPF_H, BPF_ABS, (guint32)(SKF_AD_OFF + SKF_AD_PROTOCOL)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_ARP, 6, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IPV6, 0, 2),
        LOAD(BPF_B, BPF_ABS, 6),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_ICMPV6, 3, 4),
        UNLESS(ETH_P_IP, 3),
        LOAD(BPF_B, BPF_ABS, 9),
        UNLESS(IPPROTO_ICMP, 1),
        BPF_STMT(BPF_RET | BPF_K, TAKE),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };

    attach(fd, steps, G_N_ELEMENTS(steps));
}

int ibh_probe_tap_open(int ifindex)
{
    int fd = ibh_packet_socket_open();

    if (fd < 0)
        return -1;
    filter_tap(fd);
    return ibh_packet_socket_bind(fd, ETH_P_ALL, ifindex);
}

gboolean ibh_probe_uses_family(const IbhProbe *probe, int family)
{
    IBH_EACH (const IbhProbeSource, source, probe->sources) {
        if (source->ip.family == family)
            return TRUE;
    }
    return FALSE;
}

gboolean ibh_prober_open(IbhProber *prober, GError **error)
{
    const IbhProbe *probe = prober->probe;

    for (guint i = 0; i < probe->sources->len; i++) {
        if (!ibh_probe_socket_open(probe, &g_array_index(probe->sources, IbhProbeSource, i), probe->id,
                                   &prober->sockets[i], error))
            return FALSE;
    }
    if (ibh_probe_uses_family(probe, AF_INET)) {
        prober->seen[0] = open_packet_socket(probe, ETH_P_IP);
        prober->arp = open_packet_socket(probe, ETH_P_ARP);
    }
    if (ibh_probe_uses_family(probe, AF_INET6)) {
        prober->seen[1] = open_packet_socket(probe, ETH_P_IPV6);
        prober->solicit = open_solicit_socket();
    }
    return TRUE;
}

void ibh_prober_close(IbhProber *prober)
{
    for (guint i = 0; i < prober->probe->sources->len; i++) {
        if (prober->sockets[i].fd >= 0)
            close(prober->sockets[i].fd);
    }
    for (int i = 0; i < 2; i++) {
        if (prober->seen[i] >= 0)
            close(prober->seen[i]);
    }
    if (prober->arp >= 0)
        close(prober->arp);
    if (prober->solicit >= 0)
        close(prober->solicit);
    g_free(prober->sockets);
}
