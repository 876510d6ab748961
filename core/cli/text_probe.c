/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/text_probe.h"

#include "probe/rdma.h"
#include "probe/syn.h"
#include "probe/verdict.h"
#include "cli/table.h"

#include <string.h>

#define MATRIX_PEERS 16  /* up to so many, each is a column */
#define UNASKED_NAMED 8  /* so many of the pairs that were not asked are named */
#define MATRIX_WIDTH 100 /* where the columns' addresses would make it wider, they are numbered */

static const char *fault_color(const IbhProbePair *pair)
{
    return !pair->faults                                                          ? IBH_GREEN
           : pair->faults & ~(1u << IBH_PROBE_FLUX | 1u << IBH_PROBE_PEER_SENDER) ? IBH_RED
                                                                                  : IBH_YELLOW;
}

static const char *link_name(const IbhProbe *probe, int ifindex)
{
    const IbhLink *link = ibh_snapshot_link(probe->rails->snapshot, ifindex);

    return link ? link->name : "?";
}

static gboolean has_fault(const IbhProbePair *pair, IbhProbeFault fault)
{
    return (pair->faults & 1u << fault) != 0;
}

/* "0.12", "lost 1/3", "0.12 reply by ib0": what a matrix has room for. */
static char *describe_pair(const IbhProbe *probe, const IbhProbePair *pair)
{
    GString *text = g_string_new(NULL);

    if (pair->rtt >= 0)
        g_string_append_printf(text, "%d.%02d ", (int)(pair->rtt / 1000), (int)(pair->rtt % 1000 / 10));
    if (has_fault(pair, IBH_PROBE_UNSENT))
        g_string_append(text, "not sent ");
    if (has_fault(pair, IBH_PROBE_LOST))
        g_string_append_printf(text, "lost %d/%d ", pair->sent - pair->received, pair->sent);
    if (has_fault(pair, IBH_PROBE_DROPPED))
        g_string_append_printf(text, "dropped from %s ", link_name(probe, pair->reply_ifindex));
    else if (has_fault(pair, IBH_PROBE_REPLY))
        g_string_append_printf(text, "reply by %s ", link_name(probe, pair->reply_ifindex));
    if (has_fault(pair, IBH_PROBE_ROUTE))
        g_string_append_printf(text, "leaves by %s ", pair->route.error ? "no NIC" : link_name(probe, pair->route.oif));
    if (has_fault(pair, IBH_PROBE_FLUX))
        g_string_append(text, "flux ");
    else if (has_fault(pair, IBH_PROBE_PEER_SENDER))
        g_string_append(text, "peer's NICs ");
    if (has_fault(pair, IBH_PROBE_MTU))
        g_string_append_printf(text, "MTU %u ", pair->mtu.failed ? pair->mtu.passed : pair->mtu.fragment);
    if (has_fault(pair, IBH_PROBE_NO_DEVICE))
        g_string_append(text, "no RDMA device ");
    else if (has_fault(pair, IBH_PROBE_RDMA))
        g_string_append(text, pair->rdma.outcome == IBH_RDMA_SILENT ? "no RDMA " : "RDMA not asked ");
    g_string_truncate(text, text->len - 1);
    return g_string_free(text, FALSE);
}

/* ---- few peers: a matrix, and their hardware addresses ---- */

static void add_matrix_row(IbhTable *table, const IbhProbe *probe, guint row)
{
    const IbhProbeSource *source = &g_array_index(probe->sources, IbhProbeSource, row);
    char ip[IBH_IP_STRLEN];

    ibh_table_add(table, g_strdup(source->nic->link->name), NULL);
    ibh_table_add(table, g_strdup(ibh_ip_format(&source->ip, ip)), NULL);
    for (guint peer = 0; peer < probe->peers->len; peer++) {
        const IbhProbePair *pair = ibh_probe_find(probe, source->nic, peer);

        if (pair && pair->source == row)
            ibh_table_add(table, describe_pair(probe, pair), fault_color(pair));
        else
            ibh_table_add(table, g_strdup("-"), NULL);
    }
}

