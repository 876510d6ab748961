/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The causes of what is wrong with each pair. */
#include "check/check.h"
#include "probe/verdict.h"

#include <errno.h>
#include <linux/if.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

const char *ibh_probe_fault_name(IbhProbeFault fault)
{
    static const char *const names[IBH_PROBE_N_FAULTS] = {
        [IBH_PROBE_UNSENT] = "probe-not-sent",
        [IBH_PROBE_DROPPED] = "reply-dropped",
        [IBH_PROBE_LOST] = "probe-lost",
        [IBH_PROBE_ROUTE] = "routed-other-nic",
        [IBH_PROBE_REPLY] = "reply-other-nic",
        [IBH_PROBE_FLUX] = "peer-flux",
        [IBH_PROBE_PEER_SENDER] = "peer-replies-other-nic",
        [IBH_PROBE_MTU] = "path-mtu",
        [IBH_PROBE_RDMA] = "rdma-unreachable",
        [IBH_PROBE_NO_DEVICE] = "rdma-no-device",
        [IBH_PROBE_NOT_KNOWN] = "not-known",
        [IBH_PROBE_TRANSLATED] = "address-translated",
    };

    return names[fault];
}

static void charge(GArray *charges, IbhProbePair *pair, guint i, IbhCause cause)
{
    const IbhProbeCharge one = {.pair = i, .cause = cause};
    const IbhCauseRow *row = ibh_probe_cause(cause);

    if (row->fault != IBH_NO_FAULT)
        pair->faults |= 1u << row->fault;
    if (row->code)
        g_array_append_val(charges, one);
}

/* ---- why echoes are lost ---- */

/* A permanent entry of the neighbour table whose hardware address is not that of the host that answers ARP. */
static gboolean has_wrong_entry(const IbhProbePair *pair)
{
    return pair->fixed && pair->answers && pair->answer_len == pair->lladdr_len &&
           memcmp(pair->answer[0], pair->lladdr, pair->lladdr_len) != 0;
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
    int six = ibh_probe_family(ibh_probe_peer(probe, pair));

    if (probe->was_full[six] && (pair->send_error == ENOBUFS || (six && pair->send_error == EINVAL)))
        return IBH_LOSS_TABLE;
    return pair->send_error == 0         ? IBH_LOSS_UNTRIED
           : pair->send_error == EPERM   ? IBH_LOSS_FIREWALL
           : pair->send_error == ENOBUFS ? IBH_LOSS_QUEUE
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
        return ibh_ip_equal(&pair->trace.to, ibh_probe_peer(probe, pair)) ? IBH_LOSS_SENT_FROM : IBH_LOSS_SENT_TO;
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
        return IBH_LOSS_NO_CARRIER;
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
    if (pair->on_link && has_wrong_entry(pair))
        return IBH_LOSS_STATIC;
    return judge_silence(probe, pair);
}

static void judge_echoes(const IbhProbe *probe, guint i, GArray *charges)
{
    IbhProbePair *pair = ibh_probe_pair(probe, i);

    for (guint number = 0; number < (guint)probe->count; number++) {
        const IbhProbeEcho *echo = ibh_probe_echo(probe, i, number);

        if (!echo->seen || echo->received)
            continue;
        pair->dropped = TRUE;
        if (!pair->reply_ifindex || !echo->seen_here)
            pair->reply_ifindex = echo->seen_here ? ibh_probe_link(probe, pair)->ifindex : pair->seen_elsewhere;
    }
    if (pair->sent && pair->received >= pair->sent && !pair->send_error)
        return;
    pair->cause = judge_loss(probe, pair);
    pair->faults |= 1u << ibh_probe_cause(pair->cause)->fault;
    if (pair->received < pair->sent && pair->faults & 1u << IBH_PROBE_UNSENT)
        pair->faults |= 1u << IBH_PROBE_LOST;
    pair->cause = ibh_probe_local_cause(probe, pair, pair->cause);
    pair->hindered = ibh_probe_cause(pair->cause)->place == IBH_AT_HOME;
    if (ibh_probe_cause(pair->cause)->code)
        g_array_append_val(charges, ((IbhProbeCharge){.pair = i, .cause = pair->cause}));
}

/* ---- the way ---- */

