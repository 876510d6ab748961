/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The causes of what is wrong with each pair. */
#include "check/check.h"
#include "probe/probe.h"

#include <errno.h>
#include <linux/if.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

static void charge(IbhProbePair *pair, IbhCause cause)
{
    pair->causes |= (guint64)1 << cause;
}

GPtrArray *ibh_probe_problems(const IbhProbePair *pair)
{
    GPtrArray *problems = g_ptr_array_new();

    for (int cause = IBH_CAUSE_NONE; cause < IBH_N_CAUSES; cause++) {
        const IbhCauseRow *row = ibh_probe_cause((IbhCause)cause);
        const char *problem = row->problem ? row->problem : row->code;

        if (ibh_probe_has(pair, (IbhCause)cause) && problem && problem[0] &&
            !g_ptr_array_find_with_equal_func(problems, problem, g_str_equal, NULL))
            g_ptr_array_add(problems, (gpointer)(guintptr)problem);
    }
    return problems;
}

/* ---- what the kernel itself says of packets that this host drops ---- */

static gpointer key_of(int ifindex, IbhCause fact)
{
    return GUINT_TO_POINTER((guint)ifindex * IBH_N_CAUSES + fact);
}

void ibh_probe_note_local(IbhProbe *probe, int ifindex, IbhCause fact, gint64 value)
{
    const gsize before = GPOINTER_TO_SIZE(g_hash_table_lookup(probe->local, key_of(ifindex, fact)));

    g_hash_table_insert(probe->local, key_of(ifindex, fact), GSIZE_TO_POINTER(before + (gsize)value));
}

/* The rail hears of no peer, and the peer is heard by another rail, or there is none. What a macvlan takes is heard all
 * the same. */
static gboolean is_deaf(const IbhProbe *probe, const IbhProbePair *of, IbhCause fact)
{
    gboolean others = FALSE, reached = FALSE;

    IBH_EACH (const IbhProbePair, pair, probe->pairs) {
        if (pair->source == of->source && (pair->received || (pair->answers && fact == IBH_LOCAL_XDP)))
            return FALSE;
        if (pair->source == of->source || pair->peer != of->peer)
            continue;
        others = TRUE;
        reached |= pair->received > 0;
    }
    return reached || !others;
}

static gboolean explains(const IbhProbe *probe, const IbhProbePair *pair, IbhCause fact, IbhCause loss)
{
    const IbhCauseRow *row = ibh_probe_cause(fact);
    const int ifindex = row->file ? 0 : ibh_probe_link(probe, pair)->ifindex;
    const gssize grown = (gssize)GPOINTER_TO_SIZE(g_hash_table_lookup(probe->local, key_of(ifindex, fact)));

    if (grown <= 0 || !(row->lost & ibh_probe_cause(loss)->lost))
        return FALSE;
    return fact >= IBH_LOCAL_XDP ? is_deaf(probe, pair, fact) : grown >= pair->sent - pair->received;
}

/* What explains this loss of the pair better; or the same. */
static IbhCause explain_locally(const IbhProbe *probe, const IbhProbePair *pair, IbhCause loss)
{
    for (int fact = IBH_LOCAL_IPSEC_IN; fact < IBH_LOCAL_END; fact++) {
        if (explains(probe, pair, (IbhCause)fact, loss))
            return (IbhCause)fact;
    }
    return loss;
}

/* ---- why echoes are lost ---- */

/* A permanent entry of the neighbour table whose hardware address is not that of the host that answers ARP. */
static gboolean has_wrong_entry(const IbhProbePair *pair)
{
    return pair->on_link && pair->fixed && pair->answers && !ibh_lladdr_equal(&pair->answer[0], &pair->lladdr);
}

/* Another host has the address, too: replies go to either host. */
static gboolean has_double(const IbhProbe *probe, guint source)
{
    IBH_EACH (const IbhProbeStranger, stranger, probe->strangers) {
        if (stranger->source == source && !stranger->proxy && !stranger->own)
            return TRUE;
    }
    return FALSE;
}

