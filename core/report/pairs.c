/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --probe for people: one row for the peers of a rail that are in the same state. If there are several rails and many
 * peers, and peers of a rail differ in their problems, each rail has one row that counts its peers, and the rows of the
 * worst states follow. The findings, which follow the rows, say who is at fault.
 */
#include "report/report.h"

#define MANY_PEERS 8 /* from this number on, a rail has many peers */
#define WORST_MAX 5  /* at most this many rows of peers that are not ok follow the rows that count peers */

/* The peers of one rail that are in the same state; in `sums` (count_pairs()), the peers of one rail in any state. `ok`
 * is FALSE if the peers have problems or were not asked; `sums` do not use it. */
typedef struct {
    const IbhNic *nic;
    char *state;
    gboolean ok;
    int sent, received;
    gint64 rtt;    /* µs, the shortest; -1 if there is none */
    GArray *peers; /* IbhIp */
} Row;

static void row_free(Row *row)
{
    g_array_unref(row->peers);
    g_free(row->state);
    g_free(row);
}

/* Adds a peer to the row of this rail and this state, and returns the row. If there is no such row, makes it. `pair` is
 * NULL if the peer was not asked. */
static Row *count_peer(GPtrArray *rows, const IbhNic *nic, const char *state, const IbhIp *peer,
                       const IbhProbePair *pair)
{
    Row *row = NULL;

    IBH_EACH_POINTER (Row, one, rows) {
        if (one->nic == nic && g_str_equal(one->state, state))
            row = one;
    }
    if (!row) {
        row = g_new0(Row, 1);
        *row = (Row){.nic = nic, .state = g_strdup(state), .rtt = -1, .peers = IBH_NEW_ARRAY(IbhIp)};
        g_ptr_array_add(rows, row);
    }
    g_array_append_vals(row->peers, peer, 1);
    if (!pair)
        return row;
    row->sent += pair->sent;
    row->received += pair->received;
    if (pair->rtt >= 0 && (row->rtt < 0 || pair->rtt < row->rtt))
        row->rtt = pair->rtt;
    return row;
}

/* Adds the row to the report. On a terminal, the row names only the first range of peers, to stay short. */
static void add_row(const IbhReport *report, const Row *row)
{
    g_autofree char *peers = ibh_probe_name_peers(row->peers, report->style->width ? 1 : G_MAXUINT);
    g_autofree char *ms = row->rtt < 0 ? g_strdup("-") : g_strdup_printf("%.2f", (double)row->rtt / 1000);

    ibh_rows_add(report, "%s\t%s\t%d/%d\t%s\t%s", row->nic->link->name, peers, row->received, row->sent, ms,
                 row->state);
}

/* Sorts the worst rows first: those that lost the most echoes. Of rows that lost equally many, those that sent the most
 * come first. */
static int compare_rows(gconstpointer a, gconstpointer b)
{
    const Row *one = *(Row *const *)a, *other = *(Row *const *)b;
    const int lost_more = (other->sent - other->received) - (one->sent - one->received);

    return lost_more ? lost_more : other->sent - one->sent;
}

/* Adds the peers of one rail to `rows`, by state, and to `sums`, in which their state is "". Returns their row of
 * `sums`; NULL if no peer of the rail has a result. For each peer, sets `problem_of` to the codes of its problems ("":
 * none), or to why it was not asked; leaves it NULL if there is no result. Equal texts are the same pointer. */
static Row *count_peers(const IbhProbe *probe, const IbhNic *nic, GPtrArray *rows, GPtrArray *sums,
                        const char **problem_of)
{
    Row *sum = NULL;

    IBH_EACH (const IbhProbePair, pair, probe->pairs) {
        const char *rdma = ibh_pair_rdma_text(probe, pair), *tcp = ibh_probe_syn_why(pair);
        g_autoptr(GPtrArray) codes = NULL;
        g_autofree char *problems = NULL, *state = NULL;

        if (ibh_probe_source(pair)->nic != nic)
            continue;
        codes = ibh_probe_problems(pair);
        problems = ibh_texts_join(codes, ", ");
        /* `tcp` comes last: if it is NULL, it ends the list. */
        state = g_strconcat(codes->len ? problems : "ok", rdma ? "; RDMA: " : "", rdma ? rdma : "",
                            tcp ? "; the NIC of its replies is not known: " : "", tcp, NULL);
        count_peer(rows, nic, state, ibh_probe_peer(pair), pair)->ok = !codes->len;
        sum = count_peer(sums, nic, "", ibh_probe_peer(pair), pair);
        problem_of[pair->peer] = ibh_probe_keep_text(probe, problems);
    }
    IBH_EACH (const IbhProbeUnasked, unasked, probe->unasked) {
        const IbhIp *peer = &g_array_index(probe->peers, IbhIp, unasked->peer);
        g_autofree char *state = g_strdup_printf("not asked: %s", unasked->why);

        if (unasked->nic != nic)
            continue;
        count_peer(rows, nic, state, peer, NULL);
        sum = count_peer(sums, nic, "", peer, NULL);
        problem_of[unasked->peer] = ibh_probe_keep_text(probe, state);
    }
    return sum;
}

