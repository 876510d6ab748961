/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/rdma.h"

#include "model/text.h"

#include <errno.h>

#define NAMED 4 /* peers that a finding names */

gboolean ibh_probe_wants_rdma(const IbhProbePair *pair)
{
    return pair->received || pair->lladdr_len;
}

gboolean ibh_probe_take_rdma(IbhProbe *probe, guint pair, const IbhRdmaAnswer *answer)
{
    IbhRdmaAnswer *known = pair < probe->pairs->len ? &ibh_probe_pair(probe, pair)->rdma : NULL;

    if (!known || known->outcome != IBH_RDMA_UNASKED || answer->outcome <= IBH_RDMA_UNASKED ||
        answer->outcome >= IBH_N_RDMA)
        return FALSE;
    *known = *answer;
    return TRUE;
}

/* ---- why ---- */

static const char *device_of(const IbhNic *nic)
{
    return nic->link->rdma[0] ? nic->link->rdma : "its device";
}

/* Same for all pairs of a rail with this outcome and step. */
static char *describe_silence(const IbhNic *nic, const IbhRdmaAnswer *answer)
{
    const char *error = g_strerror(answer->error ? answer->error : ETIMEDOUT);

    switch (answer->step) {
    case IBH_RDMA_AT_ADDRESS:
        return g_strdup_printf("the RDMA connection manager does not find the way by %s: %s", device_of(nic), error);
    case IBH_RDMA_AT_ROUTE:
        return g_strdup_printf("the subnet manager tells no path by %s: %s", device_of(nic), error);
    default:
        return g_strdup_printf("RDMA requests by %s get no answer", device_of(nic));
    }
}

static char *describe_cause(const IbhProbe *probe, const IbhProbePair *pair)
{
    const IbhProbeSource *source = ibh_probe_source(probe, pair);
    char ip[IBH_IP_STRLEN];

    switch (pair->rdma.outcome) {
    case IBH_RDMA_NO_ECHO:
        return g_strdup("not asked, as the peer gives no sign of life");
    case IBH_RDMA_NO_MODULE:
        return g_strdup("not asked: the module rdma_ucm is not loaded");
    case IBH_RDMA_FILTERED:
        return g_strdup_printf("not asked: this host's own firewall drops UDP 4791, by which %s sends",
                               device_of(source->nic));
    case IBH_RDMA_NO_DEVICE:
        return g_strdup("no RDMA device is behind this NIC");
    case IBH_RDMA_NO_GID:
        return g_strdup_printf("%s has no GID for %s", device_of(source->nic), ibh_ip_format(&source->ip, ip));
    case IBH_RDMA_REFUSED:
        return g_strdup_printf("the kernel does not send RDMA requests by %s: %s", device_of(source->nic),
                               g_strerror(pair->rdma.error));
    case IBH_RDMA_SILENT:
        return describe_silence(source->nic, &pair->rdma);
    case IBH_RDMA_BLOCKED:
        return g_strdup("not asked: the kernel did not let go of the process that should ask");
    default:
        return g_strdup("not asked");
    }
}

char *ibh_probe_rdma_why(const IbhProbe *probe, const IbhProbePair *pair)
{
    if (pair->rdma.outcome == IBH_RDMA_UNWANTED || pair->rdma.outcome == IBH_RDMA_ANSWERED)
        return NULL;
    return describe_cause(probe, pair);
}

/* ---- the verdict ---- */

void ibh_probe_judge_rdma(IbhProbePair *pair)
{
    switch (pair->rdma.outcome) {
    case IBH_RDMA_UNWANTED:
    case IBH_RDMA_UNASKED: /* interrupted */
    case IBH_RDMA_ANSWERED:
    case IBH_RDMA_NO_ECHO:   /* the echo's fault is told */
    case IBH_RDMA_NO_MODULE: /* told once for the host */
        return;
    case IBH_RDMA_NO_DEVICE:
        pair->faults |= 1u << IBH_PROBE_NO_DEVICE;
        return;
    default:
        pair->faults |= 1u << IBH_PROBE_RDMA;
    }
}

/* One cause: the same outcome, at the same step, with the same errno. */
static gboolean has_same_cause(const IbhProbePair *a, const IbhProbePair *b)
{
    return a->rdma.outcome == b->rdma.outcome && (a->rdma.outcome != IBH_RDMA_SILENT || a->rdma.step == b->rdma.step) &&
           (a->rdma.outcome != IBH_RDMA_REFUSED || a->rdma.error == b->rdma.error);
}

static gboolean is_silent(const IbhProbePair *pair)
{
    return pair->rdma.outcome == IBH_RDMA_SILENT && pair->rdma.step == IBH_RDMA_AT_PEER;
}

/* Silent to two rails at least, and to each that asked: reported once, as the peer's fault. */
static gboolean is_silent_to_all(const IbhProbe *probe, guint peer)
{
    guint silent = 0;

    for (guint i = ibh_probe_first_pair(probe, peer); i < probe->pairs->len && ibh_probe_pair(probe, i)->peer == peer;
         i++) {
        const IbhProbePair *pair = ibh_probe_pair(probe, i);

        if (pair->rdma.outcome == IBH_RDMA_ANSWERED)
            return FALSE;
        silent += is_silent(pair) ? 1 : 0;
    }
    return silent > 1;
}

static void add_name(GString *names, guint n, const IbhIp *peer)
{
    char ip[IBH_IP_STRLEN];

    if (n <= NAMED)
        g_string_append_printf(names, "%s%s", n > 1 ? ", " : "", ibh_ip_format(peer, ip));
}

