/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens and closes the sockets of --probe, and attaches their filters. */
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

/* How many bytes the filter keeps of each packet, except this run's echoes and their replies; evidence.c reads no more
 * bytes of other packets. */
#define HEAD_BYTES 128
#define FLAGS (SOCK_CLOEXEC | SOCK_NONBLOCK)
/* Bytes of a socket's buffer. 200 replies of 9,000 bytes overflow the default, as do 450 echoes that wait for ARP. */
#define BUFFER (32 * 1024 * 1024)

/* ---- filters: the kernel drops unneeded packets before they fill a socket's buffer ---- */

#define LOAD(size, mode, at) BPF_STMT(BPF_LD | (size) | (mode), (guint32)(at))
/* The instruction with the index `at`: a jump to the instruction with the index `yes` if the accumulator (what was
 * loaded or computed last) is `value`, and to the instruction with the index `no` if not. */
#define IF(at, value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, (yes) - ((at) + 1), (no) - ((at) + 1))
#define RETURN(bytes) BPF_STMT(BPF_RET | BPF_K, bytes)

static void attach_filter(int fd, struct sock_filter *steps, gsize count)
{
    struct sock_fprog program = {.len = (unsigned short)count, .filter = steps};

    /* if this fails, unneeded packets come in; evidence.c ignores them, and sockets that only send are never read */
    (void)setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}

/* Attaches a filter that lets only these packets pass: ARP, ICMP of both families, fragments of IPv6, and answers to
 * SYNs. Among these packets, evidence.c recognises those that concern this run. A packet socket hears the frames of a
 * VLAN also on the NIC below the VLAN, with a VLAN tag. The filter drops frames with a VLAN tag, because a VLAN is
 * another network than the NIC's. But frames with the VLAN ID 0 pass: their VLAN tag names no VLAN, and has only a
 * priority. The filter keeps all bytes of this run's echoes and their replies, which have the tag `tag` (IbhProbe.tag),
 * because evidence.c tests the checksum over all bytes of a reply. The sockets for echoes do not tell that a checksum
 * is wrong: the kernel drops IPv6 replies with a wrong checksum, and delivers IPv4 replies before it tests their
 * checksums. */
static void filter_ear(int fd, guint32 tag)
{
    enum { SIX = 12, SIX_ECHO = 18, DROP = 20, HEAD, WHOLE }; /* indexes of the instructions with these names below */
    struct sock_filter steps[] = {
        LOAD(BPF_H, BPF_ABS, SKF_AD_OFF + SKF_AD_VLAN_TAG),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xfff), /* the VLAN ID */
        IF(2, 0, 3, DROP),
        LOAD(BPF_H, BPF_ABS, SKF_AD_OFF + SKF_AD_PROTOCOL),
        IF(4, ETH_P_ARP, HEAD, 5),
        IF(5, ETH_P_IPV6, SIX, 6),
        IF(6, ETH_P_IP, 7, DROP),
        LOAD(BPF_B, BPF_ABS, 9), /* the protocol in IPv4 */
        IF(8, IPPROTO_ICMP, 9, DROP),
        BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0), /* X = the length of the IPv4 header */
        LOAD(BPF_W, BPF_IND, 8),                /* the tag, if the packet is an echo */
        IF(11, tag, WHOLE, HEAD),
        LOAD(BPF_B, BPF_ABS, 6), /* SIX: the next header in IPv6 */
        IF(13, IPPROTO_ICMPV6, SIX_ECHO, 14),
        IF(14, IPPROTO_FRAGMENT, HEAD, 15),
        IF(15, IPPROTO_TCP, 16, DROP),
        LOAD(BPF_H, BPF_ABS, 40), /* the source port */
        IF(17, IBH_SYN_PORT, HEAD, DROP),
        LOAD(BPF_W, BPF_ABS, 48), /* SIX_ECHO: the tag, if the packet is an echo */
        IF(19, tag, WHOLE, HEAD),
        RETURN(0),                  /* DROP */
        RETURN(HEAD_BYTES),         /* HEAD */
        RETURN(IBH_PROBE_SIZE_MAX), /* WHOLE */
    };

    attach_filter(fd, steps, G_N_ELEMENTS(steps));
}

/* ---- sockets ---- */

IbhSockAddress ibh_socket_address(const IbhIp *ip, socklen_t *ret_size)
{
    const gboolean six = ip->family == AF_INET6;
    IbhSockAddress address = {.generic = {.sa_family = (sa_family_t)ip->family}};

    memcpy(six ? (gpointer)&address.six.sin6_addr : &address.four.sin_addr, ip->bytes, six ? 16 : 4);
    *ret_size = six ? sizeof address.six : sizeof address.four;
    return address;
}

static gboolean set_option(int fd, int level, int option, int value)
{
    return setsockopt(fd, level, option, &value, sizeof value) == 0;
}

gboolean ibh_socket_tie(int fd, const IbhProbeSource *source, gboolean is_tied)
{
    const gboolean six = source->ip.family == AF_INET6;
    const guint32 device = is_tied ? (guint32)source->nic->link->ifindex : 0;

    /* both options take the ifindex in network order; 0 unties the socket */
    return set_option(fd, six ? IPPROTO_IPV6 : IPPROTO_IP, six ? IPV6_UNICAST_IF : IP_UNICAST_IF, (int)htonl(device));
}

/* Enlarges both buffers. Echoes that wait for ARP are in the send buffer: if many peers are silent, a small buffer
 * would be full, and the kernel would refuse echoes to other peers. The options with FORCE may exceed the host's limits
 * (rmem_max, wmem_max), but need CAP_NET_ADMIN. */