/* Fills `rows`, by rail and state, and `sums`, by rail. Returns TRUE if `sums` are worth showing: there are several
 * rails and many peers, and peers of a rail differ in their problems. Otherwise `rows` alone say enough. */
static gboolean count_pairs(const IbhProbe *probe, GPtrArray *rows, GPtrArray *sums)
{
    gboolean differ = FALSE;
    guint most = 0; /* the most results that a rail has */

    IBH_EACH_POINTER (const IbhNic, nic, probe->nics) {
        g_autofree const char **problem_of = g_new0(const char *, probe->peers->len);
        Row *sum = count_peers(probe, nic, rows, sums, problem_of);
        const char *first = NULL; /* the first text in `problem_of` */
        guint results = 0, right = 0;

        for (guint peer = 0; peer < probe->peers->len; peer++) {
            const char *problem = problem_of[peer];

            if (!problem) /* the pair has no result, because the run was interrupted */
                continue;
            if (!first)
                first = problem;
            differ |= problem != first;
            right += !problem[0];
            results++;
        }
        most = MAX(most, results);
        if (sum) {
            g_free(sum->state);
            sum->state = g_strdup_printf("%u of %u ok", right, results);
        }
    }
    return most >= MANY_PEERS && probe->nics->len > 1 && differ;
}

void ibh_rows_add_pairs(const IbhReport *report)
{
    g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func((GDestroyNotify)row_free),
                         sums = g_ptr_array_new_with_free_func((GDestroyNotify)row_free);
    const gboolean is_summed = count_pairs(report->probe, rows, sums);
    const GArray *unfinished = report->probe->unfinished;
    g_autoptr(GArray) peers = IBH_NEW_ARRAY(IbhIp);
    g_autofree char *own = ibh_probe_name_peers(report->probe->own, G_MAXUINT), *names = NULL;
    guint wrong = 0, last = G_MAXUINT;

    if (!report->probe->nics->len) /* no NIC asks: say why */
        ibh_rows_add_verdict(report);
    if (rows->len)
        ibh_rows_add(report, "IFACE\tPEERS\tREPLIES\tMS\tSTATE");
    if (is_summed)
        g_ptr_array_sort(rows, compare_rows);
    for (guint i = 0; is_summed && i < sums->len; i++)
        add_row(report, sums->pdata[i]);
    IBH_EACH_POINTER (const Row, row, rows) {
        if (is_summed && row->ok)
            continue;
        wrong += is_summed ? 1 : 0; /* without sums, all rows are shown */
        if (wrong <= WORST_MAX)
            add_row(report, row);
    }
    if (wrong > WORST_MAX)
        ibh_rows_add(report, "and %u more", wrong - WORST_MAX);
    /* The pairs in `unfinished` have no result, because the run was interrupted. They are ordered by peer, so it is
     * enough to compare each pair's peer with the last one. */
    IBH_EACH (const IbhProbeUnasked, one, unfinished) {
        if (one->peer != last)
            g_array_append_val(peers, g_array_index(report->probe->peers, IbhIp, one->peer));
        last = one->peer;
    }
    names = ibh_probe_name_peers(peers, report->style->width ? 1 : G_MAXUINT);
    if (unfinished->len)
        ibh_rows_add(report, "interrupted: %u of %u pairs have no result; their peers: %s", unfinished->len,
                     unfinished->len + report->probe->pairs->len, names);
    if (own[0])
        ibh_rows_add(report, "left out, as addresses of this host: %s", own);
}
