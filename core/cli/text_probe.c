/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --probe for people: which pairs reached each other. Who is at fault is told by the findings, which follow.
 */
#include "cli/report.h"

#define LISTED_PAIRS 16 /* of more, each rail has a line */

static void add_pair(GPtrArray *table, const IbhProbe *probe, const IbhProbePair *pair)
{
    g_autoptr(GPtrArray) codes = ibh_probe_problems(pair);
    g_autofree char *problems = ibh_join(codes, ", "),
                    *ms = pair->rtt < 0 ? g_strdup("-") : g_strdup_printf("%.2f", (double)pair->rtt / 1000);
    const char *rdma = ibh_told_rdma(probe, pair), *tcp = ibh_probe_syn_why(pair);
    const int ok = ibh_told_ok(pair);
    char peer[IBH_IP_STRLEN];

    ibh_add_row(table,
                ok < 0 ? IBH_YELLOW
                : ok   ? IBH_GREEN
                       : IBH_RED,
                "%s\t%s\t%d/%d\t%s\t%s%s%s%s%s", ibh_probe_source(probe, pair)->nic->link->name,
                ibh_ip_format(ibh_probe_peer(probe, pair), peer), pair->received, pair->sent, ms,
                problems[0] ? problems : "ok", rdma ? "; RDMA: " : "", rdma ? rdma : "",
                tcp ? "; the NIC of its replies is not known: " : "", tcp ? tcp : "");
}

static void put_pairs(GString *out, const IbhReport *report)
{
    const IbhProbe *probe = report->probe;
    g_autoptr(GPtrArray) table = g_ptr_array_new_with_free_func(g_free);

    ibh_add_row(table, IBH_BOLD, "IFACE\tPEER\tREPLIES\tMS\tSTATE");
    IBH_EACH (const IbhProbePair, pair, probe->pairs)
        add_pair(table, probe, pair);
    IBH_EACH (const IbhProbeUnasked, unasked, probe->unasked) {
        char peer[IBH_IP_STRLEN];

        ibh_add_row(table, IBH_YELLOW, "%s\t%s\t0/0\t-\tnot asked: %s", unasked->nic->link->name,
                    ibh_ip_format(&g_array_index(probe->peers, IbhIp, unasked->peer), peer), unasked->why);
    }
    ibh_put_table(out, report, table, 5, 4);
}

/* "; not asked: no common subnet: 10.9.0.1-.3; no address of its family: fd00::1"; the peers that this rail did not ask
 * for the same reason stand together. */
static char *name_unasked(const IbhProbe *probe, const IbhNic *nic)
{
    g_autoptr(GPtrArray) reasons = g_ptr_array_new();
    GString *text = g_string_new(NULL);

    IBH_EACH (const IbhProbeUnasked, unasked, probe->unasked) {
        if (unasked->nic == nic)
            ibh_add_name(reasons, unasked->why);
    }
    IBH_EACH_POINTER (const char, why, reasons) {
        g_autoptr(GArray) peers = g_array_new(FALSE, TRUE, sizeof(IbhIp));
        g_autofree char *names = NULL;

        IBH_EACH (const IbhProbeUnasked, unasked, probe->unasked) {
            if (unasked->nic == nic && g_str_equal(unasked->why, why))
                g_array_append_val(peers, g_array_index(probe->peers, IbhIp, unasked->peer));
        }
        names = ibh_probe_name_peers(peers, G_MAXUINT);
        g_string_append_printf(text, "%s%s: %s", text->len ? "; " : "; not asked: ", why, names);
    }
    return g_string_free(text, FALSE);
}

/* "ib0: 198 of 200 peers ok, 594 of 600 replies; not asked: ..." */
static void add_rail(GPtrArray *table, const IbhProbe *probe, const IbhNic *nic)
{
    g_autofree char *unasked = name_unasked(probe, nic);
    int peers = 0, good = 0, sent = 0, received = 0;

    IBH_EACH (const IbhProbePair, pair, probe->pairs) {
        if (ibh_probe_source(probe, pair)->nic != nic)
            continue;
        peers++;
        good += ibh_told_ok(pair) > 0;
        sent += pair->sent;
        received += pair->received;
    }
    ibh_add_row(table, good == peers ? IBH_GREEN : IBH_RED, "%s: %d of %d peers ok, %d of %d replies%s",
                nic->link->name, good, peers, received, sent, unasked);
}

/* "RDMA: 6 of 8 pairs answered" */
static void put_rdma(GString *out, const IbhReport *report)
{
    const guint asked = report->probe->rdma ? report->probe->pairs->len : 0;
    guint answered = 0;

    IBH_EACH (const IbhProbePair, pair, report->probe->pairs)
        answered += pair->rdma == IBH_CAUSE_NONE;
    if (!asked)
        return;
    ibh_put(out, report, answered == asked ? IBH_GREEN : IBH_RED, "RDMA: %u of %u pairs answered\n", answered, asked);
}

void ibh_put_probe(GString *out, const IbhReport *report)
{
    const IbhProbe *probe = report->probe;
    const guint pairs = probe->pairs->len + probe->unasked->len;
    g_autoptr(GPtrArray) rails = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *own = ibh_probe_name_peers(probe->own, G_MAXUINT);

    if (pairs && (pairs <= LISTED_PAIRS || report->style->verbose))
        put_pairs(out, report);
    if (pairs > LISTED_PAIRS) {
        IBH_EACH_POINTER (const IbhNic, nic, probe->nics)
            add_rail(rails, probe, nic);
        ibh_put_table(out, report, rails, 1, 0);
    }
    put_rdma(out, report);
    if (own[0])
        g_string_append_printf(out, "left out, as addresses of this host: %s\n", own);
    if (!probe->nics->len)
        ibh_put_verdict(out, report);
}
