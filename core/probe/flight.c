/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --probe: which packet is sent next, and when. */
#include "probe/probe.h"

#include <sys/socket.h>

#define LEAST 1280 /* the MTU that every IPv6 link has: a rail with it has nothing to lose */
#define ONE_QUESTION (G_USEC_PER_SEC * 11 / 10) /* the kernel repeats one for a hardware address after a second */

/* Wires have few sizes: the largest of these that passes is told. The full size is tried again, as the first packet may
 * have been lost. */
static const guint usual[] = {576, 1280, 1400, 1450, 1492, 1500, 2044, 4092, 4096, 8192, 9000};

/* If the table has no room at all, one entry at a time. */
static gboolean begin_next(IbhFlight *flight)
{
    IbhProbePair *pair =
        flight->begun < flight->probe->pairs->len ? ibh_probe_pair(flight->probe, flight->begun) : NULL;
    const int family = pair ? ibh_probe_family(pair) : 0;
    const gboolean takes = pair && ibh_probe_takes_entry(pair);

    if (!pair || (takes && flight->standing[family] >= MAX(flight->room[family], 1)))
        return FALSE;
    flight->standing[family] += takes ? 1 : 0;
    pair->step = IBH_STEP_ECHOES;
    if (pair->hop)
        pair->hop->is_begun = TRUE;
    flight->begun++;
    return TRUE;
}

/* ---- the questions behind the echoes ---- */

static gboolean is_size_open(const IbhProbePair *pair)
{
    const guint full = ibh_probe_full_size(pair);

    return pair->received && full > LEAST && pair->mtu.passed < full;
}

/* The full size; if that fails, once more, with the size that a host on the way accepts, and usual ones. 0: none. */
static guint choose_size(const IbhProbePair *pair, guint try)
{
    const guint full = ibh_probe_full_size(pair);
    const guint size = try < 2 ? full : try == 2 ? pair->mtu.limit : usual[try - 3];

    return size > full || (try >= 2 && size == full) ? 0 : size;
}

static gboolean is_syn_open(const IbhProbePair *pair)
{
    return pair->on_link && pair->received && ibh_probe_family(pair) && pair->syn != IBH_SYN_ANSWERED;
}

/* The kernel believes the first answer, and asks again only when its entry is old. With ARP flux several NICs answer:
 * so every next hop is asked once more, and all answers are read; in IPv6 those that are silent. */
static gboolean is_who_open(const IbhProbePair *pair)
{
    const IbhProbeHop *hop = pair->hop;

    return hop && (!hop->asker || ibh_probe_pair(pair->probe, hop->asker - 1) == pair) &&
           (!pair->received || hop->ip.family == AF_INET);
}

/* Where the kernel's answer is right, whether that is the way in the end. */
static gboolean is_free_open(const IbhProbePair *pair)
{
    return pair->received && !pair->free_ifindex && !pair->route.error &&
           pair->route.oif == ibh_probe_link(pair)->ifindex;
}

static const struct {
    gboolean (*is_open)(const IbhProbePair *pair); /* wanted, and not yet answered */
    guint tries, burst;                            /* from `burst` on, they leave at once */
    gint64 patience;                               /* with each */
} asks[IBH_N_ASKS] = {
    [IBH_ASK_SIZE] = {is_size_open, G_N_ELEMENTS(usual) + 3, 2, IBH_PROBE_TIMEOUT},
    [IBH_ASK_SYN] = {is_syn_open, 2, 2, IBH_PROBE_TIMEOUT / 4},
    /* the kernel repeats a request after six seconds only, so a lost packet costs a request: fresh ones are sent */
    [IBH_ASK_RDMA] = {ibh_probe_awaits_rdma, 3, 3, IBH_PROBE_TIMEOUT},
    [IBH_ASK_FREE] = {is_free_open, 1, 1, IBH_PROBE_TIMEOUT / 4},
    [IBH_ASK_WHO] = {is_who_open, 2, 2, IBH_PROBE_TIMEOUT / 4},
};

/* TRUE: this is sent now. FALSE: it is answered or given up (*ret_due stays), or waits until then. */
static gboolean ask_next(IbhProbePair *pair, gint64 now, IbhShot *shot, gint64 *ret_due)
{
    const IbhProbeAsk ask = shot->ask;
    guint *tries = &pair->tries[ask];

    if (!asks[ask].is_open(pair))
        return FALSE;
    while (*tries < (ask == IBH_ASK_WHO && ibh_hop_has_answer(pair->hop) ? 1 : asks[ask].tries) &&
           (!*tries || *tries >= asks[ask].burst || now >= pair->until[ask])) {
        const guint size = ask == IBH_ASK_SIZE ? choose_size(pair, *tries) : 0;

        shot->number = ask == IBH_ASK_FREE ? IBH_PROBE_FREE : IBH_PROBE_SIZED | size;
        if (ask != IBH_ASK_SIZE || size)
            return TRUE;
        ++*tries;
    }
    if (now < pair->until[ask])
        *ret_due = MIN(*ret_due, pair->until[ask]);
    return FALSE;
}