static void enlarge_buffers(int fd)
{
    if (!set_option(fd, SOL_SOCKET, SO_RCVBUFFORCE, BUFFER))
        (void)set_option(fd, SOL_SOCKET, SO_RCVBUF, BUFFER);
    if (!set_option(fd, SOL_SOCKET, SO_SNDBUFFORCE, BUFFER))
        (void)set_option(fd, SOL_SOCKET, SO_SNDBUF, BUFFER);
}

/* Without IP_RECVERR, the kernel would hide that its neighbour table (IPv4) or a queue is full. */
int ibh_socket_bind(int fd, const IbhProbeSource *source)
{
    const gboolean six = source->ip.family == AF_INET6;
    socklen_t size;
    const IbhSockAddress address = ibh_socket_address(&source->ip, &size);

    if (bind(fd, &address.generic, size) < 0 || !ibh_socket_tie(fd, source, TRUE))
        return errno;
    (void)set_option(fd, six ? IPPROTO_IPV6 : IPPROTO_IP, six ? IPV6_RECVERR : IP_RECVERR, 1);
    return 0;
}

/* Opens the socket that sends the echoes of this source, and receives the replies. The socket's filter has a bit for
 * each ICMP type; if the bit is 1, the kernel drops packets of this type. In IPv4, the filter has bits only for the
 * types below 32, so packets of other types come in. With PMTUDISC_PROBE, the kernel does not fragment echoes, and
 * sends them even if it has learned a smaller MTU. Returns a negative errno on failure, for example if the address is
 * gone; other sources can still ask. */
static int open_echoes(const IbhProbeSource *source)
{
    const gboolean six = source->ip.family == AF_INET6;
    const guint type = six ? ICMP6_ECHO_REPLY : ICMP_ECHOREPLY;
    const int fd = socket(source->ip.family, SOCK_RAW | FLAGS, six ? IPPROTO_ICMPV6 : IPPROTO_ICMP);
    int problem = fd < 0 ? errno : ibh_socket_bind(fd, source);
    guint32 dropped[8];

    if (!problem && !set_option(fd, six ? IPPROTO_IPV6 : IPPROTO_IP, six ? IPV6_MTU_DISCOVER : IP_MTU_DISCOVER,
                                six ? IPV6_PMTUDISC_PROBE : IP_PMTUDISC_PROBE))
        problem = errno;
    if (problem) {
        (void)close(fd);
        return -problem;
    }
    enlarge_buffers(fd);
    memset(dropped, 0xff, sizeof dropped);
    dropped[type / 32] &= ~(1u << type % 32);
    (void)setsockopt(fd, six ? IPPROTO_ICMPV6 : SOL_RAW, six ? ICMP6_FILTER : ICMP_FILTER, dropped,
                     six ? sizeof dropped : sizeof dropped[0]);
    return fd;
}

/* Opens a raw IPv6 socket that only sends: its filter drops everything that comes in. Sets `option`, an option of
 * IPPROTO_IPV6, to `value`. Returns -1 if there is no socket. */
static int open_sender(int protocol, int option, int value)
{
    struct sock_filter none[] = {RETURN(0)};
    const int fd = socket(AF_INET6, SOCK_RAW | FLAGS, protocol);

    attach_filter(fd, none, 1);
    (void)set_option(fd, IPPROTO_IPV6, option, value);
    return fd;
}

/* A packet socket of protocol 0 hears nothing before it is bound. The filter is attached first, so that no unneeded
 * packet gets into the buffer. */
gboolean ibh_prober_open(IbhProber *prober, GError **error)
{
    const IbhProbe *probe = prober->probe;
    const struct sockaddr_ll all = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
    int ear, problem;

    prober->bytes = g_malloc0(IBH_PROBE_SIZE_MAX);
    prober->fds = g_new0(struct pollfd, IBH_ECHOES + 2 * probe->sources->len);
    prober->n_fds = IBH_ECHOES;
    IBH_EACH_SOURCE (source, probe) {
        prober->fds[prober->n_fds++] = (struct pollfd){.fd = open_echoes(source), .events = POLLIN};
        prober->fds[prober->n_fds++] = (struct pollfd){.fd = -1, .events = POLLIN};
    }
    prober->tcp = open_sender(IPPROTO_TCP, IPV6_CHECKSUM, 16); /* the kernel writes the checksum at this offset */
    /* neighbours ignore solicitations with a hop limit below 255 */
    prober->solicit = open_sender(IPPROTO_ICMPV6, IPV6_MULTICAST_HOPS, 255);
    ear = socket(AF_PACKET, SOCK_DGRAM | FLAGS, 0);
    prober->fds[IBH_EAR] = (struct pollfd){.fd = ear, .events = POLLIN};
    if (ear >= 0) {
        filter_ear(ear, probe->tag);
        enlarge_buffers(ear);
    }
    if (ear >= 0 && bind(ear, (const struct sockaddr *)&all, sizeof all) == 0)
        return TRUE;
    problem = errno;
    if (problem == EPERM)
        g_set_error_literal(error, IBH_PROBE_ERROR, 0,
                            "--probe needs CAP_NET_RAW in this network namespace: run it as root");
    else
        g_set_error(error, IBH_PROBE_ERROR, 0, "--probe cannot open a packet socket: %s", ibh_errno_text(problem));
    return FALSE;
}

/* When the socket to a process that sends RDMA requests is closed, that process ends, unless the kernel blocks the
 * process. --probe does not wait until the process ends. */
void ibh_prober_close(IbhProber *prober)
{
    for (guint i = 0; i < prober->n_fds; i++)
        (void)close(prober->fds[i].fd);
    (void)close(prober->tcp);
    (void)close(prober->solicit);
    g_free(prober->fds);
    g_free(prober->bytes);
}
