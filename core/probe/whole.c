/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Findings of --probe that are of no single pair. */
#include "probe/probe.h"

/* All rails have said why they do not ask it: the last one's reason. */
static char **find_reasons(const IbhProbe *probe)
{
    g_autofree guint *rails = g_new0(guint, probe->peers->len);
    char **reasons = g_new0(char *, probe->peers->len);

    IBH_EACH (const IbhProbeUnasked, one, probe->unasked) {
        if (++rails[one->peer] == probe->nics->len)
            reasons[one->peer] = one->why;
    }
    return reasons;
}

/* Peers that no rail asked: silence would look like success. */
static void report_unasked(IbhProbe *probe)
{
    g_autofree char **reasons = find_reasons(probe);

    for (guint first = 0; first < probe->peers->len; first++) {
        g_autoptr(GArray) peers = g_array_new(FALSE, FALSE, sizeof(IbhIp));
        g_autofree char *names = NULL;
        const char *why = reasons[first];

        for (guint i = first; why && i < probe->peers->len; i++) {
            if (g_strcmp0(reasons[i], why) != 0)
                continue;
            g_array_append_val(peers, g_array_index(probe->peers, IbhIp, i));
            reasons[i] = NULL;
        }
        names = ibh_probe_name_peers(peers, IBH_PROBE_NAMED);
        if (peers->len)
            ibh_finding_add(
                probe->findings, "", IBH_ERROR, "no-source",
                ibh_remedy_advice("give a rail an address in that subnet, with its right prefix, or a gateway "
                                  "(gateway= or remote= in the configuration); or leave these peers out"),
                "%u of %u peers (%s) were not asked by any rail: %s", peers->len, probe->peers->len, names, why);
    }
}

/* They should be rails, and would be probed. */
static void report_blocked(IbhProbe *probe)
{
    IBH_EACH_POINTER (const IbhNic, nic, probe->rails->nics) {
        g_autofree char *why = NULL;

        if (nic->status != IBH_NIC_BLOCKED || probe->rails->only)
            continue;
        why = ibh_nic_why(probe->rails, nic);
        ibh_finding_add(probe->findings, nic->link->name, IBH_ERROR, "local-rule-late",
                        ibh_remedy_advice("ib-hook --check says what to do; then probe again"),
                        "not programmed, so it was not probed: %s", why);
    }
}

/* Each rail asked each peer; each peer is reached by one rail at most, and each rail reaches some: the rails are on
 * wires of their own. Only names can tell whether the cables are as intended. */
static void report_separate_wires(IbhProbe *probe)
{
    g_autoptr(GString) text = g_string_new(NULL);
    g_autofree guint *by = g_new0(guint, probe->peers->len);

    IBH_EACH_POINTER (const IbhNic, nic, probe->nics) {
        g_autoptr(GArray) reached = g_array_new(FALSE, FALSE, sizeof(IbhIp));
        g_autofree char *names = NULL;

        IBH_EACH (const IbhProbePair, pair, probe->pairs) {
            if (ibh_probe_source(pair)->nic != nic || !(pair->received || pair->dropped))
                continue;
            if (by[pair->peer]++)
                return;
            g_array_append_val(reached, *ibh_probe_peer(pair));
        }
        if (!reached->len)
            return;
        names = ibh_probe_name_peers(reached, IBH_PROBE_NAMED);
        g_string_append_printf(text, "%s%s reaches %s", text->len ? "; " : "", nic->link->name, names);
    }
    if (probe->nics->len > 1 && probe->pairs->len == probe->nics->len * probe->peers->len)
        ibh_finding_add(probe->findings, "", IBH_WARNING, "separate-wires",
                        ibh_remedy_advice("compare the cables with the plan of the fabric"),
                        "no peer is reached by two rails: the rails are on separate wires, and if one reaches what "
                        "another one should, their cables are swapped: %s",
                        text->str);
}

void ibh_probe_report_whole(IbhProbe *probe)
{
    report_blocked(probe);
    report_unasked(probe);
    report_separate_wires(probe);
}