static void end_names(GString *names, guint n)
{
    if (n > NAMED)
        g_string_append_printf(names, " and %u more", n - NAMED);
}

static void report_silent_peers(IbhProbe *probe, const gboolean *silent)
{
    g_autoptr(GString) names = g_string_new(NULL);
    guint n = 0;

    for (guint peer = 0; peer < probe->peers->len; peer++) {
        if (silent[peer])
            add_name(names, ++n, &g_array_index(probe->peers, IbhIp, peer));
    }
    end_names(names, n);
    if (n)
        ibh_finding_add(
            probe->findings, "", IBH_ERROR, "rdma-unreachable",
            ibh_advice("on the peer: rdma link, ib-hook --check; between both: UDP 4791 has to pass (RoCE)"),
            "%u of %u peers answer RDMA requests of no rail, though their IP works: %s; their RDMA device is "
            "gone, has no GID for the address, or what it sends or gets is dropped",
            n, probe->peers->len, names->str);
}

static IbhRemedy remedy_for(const IbhProbe *probe, const IbhProbePair *pair, gboolean all)
{
    g_autofree char *iface = ibh_shell_word(ibh_probe_link(probe, pair)->name);
    char ip[IBH_IP_STRLEN];

    switch (pair->rdma.outcome) {
    case IBH_RDMA_FILTERED:
        return ibh_advice("let UDP port 4791 out (nft list ruleset, iptables -S OUTPUT)");
    case IBH_RDMA_BLOCKED:
        return ibh_advice("dmesg; a process ib-hook in state D (ps -eo pid,stat,wchan:30,comm) ends with its cause");
    case IBH_RDMA_NO_GID:
        return ibh_advice("ib-hook --check --iface %s; take the address away and add it again", iface);
    case IBH_RDMA_SILENT:
        if (pair->rdma.step == IBH_RDMA_AT_ROUTE)
            return ibh_advice("ib-hook --check --iface %s: the port, its P_Key, its subnet manager", iface);
        if (!all)
            return ibh_advice("on the peer (%s): rdma link, ib-hook --check; between both: UDP 4791 has to pass (RoCE)",
                              ibh_ip_format(ibh_probe_peer(probe, pair), ip));
        return ibh_advice("ib-hook --check --iface %s, rdma link; what comes in by UDP 4791 has to pass (RoCE)", iface);
    default:
        return ibh_advice("ib-hook --check --iface %s; dmesg", iface);
    }
}

/* All pairs of this rail that have this pair's cause. */
static void report_cause(IbhProbe *probe, const IbhNic *nic, const IbhProbePair *of, const gboolean *silent)
{
    g_autoptr(GString) names = g_string_new(NULL);
    g_autofree char *why = describe_cause(probe, of);
    guint n = 0, all = 0;

    IBH_EACH (const IbhProbePair, pair, probe->pairs) {
        if (ibh_probe_source(probe, pair)->nic != nic)
            continue;
        all++;
        if (has_same_cause(pair, of) && !(is_silent(pair) && silent[pair->peer]))
            add_name(names, ++n, ibh_probe_peer(probe, pair));
    }
    end_names(names, n);
    if (of->rdma.outcome == IBH_RDMA_NO_DEVICE)
        ibh_finding_add(probe->findings, nic->link->name, IBH_ERROR, "rdma-no-device",
                        ibh_advice("rdma link names all RDMA devices; dmesg says why the NIC's driver made none"),
                        "no RDMA device is behind this NIC: it was not asked by RDMA, which explains %u of %u pairs", n,
                        all);
    else
        ibh_finding_add(probe->findings, nic->link->name, IBH_ERROR, "rdma-unreachable",
                        remedy_for(probe, of, n == all), "%u of %u peers: %s; %s%s", n, all, names->str,
                        of->received ? "echoes come through, but " : "", why);
}

/* The first pair of each cause speaks for it. */
static void report_rail(IbhProbe *probe, const IbhNic *nic, const gboolean *silent)
{
    g_autoptr(GPtrArray) told = g_ptr_array_new();

    IBH_EACH (IbhProbePair, pair, probe->pairs) {
        gboolean known = !(pair->faults & (1u << IBH_PROBE_RDMA | 1u << IBH_PROBE_NO_DEVICE)) ||
                         ibh_probe_source(probe, pair)->nic != nic || (is_silent(pair) && silent[pair->peer]);

        for (guint i = 0; !known && i < told->len; i++)
            known = has_same_cause(told->pdata[i], pair);
        if (known)
            continue;
        g_ptr_array_add(told, pair);
        report_cause(probe, nic, pair, silent);
    }
}

static void report_missing_module(IbhProbe *probe)
{
    guint n = 0;

    IBH_EACH (const IbhProbePair, pair, probe->pairs)
        n += pair->rdma.outcome == IBH_RDMA_NO_MODULE;
    if (n)
        ibh_finding_add(probe->findings, "", IBH_ERROR, "module-missing", ibh_fix(g_strdup("modprobe rdma_ucm")),
                        "the module rdma_ucm is not loaded, so %u of %u pairs were not asked by RDMA", n,
                        probe->pairs->len);
}

void ibh_probe_report_rdma(IbhProbe *probe)
{
    g_autofree gboolean *silent = g_new0(gboolean, probe->peers->len);

    if (!probe->rdma)
        return;
    for (guint peer = 0; peer < probe->peers->len; peer++)
        silent[peer] = is_silent_to_all(probe, peer);
    report_missing_module(probe);
    report_silent_peers(probe, silent);
    IBH_EACH_POINTER (const IbhNic, nic, probe->nics)
        report_rail(probe, nic, silent);
}