/* Nothing was sent, or not everything. A neighbour table without room has another errno in each family. */
static IbhCause judge_unsent(const IbhProbe *probe, const IbhProbePair *pair)
{
    const int six = ibh_probe_family(probe, pair);

    if (probe->was_full[six] && (pair->send_error == ENOBUFS || (six && pair->send_error == EINVAL)))
        return IBH_LOSS_TABLE;
    return pair->send_error == EPERM     ? IBH_LOSS_FIREWALL
           : pair->send_error == ENOBUFS ? IBH_LOSS_HELD
                                         : IBH_LOSS_NO_WAY;
}

/* No echo left, and the kernel has, or does not look for, the hardware address. A gateway is asked for another address
 * than the peer's. */
static gboolean is_held(const IbhProbe *probe, const IbhProbePair *pair)
{
    return probe->hears && pair->sent && !pair->received && !pair->trace.left && pair->on_link &&
           (pair->trace.told || !pair->trace.asks);
}

/* Echoes left, and did not come back: what the neighbour says, asked anew. */
static IbhCause judge_silence(const IbhProbe *probe, const IbhProbePair *pair)
{
    const gboolean direct = ibh_probe_is_direct(probe, pair);

    if (pair->trace.is_translated)
        return IBH_LOSS_TRANSLATED;
    if (pair->answers && direct)
        return IBH_LOSS_AFTER_ARP;
    if (pair->answers || !probe->hears || !ibh_probe_via(probe, pair))
        return IBH_LOSS_UNKNOWN;
    return direct ? IBH_LOSS_NOTHING : IBH_LOSS_GATEWAY;
}

static IbhCause judge_loss(const IbhProbe *probe, const IbhProbePair *pair)
{
    const guint flags = ibh_probe_link(probe, pair)->flags;

    if (!ibh_nic_is_usable(ibh_probe_source(probe, pair)->nic))
        return flags & IFF_UP ? IBH_LOSS_NO_CARRIER : IBH_LOSS_DOWN;
    if (!pair->route.error && pair->route.type == RTN_LOCAL)
        return IBH_LOSS_OURS;
    if (pair->on_link && (flags & IFF_NOARP) && (flags & IFF_BROADCAST) && !pair->fixed && !pair->received)
        return IBH_LOSS_ARP_OFF;
    if (is_held(probe, pair)) /* errors of sending follow from it */
        return IBH_LOSS_HELD;
    if (pair->send_error || !pair->sent)
        return judge_unsent(probe, pair);
    if (pair->dropped)
        return IBH_LOSS_DROPPED;
    if (pair->received)
        return IBH_LOSS_SOME;
    if (has_double(probe, pair->source))
        return IBH_LOSS_DUPLICATE;
    return has_wrong_entry(pair) ? IBH_LOSS_STATIC : judge_silence(probe, pair);
}

static void judge_echoes(const IbhProbe *probe, guint i)
{
    IbhProbePair *pair = ibh_probe_pair(probe, i);

    for (guint number = 0; number < (guint)probe->count; number++) {
        const IbhProbeEcho *echo = ibh_probe_echo(probe, i, number);

        pair->dropped |= echo->seen && !echo->received;
        if (echo->seen && (!pair->reply_ifindex || echo->seen != ibh_probe_link(probe, pair)->ifindex))
            pair->reply_ifindex = echo->seen;
    }
    if (pair->sent && pair->received >= pair->sent && !pair->send_error)
        return;
    pair->loss = judge_loss(probe, pair);
    pair->loss = explain_locally(probe, pair, pair->loss);
    charge(pair, pair->loss);
}

/* ---- the way ---- */

static void judge_way(const IbhProbe *probe, IbhProbePair *pair)
{
    const int right = ibh_probe_link(probe, pair)->ifindex;

    if ((pair->route.error || pair->route.oif != right) && pair->loss != IBH_LOSS_OURS &&
        ibh_nic_is_usable(ibh_probe_source(probe, pair)->nic)) /* else its consequences are not told */
        charge(pair, pair->route.error ? IBH_WAY_NONE : IBH_WAY_OTHER_NIC);
    if (pair->reply_ifindex && pair->reply_ifindex != right && !pair->dropped && !pair->trace.is_translated)
        charge(pair, IBH_WAY_REPLY);
    if (pair->received && pair->trace.is_translated)
        charge(pair, IBH_WAY_TRANSLATED);
    else if (pair->received && ibh_probe_is_direct(probe, pair) && !pair->lladdr.len && !pair->sender.len)
        charge(pair, IBH_WAY_NOT_KNOWN);
}