/* Others are only asked for. */
static gboolean asks(const IbhProbe *probe, guint source)
{
    IBH_EACH (const IbhProbePair, pair, probe->pairs) {
        if (pair->source == source)
            return TRUE;
    }
    return FALSE;
}

/* Each row is a source: a rail, and its address towards these peers. Returns whether the columns were numbered: then
 * the list below explains the numbers. */
static gboolean put_matrix(GString *out, const IbhProbe *probe, const IbhStyle *style)
{
    g_autoptr(IbhTable) table = ibh_table_new(probe->peers->len + 2);
    char ip[IBH_IP_STRLEN];
    gboolean numbered;

    ibh_table_add_heading(table, (const char *const[]){"RAIL", "SOURCE", NULL});
    IBH_EACH (const IbhIp, peer, probe->peers)
        ibh_table_add(table, g_strdup(ibh_ip_format(peer, ip)), IBH_BOLD);
    for (guint row = 0; row < probe->sources->len; row++) {
        if (asks(probe, row))
            add_matrix_row(table, probe, row);
    }
    numbered = ibh_table_width(table) > MATRIX_WIDTH;
    for (guint i = 0; numbered && i < probe->peers->len; i++)
        ibh_table_rename(table, i + 2, g_strdup_printf("[%u]", i + 1));
    ibh_put_table(out, style, table, 0);
    ibh_put_line(out, style, "", "the shortest round trip in ms");
    return numbered;
}

static gboolean same_lladdr(const IbhProbePair *a, const IbhProbePair *b)
{
    return a->lladdr_len == b->lladdr_len && memcmp(a->lladdr, b->lladdr, a->lladdr_len) == 0;
}

/* How many rails know another hardware address of this peer than the first rail that knows one. */
static guint count_lladdrs(const IbhProbe *probe, guint peer, const IbhProbePair **ret_first)
{
    guint others = 0;

    *ret_first = NULL;
    IBH_EACH_POINTER (const IbhNic, nic, probe->nics) {
        const IbhProbePair *pair = ibh_probe_find(probe, nic, peer);

        if (!pair || !pair->lladdr_len)
            continue;
        *ret_first = *ret_first ? *ret_first : pair;
        others += same_lladdr(*ret_first, pair) ? 0 : 1;
    }
    return *ret_first ? others + 1 : 0;
}

/* " 02:00:00:00:10:00", or each rail's. */
static void put_lladdrs(GString *out, const IbhProbe *probe, const IbhStyle *style, guint peer)
{
    const IbhProbePair *first;
    guint count = count_lladdrs(probe, peer, &first);

    IBH_EACH_POINTER (const IbhNic, nic, probe->nics) {
        const IbhProbePair *pair = ibh_probe_find(probe, nic, peer);
        g_autofree char *lladdr = pair ? ibh_report_lladdr(pair->lladdr, pair->lladdr_len) : NULL;

        if (pair && count > 1)
            ibh_putf(out, style, NULL, " %s: %s", ibh_probe_source(probe, pair)->nic->link->name,
                     pair->lladdr_len ? lladdr : "-");
        else if (pair && pair == first)
            ibh_putf(out, style, NULL, " %s", lladdr);
        else if (pair && !first) {
            ibh_put(out, style, NULL, pair->on_link ? " unknown" : " through a gateway");
            return;
        }
    }
}

static void put_peers(GString *out, const IbhProbe *probe, const IbhStyle *style, gboolean numbered)
{
    g_autofree char *names = ibh_probe_name_peers(probe->peers, probe->peers->len);
    char ip[IBH_IP_STRLEN];

    if (numbered && !style->verbose) {
        ibh_putf(out, style, NULL, "[1] to [%u]: %s", probe->peers->len, names);
        g_string_append_c(out, '\n');
    }
    if (!style->verbose)
        return;
    g_string_append(out, "\nhardware addresses\n");
    for (guint peer = 0; peer < probe->peers->len; peer++) {
        if (numbered)
            g_string_append_printf(out, "[%u] ", peer + 1);
        ibh_putf(out, style, NULL, "%s", ibh_ip_format(&g_array_index(probe->peers, IbhIp, peer), ip));
        put_lladdrs(out, probe, style, peer);
        g_string_append_c(out, '\n');
    }
}

