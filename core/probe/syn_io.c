/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/syn_io.h"

#include "probe/syn.h"
#include "probe/wait_io.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef IPV6_UNICAST_IF
#define IPV6_UNICAST_IF 76
#endif

#define HEADER 40 /* an IPv6 header with extension headers before TCP gets no answer from us */
#define TRIES 2
#define TIMEOUT (G_USEC_PER_SEC / 4)
#define READ_MAX 64

typedef struct {
    IbhProber *prober;
    int heard;  /* a packet socket; -1: not allowed */
    int *sends; /* one for each source; -1: closed */
} Asker;

/* ---- sockets ---- */

/* Answers alone: TCP, from that port to ours. */
static void filter_answers(const IbhProbe *probe, int fd)
{
    const struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 6),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_TCP, 0, 5),
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, HEADER),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IBH_SYN_PORT, 0, 3),
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, HEADER + 2),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ibh_probe_syn_port(probe), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, 0xffff),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    struct sock_fprog program = {.len = G_N_ELEMENTS(steps), .filter = (struct sock_filter *)(guintptr)steps};

    (void)setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program); /* replies are read in any case */
}

static int open_heard(const IbhProbe *probe)
{
    int fd = ibh_packet_socket_open();

    if (fd < 0)
        return -1;
    filter_answers(probe, fd);
    return ibh_packet_socket_bind(fd, ETH_P_IPV6, 0);
}

/* This socket only sends: it drops incoming packets. */
static gboolean set_up(int fd, const IbhProbeSource *source)
{
    struct sock_filter none = BPF_STMT(BPF_RET | BPF_K, 0);
    struct sock_fprog program = {.len = 1, .filter = &none};
    const int checksum_at = 16, device = (int)htonl((guint32)source->nic->link->ifindex);
    socklen_t size;
    IbhSockAddress address = ibh_sock_address(&source->ip, &size);

    (void)setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
    return setsockopt(fd, IPPROTO_IPV6, IPV6_CHECKSUM, &checksum_at, sizeof checksum_at) == 0 &&
           setsockopt(fd, IPPROTO_IPV6, IPV6_UNICAST_IF, &device, sizeof device) == 0 &&
           bind(fd, &address.generic, size) == 0;
}

static int open_for(Asker *asker, guint source)
{
    int *fd = &asker->sends[source];

    if (*fd < 0)
        *fd = socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
    else
        return *fd;
    if (*fd >= 0 && !set_up(*fd, &g_array_index(asker->prober->probe->sources, IbhProbeSource, source))) {
        close(*fd);
        *fd = -1;
    }
    return *fd;
}

/* ---- answers ---- */

/* FALSE: nothing is left to read. */
static gboolean take_answer(const Asker *asker)
{
    guint8 bytes[HEADER + IBH_SYN_LENGTH];
    IbhSockAddress from = {.room = {0}};
    socklen_t size = sizeof from;
    gssize length = recvfrom(asker->heard, bytes, sizeof bytes, 0, &from.generic, &size);
    IbhProbeReply reply = {.ifindex = from.link.sll_ifindex,
                           .icmp = bytes + HEADER,
                           .length = IBH_SYN_LENGTH,
                           .sender = from.room + offsetof(struct sockaddr_ll, sll_addr),
                           .sender_len = MIN(from.link.sll_halen, IBH_LLADDR_MAX)};

    if (length < 0)
        return errno == EINTR || errno == ENETDOWN;
    if (length < (gssize)sizeof bytes || from.link.sll_pkttype != PACKET_HOST)
        return TRUE;
    reply.from = ibh_ip_from_bytes(AF_INET6, bytes + 8);
    reply.to = ibh_ip_from_bytes(AF_INET6, bytes + 24);
    (void)ibh_probe_syn_answered(asker->prober->probe, &reply);
    return TRUE;
}

static void wait_until(const Asker *asker, gint64 until)
{
    struct pollfd fd = {.fd = asker->heard, .events = POLLIN};

    ibh_prober_poll(&fd, 1, until);
    for (int n = 0; n < READ_MAX && take_answer(asker);)
        n++;
}

