/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/tree.h"
#include "probe/asker_io.h"
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

#define ASKERS 16 /* a device whose process blocks takes no other rail's answers away */
#define ROCE_PORT 4791
#define PROGRESS_EVERY (G_USEC_PER_SEC / 5)

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

/* ---- who is asked ---- */

static void settle(IbhProbe *probe, guint pair, IbhRdmaOutcome outcome)
{
    (void)ibh_probe_take_rdma(probe, pair, &(const IbhRdmaAnswer){.outcome = outcome});
}

/* The pairs that this asker asks: those of some of the sources. */
static GArray *choose(IbhProber *prober, IbhTree *tree, guint asker, guint first, guint pairs)
{
    IbhProbe *probe = prober->probe;
    GArray *chosen = g_array_new(FALSE, FALSE, sizeof(guint));

    for (guint i = first; i < first + pairs; i++) {
        const IbhProbePair *pair = ibh_probe_pair(probe, i);

        if (pair->source % ASKERS != asker)
            continue;
        if (!ibh_probe_wants_rdma(pair))
            settle(probe, i, IBH_RDMA_NO_ECHO);
        else if (is_soft_roce(tree, ibh_probe_link(probe, pair)) && is_filtered(probe, pair))
            settle(probe, i, IBH_RDMA_FILTERED);
        else
            g_array_append_val(chosen, i);
    }
    return chosen;
}

/* ---- answers ---- */

/* FALSE: no more will come. A result is shorter than what a pipe takes at once, so it is whole. */
static gboolean take_results(IbhProber *prober, IbhRdmaAsker *asker, gboolean *heard)
{
    IbhRdmaResult result;
    gssize length;

    while ((length = read(asker->fd, &result, sizeof result)) == (gssize)sizeof result) {
        /* A NIC without RDMA is reported as that, not as a missing module. */
        if (result.pair < prober->probe->pairs->len && result.answer.outcome == IBH_RDMA_NO_MODULE &&
            !ibh_probe_link(prober->probe, ibh_probe_pair(prober->probe, result.pair))->rdma[0])
            result.answer.outcome = IBH_RDMA_NO_DEVICE;
        *heard |= ibh_probe_take_rdma(prober->probe, result.pair, &result.answer);
    }
    return length < 0 && (errno == EAGAIN || errno == EINTR);
}

static void listen_to(IbhProber *prober, IbhRdmaAsker askers[ASKERS])
{
    gint64 heard_at[ASKERS], start = ibh_prober_now();
    struct pollfd fds[ASKERS];
    gboolean any = TRUE;

    for (guint i = 0; i < ASKERS; i++)
        heard_at[i] = start;
    while (any && !ibh_prober_is_stopped()) {
        for (guint i = 0; i < ASKERS; i++)
            fds[i] = (struct pollfd){.fd = askers[i].fd, .events = POLLIN};
        ibh_prober_wait(prober, ibh_prober_now() + PROGRESS_EVERY, fds, ASKERS);
        any = FALSE;
        for (guint i = 0; i < ASKERS; i++) {
            gboolean heard = FALSE, more = askers[i].fd >= 0 && take_results(prober, &askers[i], &heard);

            heard_at[i] = heard ? ibh_prober_now() : heard_at[i];
            if (askers[i].fd >= 0 && (!more || ibh_prober_now() > heard_at[i] + IBH_RDMA_ASKER_SILENCE))
                ibh_rdma_asker_stop(&askers[i]);
            any |= askers[i].fd >= 0;
        }
        ibh_prober_tell(prober, ", asking by RDMA");
    }
    for (guint i = 0; i < ASKERS; i++) {
        if (askers[i].fd >= 0)
            ibh_rdma_asker_stop(&askers[i]);
    }
}

void ibh_prober_ask_rdma(IbhProber *prober, guint first, guint pairs)
{
    g_auto(IbhTree) tree = {0};
    IbhRdmaAsker askers[ASKERS];

    ibh_tree_open(&tree, prober->sysfs);
    for (guint i = 0; i < ASKERS; i++) {
        g_autoptr(GArray) chosen = choose(prober, &tree, i, first, pairs);

        askers[i] = (IbhRdmaAsker){.fd = -1};
        if (chosen->len)
            (void)ibh_rdma_asker_start(&askers[i], prober->probe, chosen);
    }
    listen_to(prober, askers);
    for (guint i = first; i < first + pairs && !ibh_prober_is_stopped(); i++)
        settle(prober->probe, i, IBH_RDMA_BLOCKED);
}
