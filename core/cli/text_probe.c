/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --probe for people: a row for the peers of a rail that are in the same state. Who is at fault is told by the
 * findings, which follow. Where a matrix does (text_matrix.c), a rail has one row.
 */
#include "cli/cli.h"

/* Pairs of one rail. */
typedef struct {
    char *state;
    int sent, received;
    gint64 rtt;    /* µs, the shortest; -1: none */
    GArray *peers; /* IbhIp */
} Row;

static void row_free(Row *row)
{
    g_array_unref(row->peers);
    g_free(row->state);
    g_free(row);
}

/* The row of this state, with one peer more. */
static Row *add_peer(GPtrArray *rows, const char *state, const IbhIp *peer)
{
    Row *row = NULL;

    for (guint i = 0; i < rows->len && !row; i++)
        row = g_str_equal(((Row *)rows->pdata[i])->state, state) ? rows->pdata[i] : NULL;
    if (!row) {
        row = g_new(Row, 1);
        *row = (Row){.state = g_strdup(state), .rtt = -1, .peers = g_array_new(FALSE, FALSE, sizeof *peer)};
        g_ptr_array_add(rows, row);
    }
    g_array_append_val(row->peers, *peer);
    return row;
}

static char *state_of(const IbhProbe *probe, const IbhProbePair *pair)
{
    g_autoptr(GPtrArray) codes = ibh_probe_problems(pair);
    g_autofree char *problems = ibh_texts_join(codes, ", ");
    const char *rdma = ibh_pair_rdma_text(probe, pair), *tcp = ibh_probe_syn_why(pair);

    return g_strconcat(problems[0] ? problems : "ok", rdma ? "; RDMA: " : "", rdma ? rdma : "",
                       tcp ? "; the NIC of its replies is not known: " : "", tcp, NULL);
}

static void add_pair(GPtrArray *rows, const IbhProbePair *pair, const char *state)
{
    Row *row = add_peer(rows, state, ibh_probe_peer(pair));

    row->sent += pair->sent;
    row->received += pair->received;
    if (pair->rtt >= 0 && (row->rtt < 0 || pair->rtt < row->rtt))
        row->rtt = pair->rtt;
}

/* `summary`: for all peers; NULL: each has a state of its own. */
static void add_rail(const IbhReport *report, const IbhNic *nic, const char *summary)
{
    const IbhProbe *probe = report->probe;
    g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func((GDestroyNotify)row_free);

    IBH_EACH (const IbhProbePair, pair, probe->pairs) {
        g_autofree char *state = NULL;

        if (ibh_probe_source(pair)->nic != nic)
            continue;
        state = summary ? g_strdup(summary) : state_of(probe, pair);
        add_pair(rows, pair, state);
    }
    IBH_EACH (const IbhProbeUnasked, unasked, probe->unasked) {
        g_autofree char *state = g_strdup_printf("not asked: %s", unasked->why);

        if (unasked->nic == nic)
            add_peer(rows, summary ? summary : state, &g_array_index(probe->peers, IbhIp, unasked->peer));
    }
    IBH_EACH_POINTER (const Row, row, rows) {
        g_autofree char *peers = ibh_probe_name_peers(row->peers, report->style->width ? 1 : G_MAXUINT);
        g_autofree char *ms = row->rtt < 0 ? g_strdup("-") : g_strdup_printf("%.2f", (double)row->rtt / 1000);

        ibh_rows_add(report, "%s\t%s\t%d/%d\t%s\t%s", nic->link->name, peers, row->received, row->sent, ms, row->state);
    }
}

/* Nothing is said of a pair whose packets were under way. */
static void add_unfinished(const IbhReport *report)
{
    const IbhProbe *probe = report->probe;
    const guint n = probe->unfinished->len;
    g_autoptr(GArray) peers = IBH_NEW_ARRAY(IbhIp);
    g_autofree char *names = NULL;
    guint last = G_MAXUINT;

    IBH_EACH (const IbhProbeUnasked, one, probe->unfinished) {
        if (one->peer != last)
            g_array_append_val(peers, g_array_index(probe->peers, IbhIp, one->peer));
        last = one->peer;
    }
    names = ibh_probe_name_peers(peers, report->style->width ? 1 : G_MAXUINT);
    if (n)
        ibh_rows_add(report, "interrupted: %u of %u pairs have no result; their peers: %s", n, n + probe->pairs->len,
                     names);
}

void ibh_rows_add_probe(const IbhReport *report)
{
    g_autoptr(GPtrArray) summaries = ibh_matrix_sum_up(report->probe);
    g_autofree char *own = ibh_probe_name_peers(report->probe->own, G_MAXUINT);

    if (!report->probe->nics->len)
        ibh_rows_add_verdict(report);
    else if (report->probe->pairs->len || report->probe->unasked->len)
        ibh_rows_add(report, "IFACE\tPEERS\tREPLIES\tMS\tSTATE");
    for (guint i = 0; i < report->probe->nics->len; i++)
        add_rail(report, report->probe->nics->pdata[i], summaries ? summaries->pdata[i] : NULL);
    add_unfinished(report);
    if (own[0])
        ibh_rows_add(report, "left out, as addresses of this host: %s", own);
}
