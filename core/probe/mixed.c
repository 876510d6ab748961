/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Peers that mix their NICs: one hardware address for several addresses, several for one, or replies by another NIC.
 */
#include "probe/syn.h"
#include "probe/verdict.h"

#include <string.h>
#include <sys/socket.h>

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

/* IPv4 only: in IPv6 no NIC answers for another one, so one hardware address is one NIC. */
void ibh_probe_judge_mixed(const IbhProbe *probe)
{
    g_autoptr(GPtrArray) known = g_ptr_array_new();

    IBH_EACH (IbhProbePair, pair, probe->pairs) {
        const gboolean four = ibh_probe_peer(probe, pair)->family == AF_INET;

        if (pair->on_link && pair->answers > 1)
            ibh_probe_blame(pair, IBH_PROBE_FLUX);
        if (pair->on_link && pair->lladdr_len && four)
            g_ptr_array_add(known, pair);
        if ((pair->on_link && pair->lladdr_len && pair->sender_len &&
             (pair->lladdr_len != pair->sender_len || memcmp(pair->lladdr, pair->sender, pair->sender_len) != 0)) ||
            ibh_probe_syn_is_wrong(pair))
            ibh_probe_blame(pair, IBH_PROBE_PEER_SENDER);
    }
    g_ptr_array_sort(known, compare_lladdrs);
    for (guint i = 1; i < known->len; i++) {
        if (compare_lladdrs(&known->pdata[i - 1], &known->pdata[i]) == 0) {
            ibh_probe_blame(known->pdata[i - 1], IBH_PROBE_FLUX);
            ibh_probe_blame(known->pdata[i], IBH_PROBE_FLUX);
        }
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
void ibh_probe_charge_mixed(const IbhProbe *probe, GArray *charges)
{
    gboolean flux = FALSE;

    IBH_EACH (const IbhProbePair, pair, probe->pairs)
        flux |= pair->faults & 1u << IBH_PROBE_FLUX && (pair->answers < 2 || answers_for_others(probe, pair));
    for (guint i = 0; i < probe->pairs->len; i++) {
        const IbhProbePair *pair = ibh_probe_pair(probe, i);
        const gboolean two = pair->answers > 1 && probe->peers->len > 1 && !answers_for_others(probe, pair);

        if (!(pair->faults & (1u << IBH_PROBE_FLUX | 1u << IBH_PROBE_PEER_SENDER)))
            continue;
        ibh_probe_charge(
            charges,
            &(IbhProbeCharge){
                .pair = i,
                .place = IBH_AT_PEER,
                .severity = IBH_WARNING,
                .code = flux || two ? "peer-flux" : "peer-replies-other-nic",
                .why = g_strdup(two ? "several hardware addresses answer for the address, and for no other: two hosts "
                                      "have it, or a host mixes its NICs"
                                : flux ? "not one NIC answers for each address: that host mixes its rails (ARP flux), "
                                         "so peers use the wrong NIC, unless these addresses are all of one NIC"
                                       : "the peer replies by another NIC than the one that has the address: its own "
                                         "routing mixes its rails"),
                .advice =
                    ibh_probe_fill_in(probe, pair, "on the peer ({peer}): install ib-hook there, or ib-hook --apply"),
            });
    }
}