/* ---- many peers: a list ---- */

/* Of many peers, a line for each with a problem (`verbose`: for each). */
static void put_list(GString *out, const IbhProbe *probe, const IbhStyle *style)
{
    const IbhProbePair *before = NULL;

    IBH_EACH (const IbhProbePair, pair, probe->pairs) {
        g_autofree char *text = NULL;
        char ip[IBH_IP_STRLEN];

        if (!pair->faults && !style->verbose)
            continue;
        text = describe_pair(probe, pair);
        if (before)
            g_string_append_c(out, before->peer == pair->peer ? ',' : '\n');
        if (!before || before->peer != pair->peer)
            ibh_putf(out, style, NULL, "%s:", ibh_ip_format(ibh_probe_peer(probe, pair), ip));
        ibh_putf(out, style, NULL, " %s ", ibh_probe_source(probe, pair)->nic->link->name);
        ibh_put(out, style, fault_color(pair), text);
        before = pair;
    }
    if (before)
        g_string_append_c(out, '\n');
}

/* "ib0 172.16.34.1: 198 of 200 peers ok, 594 of 600 replies, 0.05 to 1.20 ms" */
static void put_summary(GString *out, const IbhProbe *probe, const IbhStyle *style, guint source)
{
    const IbhProbeSource *from = &g_array_index(probe->sources, IbhProbeSource, source);
    guint peers = 0, good = 0, sent = 0, received = 0;
    gint64 least = G_MAXINT64, most = 0;
    char ip[IBH_IP_STRLEN];

    IBH_EACH (const IbhProbePair, pair, probe->pairs) {
        if (pair->source != source)
            continue;
        peers++;
        good += !pair->faults;
        sent += (guint)pair->sent;
        received += (guint)pair->received;
        least = pair->rtt >= 0 ? MIN(least, pair->rtt) : least;
        most = MAX(most, pair->rtt);
    }
    ibh_putf(out, style, NULL, "%s %s: ", from->nic->link->name, ibh_ip_format(&from->ip, ip));
    ibh_putf(out, style, good == peers ? IBH_GREEN : IBH_RED, "%u of %u peers ok", good, peers);
    ibh_putf(out, style, NULL, ", %u of %u replies", received, sent);
    if (received)
        ibh_putf(out, style, NULL, ", %.2f to %.2f ms", (double)least / 1000, (double)most / 1000);
    g_string_append_c(out, '\n');
}

/* "not asked: ib2 to 172.16.16.1 (no common subnet)" */
static void put_unasked(GString *out, const IbhProbe *probe, const IbhStyle *style)
{
    char ip[IBH_IP_STRLEN];
    guint n = 0;

    for (guint peer = 0; peer < probe->peers->len; peer++) {
        IBH_EACH_POINTER (const IbhNic, nic, probe->nics) {
            const char *why = ibh_probe_why_unasked(probe, nic, peer);

            if (why && (++n <= UNASKED_NAMED || style->verbose))
                ibh_putf(out, style, NULL, "%s %s to %s (%s)", n > 1 ? "," : "not asked:", nic->link->name,
                         ibh_ip_format(&g_array_index(probe->peers, IbhIp, peer), ip), why);
        }
    }
    if (n > UNASKED_NAMED && !style->verbose)
        ibh_putf(out, style, NULL, " and %u more (--verbose)", n - UNASKED_NAMED);
    if (n)
        g_string_append_c(out, '\n');
}

static void put_own(GString *out, const IbhProbe *probe, const IbhStyle *style)
{
    char ip[IBH_IP_STRLEN];

    if (!probe->own->len)
        return;
    ibh_put(out, style, NULL, "left out, as addresses of this host:");
    IBH_EACH (const IbhIp, own, probe->own)
        ibh_putf(out, style, NULL, " %s", ibh_ip_format(own, ip));
    g_string_append_c(out, '\n');
}

