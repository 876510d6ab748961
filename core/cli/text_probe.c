/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --probe for people: which pairs reached each other, and by which NICs.
 */
#include "cli/text.h"

#include <string.h>

#define TABLE_PEERS 16 /* of more, only those with a problem have a row */
#define NAMED_PAIRS 8  /* so many of those that were not asked are named */

/* ---- a pair ---- */

static gboolean was_asked(const IbhNode *pair)
{
    return ibh_node_get(pair, "sent") != NULL;
}

static gboolean has_problem(const IbhNode *pair, const char *problem)
{
    IBH_EACH_POINTER (const IbhNode, item, ibh_node_items(pair, "problems")) {
        if (g_str_equal(item->text, problem))
            return TRUE;
    }
    return FALSE;
}

/* What a cell has room for: words, and the value of a key. */
static const struct {
    const char *problem, *words, *key, *color;
    const char *unless; /* another problem says it */
} cells[] = {
    {"probe-not-sent", "not sent", NULL, IBH_RED, NULL},
    {"probe-lost", "lost", NULL, IBH_RED, NULL},
    {"reply-dropped", "dropped from", "reply_iface", IBH_RED, NULL},
    {"reply-other-nic", "reply by", "reply_iface", IBH_RED, "reply-dropped"},
    {"routed-other-nic", "leaves by", "route_iface", IBH_RED, NULL},
    {"peer-flux", "flux", NULL, IBH_YELLOW, NULL},
    {"peer-replies-other-nic", "peer's NICs", NULL, IBH_YELLOW, "peer-flux"},
    {"path-mtu", "MTU", "path_mtu", IBH_RED, NULL},
    {"rdma-no-device", "no RDMA device", NULL, IBH_RED, NULL},
    {"rdma-unreachable", "no RDMA", NULL, IBH_RED, "rdma-no-device"},
    {"not-known", "not known", NULL, IBH_YELLOW, NULL},
    {"address-translated", "translated", NULL, IBH_RED, NULL},
};

/* "0.12", "lost 1/3", "0.12 reply by ib0"; with `verbose` the peer's hardware address. */
static void add_pair(IbhTable *table, const IbhNode *pair, gboolean verbose)
{
    const IbhNode *rtt = ibh_node_get(pair, "rtt_ms");
    const int received = (int)ibh_node_number(pair, "received"), sent = (int)ibh_node_number(pair, "sent");
    GString *text = g_string_new(NULL);
    const char *color = IBH_GREEN;

    if (rtt)
        g_string_append_printf(text, "%d.%02d ", (int)(rtt->number / 1000), (int)(rtt->number % 1000 / 10));
    for (guint i = 0; i < G_N_ELEMENTS(cells); i++) {
        const IbhNode *value = cells[i].key ? ibh_node_get(pair, cells[i].key) : NULL;

        if (!has_problem(pair, cells[i].problem) || (cells[i].unless && has_problem(pair, cells[i].unless)))
            continue;
        color = g_str_equal(color, IBH_RED) ? color : cells[i].color;
        g_string_append_printf(text, "%s ", cells[i].words);
        if (g_str_equal(cells[i].words, "lost"))
            g_string_append_printf(text, "%d/%d ", sent - received, sent);
        else if (value && value->text)
            g_string_append_printf(text, "%s ", value->text);
        else if (cells[i].key)
            g_string_append_printf(text, value ? "%d " : "nothing ", value ? (int)value->number : 0);
    }
    if (verbose && ibh_node_get(pair, "peer_lladdr"))
        g_string_append(text, ibh_node_text(pair, "peer_lladdr"));
    ibh_table_add(table, g_strchomp(g_string_free(text, FALSE)), color);
}

/* ---- a row for each peer, a column for each rail ---- */

static GPtrArray *list_rails(const IbhNode *tree)
{
    GPtrArray *rails = g_ptr_array_new();

    IBH_EACH_POINTER (const IbhNode, pair, ibh_node_items(tree, "pairs")) {
        const char *iface = ibh_node_text(pair, "iface");

        if (was_asked(pair) && !g_ptr_array_find_with_equal_func(rails, iface, g_str_equal, NULL))
            g_ptr_array_add(rails, (char *)(guintptr)iface);
    }
    return rails;
}

/* Of this peer, from its first pair on. */
static void add_row(IbhTable *table, const GPtrArray *pairs, guint first, const GPtrArray *rails, gboolean verbose)
{
    const char *peer = ibh_node_text(g_ptr_array_index(pairs, first), "peer");

    ibh_table_add(table, g_strdup(peer), NULL);
    IBH_EACH_POINTER (const char, rail, rails) {
        const IbhNode *found = NULL;

        for (guint i = first; i < pairs->len; i++) {
            const IbhNode *pair = g_ptr_array_index(pairs, i);

            if (!g_str_equal(ibh_node_text(pair, "peer"), peer))
                break;
            found = g_str_equal(ibh_node_text(pair, "iface"), rail) ? pair : found;
        }
        if (found)
            add_pair(table, found, verbose);
        else
            ibh_table_add(table, g_strdup("-"), NULL);
    }
}

