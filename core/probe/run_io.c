/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/run_io.h"

#include "probe/prober_io.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define COLLECT_EVERY (G_USEC_PER_SEC / 50)
#define FULL_WAIT (G_USEC_PER_SEC / 50) /* before what was refused for want of room is tried again */
#define REFUSALS 3                      /* of a long packet, by a full queue; a NIC that is too small refuses always */

/* ---- one packet ---- */

/* The neighbour table, or the NIC's queue, is full. IPv6 reports a full table as EINVAL. */
static gboolean is_full(IbhProber *prober, guint pair, int problem)
{
    int six = ibh_probe_family(prober->probe, ibh_probe_pair(prober->probe, pair));
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
        if (before < prober->full_since + IBH_PROBE_TIMEOUT) {
            prober->next = before + FULL_WAIT;
            return FALSE;
        }
    }
    prober->full_since = problem ? prober->full_since : 0;
    if (shot->number >= (guint)prober->probe->count)
        return TRUE;
    if (problem)
        pair->send_error = problem;
    else
        ibh_probe_sent(prober->probe, shot->pair, shot->number, before);
    return TRUE;
}

/* What a full table refuses proves nothing of the way: *ret_sent. */
static gboolean send_size(IbhProber *prober, const IbhShot *shot, gboolean *ret_sent)
{
    IbhProbePair *pair = ibh_probe_pair(prober->probe, shot->pair);
    int problem = ibh_prober_send_echo(prober, shot->pair, IBH_PROBE_SIZED | shot->number);

    if (problem == ENOBUFS && pair->refusals++ < REFUSALS) {
        pair->at = ibh_prober_now() + FULL_WAIT;
        return FALSE;
    }
    pair->mtu.held |= problem == EPERM;
    *ret_sent =
        !prober->sockets[pair->source].error && !(problem && is_full(prober, shot->pair, problem) &&
                                                  prober->probe->was_full[ibh_probe_family(prober->probe, pair)]);
    return TRUE;
}

