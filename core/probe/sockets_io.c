/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/arp.h"
#include "probe/prober_io.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef ICMP_FILTER
#define ICMP_FILTER 1
#endif
#ifndef IPV6_UNICAST_IF
#define IPV6_UNICAST_IF 76
#endif

#define HEAD_BYTES 128 /* of a packet that passes a NIC: longer than the parts of others' that count */
#define RECEIVE_BUFFER (32 * 1024 * 1024) /* 200 replies of 9,000 bytes overflow the default; a flood, more */
#define FLAGS (SOCK_CLOEXEC | SOCK_NONBLOCK)

/* ---- filters, in the kernel, before others' packets fill a socket's buffer ---- */

/* Of what is delivered, echo replies alone: a type whose bit is set is dropped. ICMP has one word of them. */
static void filter_replies(int fd, gboolean six)
{
    const guint type = six ? ICMP6_ECHO_REPLY : ICMP_ECHOREPLY;
    guint32 dropped[8];

    memset(dropped, 0xff, sizeof dropped);
    dropped[type / 32] &= ~(1u << type % 32);
    if (six)
        (void)setsockopt(fd, IPPROTO_ICMPV6, ICMP6_FILTER, dropped, sizeof dropped);
    else
        (void)setsockopt(fd, SOL_RAW, ICMP_FILTER, dropped, sizeof dropped[0]);
}

#define LOAD(size, mode, at) BPF_STMT(BPF_LD | (size) | (mode), (guint32)(at))
/* The step at the place `at`: to the place `yes` if what was loaded is the value, or else to `no`. */
#define IF(at, value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, (yes) - ((at) + 1), (no) - ((at) + 1))
#define RETURN(bytes) BPF_STMT(BPF_RET | BPF_K, bytes)

static void attach(int fd, struct sock_filter *steps, gsize count)
{
    struct sock_fprog program = {.len = (unsigned short)count, .filter = steps};

    (void)setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program); /* packets are looked at anyway */
}

/* ARP, ICMP of both families, fragments of IPv6, and answers to our SYNs: little of what others send. What of it is
 * ours, evidence.c finds out. Our echoes come whole: the checksum is of all bytes, and where it is wrong, the
 * kernel drops the reply. */
static void filter_ear(int fd, guint32 tag)
{
    enum { SIX = 9, SIX_ECHO = 15, DROP = 17, HEAD, WHOLE };
    struct sock_filter steps[] = {
        LOAD(BPF_H, BPF_ABS, SKF_AD_OFF + SKF_AD_PROTOCOL),
        IF(1, ETH_P_ARP, HEAD, 2),
        IF(2, ETH_P_IPV6, SIX, 3),
        IF(3, ETH_P_IP, 4, DROP),
        LOAD(BPF_B, BPF_ABS, 9),
        IF(5, IPPROTO_ICMP, 6, DROP),
        BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0), /* behind the header */
        LOAD(BPF_W, BPF_IND, 8),
        IF(8, tag, WHOLE, HEAD),
        LOAD(BPF_B, BPF_ABS, 6), /* SIX */
        IF(10, IPPROTO_ICMPV6, SIX_ECHO, 11),
        IF(11, IPPROTO_FRAGMENT, HEAD, 12),
        IF(12, IPPROTO_TCP, 13, DROP),
        LOAD(BPF_H, BPF_ABS, 40),
        IF(14, IBH_SYN_PORT, HEAD, DROP),
        LOAD(BPF_W, BPF_ABS, 48), /* SIX_ECHO */
        IF(16, tag, WHOLE, HEAD),
        RETURN(0),                  /* DROP */
        RETURN(HEAD_BYTES),         /* HEAD */
        RETURN(IBH_PROBE_SIZE_MAX), /* WHOLE */
    };

    attach(fd, steps, G_N_ELEMENTS(steps));
}

/* ---- echoes ---- */

IbhSockAddress ibh_socket_address(const IbhIp *ip, socklen_t *ret_size)
{
    IbhSockAddress address = {.generic = {.sa_family = (sa_family_t)ip->family}};

    if (ip->family == AF_INET6)
        memcpy(&address.six.sin6_addr, ip->bytes, 16);
    else
        memcpy(&address.four.sin_addr, ip->bytes, 4);
    *ret_size = ip->family == AF_INET6 ? sizeof address.six : sizeof address.four;
    return address;
}

static gboolean set_option(int fd, int level, int option, int value)
{
    return setsockopt(fd, level, option, &value, sizeof value) == 0;
}

static void enlarge(int fd)
{
    if (!set_option(fd, SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BUFFER))
        (void)set_option(fd, SOL_SOCKET, SO_RCVBUF, RECEIVE_BUFFER);
}

