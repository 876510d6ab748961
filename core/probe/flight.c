/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/flight.h"

#include <string.h>
#include <sys/socket.h>

#define LEAST 1280 /* the MTU that every IPv6 link has: a rail with it has nothing to lose */
#define ONE_QUESTION (G_USEC_PER_SEC * 11 / 10) /* the kernel repeats one for a hardware address after a second */

/* Wires have few sizes: the largest of these that passes is told. The full size is tried again, as the first packet may
 * have been lost. */
static const guint usual[] = {576, 1280, 1400, 1450, 1492, 1500, 2044, 4092, 4096, 8192, 9000};

/* ---- turns ---- */

void ibh_flight_init(IbhFlight *flight, IbhProbe *probe)
{
    *flight = (IbhFlight){.probe = probe,
                          .turns = g_sequence_new(NULL),
                          .settled = g_array_new(FALSE, FALSE, sizeof(guint)),
                          .finished = g_array_new(FALSE, FALSE, sizeof(guint))};
}

void ibh_flight_clear(IbhFlight *flight)
{
    g_clear_pointer(&flight->turns, g_sequence_free);
    g_clear_pointer(&flight->settled, g_array_unref);
    g_clear_pointer(&flight->finished, g_array_unref);
}

static int compare_turns(gconstpointer a, gconstpointer b, gpointer probe)
{
    const gint64 one = ibh_probe_pair(probe, GPOINTER_TO_UINT(a))->at,
                 other = ibh_probe_pair(probe, GPOINTER_TO_UINT(b))->at;

    return one < other ? -1 : one > other;
}

/* 0: it waits for no time. */
static void set_turn(IbhFlight *flight, guint i, gint64 at)
{
    IbhProbePair *pair = ibh_probe_pair(flight->probe, i);

    g_clear_pointer(&pair->turn, g_sequence_remove);
    pair->at = at;
    if (at)
        pair->turn = g_sequence_insert_sorted(flight->turns, GUINT_TO_POINTER(i), compare_turns, flight->probe);
}

static int family_of(const IbhFlight *flight, const IbhProbePair *pair)
{
    return ibh_probe_family(ibh_probe_peer(flight->probe, pair));
}

static gboolean takes_entry(const IbhProbePair *pair)
{
    return pair->on_link && !pair->known_before;
}

/* If the table has no room at all, one entry at a time. */
static gboolean begin_next(IbhFlight *flight, gint64 now)
{
    IbhProbePair *pair =
        flight->begun < flight->probe->pairs->len ? ibh_probe_pair(flight->probe, flight->begun) : NULL;
    int family = pair ? family_of(flight, pair) : 0;

    if (!pair || (takes_entry(pair) && !flight->room[family] && flight->standing[family]))
        return FALSE;
    if (takes_entry(pair)) {
        flight->standing[family]++;
        flight->room[family] -= flight->room[family] ? 1 : 0;
    }
    pair->step = IBH_STEP_ECHOES;
    set_turn(flight, flight->begun++, now);
    return TRUE;
}

/* ---- the questions behind the echoes ---- */

static gboolean is_size_open(const IbhProbe *probe, const IbhProbePair *pair)
{
    const guint full = ibh_probe_full_size(probe, pair);

    return pair->received && full > LEAST && pair->mtu.passed < full;
}

/* The full size; if that fails, once more, with the size that a host on the way accepts, and usual ones. 0: none. */
static guint choose_size(const IbhProbe *probe, const IbhProbePair *pair, guint try)
{
    const guint full = ibh_probe_full_size(probe, pair);
    const guint size = try < 2 ? full : try == 2 ? pair->mtu.told : usual[try - 3];

    return size > full || (try >= 2 && size == full) ? 0 : size;
}

static gboolean is_syn_open(const IbhProbe *probe, const IbhProbePair *pair)
{
    return pair->on_link && pair->received && ibh_probe_peer(probe, pair)->family == AF_INET6 &&
           (pair->syn.outcome == IBH_SYN_UNWANTED || pair->syn.outcome == IBH_SYN_SILENT);
}

/* The kernel believes the first answer, and asks again only when its entry is old. With ARP flux several NICs answer:
 * so every peer is asked once more, and all answers are read. In IPv6, and of gateways, those that are silent. */
static gboolean is_who_open(const IbhProbe *probe, const IbhProbePair *pair)
{
    const IbhIp *via = ibh_probe_via(probe, pair);

    return via && (!pair->received || (via->family == AF_INET && ibh_probe_is_direct(probe, pair)));
}

