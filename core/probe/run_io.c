/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/run_io.h"

#include "probe/prober_io.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#define COLLECT_EVERY (G_USEC_PER_SEC / 50)
#define FULL_WAIT (G_USEC_PER_SEC / 50) /* before what was refused for want of room is tried again */
#define REFUSALS 3                      /* of a long packet, by a full queue; a NIC that is too small refuses always */

/* ---- one packet ---- */

/* The neighbour table, or the NIC's queue, is full. IPv6 reports a full table as EINVAL. */
static gboolean is_full(IbhProber *prober, guint pair, int problem)
{
    int six = ibh_probe_family(ibh_probe_peer(prober->probe, ibh_probe_pair(prober->probe, pair)));
    guint room[2];

    if (problem != ENOBUFS && !(six && problem == EINVAL))
        return FALSE;
    prober->flight.room[0] = prober->flight.room[1] = 0;
    (void)ibh_prober_read_room(prober, room, NULL); /* which notes that there was none */
    return problem == ENOBUFS || prober->probe->was_full[1];
}

/* FALSE: once more, later. After one wait in vain, later echoes do not wait. */
static gboolean send_echo(IbhProber *prober, const IbhShot *shot)
{
    IbhProbePair *pair = ibh_probe_pair(prober->probe, shot->pair);
    gint64 before = ibh_prober_now();
    int problem = ibh_prober_send_echo(prober, shot->pair, shot->number);

    if (problem && is_full(prober, shot->pair, problem)) {
        prober->full_since = prober->full_since ? prober->full_since : before;
        if (before < prober->full_since + prober->probe->timeout) {
            prober->next = before + FULL_WAIT;
            return FALSE;
        }
    }
    prober->full_since = problem ? prober->full_since : 0;
    if (shot->number >= (guint)prober->probe->count)
        return TRUE;
    pair->send_error = problem ? problem : pair->send_error;
    if (!problem) {
        ibh_probe_sent(prober->probe, shot->pair, shot->number, before);
        prober->sent++;
    }
    return TRUE;
}

/* What a full table refuses proves nothing of the way: *ret_sent. */
static gboolean send_size(IbhProber *prober, const IbhShot *shot, gboolean *ret_sent)
{
    IbhProbePair *pair = ibh_probe_pair(prober->probe, shot->pair);
    int problem = ibh_prober_send_echo(prober, shot->pair, IBH_PROBE_SIZED | shot->number);

    if (problem == ENOBUFS && pair->refusals++ < REFUSALS) {
        ibh_flight_retry(&prober->flight, shot->pair, ibh_prober_now() + FULL_WAIT);
        return FALSE;
    }
    pair->mtu.held |= problem == EPERM;
    *ret_sent = !prober->sockets[pair->source].error &&
                !(problem && is_full(prober, shot->pair, problem) &&
                  prober->probe->was_full[ibh_probe_family(ibh_probe_peer(prober->probe, pair))]);
    return TRUE;
}

static gboolean send_syn(IbhProber *prober, guint i)
{
    IbhSynAnswer *syn = &ibh_probe_pair(prober->probe, i)->syn;
    int problem = ibh_prober_send_syn(prober, i);

    if (!problem)
        syn->outcome = IBH_SYN_SILENT;
    else if (syn->outcome == IBH_SYN_UNWANTED)
        syn->outcome = prober->tcp < 0 || prober->ear < 0 ? IBH_SYN_NO_RIGHT : IBH_SYN_UNSENT;
    return !problem;
}

static void send_shot(IbhProber *prober, const IbhShot *shot)
{
    const IbhProbe *probe = prober->probe;
    const IbhProbePair *pair = ibh_probe_pair(probe, shot->pair);
    gboolean sent = TRUE;

    if (shot->ask == IBH_ASK_ECHO ? !send_echo(prober, shot)
                                  : shot->ask == IBH_ASK_SIZE && !send_size(prober, shot, &sent))
        return;
    if (shot->ask == IBH_ASK_SYN)
        sent = send_syn(prober, shot->pair);
    if (shot->ask == IBH_ASK_WHO)
        sent = !ibh_prober_send_who(prober, ibh_probe_link(probe, pair), &ibh_probe_source(probe, pair)->ip,
                                    ibh_probe_via(probe, pair));
    if (shot->ask == IBH_ASK_RDMA)
        sent = !ibh_prober_send_rdma(prober, shot->pair);
    ibh_flight_launched(&prober->flight, shot, ibh_prober_now(), sent);
}

/* ---- the loop ---- */

/* Takes the results of pairs that are settled from the neighbour table, and deletes entries: these pairs make room for
 * others at once, or when their entry has grown old. */
static gboolean collect(IbhProber *prober, GError **error)
{
    IbhFlight *flight = &prober->flight;
    g_autoptr(GArray) neighbours = g_array_new(FALSE, TRUE, sizeof(IbhNeighbour));
    gboolean any = flight->finished->len > 0;

    if (flight->settled->len && !ibh_prober_read_neighbours(prober, neighbours, error))
        return FALSE;
    ibh_probe_learn(prober->probe, neighbours);
    ibh_flight_go_on(flight, ibh_prober_now());
    IBH_EACH (const guint, pair, flight->finished) {
        prober->cannot |= !prober->keeps && !prober->cannot && !ibh_prober_forget(prober, *pair);
        ibh_flight_end(flight, *pair, ibh_prober_now(), !prober->cannot);
    }
    g_array_set_size(flight->finished, 0);
    return !any || prober->keeps || prober->cannot || ibh_prober_read_room(prober, flight->room, error);
}

