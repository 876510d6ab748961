/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/tree.h"
#include "probe/prober_io.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef IP_RECVERR
#define IP_RECVERR 11
#endif
#ifndef IPV6_UNICAST_IF
#define IPV6_UNICAST_IF 76
#endif

#define ROCE_PORT 4791

/* ---- this host's own firewall ---- */

/* Soft-RoCE sends through the kernel's IP, and so through its firewall; adapters do not. */
static gboolean is_soft_roce(IbhTree *tree, const IbhLink *link)
{
    g_auto(GStrv) parts = g_strsplit(link->rdma, "/", 2);

    return parts[0] && parts[0][0] && ibh_tree_has(tree, "sys/class/infiniband/%s/parent", parts[0]);
}

/* A firewall that drops such a request drops an empty datagram to its port, too, and the kernel reports that. */
static gboolean is_filtered(const IbhProbe *probe, const IbhProbePair *pair)
{
    const IbhProbeSource *source = ibh_probe_source(probe, pair);
    const int on = 1, six = source->ip.family == AF_INET6, device = (int)g_htonl((guint32)source->nic->link->ifindex);
    socklen_t size;
    IbhSockAddress from = ibh_sock_address(&source->ip, &size),
                   to = ibh_sock_address(ibh_probe_peer(probe, pair), &size);
    int fd = socket(source->ip.family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    gboolean filtered = FALSE;

    if (fd < 0)
        return FALSE;
    if (six)
        to.six.sin6_port = g_htons(ROCE_PORT);
    else
        to.four.sin_port = g_htons(ROCE_PORT);
    if (bind(fd, &from.generic, size) == 0 &&
        (six ? setsockopt(fd, IPPROTO_IPV6, IPV6_UNICAST_IF, &device, sizeof device)
             : setsockopt(fd, IPPROTO_IP, IP_UNICAST_IF, &device, sizeof device)) == 0 &&
        (six ? setsockopt(fd, IPPROTO_IPV6, IPV6_RECVERR, &on, sizeof on)
             : setsockopt(fd, IPPROTO_IP, IP_RECVERR, &on, sizeof on)) == 0)
        filtered = sendto(fd, "", 0, 0, &to.generic, size) < 0 && (errno == EPERM || errno == ENOBUFS);
    close(fd);
    return filtered;
}

/* ---- requests, and how far they came ---- */

int ibh_prober_send_rdma(IbhProber *prober, guint32 i)
{
    IbhProbePair *pair = ibh_probe_pair(prober->probe, i);
    IbhRdmaAsker *asker = &prober->askers[pair->source % IBH_ASKERS];
    g_auto(IbhTree) tree = {0};

    ibh_tree_open(&tree, prober->sysfs);
    if (is_soft_roce(&tree, ibh_probe_link(prober->probe, pair)) && is_filtered(prober->probe, pair)) {
        pair->rdma.outcome = IBH_RDMA_FILTERED;
        return EPERM;
    }
    if (asker->fd < 0 && !ibh_rdma_asker_start(asker, prober->probe))
        return EAGAIN;
    (void)send(asker->fd, &i, sizeof i, MSG_DONTWAIT | MSG_NOSIGNAL); /* it says when it begins */
    ibh_prober_pace(prober);
    return 0;
}

void ibh_prober_take_rdma(IbhProber *prober, IbhRdmaAsker *asker)
{
    IbhRdmaResult result;
    gssize length;

    while ((length = recv(asker->fd, &result, sizeof result, MSG_DONTWAIT)) == (gssize)sizeof result) {
        /* A NIC without RDMA is reported as that, not as a missing module. */
        if (result.pair < prober->probe->pairs->len && result.answer.outcome == IBH_RDMA_NO_MODULE &&
            !ibh_probe_link(prober->probe, ibh_probe_pair(prober->probe, result.pair))->rdma[0])
            result.answer.outcome = IBH_RDMA_NO_DEVICE;
        if (ibh_probe_take_rdma(prober->probe, result.pair, &result.answer))
            ibh_flight_landed(&prober->flight, result.pair);
    }
    if (length >= 0 || errno != EAGAIN)
        ibh_rdma_asker_stop(asker);
}