/* The kernel repeats a request after six seconds only, so a lost packet costs a request: fresh ones are sent instead.
 */
static gboolean is_rdma_open(const IbhProbe *probe, const IbhProbePair *pair)
{
    (void)probe;
    return pair->rdma.outcome == IBH_RDMA_UNASKED || pair->rdma.outcome == IBH_RDMA_SILENT;
}

static const struct {
    gboolean (*is_open)(const IbhProbe *probe, const IbhProbePair *pair); /* wanted, and not yet answered */
    guint tries, burst;                                                   /* from `burst` on, they leave at once */
    gint64 patience;                                                      /* with each */
} asks[IBH_N_ASKS] = {
    [IBH_ASK_SIZE] = {is_size_open, G_N_ELEMENTS(usual) + 3, 2, IBH_PROBE_TIMEOUT},
    [IBH_ASK_SYN] = {is_syn_open, 2, 2, IBH_PROBE_TIMEOUT / 4},
    [IBH_ASK_RDMA] = {is_rdma_open, 3, 3, IBH_PROBE_TIMEOUT},
    [IBH_ASK_WHO] = {is_who_open, 1, 1, IBH_PROBE_TIMEOUT / 4},
};

/* TRUE: this is sent now. FALSE: it is answered or given up (*ret_due stays), or waits until then. */
static gboolean ask_next(const IbhProbe *probe, IbhProbePair *pair, IbhProbeAsk ask, gint64 now, IbhShot *shot,
                         gint64 *ret_due)
{
    guint *tries = &pair->tries[ask];

    if (!asks[ask].is_open(probe, pair))
        return FALSE;
    while (*tries < asks[ask].tries && (!*tries || *tries >= asks[ask].burst || now >= pair->until[ask])) {
        shot->number = ask == IBH_ASK_SIZE ? choose_size(probe, pair, *tries) : 0;
        if (ask != IBH_ASK_SIZE || shot->number)
            return TRUE;
        ++*tries;
    }
    if (now < pair->until[ask])
        *ret_due = MIN(*ret_due, pair->until[ask]);
    return FALSE;
}

/* ---- what a pair does at its turn ---- */

/* No echo left, nor a question for the peer's hardware address. */
static gboolean is_held(const IbhProbe *probe, const IbhProbePair *pair)
{
    return probe->hears && !pair->received && !pair->trace.left && !pair->trace.asks;
}

static gint64 end_of_echoes(const IbhProbe *probe, const IbhProbePair *pair)
{
    return pair->until[IBH_ASK_ECHO] + (is_held(probe, pair) ? MAX(probe->timeout, ONE_QUESTION) : probe->timeout);
}

/* An entry of the neighbour table that the kernel looks for already is given up with all that wait for it, without a
 * question. So there is one echo more, which does not count. */
static gboolean has_echo_left(const IbhProbe *probe, const IbhProbePair *pair, gint64 now)
{
    const guint tries = pair->tries[IBH_ASK_ECHO], count = (guint)probe->count;

    return tries < count ||
           (tries == count && pair->known_before && is_held(probe, pair) && now >= end_of_echoes(probe, pair));
}

static gboolean take_turn(IbhFlight *flight, guint i, gint64 now, IbhShot *shot)
{
    const IbhProbe *probe = flight->probe;
    IbhProbePair *pair = ibh_probe_pair(probe, i);
    gint64 due = G_MAXINT64;

    *shot = (IbhShot){.pair = i};
    if (pair->step == IBH_STEP_AGES) {
        flight->room[family_of(flight, pair)] += takes_entry(pair) ? 1 : 0;
        ibh_flight_end(flight, i, now, TRUE);
    } else if (pair->step == IBH_STEP_ECHOES) {
        shot->number = pair->tries[IBH_ASK_ECHO];
        if (has_echo_left(probe, pair, now))
            return TRUE;
        due = end_of_echoes(probe, pair);
        if (pair->received < pair->sent && now < due) {
            set_turn(flight, i, due);
            return FALSE;
        }
        pair->step = IBH_STEP_SETTLED;
        g_array_append_val(flight->settled, i);
        set_turn(flight, i, 0);
    } else {
        for (shot->ask = IBH_ASK_SIZE; shot->ask < IBH_N_ASKS; shot->ask++) {
            if (ask_next(probe, pair, shot->ask, now, shot, &due))
                return TRUE;
        }
        set_turn(flight, i, due == G_MAXINT64 ? 0 : due);
        if (due < G_MAXINT64)
            return FALSE;
        pair->step = IBH_STEP_FINISHED;
        if (pair->rdma.outcome == IBH_RDMA_UNASKED) /* not even that it began */
            pair->rdma.outcome = IBH_RDMA_BLOCKED;
        g_array_append_val(flight->finished, i);
    }
    return FALSE;
}

