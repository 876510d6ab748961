/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/check.h"
#include "model/model.h"
#include "probe/verdict.h"

#include <linux/if.h>

/* ---- rails ---- */

static gboolean is_up(const IbhNic *nic)
{
    return (nic->link->flags & IFF_UP) != 0;
}

/* One for all rails that are down, and one for all without carrier: as when a switch is off. */
static void report_carriers(IbhProbe *probe, gboolean up)
{
    g_autoptr(GString) commands = g_string_new(NULL);
    g_autofree char *pairs = NULL;
    IbhFinding *finding = NULL;
    guint n = 0;

    IBH_EACH (const IbhProbePair, pair, probe->pairs)
        n += pair->cause == IBH_LOSS_NO_CARRIER && is_up(ibh_probe_source(probe, pair)->nic) == up ? 1 : 0;
    pairs = n ? g_strdup_printf(", which explains what %u pairs lost", n) : g_strdup("");
    IBH_EACH_POINTER (const IbhNic, nic, probe->nics) {
        g_autofree char *iface = ibh_shell_word(nic->link->name);

        if (ibh_nic_is_usable(nic) || is_up(nic) != up)
            continue;
        g_string_append_printf(commands, "%sip link set %s up", commands->len ? "; " : "", iface);
        if (!finding)
            finding = ibh_finding_add(probe->findings, nic->link->name, IBH_ERROR, "carrier-down",
                                      ibh_advice("look at the cable, the transceiver and the switch's port"),
                                      "the link %s: nothing can leave or arrive by it%s",
                                      up ? "has no carrier" : "is administratively down", pairs);
        ibh_finding_hits(finding, nic->link->name);
    }
    if (!finding || up)
        return;
    g_clear_pointer(&finding->advice, g_free);
    finding->fix = g_strdup(commands->str);
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

/* Each rail asked each peer; each peer is reached by one rail at most, and each rail reaches some. */
static gboolean are_apart(const IbhProbe *probe)
{
    for (guint peer = 0; peer < probe->peers->len; peer++) {
        guint by = 0;

        IBH_EACH_POINTER (const IbhNic, nic, probe->nics)
            by += is_reached(probe, nic, peer) ? 1 : 0;
        if (by > 1)
            return FALSE;
    }
    IBH_EACH_POINTER (const IbhNic, nic, probe->nics) {
        gboolean any = FALSE;

        for (guint peer = 0; peer < probe->peers->len; peer++)
            any |= is_reached(probe, nic, peer);
        if (!any)
            return FALSE;
    }
    return probe->nics->len > 1 && probe->pairs->len == probe->nics->len * probe->peers->len;
}

/* The rails are on wires of their own. Only names can tell whether the cables are as intended. */
static void report_separate_wires(IbhProbe *probe)
{
    g_autoptr(GString) text = g_string_new(NULL);

    if (!are_apart(probe))
        return;
    IBH_EACH_POINTER (const IbhNic, nic, probe->nics) {
        g_autoptr(GArray) reached = g_array_new(FALSE, FALSE, sizeof(IbhIp));
        g_autofree char *names = NULL;

        for (guint peer = 0; peer < probe->peers->len; peer++) {
            if (is_reached(probe, nic, peer))
                g_array_append_val(reached, g_array_index(probe->peers, IbhIp, peer));
        }
        names = ibh_probe_name_peers(reached, IBH_PROBE_NAMED);
        g_string_append_printf(text, "%s%s reaches %s", text->len ? "; " : "", nic->link->name, names);
    }
    ibh_finding_add(
        probe->findings, "", IBH_WARNING, "separate-wires",
        ibh_advice("compare the cables with the plan of the fabric"),
        "no peer is reached by two rails: the rails are on separate wires, and if one reaches what another one should, "
        "their cables are swapped: %s",
        text->str);
}

/* ---- the verdict: the neighbour table ---- */

static IbhRemedy enlarge(int family, guint needed)
{
    guint size = IBH_PROBE_TABLE;

    while (size < 2 * needed)
        size *= 2;
    return ibh_fix(
        g_strdup_printf("sysctl -w net.ipv%c.neigh.default.gc_thresh3=%u net.ipv%c.neigh.default.gc_thresh2=%u "
                        "net.ipv%c.neigh.default.gc_thresh1=%u",
                        family ? '6' : '4', size, family ? '6' : '4', size / 2, family ? '6' : '4', size / 4));
}

static void report_small_table(IbhProbe *probe, int family)
{
    guint needed = 0, refused = 0, size = probe->table_size[family];
    g_autofree char *limit = NULL, *why = NULL;

    IBH_EACH (const IbhProbePair, pair, probe->pairs) {
        if (ibh_probe_family(ibh_probe_peer(probe, pair)) != family)
            continue;
        needed += pair->on_link ? 1 : 0;
        refused += pair->cause == IBH_LOSS_TABLE ? 1 : 0;
    }
    if (!refused && (!size || needed <= size))
        return;
    limit = g_strdup_printf("the kernel keeps %u neighbours (net.ipv%c.neigh.default.gc_thresh3)", size,
                            family ? '6' : '4');
    why = refused
              ? g_strdup_printf("and all places are taken: so echoes of %u pairs were not sent, which is no fault of "
                                "these peers",
                                refused)
              : g_strdup_printf("these rails and peers need %u: when all of them talk, some get \"neighbour table "
                                "overflow\"",
                                needed);
    ibh_finding_add(probe->findings, "", refused ? IBH_ERROR : IBH_WARNING, "neighbour-table-small",
                    enlarge(family, MAX(needed, refused ? size : 0)), "%s, %s", limit, why);
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

void ibh_probe_report_rails(IbhProbe *probe)
{
    report_carriers(probe, FALSE);
    report_carriers(probe, TRUE);
    IBH_EACH_POINTER (const IbhNic, nic, probe->nics)
        report_idle_rail(probe, nic);
}

void ibh_probe_report_whole(IbhProbe *probe)
{
    report_missing_module(probe);
    report_blocked(probe);
    report_unasked_peers(probe);
    report_interruption(probe);
    report_separate_wires(probe);
    report_small_table(probe, 0);
    report_small_table(probe, 1);
}
