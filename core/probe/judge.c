/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/outcome.h"
#include "probe/answers.h"
#include "probe/loss.h"
#include "probe/rdma.h"
#include "probe/size.h"
#include "probe/syn.h"

#include "model/text.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

/* ---- the verdict: what is wrong with each pair ---- */

/* What each fault is called, and what it means. */
static const struct {
    IbhSeverity severity;
    const char *code;
    const char *meaning;
} faults[IBH_PROBE_N_FAULTS] = {
    [IBH_PROBE_UNSENT] = {IBH_ERROR, "probe-not-sent",
                          "the kernel does not send the echo by this NIC, so nothing else gets there by it"},
    [IBH_PROBE_DROPPED] = {IBH_ERROR, "reply-dropped",
                           "the reply came to this host by the NIC named, and this host dropped it: rp_filter or a "
                           "firewall"},
    [IBH_PROBE_LOST] = {IBH_ERROR, "probe-lost", NULL}, /* told by probe_loss.c, cause by cause */
    [IBH_PROBE_ROUTE] = {IBH_ERROR, "routed-other-nic",
                         "the echo was sent by this NIC, but what this address sends by itself leaves by the one "
                         "named"},
    [IBH_PROBE_REPLY] = {IBH_ERROR, "reply-other-nic",
                         "the reply came in by the NIC named: the peer holds its hardware address for this one's"},
    [IBH_PROBE_FLUX] = {IBH_WARNING, "peer-flux",
                        "ARP flux on the peer's side, or another host that has the address, too: several hardware "
                        "addresses answer for one address, or one answers for several, so peers use the wrong NIC "
                        "(unless those addresses are all of one NIC)"},
    [IBH_PROBE_PEER_SENDER] = {IBH_WARNING, "peer-replies-other-nic",
                               "the peer replies by another NIC than the one that has the address: its own routing "
                               "mixes its rails"},
    [IBH_PROBE_MTU] = {IBH_ERROR, "path-mtu", NULL}, /* told by probe_size.c, cause by cause */
    /* told by probe_rdma.c, cause by cause */
    [IBH_PROBE_RDMA] = {IBH_ERROR, "rdma-unreachable", NULL},
    [IBH_PROBE_NO_DEVICE] = {IBH_ERROR, "rdma-no-device", NULL},
};

const char *ibh_probe_fault_name(IbhProbeFault fault)
{
    return faults[fault].code;
}

static void blame(IbhProbePair *pair, IbhProbeFault fault)
{
    pair->faults |= 1u << fault;
}

static void judge_echoes(const IbhProbe *probe, guint i)
{
    IbhProbePair *pair = ibh_probe_pair(probe, i);

    for (guint number = 0; number < (guint)probe->count; number++)
        pair->dropped |= ibh_probe_echo(probe, i, number)->seen && !ibh_probe_echo(probe, i, number)->received;
    if (pair->send_error || !pair->sent)
        blame(pair, IBH_PROBE_UNSENT);
    if (pair->received < pair->sent)
        blame(pair, pair->dropped ? IBH_PROBE_DROPPED : IBH_PROBE_LOST);
    if (pair->received < pair->sent && !pair->dropped)
        ibh_probe_judge_loss(probe, pair);
    if (pair->loss == IBH_LOSS_HELD) /* one finding is enough */
        pair->faults &= ~(1u << IBH_PROBE_UNSENT);
}