gboolean ibh_flight_next(IbhFlight *flight, gint64 now, IbhShot *ret_shot, gint64 *ret_due)
{
    for (;;) {
        GSequenceIter *first = g_sequence_get_begin_iter(flight->turns);
        gboolean any = !g_sequence_iter_is_end(first);
        guint i = any ? GPOINTER_TO_UINT(g_sequence_get(first)) : 0;

        *ret_due = any ? ibh_probe_pair(flight->probe, i)->at : G_MAXINT64;
        if (*ret_due > now) {
            if (!begin_next(flight, now))
                return FALSE;
        } else if (take_turn(flight, i, now, ret_shot)) {
            return TRUE;
        }
    }
}

void ibh_flight_launched(IbhFlight *flight, const IbhShot *shot, gint64 now, gboolean sent)
{
    IbhProbePair *pair = ibh_probe_pair(flight->probe, shot->pair);

    pair->tries[shot->ask]++;
    if (shot->ask == IBH_ASK_ECHO) {
        pair->until[IBH_ASK_ECHO] = now;
        set_turn(flight, shot->pair,
                 now + (pair->tries[IBH_ASK_ECHO] < (guint)flight->probe->count ? flight->probe->interval : 1));
        return;
    }
    pair->until[shot->ask] = now + MIN(asks[shot->ask].patience, flight->probe->timeout);
    if (!sent) {
        pair->tries[shot->ask] = asks[shot->ask].tries;
        pair->until[shot->ask] = now;
    }
    pair->mtu.failed |= shot->ask == IBH_ASK_SIZE && sent && pair->tries[IBH_ASK_SIZE] == 2;
    set_turn(flight, shot->pair, 1);
}

void ibh_flight_retry(IbhFlight *flight, guint pair, gint64 at)
{
    set_turn(flight, pair, at);
}

void ibh_flight_landed(IbhFlight *flight, guint i)
{
    const IbhProbePair *pair = ibh_probe_pair(flight->probe, i);

    if (pair->step == IBH_STEP_QUESTIONS ||
        (pair->step == IBH_STEP_ECHOES && pair->tries[IBH_ASK_ECHO] >= (guint)flight->probe->count))
        set_turn(flight, i, 1);
}

void ibh_flight_go_on(IbhFlight *flight, gint64 now)
{
    IBH_EACH (const guint, i, flight->settled) {
        IbhProbePair *pair = ibh_probe_pair(flight->probe, *i);

        pair->step = IBH_STEP_QUESTIONS;
        if (pair->rdma.outcome == IBH_RDMA_UNASKED && !pair->received && !pair->lladdr_len)
            pair->rdma.outcome = IBH_RDMA_NO_ECHO; /* the echo's finding is enough */
        set_turn(flight, *i, now);
    }
    g_array_set_size(flight->settled, 0);
}

void ibh_flight_end(IbhFlight *flight, guint i, gint64 now, gboolean deleted)
{
    IbhProbePair *pair = ibh_probe_pair(flight->probe, i);

    pair->step = deleted ? IBH_STEP_GONE : IBH_STEP_AGES;
    set_turn(flight, i, deleted ? 0 : now + IBH_PROBE_PAUSE);
    if (!deleted)
        return;
    flight->gone++;
    flight->standing[family_of(flight, pair)] -= takes_entry(pair) ? 1 : 0;
}

gboolean ibh_flight_is_done(const IbhFlight *flight)
{
    return flight->gone == flight->probe->pairs->len;
}

/* ---- the neighbour table ---- */

guint ibh_probe_room(const IbhNeighbourTable *table)
{
    guint limit = table->limit ? table->limit : IBH_PROBE_TABLE;
    guint spared = table->spared && table->spared < limit ? table->spared : limit / 2;

    if (table->used >= limit)
        return 0;
    return table->used < spared ? spared - table->used : (limit - table->used) / 2;
}

gboolean ibh_flight_fits(const IbhFlight *flight)
{
    guint entries[2] = {0, 0};

    IBH_EACH (const IbhProbePair, pair, flight->probe->pairs)
        entries[family_of(flight, pair)] += takes_entry(pair) ? 1 : 0;
    return entries[0] <= flight->room[0] && entries[1] <= flight->room[1];
}