/* ---- rounds ---- */

static void send_syn(Asker *asker, guint i)
{
    const IbhProbe *probe = asker->prober->probe;
    IbhProbePair *pair = ibh_probe_pair(probe, i);
    guint8 segment[IBH_SYN_LENGTH];
    socklen_t size;
    IbhSockAddress to = ibh_sock_address(ibh_probe_peer(probe, pair), &size);
    int fd = open_for(asker, pair->source);

    ibh_probe_syn(probe, i, segment);
    if (fd >= 0 && sendto(fd, segment, sizeof segment, 0, &to.generic, size) == (gssize)sizeof segment)
        pair->syn.outcome = IBH_SYN_SILENT;
    else if (pair->syn.outcome == IBH_SYN_UNASKED)
        pair->syn.outcome = fd < 0 && (errno == EPERM || errno == EACCES) ? IBH_SYN_NO_RIGHT : IBH_SYN_UNSENT;
    ibh_prober_pace(asker->prober);
}

static gboolean is_open(const IbhProbePair *pair)
{
    return pair->syn.outcome == IBH_SYN_UNASKED || pair->syn.outcome == IBH_SYN_SILENT;
}

static gboolean is_any_open(const IbhProbe *probe, guint first, guint pairs)
{
    for (guint i = first; i < first + pairs; i++) {
        if (is_open(ibh_probe_pair(probe, i)))
            return TRUE;
    }
    return FALSE;
}

static void ask_round(Asker *asker, guint first, guint pairs)
{
    IbhProber *prober = asker->prober;
    gint64 end;

    for (guint i = first; i < first + pairs; i++) {
        if (!is_open(ibh_probe_pair(prober->probe, i)) || ibh_prober_is_stopped())
            continue;
        while (ibh_prober_now() < prober->next && !ibh_prober_is_stopped())
            wait_until(asker, prober->next);
        send_syn(asker, i);
        ibh_prober_tell(prober, ", by TCP");
    }
    end = ibh_prober_now() + MIN(prober->probe->timeout, TIMEOUT);
    while (is_any_open(prober->probe, first, pairs) && ibh_prober_now() < end && !ibh_prober_is_stopped())
        wait_until(asker, end);
}

/* FALSE: no pair is to be asked. */
static gboolean mark_wanted(IbhProbe *probe, guint first, guint pairs, IbhSynOutcome outcome)
{
    gboolean any = FALSE;

    for (guint i = first; i < first + pairs; i++) {
        IbhProbePair *pair = ibh_probe_pair(probe, i);

        if (!ibh_probe_wants_syn(probe, pair))
            continue;
        pair->syn.outcome = outcome;
        any = TRUE;
    }
    return any;
}

void ibh_prober_ask_syns(IbhProber *prober, guint first, guint pairs)
{
    guint n = prober->probe->sources->len;
    g_autofree int *sends = g_new(int, n);
    Asker asker = {.prober = prober, .sends = sends};

    if (!mark_wanted(prober->probe, first, pairs, IBH_SYN_NO_RIGHT))
        return;
    asker.heard = open_heard(prober->probe);
    if (asker.heard < 0)
        return;
    (void)mark_wanted(prober->probe, first, pairs, IBH_SYN_UNASKED);
    for (guint i = 0; i < n; i++)
        sends[i] = -1;
    for (int try = 0; try < TRIES && is_any_open(prober->probe, first, pairs); try++)
        ask_round(&asker, first, pairs);
    for (guint i = first; ibh_prober_is_stopped() && i < first + pairs; i++) {
        if (is_open(ibh_probe_pair(prober->probe, i)))
            ibh_probe_pair(prober->probe, i)->syn.outcome = IBH_SYN_UNWANTED;
    }
    for (guint i = 0; i < n; i++) {
        if (sends[i] >= 0)
            close(sends[i]);
    }
    close(asker.heard);
}