static gboolean send_syn(IbhProber *prober, guint i)
{
    IbhProbePair *pair = ibh_probe_pair(prober->probe, i);
    const gboolean sent = !ibh_prober_send_syn(prober, i);

    if (sent)
        pair->syn = IBH_SYN_SILENT;
    else if (pair->syn == IBH_SYN_UNWANTED)
        pair->syn = IBH_SYN_UNSENT;
    return sent;
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

static gboolean learn(IbhProber *prober, GError **error)
{
    g_autoptr(GArray) neighbours = g_array_new(FALSE, TRUE, sizeof(IbhNeighbour));

    if (!ibh_flight_has(&prober->flight, IBH_STEP_SETTLED))
        return TRUE;
    if (!ibh_prober_read_neighbours(prober, neighbours, error))
        return FALSE;
    ibh_probe_learn(prober->probe, neighbours);
    ibh_flight_go_on(&prober->flight);
    return TRUE;
}

/* Takes the results of pairs that are settled from the neighbour table, and deletes entries: these pairs make room for
 * others at once, or when their entries have grown old. */
static gboolean collect(IbhProber *prober, GError **error)
{
    IbhFlight *flight = &prober->flight;
    const guint begun = flight->begun;
    gboolean any = FALSE;

    if (!learn(prober, error))
        return FALSE;
    for (guint i = flight->gone; i < begun; i++) {
        if (ibh_probe_pair(prober->probe, i)->step != IBH_STEP_FINISHED)
            continue;
        any = TRUE;
        prober->cannot |= !prober->keeps && !prober->cannot && !ibh_prober_forget(prober, i);
        ibh_flight_end(flight, i, !prober->cannot);
        prober->old_at = ibh_prober_now() + IBH_PROBE_PAUSE;
    }
    if (prober->cannot && ibh_prober_now() >= prober->old_at) {
        memset(flight->standing, 0, sizeof flight->standing);
        memcpy(flight->room, prober->first_room, sizeof flight->room);
    }
    return !any || prober->keeps || prober->cannot || ibh_prober_read_room(prober, flight->room, error);
}

/* After a signal: learns about unfinished pairs, and deletes their entries. */
static gboolean leave(IbhProber *prober, GError **error)
{
    const IbhFlight *flight = &prober->flight;

    for (guint i = flight->gone; i < flight->begun; i++) {
        IbhProbePair *pair = ibh_probe_pair(prober->probe, i);

        pair->step = pair->step == IBH_STEP_ECHOES ? IBH_STEP_SETTLED : pair->step;
    }
    if (!learn(prober, error))
        return FALSE;
    for (guint i = flight->gone; i < flight->begun && !prober->keeps; i++) {
        if (ibh_probe_pair(prober->probe, i)->step != IBH_STEP_GONE)
            (void)ibh_prober_forget(prober, i);
    }
    return TRUE;
}

static gboolean ask_pairs(IbhProber *prober, GError **error)
{
    gint64 collected = 0;

    while (prober->flight.gone < prober->probe->pairs->len && !prober->stopped) {
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
    }
    return !prober->stopped || leave(prober, error);
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

        ibh_prober_pass(prober, prober->next);
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
    if (!ibh_prober_read_room(prober, prober->first_room, error))
        return FALSE;
    memcpy(prober->flight.room, prober->first_room, sizeof prober->first_room);
    prober->keeps = ibh_flight_fits(&prober->flight);
    ibh_prober_read_local(prober, FALSE);
    proxies = ask_own(prober);
    if (!ask_pairs(prober, error))
        return FALSE;
    ibh_prober_read_local(prober, TRUE);
    probe->hears = ibh_prober_heard_all(prober) && !prober->stopped;
    if (!ibh_prober_read_room(prober, room, error)) /* and whether there was none */
        return FALSE;
    ibh_prober_pass(prober, proxies);
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

/* From now on SIGINT and SIGTERM end no more than the asking. A signal that our caller ignores stays ignored. */
static int catch_signals(sigset_t *ret_before)
{
    static const int caught[] = {SIGINT, SIGTERM};
    struct sigaction how;
    sigset_t blocked;
    int fd;

    sigemptyset(&blocked);
    for (guint i = 0; i < G_N_ELEMENTS(caught); i++) {
        if (sigaction(caught[i], NULL, &how) == 0 && how.sa_handler != SIG_IGN)
            sigaddset(&blocked, caught[i]);
    }
    (void)sigprocmask(SIG_BLOCK, &blocked, ret_before);
    fd = signalfd(-1, &blocked, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0)
        (void)sigprocmask(SIG_SETMASK, ret_before, NULL);
    return fd;
}

gboolean ibh_probe_run(IbhProbe *probe, IbhNetlink *netlink, const char *sysfs, GError **error)
{
    IbhProber prober = {.probe = probe,
                        .flight.probe = probe,
                        .netlink = netlink,
                        .sysfs = sysfs,
                        .ear = -1,
                        .solicit = -1,
                        .full = {G_MAXUINT64, G_MAXUINT64}};
    guint8 random[sizeof probe->cookie + sizeof probe->id];
    sigset_t before;
    gboolean done;

    if (getrandom(random, sizeof random, 0) != (gssize)sizeof random) {
        g_set_error(error, IBH_PROBE_ERROR, 0, "--probe: no random numbers: %s", g_strerror(errno));
        return FALSE;
    }
    memcpy(probe->cookie, random, sizeof probe->cookie);
    memcpy(&probe->id, random + sizeof probe->cookie, sizeof probe->id);
    prober.signals = catch_signals(&before);
    done = ibh_prober_open(&prober, error) && ask_routes(&prober, error) && ask_all(&prober, error);
    if (prober.stopped) /* and a second signal, as some send, does not keep us from the report */
        ibh_probe_interrupt(probe, ibh_prober_now());
    else
        (void)sigprocmask(SIG_SETMASK, &before, NULL);
    if (prober.signals >= 0)
        close(prober.signals);
    ibh_prober_close(&prober);
    return done;
}