/* ---- what a pair does at its turn ---- */

/* No echo left, nor a question for the peer's hardware address. */
static gboolean is_held(const IbhProbePair *pair)
{
    return !pair->received && !pair->trace.left && !(pair->hop && pair->hop->asks);
}

/* An entry of the neighbour table that the kernel looks for already is given up with all that wait for it, without a
 * question. So there is one echo more, which does not count. */
static gboolean has_echo_left(const IbhProbePair *pair, gboolean is_over)
{
    const guint tries = pair->tries[IBH_ASK_ECHO], count = (guint)pair->probe->count;

    return tries < count || (is_over && tries == count && pair->hop && pair->hop->in_table && is_held(pair));
}

/* FALSE: nothing, before *ret_due. */
static gboolean take_turn(IbhFlight *flight, gint64 now, IbhShot *shot, gint64 *ret_due)
{
    const IbhProbe *probe = flight->probe;
    IbhProbePair *pair = ibh_probe_pair(probe, shot->pair);
    gint64 end = pair->until[IBH_ASK_ECHO] + (is_held(pair) ? ONE_QUESTION : IBH_PROBE_TIMEOUT);
    gint64 due = G_MAXINT64;

    if ((pair->step != IBH_STEP_ECHOES && pair->step != IBH_STEP_QUESTIONS) || now < pair->at) {
        *ret_due = MIN(*ret_due, now < pair->at ? pair->at : G_MAXINT64);
        return FALSE;
    }
    if (pair->step == IBH_STEP_ECHOES) {
        shot->number = pair->tries[IBH_ASK_ECHO];
        if (has_echo_left(pair, now >= end))
            return TRUE;
        if (pair->received < pair->sent && now < end) {
            *ret_due = MIN(*ret_due, end);
            return FALSE;
        }
        pair->step = IBH_STEP_SETTLED;
        flight->settled = TRUE;
        return FALSE;
    }
    for (shot->ask = IBH_ASK_SIZE; shot->ask < IBH_N_ASKS; shot->ask++) {
        if (ask_next(pair, now, shot, &due))
            return TRUE;
    }
    *ret_due = MIN(*ret_due, due);
    if (due < G_MAXINT64)
        return FALSE;
    pair->step = IBH_STEP_FINISHED;
    if (pair->rdma == IBH_RDMA_UNASKED) /* not even that it began */
        pair->rdma = IBH_RDMA_BLOCKED;
    return FALSE;
}

gboolean ibh_flight_next(IbhFlight *flight, gint64 now, IbhShot *ret_shot, gint64 *ret_due)
{
    *ret_due = G_MAXINT64;
    while (begin_next(flight))
        ;
    for (guint n = flight->begun - flight->finished; n > 0; n--) {
        if (flight->turn < flight->finished || flight->turn >= flight->begun)
            flight->turn = flight->finished;
        *ret_shot = (IbhShot){.pair = flight->turn++};
        if (take_turn(flight, now, ret_shot, ret_due))
            return TRUE;
    }
    return FALSE;
}

void ibh_flight_launched(IbhFlight *flight, const IbhShot *shot, gint64 now, gboolean sent)
{
    IbhProbePair *pair = ibh_probe_pair(flight->probe, shot->pair);

    if (shot->ask == IBH_ASK_WHO) { /* what this program asks, it does not hear */
        pair->hop->questions++;
        pair->hop->asker = shot->pair + 1;
    }
    pair->tries[shot->ask]++;
    pair->until[shot->ask] = now + asks[shot->ask].patience;
    if (shot->ask == IBH_ASK_WHO && pair->received && pair->tries[shot->ask] == asks[shot->ask].tries)
        pair->until[shot->ask] = now + IBH_PROBE_PROXY_WAIT; /* the kernel's old entry may be of one */
    if (shot->ask == IBH_ASK_ECHO) {
        pair->at = pair->tries[IBH_ASK_ECHO] < (guint)flight->probe->count ? now + IBH_PROBE_INTERVAL : now;
    } else if (!sent && shot->ask != IBH_ASK_SIZE) { /* a long packet that cannot leave does not pass */
        pair->tries[shot->ask] = asks[shot->ask].tries;
        pair->until[shot->ask] = now;
    }
    pair->mtu.failed |= shot->ask == IBH_ASK_SIZE && pair->tries[IBH_ASK_SIZE] == 2;
}

void ibh_flight_end(IbhFlight *flight, guint i)
{
    IbhProbePair *pair = ibh_probe_pair(flight->probe, i);

    pair->step = IBH_STEP_GONE;
    flight->standing[ibh_probe_family(pair)] -= ibh_probe_takes_entry(pair) ? 1 : 0;
    while (flight->finished < flight->begun && ibh_probe_pair(flight->probe, flight->finished)->step == IBH_STEP_GONE)
        flight->finished++;
}

/* ---- the neighbour table ---- */

guint ibh_probe_room(const IbhNeighbourTable *table)
{
    const guint half = table->limit / 2;

    return table->used < half ? half - table->used : (table->limit - MIN(table->used, table->limit)) / 2;
}