/* After a signal: learns about unfinished pairs, and deletes their entries. */
static gboolean leave(IbhProber *prober, GError **error)
{
    g_autoptr(GArray) neighbours = g_array_new(FALSE, TRUE, sizeof(IbhNeighbour));

    for (guint i = 0; i < prober->flight.begun; i++) {
        IbhProbePair *pair = ibh_probe_pair(prober->probe, i);

        pair->step = pair->step == IBH_STEP_ECHOES ? IBH_STEP_SETTLED : pair->step;
    }
    if (!ibh_prober_read_neighbours(prober, neighbours, error))
        return FALSE;
    ibh_probe_learn(prober->probe, neighbours);
    for (guint i = 0; i < prober->flight.begun && !prober->keeps; i++) {
        if (ibh_probe_pair(prober->probe, i)->step < IBH_STEP_AGES)
            (void)ibh_prober_forget(prober, i);
    }
    return TRUE;
}

static gboolean ask_pairs(IbhProber *prober, GError **error)
{
    gint64 collected = 0;

    while (!ibh_flight_is_done(&prober->flight) && !ibh_prober_is_stopped()) {
        gint64 now = ibh_prober_now(), due;
        IbhShot shot;
        gboolean any = ibh_flight_next(&prober->flight, now, &shot, &due);

        due = any ? prober->next : due;
        if (any && due <= now)
            send_shot(prober, &shot);
        (void)ibh_prober_wait(prober, any && due <= now ? 0 : MIN(due, now + COLLECT_EVERY));
        if (now >= collected + COLLECT_EVERY) {
            if (!collect(prober, error))
                return FALSE;
            collected = now;
        }
        ibh_prober_tell(prober, any ? "" : ", waiting for replies");
    }
    return !ibh_prober_is_stopped() || leave(prober, error);
}

/* Asks which other hosts have our own addresses, or answer for them. Each rail asks for its own address without a
 * sender's (RFC 5227): only another host with the same address answers. Another rail asks for it from its own address:
 * then a proxy answers as well. Returns until when answers may come; 0: it cannot ask. */
static gint64 ask_own(IbhProber *prober)
{
    const IbhProbe *probe = prober->probe;
    const IbhIp none = {.family = AF_INET};
    gint64 until = 0;

    for (guint i = 0; i < probe->sources->len; i++) {
        const IbhProbeSource *source = &g_array_index(probe->sources, IbhProbeSource, i), *other = NULL;
        int witness = ibh_probe_witness(probe, i);

        ibh_prober_pass(prober, prober->next, "");
        if (ibh_prober_send_who(prober, source->nic->link, &none, &source->ip))
            continue;
        if (witness >= 0)
            other = &g_array_index(probe->sources, IbhProbeSource, (guint)witness);
        if (other && ibh_prober_send_who(prober, other->nic->link, &other->ip, &source->ip))
            continue;
        if (other || source->ip.family == AF_INET6) /* whose question a proxy answers, late */
            until = ibh_prober_now() + IBH_PROBE_PROXY_WAIT;
    }
    return until;
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
    memcpy(prober->flight.room, room, sizeof room);
    prober->keeps = ibh_flight_fits(&prober->flight);
    ibh_prober_read_local(prober, FALSE);
    proxies = ask_own(prober);
    if (!ask_pairs(prober, error))
        return FALSE;
    ibh_prober_read_local(prober, TRUE);
    probe->hears = ibh_prober_heard_all(prober) && !ibh_prober_is_stopped();
    if (!ibh_prober_read_room(prober, room, error))
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
                        .ear = -1,
                        .solicit = -1,
                        .tcp = -1};
    guint8 random[sizeof probe->cookie + sizeof probe->id];
    gboolean done;

    if (getrandom(random, sizeof random, 0) != (gssize)sizeof random) {
        g_set_error(error, IBH_PROBE_ERROR, 0, "--probe: no random numbers: %s", g_strerror(errno));
        return FALSE;
    }
    memcpy(probe->cookie, random, sizeof probe->cookie);
    memcpy(&probe->id, random + sizeof probe->cookie, sizeof probe->id);
    ibh_flight_init(&prober.flight, probe);
    for (guint i = 0; i < IBH_ASKERS; i++)
        prober.askers[i].fd = -1;
    ibh_prober_catch_signals();
    done = ibh_prober_open(&prober, error) && ask_routes(&prober, error) && ask_all(&prober, error);
    if (ibh_prober_is_stopped())
        ibh_probe_interrupt(probe, ibh_prober_now());
    ibh_prober_release_signals();
    ibh_prober_tell_end(&prober);
    ibh_prober_close(&prober);
    ibh_flight_clear(&prober.flight);
    return done;
}