/* `all`: a peer without a problem, too. */
static void put_peers(GString *out, const IbhNode *tree, const IbhStyle *style, const GPtrArray *rails, gboolean all)
{
    g_autoptr(IbhTable) table = ibh_table_new(rails->len + 1);
    const GPtrArray *pairs = ibh_node_items(tree, "pairs");
    guint rows = 0, first = 0;

    ibh_table_add(table, g_strdup("PEER"), IBH_BOLD);
    IBH_EACH_POINTER (const char, rail, rails)
        ibh_table_add(table, g_strdup(rail), IBH_BOLD);
    while (first < pairs->len && was_asked(g_ptr_array_index(pairs, first))) {
        const char *peer = ibh_node_text(g_ptr_array_index(pairs, first), "peer");
        guint next = first, wrong = 0;

        for (; next < pairs->len && g_str_equal(ibh_node_text(g_ptr_array_index(pairs, next), "peer"), peer); next++)
            wrong += ibh_node_items(g_ptr_array_index(pairs, next), "problems")->len;
        if (wrong || all)
            add_row(table, pairs, first, rails, style->verbose);
        rows += wrong || all;
        first = next;
    }
    if (!rows)
        return;
    ibh_put_table(out, style, table, 0);
    ibh_put_line(out, style, "", "the shortest round trip in ms");
}

/* "ib0: 198 of 200 peers ok, 594 of 600 replies" */
static void put_rail(GString *out, const IbhNode *tree, const IbhStyle *style, const char *rail)
{
    gint64 peers = 0, good = 0, sent = 0, received = 0;

    IBH_EACH_POINTER (const IbhNode, pair, ibh_node_items(tree, "pairs")) {
        if (!was_asked(pair) || !g_str_equal(ibh_node_text(pair, "iface"), rail))
            continue;
        peers++;
        good += ibh_node_number(pair, "ok");
        sent += ibh_node_number(pair, "sent");
        received += ibh_node_number(pair, "received");
    }
    ibh_putf(out, style, NULL, "%s: ", rail);
    ibh_putf(out, style, good == peers ? IBH_GREEN : IBH_RED, "%d of %d peers ok", (int)good, (int)peers);
    ibh_putf(out, style, NULL, ", %d of %d replies", (int)received, (int)sent);
    g_string_append_c(out, '\n');
}

/* ---- what is not known, and why ---- */

typedef const char *Why(const IbhNode *pair); /* NULL: it is known; "": the lead says why */

static const char *why_unasked(const IbhNode *pair)
{
    return was_asked(pair) ? NULL : ibh_node_text(pair, "reason");
}

static const char *why_no_tcp(const IbhNode *pair)
{
    return ibh_node_get(pair, "tcp_why") ? ibh_node_text(pair, "tcp_why") : NULL;
}

/* Other reasons are findings. */
static const char *why_no_rdma(const IbhNode *pair)
{
    return g_str_equal(ibh_node_text(pair, "rdma"), "no-echo") ? "" : NULL;
}

/* "not asked: ib2 to 172.16.16.1 (no common subnet), ib3 to …" */
static void put_unknown(GString *out, const IbhNode *tree, const IbhStyle *style, const char *lead, Why *why)
{
    guint n = 0;

    IBH_EACH_POINTER (const IbhNode, pair, ibh_node_items(tree, "pairs")) {
        const char *reason = why(pair);

        if (!reason || (++n > NAMED_PAIRS && !style->verbose))
            continue;
        ibh_putf(out, style, NULL, "%s %s to %s", n > 1 ? "," : lead, ibh_node_text(pair, "iface"),
                 ibh_node_text(pair, "peer"));
        if (reason[0])
            ibh_putf(out, style, NULL, " (%s)", reason);
    }
    if (n > NAMED_PAIRS && !style->verbose)
        ibh_putf(out, style, NULL, " and %u more (--verbose)", n - NAMED_PAIRS);
    if (n)
        g_string_append_c(out, '\n');
}

/* "RDMA: 6 of 8 pairs answered" */
static void put_rdma(GString *out, const IbhNode *tree, const IbhStyle *style)
{
    guint answered = 0, asked = 0;

    IBH_EACH_POINTER (const IbhNode, pair, ibh_node_items(tree, "pairs")) {
        answered += g_str_equal(ibh_node_text(pair, "rdma"), "answered");
        asked += ibh_node_get(pair, "rdma") != NULL;
    }
    if (!asked)
        return;
    ibh_putf(out, style, answered == asked ? IBH_GREEN : IBH_RED, "RDMA: %u of %u pairs answered", answered, asked);
    g_string_append_c(out, '\n');
    put_unknown(out, tree, style, "RDMA: not asked, as there is no sign of the peer:", why_no_rdma);
}

static guint count_peers(const IbhNode *tree)
{
    const char *before = "";
    guint n = 0;

    IBH_EACH_POINTER (const IbhNode, pair, ibh_node_items(tree, "pairs")) {
        n += was_asked(pair) && !g_str_equal(ibh_node_text(pair, "peer"), before);
        before = ibh_node_text(pair, "peer");
    }
    return n;
}

void ibh_put_probe(GString *out, const IbhNode *tree, const IbhStyle *style)
{
    g_autoptr(GPtrArray) rails = list_rails(tree);
    g_autofree char *own = ibh_node_join(tree, "own", " ");
    const gboolean few = count_peers(tree) <= TABLE_PEERS;

    if (rails->len)
        put_peers(out, tree, style, rails, !style->quiet && (few || style->verbose));
    if (style->quiet)
        return;
    for (guint i = 0; !few && i < rails->len; i++)
        put_rail(out, tree, style, g_ptr_array_index(rails, i));
    put_rdma(out, tree, style);
    put_unknown(out, tree, style, "IPv6: by which NIC the peer replies is not known:", why_no_tcp);
    put_unknown(out, tree, style, "not asked:", why_unasked);
    if (own[0])
        ibh_put_line(out, style, "left out, as addresses of this host: ", own);
    if (ibh_node_get(tree, "rails")) /* and there are none */
        ibh_put_verdict(out, tree, style);
}
