/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/run_io.h"

#include "probe/answers.h"
#include "probe/echoes_io.h"
#include "probe/local_io.h"
#include "probe/rdma_io.h"
#include "probe/receive_io.h"
#include "probe/room_io.h"
#include "probe/size_io.h"
#include "probe/syn_io.h"
#include "probe/trace_io.h"
#include "probe/wait_io.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <net/if_arp.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#define ARP_TIMEOUT (G_USEC_PER_SEC / 4)

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
    ibh_prober_pace(prober);
}

/* To the group that the address's holders are in (RFC 4291, 2.7.1); the kernel adds sender and checksum. */
static void send_solicitation(IbhProber *prober, const IbhLink *link, const IbhIp *whom)
{
    guint8 packet[IBH_NA_MAX];
    gsize length = ibh_ns_question(link, whom, packet);
    struct sockaddr_in6 to = {
        .sin6_family = AF_INET6,
        .sin6_addr.s6_addr = {0xff, 0x02, [11] = 1, [12] = 0xff, whom->bytes[13], whom->bytes[14], whom->bytes[15]},
        .sin6_scope_id = (guint32)link->ifindex};

    if (length && prober->solicit >= 0)
        (void)sendto(prober->solicit, packet, length, 0, (struct sockaddr *)&to, sizeof to);
    ibh_prober_pace(prober);
}

/* ---- ARP ---- */

/* The kernel believes the first answer, and asks again only when its entry is old. With ARP flux several NICs answer:
 * so every peer is asked once more, and all answers are read. In IPv6, and of gateways, those that are silent. */
static void ask_arp(IbhProber *prober)
{
    IbhProbe *probe = prober->probe;

    gboolean any = FALSE;

    for (guint i = 0; i < probe->pairs->len && !ibh_prober_is_stopped(); i++) {
        const IbhProbePair *pair = ibh_probe_pair(probe, i);
        const IbhIp *via = ibh_probe_via(probe, pair);
        const gboolean silent = !pair->received;

        if (!via || (!silent && (via->family == AF_INET6 || via != ibh_probe_peer(probe, pair))))
            continue;
        any = TRUE;
        ibh_prober_pass(prober, prober->next, ", asking who answers ARP");
        if (via->family == AF_INET6)
            send_solicitation(prober, ibh_probe_link(probe, pair), via);
        else if (prober->arp >= 0)
            send_arp(prober, ibh_probe_link(probe, pair), &ibh_probe_source(probe, pair)->ip, via);
    }
    if (any)
        ibh_prober_pass(prober, ibh_prober_now() + MIN(probe->timeout, ARP_TIMEOUT), ", asking who answers ARP");
    probe->hears_arp = (prober->arp >= 0 || !ibh_probe_uses_family(probe, AF_INET)) &&
                       (prober->solicit >= 0 || !ibh_probe_uses_family(probe, AF_INET6)) && !ibh_prober_is_stopped();
}

/* Asks which other hosts have our own addresses, or answer for them. Returns until when answers may come; 0: it cannot
 * ask. */
static gint64 ask_own(IbhProber *prober)
{
    const IbhProbe *probe = prober->probe;
    const IbhIp nobody = {.family = AF_INET};
    gboolean witnessed = FALSE;

    for (guint i = 0; i < probe->sources->len; i++) {
        const IbhProbeSource *source = &g_array_index(probe->sources, IbhProbeSource, i);
        int witness = ibh_probe_witness(probe, i);

        if ((source->ip.family == AF_INET ? prober->arp : prober->solicit) < 0)
            continue;
        ibh_prober_pass(prober, prober->next, "");
        if (source->ip.family == AF_INET6) {
            send_solicitation(prober, source->nic->link, &source->ip);
            witnessed = TRUE; /* a proxy waits before it answers this one */
            continue;
        }
        send_arp(prober, source->nic->link, &nobody, &source->ip);
        if (witness >= 0) {
            const IbhProbeSource *other = &g_array_index(probe->sources, IbhProbeSource, (guint)witness);

            witnessed = TRUE;
            send_arp(prober, other->nic->link, &other->ip, &source->ip);
        }
    }
    return witnessed ? ibh_prober_now() + IBH_PROBE_PROXY_WAIT : 0;
}

