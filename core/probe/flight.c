/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decides which packet --probe sends next, and when. */
#include "probe/probe.h"

#include <sys/socket.h>

#define LEAST_MTU 1280 /* the least MTU of IPv6 links; a rail with this MTU or less needs no test of sizes */
/* By default, the kernel waits a second for the answer to a question for a hardware address; this is a little more. */
#define ONE_QUESTION (G_USEC_PER_SEC * 11 / 10)

/* MTUs that networks use. The report names the largest size that passes. */
static const guint usual[] = {576, 1280, 1400, 1450, 1492, 1500, 2044, 4092, 4096, 8192, 9000};

#define FULL_TRIES 2 /* how many large echoes have the full size */

/* How each question is asked. IBH_ASK_ECHO has a row of zeros, because echo_next() says when echoes are sent; with the
 * patience 0, `until` is the time at which the last echo was sent. */
static const struct {
    guint tries;      /* how many times the question is sent at most */
    guint burst_from; /* this try (the first is 0) and later ones do not wait for the answer to the try before */
    gint64 patience;  /* how long to wait for the answer to a try */
} asks[IBH_N_ASKS] = {
    [IBH_ASK_SIZE] = {FULL_TRIES + 1 + G_N_ELEMENTS(usual), FULL_TRIES, IBH_PROBE_TIMEOUT},
    [IBH_ASK_SYN] = {2, 2, IBH_PROBE_TIMEOUT / 4},
    /* the kernel repeats a request only after some seconds, so --probe sends new ones */
    [IBH_ASK_RDMA] = {3, 3, IBH_PROBE_TIMEOUT},
    [IBH_ASK_FREE] = {1, 1, IBH_PROBE_TIMEOUT / 4},
    [IBH_ASK_WHO] = {2, 2, IBH_PROBE_TIMEOUT / 4},
};

/* TRUE if this question should be asked, and is not answered yet. IBH_ASK_WHO stays open: more answers may come. */
static gboolean is_open(const IbhProbePair *pair, IbhProbeAsk ask)
{
    const IbhProbeHop *hop = pair->hop;
    const guint full = ibh_probe_full_size(pair);

    switch (ask) {
    case IBH_ASK_SIZE:
        return pair->received && full > LEAST_MTU && pair->mtu.passed < full;
    case IBH_ASK_SYN:
        return pair->on_link && pair->received && ibh_probe_is_ipv6(pair) && pair->syn != IBH_SYN_ANSWERED;
    case IBH_ASK_RDMA:
        return ibh_probe_awaits_rdma(pair);
    case IBH_ASK_WHO: /* With ARP flux, several NICs answer. The kernel believes the first answer, and asks again only
                         when its entry is old. So --probe asks once more, and reads all answers. IPv6 has no flux, so
                         there --probe asks only if no echo came back. Only one pair asks for the same next hop. */
        return hop && (!hop->asker || hop->asker == pair) && (!pair->received || hop->ip.family == AF_INET);
    case IBH_ASK_FREE: /* the look-up finds the rail; test whether packets leave through the rail, too */
        return pair->received && !pair->free_ifindex && !pair->route.error &&
               pair->route.oif == ibh_probe_link(pair)->ifindex;
    default:
        return FALSE;
    }
}

/* Returns the size of the large echo of this try (the first is 0). The full size comes twice, because one packet may
 * get lost; then the size that a host on the way accepts (IbhProbeSize.limit); then usual sizes. Returns 0, to skip a
 * try after the first two, if its size is unknown, not less than the full size, or too small for an echo. */
static guint size_of_try(const IbhProbePair *pair, guint try)
{
    const guint full = ibh_probe_full_size(pair);
    guint size;

    if (try < FULL_TRIES)
        return full;
    size = try == FULL_TRIES ? pair->mtu.limit : usual[try - FULL_TRIES - 1];
    return size < full && ibh_probe_length(IBH_PROBE_SIZED | size, ibh_probe_is_ipv6(pair)) ? size : 0;
}