gboolean ibh_socket_tie(int fd, const IbhProbeSource *source, gboolean is_tied)
{
    const gboolean six = source->ip.family == AF_INET6;
    const guint32 device = is_tied ? (guint32)source->nic->link->ifindex : 0;

    return set_option(fd, six ? IPPROTO_IPV6 : IPPROTO_IP, six ? IPV6_UNICAST_IF : IP_UNICAST_IF, (int)htonl(device));
}

/* And errors are reported: without, the kernel does not say that its neighbour table is full. */
int ibh_socket_bind(int fd, const IbhProbeSource *source)
{
    const gboolean six = source->ip.family == AF_INET6;
    const int level = six ? IPPROTO_IPV6 : IPPROTO_IP;
    socklen_t size;
    const IbhSockAddress address = ibh_socket_address(&source->ip, &size);

    if (bind(fd, &address.generic, size) < 0 || !ibh_socket_tie(fd, source, TRUE))
        return errno;
    (void)set_option(fd, level, six ? IPV6_RECVERR : IP_RECVERR, 1);
    return 0;
}

/* Don't Fragment, whether or not the kernel has learned a smaller MTU of the way. 0 or an errno: the address went away,
 * say; others can still be asked from. */
static int open_echoes(const IbhProbeSource *source, int *ret_fd)
{
    const gboolean six = source->ip.family == AF_INET6;
    const int fd = socket(source->ip.family, SOCK_RAW | FLAGS, six ? IPPROTO_ICMPV6 : IPPROTO_ICMP);
    int problem;

    *ret_fd = fd;
    if (fd < 0 || (problem = ibh_socket_bind(fd, source)))
        return fd < 0 ? errno : problem;
    if (!set_option(fd, six ? IPPROTO_IPV6 : IPPROTO_IP, six ? IPV6_MTU_DISCOVER : IP_MTU_DISCOVER,
                    six ? IPV6_PMTUDISC_PROBE : IP_PMTUDISC_PROBE))
        return errno;
    enlarge(fd);
    filter_replies(fd, six);
    return 0;
}

/* ---- the others ---- */

/* Nothing comes before it is bound, so its filter is attached in between. */
static gboolean open_ear(IbhProber *prober)
{
    const struct sockaddr_ll all = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};

    prober->ear = socket(AF_PACKET, SOCK_DGRAM | FLAGS, 0);
    if (prober->ear < 0)
        return FALSE;
    filter_ear(prober->ear, prober->probe->tag);
    enlarge(prober->ear);
    return bind(prober->ear, (const struct sockaddr *)&all, sizeof all) == 0;
}

/* It only sends: it drops what comes in. */
static int open_sender(int protocol, int option, int value)
{
    struct sock_filter none[] = {RETURN(0)};
    const int fd = socket(AF_INET6, SOCK_RAW | FLAGS, protocol);

    if (fd >= 0) {
        attach(fd, none, 1);
        (void)set_option(fd, IPPROTO_IPV6, option, value);
    }
    return fd;
}

gboolean ibh_prober_open(IbhProber *prober, GError **error)
{
    const IbhProbe *probe = prober->probe;

    prober->bytes = g_malloc0(IBH_PROBE_SIZE_MAX);
    prober->sockets = g_new0(IbhProbeSocket, probe->sources->len);
    for (guint i = 0; i < probe->sources->len; i++) {
        IbhProbeSocket *sock = &prober->sockets[i];

        sock->asker = -1;
        sock->error = open_echoes(&g_array_index(probe->sources, IbhProbeSource, i), &sock->fd);
    }
    prober->tcp = open_sender(IPPROTO_TCP, IPV6_CHECKSUM, 16);
    prober->solicit = open_sender(IPPROTO_ICMPV6, IPV6_MULTICAST_HOPS, 255);
    if (open_ear(prober))
        return TRUE;
    g_set_error(error, IBH_PROBE_ERROR, 0, "--probe needs CAP_NET_RAW in this network namespace: run it as root (%s)",
                g_strerror(errno));
    return FALSE;
}

static void close_one(int fd)
{
    if (fd >= 0)
        close(fd);
}

/* A process that asks by RDMA ends by it, if it can be ended; it is not waited for. */
void ibh_prober_close(IbhProber *prober)
{
    for (guint i = 0; i < prober->probe->sources->len; i++) {
        close_one(prober->sockets[i].fd);
        close_one(prober->sockets[i].asker);
    }
    close_one(prober->ear);
    close_one(prober->tcp);
    close_one(prober->solicit);
    g_free(prober->sockets);
    g_free(prober->bytes);
}

#define LATE_MAX (8 * IBH_PROBE_SPACING)

/* After a late wake-up, the next packets may go a little faster. */
void ibh_prober_pace(IbhProber *prober)
{
    prober->next = MAX(prober->next, g_get_monotonic_time() - LATE_MAX) + IBH_PROBE_SPACING;
}
