/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --probe for people: which pairs reached each other. Who is at fault is told by the findings, which follow.
 */
#include "cli/report.h"

#define LISTED_PAIRS 16 /* of more, each rail has a line */

static void add_pair(GPtrArray *table, const IbhProbe *probe, const IbhProbePair *pair)
{
    g_autoptr(GPtrArray) codes = ibh_probe_problems(pair);
    g_autofree char *problems = ibh_join(codes, ", ");
    const char *rdma = ibh_told_rdma(probe, pair), *tcp = ibh_probe_syn_why(pair);
    const int ok = ibh_told_ok(pair);
    char text[IBH_IP_STRLEN];

    ibh_table_add(table, IBH_PLAIN, "%s", ibh_probe_source(probe, pair)->nic->link->name);
    ibh_table_add(table, IBH_PLAIN, "%s", ibh_ip_format(ibh_probe_peer(probe, pair), text));
    ibh_table_add(table, IBH_PLAIN, "%d/%d", pair->received, pair->sent);
    if (pair->rtt < 0)
        ibh_table_add(table, IBH_PLAIN, "-");
    else
        ibh_table_add(table, IBH_PLAIN, "%.2f", (double)pair->rtt / 1000);
    ibh_table_add(table,
                  ok < 0 ? IBH_YELLOW
                  : ok   ? IBH_GREEN
                         : IBH_RED,
                  "%s%s%s%s%s", problems[0] ? problems : "ok", rdma ? "; RDMA: " : "", rdma ? rdma : "",
                  tcp ? "; the NIC of its replies is not known: " : "", tcp ? tcp : "");
}

static void put_pairs(GString *out, const IbhReport *report)
{
    const IbhProbe *probe = report->probe;
    g_autoptr(GPtrArray) table = ibh_table_new("IFACE PEER REPLIES MS STATE");

    IBH_EACH (const IbhProbePair, pair, probe->pairs)
        add_pair(table, probe, pair);
    IBH_EACH (const IbhProbeUnasked, unasked, probe->unasked) {
        char text[IBH_IP_STRLEN];

        ibh_table_add(table, IBH_PLAIN, "%s", unasked->nic->link->name);
        ibh_table_add(table, IBH_PLAIN, "%s", ibh_ip_format(&g_array_index(probe->peers, IbhIp, unasked->peer), text));
        ibh_table_add(table, IBH_PLAIN, "0/0");
        ibh_table_add(table, IBH_PLAIN, "-");
        ibh_table_add(table, IBH_YELLOW, "not asked: %s", unasked->why);
    }
    ibh_put_table(out, report, table, 5, 0);
}

/* "ib0: 198 of 200 peers ok, 594 of 600 replies, 3 not asked" */
static void put_rail(GString *out, const IbhReport *report, const IbhNic *nic)
{
    int peers = 0, good = 0, sent = 0, received = 0, left_out = 0;

    IBH_EACH (const IbhProbePair, pair, report->probe->pairs) {
        if (ibh_probe_source(report->probe, pair)->nic != nic)
            continue;
        peers++;
        good += ibh_told_ok(pair) > 0;
        sent += pair->sent;
        received += pair->received;
    }
    IBH_EACH (const IbhProbeUnasked, unasked, report->probe->unasked)
        left_out += unasked->nic == nic;
    ibh_put(out, report, IBH_PLAIN, "%s: ", nic->link->name);
    ibh_put(out, report, good == peers ? IBH_GREEN : IBH_RED, "%d of %d peers ok", good, peers);
    g_string_append_printf(out, ", %d of %d replies", received, sent);
    if (left_out)
        g_string_append_printf(out, ", %d not asked", left_out);
    g_string_append_c(out, '\n');
}

/* The peers that this rail did not ask for this reason. */
static char *name_unasked(const IbhProbe *probe, const IbhNic *nic, const char *why, guint *count)
{
    g_autoptr(GArray) peers = g_array_new(FALSE, TRUE, sizeof(IbhIp));

    IBH_EACH (const IbhProbeUnasked, unasked, probe->unasked) {
        if (unasked->nic == nic && g_str_equal(unasked->why, why))
            g_array_append_val(peers, g_array_index(probe->peers, IbhIp, unasked->peer));
    }
    *count += peers->len;
    return ibh_probe_name_peers(peers, G_MAXUINT);
}

/* "3 pairs not asked: no common subnet: ib0, ib1 to 10.9.0.1; ib2 to 10.8.0.1": rails that did not ask the same peers
 * stand together. */
static void add_unasked(GPtrArray *table, const IbhProbe *probe, const char *why)
{
    g_autoptr(GPtrArray) peers = g_ptr_array_new_with_free_func(g_free), told = g_ptr_array_new();
    g_autoptr(GString) text = g_string_new(NULL);
    guint count = 0;

    IBH_EACH_POINTER (const IbhNic, nic, probe->nics)
        g_ptr_array_add(peers, name_unasked(probe, nic, why, &count));
    IBH_EACH_POINTER (const char, to, peers) {
        const char *between = text->len ? "; " : "";

        if (!to[0] || !ibh_add_name(told, to))
            continue;
        for (guint i = 0; i < peers->len; i++) {
            if (g_str_equal(peers->pdata[i], to)) {
                g_string_append_printf(text, "%s%s", between, ((const IbhNic *)probe->nics->pdata[i])->link->name);
                between = ", ";
            }
        }
        g_string_append_printf(text, " to %s", to);
    }
    ibh_table_add(table, IBH_PLAIN, "%u pairs not asked: %s: %s", count, why, text->str);
}

/* A line for each reason; whole, but on a terminal. */
static void put_unasked(GString *out, const IbhReport *report)
{
    g_autoptr(GPtrArray) reasons = g_ptr_array_new(), table = ibh_table_new("");

    IBH_EACH (const IbhProbeUnasked, unasked, report->probe->unasked) {
        if (ibh_add_name(reasons, unasked->why))
            add_unasked(table, report->probe, unasked->why);
    }
    ibh_put_table(out, report, table, 1, report->style->width);
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
    ibh_put(out, report, answered == asked ? IBH_GREEN : IBH_RED, "RDMA: %u of %u pairs answered", answered, asked);
    g_string_append_c(out, '\n');
}

void ibh_put_probe(GString *out, const IbhReport *report)
{
    const IbhProbe *probe = report->probe;
    const guint pairs = probe->pairs->len + probe->unasked->len;
    const char *lead = "left out, as addresses of this host:";
    char text[IBH_IP_STRLEN];

    if (pairs && (pairs <= LISTED_PAIRS || report->style->verbose))
        put_pairs(out, report);
    if (pairs > LISTED_PAIRS) {
        IBH_EACH_POINTER (const IbhNic, nic, probe->nics)
            put_rail(out, report, nic);
        if (!report->style->verbose)
            put_unasked(out, report);
    }
    put_rdma(out, report);
    IBH_EACH (const IbhIp, own, probe->own) {
        g_string_append_printf(out, "%s %s", lead, ibh_ip_format(own, text));
        lead = "";
    }
    g_string_append(out, probe->own->len ? "\n" : "");
    if (!probe->nics->len)
        ibh_put_verdict(out, report);
}