/* Returns TRUE if `shot` should be sent now. If the question has to wait, returns FALSE, and lowers *ret_due to the end
 * of the wait, if that is earlier. If the question is unwanted, given up or answered, returns FALSE, and leaves
 * *ret_due as it is. But an answered IBH_ASK_WHO has to wait all the same, because more answers may come. */
static gboolean ask_next(gint64 now, IbhShot *shot, gint64 *ret_due)
{
    IbhProbePair *pair = shot->pair;
    const IbhProbeAsk ask = shot->ask;
    /* IBH_ASK_WHO is sent a second time only if nobody has answered. */
    const guint most = ask == IBH_ASK_WHO && pair->hop && ibh_hop_has_answer(pair->hop) ? 1 : asks[ask].tries;
    guint *tries = &pair->tries[ask];

    if (!is_open(pair, ask))
        return FALSE;
    /* Each round is a try that may be made now. A try of IBH_ASK_SIZE without a size is skipped, and counted here;
     * ibh_flight_note_sent() counts all other tries. */
    for (; *tries < most && (!*tries || *tries >= asks[ask].burst_from || now >= pair->until[ask]); ++*tries) {
        const guint size = ask == IBH_ASK_SIZE ? size_of_try(pair, *tries) : 0;

        shot->number = ask == IBH_ASK_FREE ? IBH_PROBE_FREE : IBH_PROBE_SIZED | size;
        if (ask != IBH_ASK_SIZE || size)
            return TRUE;
    }
    if (now < pair->until[ask])
        *ret_due = MIN(*ret_due, pair->until[ask]);
    return FALSE;
}

/* ---- what a pair does at its turn ---- */

/* Returns TRUE if an echo should be sent now. If the pair has to wait, returns FALSE, and lowers *ret_due to the end of
 * the wait, if that is earlier. If all echoes of the pair are answered or given up, returns FALSE, and the pair goes on
 * to IBH_STEP_SETTLED. If echoes are unanswered, the pair waits for ONE_QUESTION after its last echo, so that the
 * kernel can ask a second time for the hardware address.
 *
 * The neighbour table may have had an entry for the next hop before any pair sent to it (IbhProbeHop.in_table), and the
 * entry may be unresolved. If the kernel asked for the last time just before the first echo, the echoes wait for the
 * answer to that question, and --probe hears no question. Without an answer, the kernel gives up the entry within
 * ONE_QUESTION, and drops the echoes. So if the echoes are stuck (`is_stuck`: no reply was delivered, no echo was seen
 * to leave, no question was heard), one more echo is sent, which does not count: it makes the kernel ask again. */
static gboolean echo_next(IbhFlight *flight, gint64 now, IbhShot *shot, gint64 *ret_due)
{
    IbhProbePair *pair = shot->pair;
    const IbhProbeHop *hop = pair->hop;
    const guint tries = pair->tries[IBH_ASK_ECHO], count = flight->probe->count;
    const gboolean is_stuck = !pair->received && !pair->left && !(hop && hop->kernel_asked);
    const gint64 end = pair->until[IBH_ASK_ECHO] + ONE_QUESTION;
    const gboolean needs_extra = is_stuck && tries == count && now >= end && hop && hop->in_table;

    shot->number = tries; /* `shot->ask` is 0 already: IBH_ASK_ECHO */
    if (tries < count || needs_extra)
        return TRUE;
    if (pair->received < pair->sent && now < end) {
        *ret_due = MIN(*ret_due, end);
        return FALSE;
    }
    pair->step = IBH_STEP_SETTLED;
    flight->settled = TRUE;
    return FALSE;
}

/* Returns TRUE if `shot` should be sent now. Otherwise returns FALSE; if the pair has to wait, also lowers *ret_due to
 * the end of the wait, if that is earlier. */