/* Pairs that were not asked and that no finding mentions. */
static void put_unasked_by_rdma(GString *out, const IbhProbe *probe, const IbhStyle *style)
{
    g_autoptr(GString) names = g_string_new(NULL);
    char ip[IBH_IP_STRLEN];
    guint n = 0;

    IBH_EACH (const IbhProbePair, pair, probe->pairs) {
        if (pair->rdma.outcome == IBH_RDMA_NO_ECHO && (++n <= UNASKED_NAMED || style->verbose))
            g_string_append_printf(names, "%s %s to %s", n > 1 ? "," : "", ibh_probe_link(probe, pair)->name,
                                   ibh_ip_format(ibh_probe_peer(probe, pair), ip));
    }
    if (!n)
        return;
    ibh_putf(out, style, NULL, "RDMA: not asked, as there is no sign of the peer:%s", names->str);
    if (n > UNASKED_NAMED && !style->verbose)
        ibh_putf(out, style, NULL, " and %u more (--verbose)", n - UNASKED_NAMED);
    g_string_append_c(out, '\n');
}

/* "RDMA: 6 of 8 pairs answered" */
static void put_rdma(GString *out, const IbhProbe *probe, const IbhStyle *style)
{
    guint answered = 0;

    if (!probe->rdma || style->quiet)
        return;
    IBH_EACH (const IbhProbePair, pair, probe->pairs)
        answered += pair->rdma.outcome == IBH_RDMA_ANSWERED ? 1 : 0;
    ibh_putf(out, style, answered == probe->pairs->len ? IBH_GREEN : IBH_RED, "RDMA: %u of %u pairs answered", answered,
             probe->pairs->len);
    g_string_append_c(out, '\n');
    put_unasked_by_rdma(out, probe, style);
}

/* "IPv6: by which NIC the peer replies is not known of 2 of 4 pairs: ib0 to fd00::1 (no answer to a TCP SYN), …" */
static void put_syns(GString *out, const IbhProbe *probe, const IbhStyle *style)
{
    g_autoptr(GString) names = g_string_new(NULL);
    char ip[IBH_IP_STRLEN];
    guint all = 0, n = 0;

    IBH_EACH (const IbhProbePair, pair, probe->pairs) {
        const char *why = ibh_probe_syn_why(pair);

        all += pair->syn.outcome != IBH_SYN_UNWANTED ? 1 : 0;
        if (why && (++n <= UNASKED_NAMED || style->verbose))
            g_string_append_printf(names, "%s %s to %s (%s)", n > 1 ? "," : "", ibh_probe_link(probe, pair)->name,
                                   ibh_ip_format(ibh_probe_peer(probe, pair), ip), why);
    }
    if (!n)
        return;
    ibh_putf(out, style, NULL, "IPv6: by which NIC the peer replies is not known of %u of %u pairs:%s", n, all,
             names->str);
    if (n > UNASKED_NAMED && !style->verbose)
        ibh_putf(out, style, NULL, " and %u more (--verbose)", n - UNASKED_NAMED);
    g_string_append_c(out, '\n');
}

void ibh_put_probe(GString *out, const IbhProbe *probe, const IbhStyle *style)
{
    if (!style->quiet && probe->pairs->len && probe->peers->len <= MATRIX_PEERS) {
        put_peers(out, probe, style, put_matrix(out, probe, style));
    } else if (probe->pairs->len && probe->peers->len > MATRIX_PEERS) {
        put_list(out, probe, style);
        for (guint i = 0; !style->quiet && i < probe->sources->len; i++) {
            if (asks(probe, i))
                put_summary(out, probe, style, i);
        }
    }
    if (probe->pairs->len)
        put_rdma(out, probe, style);
    if (!style->quiet)
        put_syns(out, probe, style);
    if (!style->quiet && probe->pairs->len)
        put_unasked(out, probe, style);
    if (!style->quiet)
        put_own(out, probe, style);
}