static void judge_way(const IbhProbe *probe, guint i, GArray *charges)
{
    IbhProbePair *pair = ibh_probe_pair(probe, i);
    const int right = ibh_probe_link(probe, pair)->ifindex;

    if ((pair->route.error || pair->route.oif != right) && pair->cause != IBH_LOSS_OURS) {
        if (ibh_nic_is_usable(ibh_probe_source(probe, pair)->nic))
            charge(charges, pair, i, pair->route.error ? IBH_WAY_NONE : IBH_WAY_OTHER_NIC);
        else
            pair->faults |= 1u << IBH_PROBE_ROUTE; /* that the NIC is down is reported, not its consequences */
    }
    if (pair->reply_ifindex && pair->reply_ifindex != right) {
        if (pair->dropped)
            pair->faults |= 1u << IBH_PROBE_REPLY;
        else
            charge(charges, pair, i, IBH_WAY_REPLY);
    }
    if (pair->received && pair->trace.is_translated)
        charge(charges, pair, i, IBH_WAY_TRANSLATED);
    else if (pair->received && ibh_probe_is_direct(probe, pair) && !pair->lladdr_len && !pair->sender_len)
        charge(charges, pair, i, IBH_WAY_NOT_KNOWN);
}

/* ---- full size ---- */

static void judge_size(const IbhProbe *probe, guint i, GArray *charges)
{
    IbhProbePair *pair = ibh_probe_pair(probe, i);
    const gboolean six = ibh_probe_peer(probe, pair)->family == AF_INET6;

    if (pair->received < pair->sent) /* what is lost at any size says nothing of one */
        pair->mtu = (IbhProbeSize){.passed = pair->mtu.passed};
    pair->mtu.failed &= pair->mtu.passed < ibh_probe_full_size(probe, pair);
    if (!pair->mtu.failed && !pair->mtu.fragment)
        return;
    pair->mtu.passed = MAX(pair->mtu.passed, (six ? 40 : 20) + IBH_PROBE_PACKET); /* the small echo's */
    charge(charges, pair, i,
           !pair->mtu.failed                                 ? IBH_SIZE_PIECES
           : pair->mtu.told_by.family && pair->on_link       ? IBH_SIZE_TOLD
           : pair->mtu.told_by.family && !pair->mtu.fragment ? IBH_SIZE_BEYOND
           : pair->mtu.told_by.family                        ? IBH_SIZE_TOLD
           : pair->mtu.held                                  ? IBH_SIZE_HELD
           : pair->mtu.seen > pair->mtu.passed               ? IBH_SIZE_DROPPED
                                                             : IBH_SIZE_SILENT);
}

/* ---- peers that mix their NICs ---- */

static gboolean is_other(const guint8 *sender, guint sender_len, const IbhProbePair *pair)
{
    return sender_len && pair->lladdr_len && pair->on_link &&
           (sender_len != pair->lladdr_len || memcmp(sender, pair->lladdr, pair->lladdr_len) != 0);
}

/* By NIC, family and hardware address. */
static int compare_lladdrs(gconstpointer a, gconstpointer b)
{
    const IbhProbePair *one = *(const IbhProbePair *const *)a, *other = *(const IbhProbePair *const *)b;

    if (one->source != other->source)
        return one->source < other->source ? -1 : 1;
    if (one->lladdr_len != other->lladdr_len)
        return one->lladdr_len < other->lladdr_len ? -1 : 1;
    return memcmp(one->lladdr, other->lladdr, one->lladdr_len);
}

/* One hardware address for several addresses, several for one, or replies by another NIC. IPv4 only: in IPv6 no NIC
 * answers for another one, so one hardware address is one NIC. */
static void find_mixed(const IbhProbe *probe)
{
    g_autoptr(GPtrArray) known = g_ptr_array_new();

    IBH_EACH (IbhProbePair, pair, probe->pairs) {
        if (pair->on_link && pair->answers > 1)
            pair->faults |= 1u << IBH_PROBE_FLUX;
        if (pair->on_link && pair->lladdr_len && ibh_probe_peer(probe, pair)->family == AF_INET)
            g_ptr_array_add(known, pair);
        if (is_other(pair->sender, pair->sender_len, pair) ||
            is_other(pair->syn.sender, pair->syn.outcome == IBH_SYN_ANSWERED ? pair->syn.sender_len : 0, pair))
            pair->faults |= 1u << IBH_PROBE_PEER_SENDER;
    }
    g_ptr_array_sort(known, compare_lladdrs);
    for (guint i = 1; i < known->len; i++) {
        if (compare_lladdrs(&known->pdata[i - 1], &known->pdata[i]) != 0)
            continue;
        ((IbhProbePair *)known->pdata[i - 1])->faults |= 1u << IBH_PROBE_FLUX;
        ((IbhProbePair *)known->pdata[i])->faults |= 1u << IBH_PROBE_FLUX;
    }
}

/* One of the hosts that answer for this peer answers for another one as well: a host that mixes its NICs. */
static gboolean answers_for_others(const IbhProbe *probe, const IbhProbePair *pair)
{
    IBH_EACH (const IbhProbePair, other, probe->pairs) {
        if (other->peer == pair->peer || other->answer_len != pair->answer_len)
            continue;
        for (guint i = 0; i < pair->answers; i++) {
            for (guint k = 0; k < other->answers; k++) {
                if (memcmp(pair->answer[i], other->answer[k], pair->answer_len) == 0)
                    return TRUE;
            }
        }
    }
    return FALSE;
}

