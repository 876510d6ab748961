/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs --probe, up to the verdict. Looks up the routes of all pairs (pairs.c), asks on the wire whether other hosts
 * answer for this host's addresses, and sends the packets of all pairs (flight.c, wire_io.c), while it hears what
 * passes the NICs (evidence.c). Then the caller calls ibh_probe_judge(): judge.c finds what is wrong with each pair,
 * and verdict.c who is at fault.
 */
#include "check/look_io.h"
#include "probe/prober_io.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/socket.h>

#define COLLECT_EVERY (G_USEC_PER_SEC / 50) /* how often ask_pairs() looks for settled and finished pairs */
#define SHOW_EVERY (G_USEC_PER_SEC / 4)     /* how often progress is shown */
/* How long a pair waits if the neighbour table or a queue is full, and how many times it waits in all. This number is
 * limited, because a queue that is too small refuses every packet. */
#define FULL_WAIT (G_USEC_PER_SEC / 10)
#define REFUSALS 10

/* SIGINT or SIGTERM ends the loop, and the report says what is known. The same signal again ends the process. */
static volatile sig_atomic_t was_interrupted;

static void on_signal(int number)
{
    (void)number;
    was_interrupted = 1;
}

/* Sends the packet, and notes the result. But if the kernel refuses an echo (other than IBH_PROBE_FREE) because the
 * neighbour table or a queue is full, notes no result: the pair waits, and sends the echo again. A pair waits at most
 * REFUSALS times; after that, the refusal is the result. */
static void send_shot(IbhProber *prober, const IbhShot *shot)
{
    IbhProbePair *pair = shot->pair;
    const gint64 before = g_get_monotonic_time();
    const int problem = ibh_prober_send(prober, shot);
    /* The neighbour table or the NIC's queue is full. IPv6 reports a full table as EINVAL; a blackhole route has the
     * same errno, so with EINVAL this is a guess. */
    const gboolean is_full = problem == ENOBUFS || (problem == EINVAL && ibh_probe_is_ipv6(pair));

    if ((shot->ask == IBH_ASK_ECHO || shot->ask == IBH_ASK_SIZE) && is_full && pair->refusals < REFUSALS) {
        pair->refusals++;
        pair->at = g_get_monotonic_time() + FULL_WAIT;
        return;
    }
    /* The extra echo of flight.c (number `count`) only makes the kernel ask for the hardware address again. So it does
     * not count as sent, and its error does not count either. */
    if (shot->ask == IBH_ASK_ECHO && shot->number < pair->probe->count) {
        if (problem)
            pair->send_error = problem;
        else
            ibh_probe_note_sent(pair, shot->number, before);
    }
    if (shot->ask == IBH_ASK_SYN && !problem)
        pair->syn = IBH_SYN_SILENT;
    pair->mtu.held |= shot->ask == IBH_ASK_SIZE && problem == EPERM;
    ibh_flight_note_sent(&prober->flight, shot, g_get_monotonic_time(), !problem);
}

/* Reads the neighbour tables of both families; settled pairs then go on with their questions. */
static gboolean read_neighbours(IbhProber *prober, GError **error)
{
    g_autoptr(GArray) neighbours = IBH_NEW_ARRAY(IbhNeighbour);

    if (!ibh_netlink_read_neighbours(prober->netlink, AF_UNSPEC, FALSE, neighbours, error))
        return FALSE;
    ibh_probe_learn(prober->probe, neighbours);
    prober->flight.settled = FALSE;
    return TRUE;
}

/* Sends, receives and waits until all pairs are gone (IBH_STEP_GONE), or a signal comes. Deletes the neighbour entry
 * that a finished pair added, which makes room for the entry of another pair; but a fixed entry is another program's,
 * and stays. Each line of progress overwrites the line before. */
static gboolean ask_pairs(IbhProber *prober, GError **error)
{
    IbhFlight *flight = &prober->flight;
    gint64 collected = 0;

    while (flight->gone < prober->probe->pairs->len && !was_interrupted) {
        gint64 now = g_get_monotonic_time(), due;
        IbhShot shot;
        const gboolean has_shot = ibh_flight_next(flight, now, &shot, &due);

        if (has_shot && prober->next <= now) {
            send_shot(prober, &shot);
            due = now;
        } else if (has_shot) {
            due = prober->next; /* it is too early for a packet; a later round gets a shot again */
        }
        (void)ibh_prober_wait(prober, MIN(due, now + COLLECT_EVERY));
        if (now < collected + COLLECT_EVERY)
            continue;
        if (prober->shows_progress && now >= prober->shown + SHOW_EVERY) {
            fprintf(stderr, "\r%u of %u pairs of rail and peer asked\033[K", flight->gone, prober->probe->pairs->len);
            prober->shown = now;
        }
        if (flight->settled && !read_neighbours(prober, error))
            return FALSE;
        for (guint i = flight->gone; i < flight->begun; i++) {
            IbhProbePair *pair = ibh_probe_pair(prober->probe, i);

            if (pair->step != IBH_STEP_FINISHED)
                continue;
            if (ibh_probe_adds_entry(pair) && !pair->hop->fixed)
                (void)ibh_netlink_change_neighbour(prober->netlink, FALSE, ibh_probe_link(pair)->ifindex,
                                                   ibh_probe_peer(pair), NULL);
            ibh_flight_end(flight, pair);
        }
        collected = now;
    }
    return TRUE;
}