static void judge_way(const IbhProbe *probe, IbhProbePair *pair)
{
    int right = ibh_probe_link(probe, pair)->ifindex;

    if (pair->route.error || pair->route.oif != right)
        blame(pair, IBH_PROBE_ROUTE);
    if (pair->reply_ifindex && pair->reply_ifindex != right)
        blame(pair, IBH_PROBE_REPLY);
    if (pair->on_link && pair->lladdr_len && pair->sender_len &&
        (pair->lladdr_len != pair->sender_len || memcmp(pair->lladdr, pair->sender, pair->sender_len) != 0))
        blame(pair, IBH_PROBE_PEER_SENDER);
    if (ibh_probe_syn_is_wrong(pair))
        blame(pair, IBH_PROBE_PEER_SENDER);
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

/* IPv4 only: in IPv6 no NIC answers for another one, so one hardware address is one NIC. */
static void judge_flux(const IbhProbe *probe)
{
    g_autoptr(GPtrArray) known = g_ptr_array_new();

    IBH_EACH (IbhProbePair, pair, probe->pairs) {
        if (pair->answers > 1)
            blame(pair, IBH_PROBE_FLUX);
        if (pair->on_link && pair->lladdr_len && ibh_probe_peer(probe, pair)->family == AF_INET)
            g_ptr_array_add(known, pair);
    }
    g_ptr_array_sort(known, compare_lladdrs);
    for (guint i = 1; i < known->len; i++) {
        if (compare_lladdrs(&known->pdata[i - 1], &known->pdata[i]) == 0) {
            blame(known->pdata[i - 1], IBH_PROBE_FLUX);
            blame(known->pdata[i], IBH_PROBE_FLUX);
        }
    }
}

/* The neighbour table had no room: that has another errno in each family. */
static gboolean was_refused(const IbhProbe *probe, const IbhProbePair *pair)
{
    int family = ibh_probe_family(ibh_probe_peer(probe, pair));

    return probe->was_full[family] && (pair->send_error == ENOBUFS || (family && pair->send_error == EINVAL));
}

/* ---- the verdict: findings ---- */

#define NAMED 4 /* peers that a finding names */

/* The part of a finding about one peer. */
static char *describe(const IbhProbe *probe, const IbhProbePair *pair, IbhProbeFault fault)
{
    const IbhLink *link;
    char ip[IBH_IP_STRLEN];
    int ifindex = fault == IBH_PROBE_ROUTE ? pair->route.oif : pair->reply_ifindex;

    ibh_ip_format(ibh_probe_peer(probe, pair), ip);
    switch (fault) {
    case IBH_PROBE_UNSENT:
        return g_strdup_printf("%s (%s)", ip,
                               pair->send_error == EPERM     ? "this host's own firewall drops it"
                               : pair->send_error == ENOBUFS ? "this host's own filter or queue drops it: nft, tc"
                               : pair->send_error            ? g_strerror(pair->send_error)
                                                             : "never tried");
    case IBH_PROBE_ROUTE:
    case IBH_PROBE_REPLY:
    case IBH_PROBE_DROPPED:
        if (fault == IBH_PROBE_ROUTE && pair->route.error)
            return g_strdup_printf("%s (%s)", ip, g_strerror(pair->route.error));
        link = ibh_snapshot_link(probe->rails->snapshot, ifindex);
        return g_strdup_printf("%s (%s)", ip, link ? link->name : "another interface");
    case IBH_PROBE_FLUX:
        if (pair->answers > 1)
            return g_strdup_printf("%s (several)", ip);
        return g_strdup(ip);
    default:
        return g_strdup(ip);
    }
}

/* "2 of 8 peers: 172.16.34.1 (ib0), 172.16.34.2 (ib0)"; NULL: none has this fault. */
static char *describe_all(const IbhProbe *probe, const IbhNic *nic, IbhProbeFault fault, const IbhProbePair **ret_first)
{
    g_autoptr(GString) text = g_string_new(NULL);
    guint bad = 0, all = 0;

    IBH_EACH (const IbhProbePair, pair, probe->pairs) {
        if (ibh_probe_source(probe, pair)->nic != nic)
            continue;
        all++;
        if (!(pair->faults & 1u << fault) || (fault == IBH_PROBE_UNSENT && was_refused(probe, pair)))
            continue;
        if (!bad++)
            *ret_first = pair;
        if (bad <= NAMED) {
            g_autofree char *one = describe(probe, pair, fault);

            g_string_append_printf(text, "%s%s", bad > 1 ? ", " : "", one);
        }
    }
    if (!bad)
        return NULL;
    if (bad > NAMED)
        g_string_append_printf(text, " and %u more", bad - NAMED);
    return g_strdup_printf("%u of %u peers: %s", bad, all, text->str);
}

static IbhRemedy fix_for(const IbhProbe *probe, const IbhProbePair *pair, IbhProbeFault fault)
{
    g_autofree char *iface = ibh_shell_word(ibh_probe_link(probe, pair)->name);
    char from[IBH_IP_STRLEN], to[IBH_IP_STRLEN];

    ibh_ip_format(&ibh_probe_source(probe, pair)->ip, from);
    ibh_ip_format(ibh_probe_peer(probe, pair), to);
    switch (fault) {
    case IBH_PROBE_UNSENT:
        return ibh_advice("ask the kernel: ip route get %s from %s oif %s", to, from, iface);
    case IBH_PROBE_FLUX:
    case IBH_PROBE_PEER_SENDER:
        return ibh_advice("on the peer (%s): ib-hook --check, ib-hook --apply", to);
    case IBH_PROBE_REPLY:
    case IBH_PROBE_DROPPED:
        return ibh_advice("ib-hook --check --iface %s; if that is ok, on the peer: ip neigh flush to %s", iface, from);
    default:
        return ibh_advice("ib-hook --check --iface %s says more", iface);
    }
}

static void report_faults(IbhProbe *probe, const IbhNic *nic)
{
    for (int fault = 0; fault < IBH_PROBE_N_FAULTS; fault++) {
        const IbhProbePair *first = NULL;
        g_autofree char *peers = !faults[fault].meaning ? NULL : describe_all(probe, nic, (IbhProbeFault)fault, &first);

        /* a NIC that is down is reported, not its consequences */
        if (peers && (ibh_nic_is_usable(nic) || (fault != IBH_PROBE_UNSENT && fault != IBH_PROBE_ROUTE)))
            ibh_finding_add(probe->findings, nic->link->name, faults[fault].severity, faults[fault].code,
                            fix_for(probe, first, (IbhProbeFault)fault), "%s; %s", peers, faults[fault].meaning);
    }
}

/* Peers that no rail could ask are reported: silence would look like success. */
static void report_unasked_peers(IbhProbe *probe)
{
    guint unasked = 0, first = 0;
    char ip[IBH_IP_STRLEN];

    for (guint peer = probe->peers->len; probe->nics->len && peer-- > 0;) {
        gboolean asked = FALSE;

        IBH_EACH_POINTER (const IbhNic, nic, probe->nics)
            asked |= ibh_probe_find(probe, nic, peer) || ibh_probe_was_missed(probe, nic, peer);
        if (asked)
            continue;
        unasked++;
        first = peer;
    }
    if (unasked)
        ibh_finding_add(probe->findings, "", IBH_ERROR, "no-source",
                        ibh_advice("ib-hook --show says which addresses the rails have; or leave these peers out"),
                        "%u of %u peers were not asked, %s is the first: no rail has an address of its family, so they "
                        "are not reached",
                        unasked, probe->peers->len, ibh_ip_format(&g_array_index(probe->peers, IbhIp, first), ip));
}

/* A rail that sent no echo, while others did: its state is unknown. */
static void report_idle_rail(IbhProbe *probe, const IbhNic *nic)
{
    const char *why = NULL;
    char ip[IBH_IP_STRLEN];

    if (!probe->pairs->len)
        return;
    for (guint peer = probe->peers->len; peer-- > 0;) {
        why = ibh_probe_why_unasked(probe, nic, peer);
        if (!why || ibh_probe_was_missed(probe, nic, peer))
            return;
    }
    ibh_finding_add(probe->findings, nic->link->name, IBH_WARNING, "no-source",
                    ibh_advice("name peers in its subnet, too; or leave the rail out: --iface"),
                    "none of the %u peers, from %s on, was asked by it, so nothing is known of it: %s",
                    probe->peers->len, ibh_ip_format(&g_array_index(probe->peers, IbhIp, 0), ip), why);
}

static void report_interruption(IbhProbe *probe)
{
    guint all = probe->pairs->len + probe->missed->len;

    if (probe->interrupted)
        ibh_finding_add(
            probe->findings, "", IBH_INFO, "interrupted", ibh_advice("ask again, or fewer peers"),
            "a signal ended it: %u of %u pairs were not asked, and the others perhaps not to the end, so pairs "
            "that are not named here may still be wrong",
            probe->missed->len, all);
}

/* ---- the verdict: wires ---- */

static gboolean is_reached(const IbhProbe *probe, const IbhNic *nic, guint peer)
{
    const IbhProbePair *pair = ibh_probe_find(probe, nic, peer);

    return pair && (pair->received || pair->dropped);
}

/* Each peer is reached by one rail at most; each rail reaches some peers and was asked to reach others. */
static gboolean are_apart(const IbhProbe *probe)
{
    for (guint peer = 0; peer < probe->peers->len; peer++) {
        guint by = 0, asked = 0;

        IBH_EACH_POINTER (const IbhNic, nic, probe->nics) {
            by += is_reached(probe, nic, peer) ? 1 : 0;
            asked += ibh_probe_find(probe, nic, peer) ? 1 : 0;
        }
        if (by > 1 || asked != probe->nics->len)
            return FALSE;
    }
    IBH_EACH_POINTER (const IbhNic, nic, probe->nics) {
        guint reached = 0;

        for (guint peer = 0; peer < probe->peers->len; peer++)
            reached += is_reached(probe, nic, peer) ? 1 : 0;
        if (!reached)
            return FALSE;
    }
    return probe->nics->len > 1;
}

/* The rails are on wires of their own. Only names can tell whether the cables are as intended. */
static void report_separate_wires(IbhProbe *probe)
{
    g_autoptr(GString) text = g_string_new(NULL);

    if (!are_apart(probe))
        return;
    IBH_EACH_POINTER (const IbhNic, nic, probe->nics) {
        guint reached = 0;

        g_string_append_printf(text, "%s%s reaches ", text->len ? "; " : "", nic->link->name);
        for (guint peer = 0; peer < probe->peers->len; peer++) {
            char ip[IBH_IP_STRLEN];

            if (is_reached(probe, nic, peer) && ++reached <= NAMED)
                g_string_append_printf(text, "%s%s", reached > 1 ? ", " : "",
                                       ibh_ip_format(&g_array_index(probe->peers, IbhIp, peer), ip));
        }
        if (reached > NAMED)
            g_string_append_printf(text, " and %u more", reached - NAMED);
    }
    ibh_finding_add(
        probe->findings, "", IBH_WARNING, "separate-wires",
        ibh_advice("compare the cables with the plan of the fabric"),
        "no peer is reached by two rails: the rails are on separate wires, and if one reaches what another one should, "
        "their cables are swapped: %s",
        text->str);
}

/* ---- the verdict: the neighbour table ---- */

static guint round_up(guint value)
{
    guint power = IBH_PROBE_TABLE;

    while (power < value)
        power *= 2;
    return power;
}

static IbhRemedy enlarge(int family, guint needed)
{
    guint size = round_up(2 * needed);

    return ibh_fix(g_strdup_printf("sysctl -w net.ipv%c.neigh.default.gc_thresh3=%u "
                                   "net.ipv%c.neigh.default.gc_thresh2=%u net.ipv%c.neigh.default.gc_thresh1=%u",
                                   family ? '6' : '4', size, family ? '6' : '4', size / 2, family ? '6' : '4',
                                   size / 4));
}

static void report_small_table(IbhProbe *probe, int family)
{
    guint needed = 0, refused = 0, size = probe->table_size[family];

    IBH_EACH (const IbhProbePair, pair, probe->pairs) {
        if (ibh_probe_family(ibh_probe_peer(probe, pair)) != family)
            continue;
        needed += pair->on_link ? 1 : 0;
        refused += was_refused(probe, pair) ? 1 : 0;
    }
    if (refused)
        ibh_finding_add(
            probe->findings, "", IBH_ERROR, "neighbour-table-small", enlarge(family, MAX(needed, size)),
            "the kernel keeps %u neighbours (net.ipv%c.neigh.default.gc_thresh3), and all places are taken: "
            "so echoes of %u pairs were not sent, which is no fault of these peers",
            size, family ? '6' : '4', refused);
    else if (size && needed > size)
        ibh_finding_add(probe->findings, "", IBH_WARNING, "neighbour-table-small", enlarge(family, needed),
                        "the kernel keeps %u neighbours (net.ipv%c.neigh.default.gc_thresh3), these rails and peers "
                        "need %u: when all of them talk, some get \"neighbour table overflow\"",
                        size, family ? '6' : '4', needed);
}

/* They should be rails, and would be probed. */
static void report_blocked(IbhProbe *probe)
{
    IBH_EACH_POINTER (const IbhNic, nic, probe->rails->nics) {
        if (nic->status == IBH_NIC_BLOCKED && !probe->rails->only)
            ibh_finding_add(probe->findings, nic->link->name, IBH_ERROR, nic->code,
                            ibh_advice("ib-hook --check has the fix; then probe again"),
                            "not programmed, so it was not probed: %s", nic->why);
    }
}

void ibh_probe_judge(IbhProbe *probe)
{
    g_autofree gboolean *down = g_new0(gboolean, probe->peers->len);

    g_clear_pointer(&probe->findings, g_ptr_array_unref);
    probe->findings = ibh_findings_new();
    for (guint i = 0; i < probe->pairs->len; i++) {
        judge_echoes(probe, i);
        judge_way(probe, ibh_probe_pair(probe, i));
        ibh_probe_judge_size(probe, ibh_probe_pair(probe, i));
        ibh_probe_judge_rdma(ibh_probe_pair(probe, i));
    }
    judge_flux(probe);
    ibh_probe_report_strangers(probe);
    ibh_probe_report_down_peers(probe, down);
    IBH_EACH_POINTER (const IbhNic, nic, probe->nics) {
        ibh_probe_report_losses(probe, nic, down);
        report_faults(probe, nic);
        report_idle_rail(probe, nic);
    }
    ibh_probe_report_sizes(probe);
    ibh_probe_report_rdma(probe);
    report_blocked(probe);
    report_unasked_peers(probe);
    report_interruption(probe);
    report_separate_wires(probe);
    report_small_table(probe, 0);
    report_small_table(probe, 1);
}
