/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The causes of what is wrong with each pair. */
#include "probe/probe.h"

/* NULL: none. */
static const char *problem_of(const IbhProbePair *pair, IbhCause cause)
{
    const IbhCauseRow *row = ibh_probe_cause(cause);
    const char *problem = row->problem ? row->problem : row->code;

    return ibh_probe_has(pair, cause) && problem && problem[0] ? problem : NULL;
}

GPtrArray *ibh_probe_problems(const IbhProbePair *pair)
{
    GPtrArray *problems = g_ptr_array_new();

    for (int cause = IBH_CAUSE_NONE; cause < IBH_N_CAUSES; cause++) {
        const char *problem = problem_of(pair, (IbhCause)cause);

        if (problem && !g_ptr_array_find_with_equal_func(problems, problem, g_str_equal, NULL))
            g_ptr_array_add(problems, (gpointer)(guintptr)problem);
    }
    return problems;
}

const char *ibh_probe_stage(const IbhProbePair *pair)
{
    static const char *const names[] = {"way",   "question",  "answer", "entry", "sent",
                                        "reply", "delivered", "sender", "size",  "rdma"};
    guint stage = IBH_N_STAGES;

    G_STATIC_ASSERT(G_N_ELEMENTS(names) == IBH_N_STAGES);
    for (int cause = IBH_CAUSE_NONE; cause < IBH_N_CAUSES; cause++) {
        if (problem_of(pair, (IbhCause)cause))
            stage = MIN(stage, ibh_probe_cause((IbhCause)cause)->stage);
    }
    return stage < IBH_N_STAGES ? names[stage] : NULL;
}

/* ---- the causes of a pair ---- */

static gboolean has_loss(const IbhProbePair *pair)
{
    return !pair->sent || pair->received < pair->sent || pair->send_error;
}

/* Else the consequences of that are not told. */
static gboolean could_leave(const IbhProbePair *pair)
{
    return pair->loss != IBH_LOSS_OURS && !ibh_proof_has_no_carrier(pair);
}

/* Else the peer learns another NIC's address from what is led away, and answers there. */
static gboolean is_not_led_away(const IbhProbePair *pair)
{
    return !ibh_proof_is_led_away(pair);
}

/* Else the entry of the neighbour table is the forger's. */
static gboolean is_unforged(const IbhProbePair *pair)
{
    return !pair->forged;
}

/* Of each list, the first cause that is proved is charged. */
static const struct {
    IbhCause first, last;
    IbhProof *is_open;
} lists[] = {
    {IBH_LOSS_DOWN, IBH_LOSS_UNKNOWN, has_loss},
    {IBH_WAY_NONE, IBH_WAY_FILTERED, could_leave},
    {IBH_ENTRY_FIXED, IBH_ENTRY_UNANSWERED, is_unforged},
    {IBH_PEER_FLUX, IBH_PEER_DOUBLED, NULL},
    {IBH_BACK_TRANSLATED, IBH_WAY_NOT_KNOWN, is_not_led_away},
    {IBH_SIZE_PIECES, IBH_SIZE_SILENT, NULL},
};

static IbhCause find_cause(const IbhProbePair *pair, IbhCause first, IbhCause last)
{
    for (int cause = (int)first; cause <= (int)last; cause++) {
        if (ibh_probe_cause((IbhCause)cause)->proof(pair))
            return (IbhCause)cause;
    }
    return IBH_CAUSE_NONE;
}

static void judge_pair(IbhProbePair *pair)
{
    pair->causes[G_N_ELEMENTS(lists)] = pair->rdma;
    pair->loss = IBH_CAUSE_NONE;
    for (guint i = 0; i < G_N_ELEMENTS(lists); i++) {
        IbhCause cause = !lists[i].is_open || lists[i].is_open(pair) ? find_cause(pair, lists[i].first, lists[i].last)
                                                                     : IBH_CAUSE_NONE;

        if (lists[i].first == IBH_LOSS_DOWN && cause)
            cause = pair->loss = ibh_probe_explain(pair, cause);
        pair->causes[i] = cause;
    }
    G_STATIC_ASSERT(G_N_ELEMENTS(lists) + 1 == IBH_PROBE_LISTS);
}

/* What was heard of its echoes, one by one. */
static void sum_up(const IbhProbe *probe, guint i)
{
    IbhProbePair *pair = ibh_probe_pair(probe, i);
    IbhProbeSize *mtu = &pair->mtu;

    pair->gone = FALSE;
    for (guint number = 0; number < (guint)probe->count; number++) {
        const IbhProbeEcho *echo = ibh_probe_echo(probe, i, number);

        pair->gone |= echo->left && !echo->received;
        pair->dropped |= echo->seen && !echo->received;
        pair->doubled |= echo->twice;
        if (echo->seen && (!pair->reply_ifindex || echo->seen != ibh_probe_link(pair)->ifindex))
            pair->reply_ifindex = echo->seen;
    }
    if (pair->received < pair->sent) /* what is lost at any size says nothing of one */
        *mtu = (IbhProbeSize){.passed = mtu->passed};
    mtu->failed &= mtu->passed < ibh_probe_full_size(pair);
    if (mtu->failed || mtu->fragment) /* the small echo's, at least */
        mtu->passed = MAX(mtu->passed, (ibh_probe_family(pair) ? 40 : 20) + IBH_PROBE_PACKET);
}

/* ---- RDMA ---- */

gboolean ibh_probe_awaits_rdma(const IbhProbePair *pair)
{
    return pair->probe->rdma && (pair->rdma == IBH_RDMA_UNASKED || pair->rdma >= IBH_RDMA_NO_WAY);
}

/* That another request begins says less than how far the last one came. */
gboolean ibh_probe_take_rdma(IbhProbe *probe, guint i, IbhCause cause, int error)
{
    IbhProbePair *pair = i < probe->pairs->len ? ibh_probe_pair(probe, i) : NULL;

    if (!pair || !ibh_probe_awaits_rdma(pair) ||
        (cause != IBH_CAUSE_NONE && (cause <= IBH_RDMA_UNASKED || cause >= IBH_N_CAUSES)))
        return FALSE;
    if (cause >= IBH_RDMA_NO_WAY && cause < pair->rdma && !error)
        return TRUE;
    pair->rdma = cause;
    pair->rdma_error = error;
    return TRUE;
}

/* ---- all of it ---- */

void ibh_probe_judge(IbhProbe *probe)
{
    g_clear_pointer(&probe->findings, g_ptr_array_unref);
    probe->findings = ibh_findings_new();
    for (guint i = 0; i < probe->pairs->len; i++)
        sum_up(probe, i);
    IBH_EACH (IbhProbePair, pair, probe->pairs)
        judge_pair(pair);
    ibh_probe_report_strangers(probe);
    ibh_probe_report_forgeries(probe);
    ibh_probe_report_causes(probe);
    ibh_probe_report_whole(probe);
}