static gboolean take_turn(IbhFlight *flight, gint64 now, IbhShot *shot, gint64 *ret_due)
{
    IbhProbePair *pair = shot->pair;
    gint64 due = G_MAXINT64;

    if (now < pair->at) {
        *ret_due = MIN(*ret_due, pair->at);
        return FALSE;
    }
    if (pair->step == IBH_STEP_ECHOES)
        return echo_next(flight, now, shot, ret_due);
    if (pair->step != IBH_STEP_QUESTIONS)
        return FALSE;
    for (shot->ask = IBH_ASK_SIZE; shot->ask < IBH_N_ASKS; shot->ask++) {
        if (ask_next(now, shot, &due))
            return TRUE;
    }
    *ret_due = MIN(*ret_due, due);
    if (due < G_MAXINT64) /* a question waits for its answer, or for its next try */
        return FALSE;
    pair->step = IBH_STEP_FINISHED;
    if (pair->rdma == IBH_RDMA_UNASKED) /* the process that sends RDMA requests has told nothing about this pair */
        pair->rdma = IBH_RDMA_BLOCKED;
    return FALSE;
}

/* Begins pairs in their order, until the neighbour table has no room for the entry of the next pair. Then the pairs
 * that have begun take turns, until one has something to send. */
gboolean ibh_flight_next(IbhFlight *flight, gint64 now, IbhShot *ret_shot, gint64 *ret_due)
{
    for (; flight->begun < flight->probe->pairs->len; flight->begun++) {
        IbhProbePair *pair = ibh_probe_pair(flight->probe, flight->begun);
        const int six = ibh_probe_is_ipv6(pair);
        const gboolean adds_entry = ibh_probe_adds_entry(pair);

        if (adds_entry && flight->added[six] >= MAX(flight->room[six], 1))
            break;
        flight->added[six] += adds_entry ? 1 : 0;
        pair->step = IBH_STEP_ECHOES;
        if (pair->hop)
            pair->hop->is_begun = TRUE;
    }
    *ret_due = G_MAXINT64;
    for (guint n = flight->begun - flight->gone; n > 0; n--) {
        if (flight->turn < flight->gone || flight->turn >= flight->begun)
            flight->turn = flight->gone;
        *ret_shot = (IbhShot){.pair = ibh_probe_pair(flight->probe, flight->turn++)};
        if (take_turn(flight, now, ret_shot, ret_due))
            return TRUE;
    }
    return FALSE;
}

void ibh_flight_note_sent(IbhFlight *flight, const IbhShot *shot, gint64 now, gboolean sent)
{
    const IbhProbeAsk ask = shot->ask;
    IbhProbePair *pair = shot->pair;
    const guint tries = ++pair->tries[ask];

    pair->until[ask] = now + asks[ask].patience;
    /* A packet socket does not hear the ARP requests that it sends, so count them here. It hears the solicitations,
     * which another socket sends, so evidence.c counts them again; but in IPv6, only whether the number is 0 matters.
     */
    if (ask == IBH_ASK_WHO && sent) {
        pair->hop->questions++;
        pair->hop->asker = pair;
        /* Wait longer after the last question, which is asked only if nobody answered the first (ask_next()): if echoes
         * come back all the same, perhaps a proxy answers for the hop, and answers late. */
        if (tries == asks[ask].tries && pair->received)
            pair->until[ask] = now + IBH_PROBE_PROXY_WAIT;
    }
    if (ask == IBH_ASK_ECHO) {
        pair->at = now + (tries < flight->probe->count ? IBH_PROBE_INTERVAL : 0);
    } else if (ask == IBH_ASK_SIZE) {
        /* After the second echo of full size, sent or not, full size counts as failed; if an answer came, judge.c
         * corrects this. */
        pair->mtu.failed |= tries == FULL_TRIES;
    } else if (!sent) { /* give up this question */
        pair->tries[ask] = asks[ask].tries;
        pair->until[ask] = now;
    }
}

void ibh_flight_end(IbhFlight *flight, IbhProbePair *pair)
{
    pair->step = IBH_STEP_GONE;
    flight->added[ibh_probe_is_ipv6(pair)] -= ibh_probe_adds_entry(pair) ? 1 : 0;
    while (flight->gone < flight->begun && ibh_probe_pair(flight->probe, flight->gone)->step == IBH_STEP_GONE)
        flight->gone++;
}

/* ---- the neighbour table ---- */

guint ibh_probe_room(const IbhNeighbourTable *table)
{
    const guint half = table->limit / 2;

    return table->used < half ? half - table->used : (table->limit - MIN(table->used, table->limit)) / 2;
}