/* ---- all of it ---- */

static gboolean all_fit(const IbhProbe *probe, const guint room[2])
{
    return ibh_probe_wave(probe, 0, room) == probe->pairs->len;
}

/* The requests that need the neighbour's entry again: in waves, if not all entries fit. Entries that cannot be deleted
 * have to grow old; those of one wave may still exist while those of the next one come. */
static gboolean ask_waves(IbhProber *prober, const guint at_first[2], GError **error)
{
    IbhProbe *probe = prober->probe;
    guint room[2] = {at_first[0], at_first[1]}, pairs;
    gint64 before = 0;

    for (guint first = 0; first < probe->pairs->len && !ibh_prober_is_stopped(); first += pairs) {
        if (before)
            ibh_prober_pass(prober, before + IBH_PROBE_PAUSE, ", waiting for room in the neighbour table");
        if (!prober->cannot && !ibh_prober_read_room(prober, room, error))
            return FALSE;
        pairs = prober->keeps ? probe->pairs->len : ibh_probe_wave(probe, first, room);
        before = ibh_prober_now();
        ibh_prober_ask_sizes(prober, first, pairs);
        ibh_prober_ask_syns(prober, first, pairs);
        if (probe->rdma)
            ibh_prober_ask_rdma(prober, first, pairs);
        if (prober->keeps || ibh_prober_forget_range(prober, first, pairs))
            before = 0;
    }
    return TRUE;
}

static gboolean ask_all(IbhProber *prober, GError **error)
{
    IbhProbe *probe = prober->probe;
    g_autoptr(GArray) neighbours = g_array_new(FALSE, TRUE, sizeof(IbhNeighbour));
    guint room[2];
    gint64 proxies;

    if (!ibh_prober_read_neighbours(prober, neighbours, error))
        return FALSE;
    ibh_probe_note_known(probe, neighbours);
    if (!ibh_prober_read_room(prober, room, error))
        return FALSE;
    prober->keeps = all_fit(probe, room);
    ibh_prober_read_local(prober, FALSE);
    proxies = ask_own(prober);
    if (!ibh_prober_ask_echoes(prober, room, error))
        return FALSE;
    ask_arp(prober);
    ibh_prober_trace(prober);
    ibh_prober_read_local(prober, TRUE);
    if (!ask_waves(prober, room, error) || !ibh_prober_read_room(prober, room, error))
        return FALSE;
    ibh_prober_pass(prober, proxies, ", listening for proxies");
    return TRUE;
}

/* The NIC by which the address's own traffic would leave: the kernel answers that without a packet. */
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
                        .solicit = -1,
                        .seen = {-1, -1}};
    guint8 random[sizeof probe->cookie + sizeof probe->id];
    gboolean done;

    if (getrandom(random, sizeof random, 0) != (gssize)sizeof random) {
        g_set_error(error, IBH_PROBE_ERROR, 0, "--probe: no random numbers: %s", g_strerror(errno));
        return FALSE;
    }
    memcpy(probe->cookie, random, sizeof probe->cookie);
    memcpy(&probe->id, random + sizeof probe->cookie, sizeof probe->id);
    prober.sockets = g_new0(IbhProbeSocket, probe->sources->len);
    for (guint i = 0; i < probe->sources->len; i++)
        prober.sockets[i].fd = -1;
    ibh_prober_catch_signals();
    done = ibh_prober_open(&prober, error);
    done = done && ask_routes(&prober, error) && ask_all(&prober, error);
    probe->hears_replies = done && ibh_prober_heard_all(&prober);
    if (ibh_prober_is_stopped())
        ibh_probe_interrupt(probe, ibh_prober_now());
    ibh_prober_release_signals();
    ibh_prober_tell_end(&prober);
    ibh_prober_close(&prober);
    return done;
}