/* A host that mixes its rails shows it in many ways, by many rails: one cause. */
static void judge_mixed(const IbhProbe *probe, GArray *charges)
{
    gboolean flux = FALSE;

    IBH_EACH (const IbhProbePair, pair, probe->pairs)
        flux |= pair->faults & 1u << IBH_PROBE_FLUX && (pair->answers < 2 || answers_for_others(probe, pair));
    for (guint i = 0; i < probe->pairs->len; i++) {
        const IbhProbePair *pair = ibh_probe_pair(probe, i);
        const gboolean two = pair->answers > 1 && probe->peers->len > 1 && !answers_for_others(probe, pair);
        const IbhProbeCharge one = {.pair = i, .cause = two ? IBH_PEER_TWO : flux ? IBH_PEER_FLUX : IBH_PEER_SENDER};

        if (pair->faults & (1u << IBH_PROBE_FLUX | 1u << IBH_PROBE_PEER_SENDER))
            g_array_append_val(charges, one);
    }
}

/* ---- RDMA ---- */

gboolean ibh_probe_take_rdma(IbhProbe *probe, guint pair, const IbhRdmaAnswer *answer)
{
    IbhRdmaAnswer *known = pair < probe->pairs->len ? &ibh_probe_pair(probe, pair)->rdma : NULL;
    const gboolean again = known && known->outcome == IBH_RDMA_SILENT;

    if (!known || (known->outcome != IBH_RDMA_UNASKED && !again) || answer->outcome <= IBH_RDMA_UNASKED ||
        answer->outcome >= IBH_N_RDMA)
        return FALSE;
    if (!again || answer->outcome != IBH_RDMA_SILENT || answer->error || answer->step >= known->step)
        *known = *answer; /* that another request begins says less than how far the last one came */
    return TRUE;
}

static IbhCause cause_of_rdma(const IbhProbePair *pair)
{
    static const IbhCause causes[IBH_N_RDMA] = {
        [IBH_RDMA_UNASKED] = IBH_CAUSE_RDMA_UNASKED,     [IBH_RDMA_NO_ECHO] = IBH_CAUSE_RDMA_NO_ECHO,
        [IBH_RDMA_NO_MODULE] = IBH_CAUSE_RDMA_NO_MODULE, [IBH_RDMA_FILTERED] = IBH_CAUSE_RDMA_FILTERED,
        [IBH_RDMA_BLOCKED] = IBH_CAUSE_RDMA_BLOCKED,     [IBH_RDMA_NO_DEVICE] = IBH_CAUSE_RDMA_NO_DEVICE,
        [IBH_RDMA_NO_GID] = IBH_CAUSE_RDMA_NO_GID,       [IBH_RDMA_REFUSED] = IBH_CAUSE_RDMA_REFUSED,
    };

    if (pair->rdma.outcome != IBH_RDMA_SILENT)
        return causes[pair->rdma.outcome];
    return pair->rdma.step == IBH_RDMA_AT_ADDRESS ? IBH_CAUSE_RDMA_NO_WAY
           : pair->rdma.step == IBH_RDMA_AT_ROUTE ? IBH_CAUSE_RDMA_NO_PATH
                                                  : IBH_CAUSE_RDMA_SILENT;
}

char *ibh_probe_rdma_why(const IbhProbe *probe, const IbhProbePair *pair)
{
    return ibh_probe_fill_in(probe, pair, ibh_probe_cause(cause_of_rdma(pair))->why);
}

/* ---- all of it ---- */

void ibh_probe_judge(IbhProbe *probe)
{
    g_autoptr(GArray) charges = g_array_new(FALSE, FALSE, sizeof(IbhProbeCharge));

    g_clear_pointer(&probe->findings, g_ptr_array_unref);
    probe->findings = ibh_findings_new();
    find_mixed(probe);
    for (guint i = 0; i < probe->pairs->len; i++) {
        judge_echoes(probe, i, charges);
        judge_way(probe, i, charges);
        judge_size(probe, i, charges);
    }
    judge_mixed(probe, charges);
    for (guint i = 0; i < probe->pairs->len; i++)
        charge(charges, ibh_probe_pair(probe, i), i, cause_of_rdma(ibh_probe_pair(probe, i)));
    ibh_probe_report_strangers(probe);
    ibh_probe_report_rails(probe);
    ibh_probe_report_charges(probe, charges);
    ibh_probe_report_whole(probe);
}