/* ---- full size ---- */

static void judge_size(const IbhProbe *probe, IbhProbePair *pair)
{
    const guint full = ibh_probe_full_size(probe, pair);
    IbhProbeSize *mtu = &pair->mtu;

    if (pair->received < pair->sent) /* what is lost at any size says nothing of one */
        *mtu = (IbhProbeSize){.passed = mtu->passed};
    mtu->failed &= mtu->passed < full;
    if (!mtu->failed && !mtu->fragment)
        return;
    mtu->passed = MAX(mtu->passed, (ibh_probe_family(probe, pair) ? 40 : 20) + IBH_PROBE_PACKET); /* the small echo's */
    charge(pair, !mtu->failed          ? IBH_SIZE_PIECES
                 : mtu->told_by.family ? (pair->on_link || mtu->fragment ? IBH_SIZE_TOLD : IBH_SIZE_BEYOND)
                 : mtu->held || mtu->seen > mtu->passed ? IBH_SIZE_OURS
                                                        : IBH_SIZE_SILENT);
}

/* ---- peers that mix their NICs ---- */

static gboolean is_other(const IbhLladdr *sender, const IbhProbePair *pair)
{
    return sender->len && pair->lladdr.len && pair->on_link && !ibh_lladdr_equal(sender, &pair->lladdr);
}

/* One hardware address for several addresses. IPv4 only: in IPv6 no NIC answers for another one, so one hardware
 * address is one NIC. TRUE: there is one. */
static gboolean find_shared(const IbhProbe *probe)
{
    g_autoptr(GHashTable) known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    gboolean found = FALSE;

    IBH_EACH (IbhProbePair, pair, probe->pairs) {
        for (guint i = 0; pair->on_link && !ibh_probe_family(probe, pair) && i <= pair->answers; i++) {
            g_autofree char *lladdr = ibh_lladdr_format(i ? &pair->answer[i - 1] : &pair->lladdr);
            char *by = g_strdup_printf("%s %s", ibh_probe_link(probe, pair)->name, lladdr ? lladdr : "");
            IbhProbePair *other = g_hash_table_lookup(known, by);

            if (lladdr && other && other != pair) {
                charge(other, IBH_PEER_FLUX);
                charge(pair, IBH_PEER_FLUX);
                found = TRUE;
            }
            g_hash_table_insert(known, by, pair);
        }
    }
    return found;
}

/* A host that mixes its rails shows it in many ways, by many rails: one cause. */
static void judge_mixed(const IbhProbe *probe)
{
    const gboolean flux = find_shared(probe);

    IBH_EACH (IbhProbePair, pair, probe->pairs) {
        if (ibh_probe_has(pair, IBH_PEER_FLUX))
            continue;
        if (pair->on_link && pair->answers > 1)
            charge(pair, IBH_PEER_TWO);
        else if (is_other(&pair->sender, pair) || is_other(&pair->syn_sender, pair))
            charge(pair, flux ? IBH_PEER_FLUX : IBH_PEER_SENDER);
    }
}

/* ---- RDMA ---- */

gboolean ibh_probe_awaits_rdma(const IbhProbe *probe, const IbhProbePair *pair)
{
    return probe->rdma && (pair->rdma == IBH_RDMA_UNASKED || pair->rdma >= IBH_RDMA_NO_WAY);
}

/* That another request begins says less than how far the last one came. */
gboolean ibh_probe_take_rdma(IbhProbe *probe, guint i, IbhCause cause, int error)
{
    IbhProbePair *pair = i < probe->pairs->len ? ibh_probe_pair(probe, i) : NULL;

    if (!pair || !ibh_probe_awaits_rdma(probe, pair) ||
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
    for (guint i = 0; i < probe->pairs->len; i++) {
        IbhProbePair *pair = ibh_probe_pair(probe, i);

        pair->causes = (guint64)1 << pair->rdma;
        pair->loss = IBH_CAUSE_NONE;
        judge_echoes(probe, i);
        judge_way(probe, pair);
        judge_size(probe, pair);
    }
    judge_mixed(probe);
    ibh_probe_report_strangers(probe);
    ibh_probe_report_causes(probe);
    ibh_probe_report_whole(probe);
}
