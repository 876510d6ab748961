/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --probe for people: which pairs reached each other. Who is at fault is told by the findings, which follow.
 */
#include "cli/text.h"

#define LISTED_PAIRS 16 /* of more, each rail has a line */

static gboolean was_asked(const IbhNode *pair)
{
    return ibh_node_get(pair, "sent") != NULL;
}

/* "ok", its problems, or why nothing is known of it. */
static char *describe(const IbhNode *pair)
{
    g_autofree char *problems = ibh_node_join(pair, "problems", ", ");
    const char *rdma = ibh_node_text(pair, "rdma"), *tcp = ibh_node_text(pair, "tcp_why");

    if (!was_asked(pair))
        return g_strdup_printf("not asked: %s", ibh_node_text(pair, "reason"));
    return g_strdup_printf("%s%s%s%s%s", problems[0] ? problems : "ok", rdma[0] ? "; RDMA: " : "", rdma,
                           tcp[0] ? "; the NIC of its replies is not known: " : "", tcp);
}

static void put_pairs(GString *out, const IbhNode *tree, const IbhStyle *style)
{
    static const char *const headings[] = {"IFACE", "PEER", "REPLIES", "MS", "STATE"};
    g_autoptr(IbhTable) table = ibh_table_new(G_N_ELEMENTS(headings));

    for (guint i = 0; i < G_N_ELEMENTS(headings); i++)
        ibh_table_add(table, g_strdup(headings[i]), IBH_BOLD);
    IBH_EACH_POINTER (const IbhNode, pair, ibh_node_items(tree, "pairs")) {
        const IbhNode *rtt = ibh_node_get(pair, "rtt_ms"), *ok = ibh_node_get(pair, "ok");
        const int received = (int)ibh_node_number(pair, "received"), sent = (int)ibh_node_number(pair, "sent");

        ibh_table_add(table, g_strdup(ibh_node_text(pair, "iface")), NULL);
        ibh_table_add(table, g_strdup(ibh_node_text(pair, "peer")), NULL);
        ibh_table_add(table, g_strdup_printf("%d/%d", received, sent), NULL);
        ibh_table_add(table, rtt ? g_strdup_printf("%.2f", (double)rtt->number / 1000) : g_strdup("-"), NULL);
        ibh_table_add(table, describe(pair), !ok ? IBH_YELLOW : ok->number ? IBH_GREEN : IBH_RED);
    }
    ibh_put_table(out, style, table, 0);
}

/* "ib0: 198 of 200 peers ok, 594 of 600 replies, 3 not asked" */
static void put_rail(GString *out, const IbhNode *tree, const IbhStyle *style, const char *rail)
{
    gint64 peers = 0, good = 0, sent = 0, received = 0, unasked = 0;

    IBH_EACH_POINTER (const IbhNode, pair, ibh_node_items(tree, "pairs")) {
        if (!g_str_equal(ibh_node_text(pair, "iface"), rail))
            continue;
        peers += was_asked(pair);
        unasked += !was_asked(pair);
        good += ibh_node_number(pair, "ok");
        sent += ibh_node_number(pair, "sent");
        received += ibh_node_number(pair, "received");
    }
    ibh_putf(out, style, NULL, "%s: ", rail);
    ibh_putf(out, style, good == peers ? IBH_GREEN : IBH_RED, "%d of %d peers ok", (int)good, (int)peers);
    ibh_putf(out, style, NULL, ", %d of %d replies", (int)received, (int)sent);
    if (unasked)
        ibh_putf(out, style, NULL, ", %d not asked", (int)unasked);
    g_string_append_c(out, '\n');
}

/* The peers that this rail did not ask for this reason. */
static char *name_unasked(const IbhNode *tree, const char *rail, const char *reason, guint *count)
{
    g_autoptr(GArray) peers = g_array_new(FALSE, TRUE, sizeof(IbhIp));

    IBH_EACH_POINTER (const IbhNode, pair, ibh_node_items(tree, "pairs")) {
        IbhIp ip;

        if (!was_asked(pair) && g_str_equal(ibh_node_text(pair, "iface"), rail) &&
            g_str_equal(ibh_node_text(pair, "reason"), reason) && ibh_ip_parse(ibh_node_text(pair, "peer"), &ip))
            g_array_append_val(peers, ip);
    }
    *count += peers->len;
    return ibh_probe_name_peers(peers, G_MAXUINT);
}

/* "3 pairs not asked: no common subnet: ib0, ib1 to 10.9.0.1; ib2 to 10.8.0.1": rails that did not ask the same peers
 * stand together. */
static char *describe_unasked(const IbhNode *tree, const GPtrArray *rails, const char *reason)
{
    g_autoptr(GPtrArray) peers = g_ptr_array_new_with_free_func(g_free), told = g_ptr_array_new();
    g_autoptr(GString) text = g_string_new(NULL);
    guint count = 0;

    IBH_EACH_POINTER (const char, rail, rails)
        g_ptr_array_add(peers, name_unasked(tree, rail, reason, &count));
    for (guint i = 0; i < rails->len; i++) {
        const char *to = peers->pdata[i];

        if (!to[0] || !ibh_add_name(told, to))
            continue;
        g_string_append_printf(text, "%s%s", text->len ? "; " : "", (const char *)rails->pdata[i]);
        for (guint j = i + 1; j < rails->len; j++) {
            if (g_str_equal(peers->pdata[j], to))
                g_string_append_printf(text, ", %s", (const char *)rails->pdata[j]);
        }
        g_string_append_printf(text, " to %s", to);
    }
    return g_strdup_printf("%u pairs not asked: %s: %s", count, reason, text->str);
}

/* A line for each reason; whole, but on a terminal. */
static void put_unasked(GString *out, const IbhNode *tree, const IbhStyle *style, const GPtrArray *rails)
{
    g_autoptr(GPtrArray) reasons = g_ptr_array_new();
    g_autoptr(IbhTable) table = ibh_table_new(1);

    IBH_EACH_POINTER (const IbhNode, pair, ibh_node_items(tree, "pairs")) {
        const char *reason = ibh_node_text(pair, "reason");

        if (!was_asked(pair) && ibh_add_name(reasons, reason))
            ibh_table_add(table, describe_unasked(tree, rails, reason), NULL);
    }
    ibh_put_table(out, style, table, style->width);
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
}

void ibh_put_probe(GString *out, const IbhNode *tree, const IbhStyle *style)
{
    const GPtrArray *pairs = ibh_node_items(tree, "pairs");
    g_autoptr(GPtrArray) rails = g_ptr_array_new();
    g_autofree char *own = ibh_node_join(tree, "own", " ");

    if (pairs->len && (pairs->len <= LISTED_PAIRS || style->verbose))
        put_pairs(out, tree, style);
    IBH_EACH_POINTER (const IbhNode, pair, pairs) {
        if (pairs->len > LISTED_PAIRS && ibh_add_name(rails, ibh_node_text(pair, "iface")))
            put_rail(out, tree, style, ibh_node_text(pair, "iface"));
    }
    if (rails->len && !style->verbose)
        put_unasked(out, tree, style, rails);
    put_rdma(out, tree, style);
    if (own[0])
        ibh_put_line(out, style, "left out, as addresses of this host: ", own);
    if (ibh_node_get(tree, "rails")) /* and there are none */
        ibh_put_verdict(out, tree, style);
}