/* Waits until this time, or for a signal, and takes what comes in. */
static void wait_until(IbhProber *prober, gint64 until)
{
    while (g_get_monotonic_time() < until && !was_interrupted)
        (void)ibh_prober_wait(prober, until);
}

/* Asks which other hosts have our own addresses, or answer for them. The NIC of each source asks for the source's
 * address. In IPv4, this question names no sender (RFC 5227), so no proxy answers the question. If the question could
 * be sent, and ibh_probe_witness() finds another rail (only in IPv4), that rail asks for the same address and names its
 * own address as the sender: a proxy answers this second question, by default up to 0.8 s late. Returns the time until
 * which answers may come. */
static gint64 ask_own(IbhProber *prober)
{
    const IbhProbe *probe = prober->probe;
    const IbhIp none = {.family = AF_INET};

    IBH_EACH_SOURCE (source, probe) {
        const IbhProbeSource *other = ibh_probe_witness(probe, source);

        wait_until(prober, prober->next);
        if (ibh_prober_send_who(prober, source->nic->link, &none, &source->ip) == 0 && other)
            (void)ibh_prober_send_who(prober, other->nic->link, &other->ip, &source->ip);
    }
    return g_get_monotonic_time() + IBH_PROBE_PROXY_WAIT;
}

/* Looks up routes, reads neighbour tables and counters, asks on the wire, and reads the tables and counters again: what
 * has grown in the meantime tells what this host refused or dropped. */
static gboolean ask_all(IbhProber *prober, GError **error)
{
    IbhProbe *probe = prober->probe;
    IbhNeighbourTable before[2], after[2];
    gint64 answers_until;

    IBH_EACH_PAIR (pair, probe) {
        IbhLookup used = pair->route;

        /* With `match`, the kernel tells the route that matches; without `match`, it tells the gateway and NIC that it
         * uses. After an ICMP redirect, the two answers differ. */
        pair->route.match = TRUE;
        if (!ibh_netlink_lookup(prober->netlink, &pair->route, error) ||
            !ibh_netlink_lookup(prober->netlink, &used, error))
            return FALSE;
        ibh_probe_take_hop(pair, &used);
    }
    ibh_probe_leave_to_main(probe);
    if (!read_neighbours(prober, error) || !ibh_prober_read_tables(prober, before, error))
        return FALSE;
    ibh_prober_read_local(prober, FALSE);
    answers_until = ask_own(prober);
    for (int six = 0; six <= 1; six++)
        prober->flight.room[six] = ibh_probe_room(&before[six]);
    if (!ask_pairs(prober, error) || !ibh_prober_read_tables(prober, after, error))
        return FALSE;
    ibh_prober_read_local(prober, TRUE);
    for (int six = 0; six <= 1; six++)
        probe->was_full[six] = after[six].full > before[six].full;
    probe->hears = ibh_prober_read_rest(prober);
    wait_until(prober, answers_until); /* other hosts may still answer what ask_own() asked; a signal ends the wait */
    probe->interrupted = was_interrupted != 0;
    if (was_interrupted)
        ibh_probe_take_out_unfinished(probe);
    return TRUE;
}

gboolean ibh_probe_run(IbhProbe *probe, IbhNetlink *netlink, const char *sysfs, gboolean shows_progress, GError **error)
{
    const struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    IbhProber prober = {.probe = probe,
                        .flight.probe = probe,
                        .netlink = netlink,
                        .sysfs = sysfs,
                        .shows_progress = shows_progress,
                        .shown = g_get_monotonic_time() + G_USEC_PER_SEC / 2}; /* short runs show no progress */
    gboolean done = getrandom(&probe->tag, sizeof probe->tag, 0) == (gssize)sizeof probe->tag;

    IBH_EACH_PAIR (pair, probe)
        done = done && getrandom(pair->cookie, sizeof pair->cookie, 0) == (gssize)sizeof pair->cookie;
    if (!done) {
        g_set_error(error, IBH_PROBE_ERROR, 0, "--probe: no random numbers: %s", g_strerror(errno));
        return FALSE;
    }
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    done = ibh_prober_open(&prober, error) && ask_all(&prober, error);
    ibh_prober_close(&prober);
    if (shows_progress) /* erase the line of progress */
        fputs("\r\033[K", stderr);
    return done;
}
