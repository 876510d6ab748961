/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --check and --probe for Prometheus: the text exposition format, for the textfile collector of its node exporter.
 * Interfaces are called `device`, as in the node exporter's own metrics, so that both can be joined.
 */
#include "cli/report.h"

#include <string.h>

static void put_family(GString *out, const char *name, const char *help)
{
    g_string_append_printf(out, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
}

static void put_label(GString *out, const char *name, const char *value)
{
    g_autofree char *clean = ibh_printable(value);

    g_string_append_printf(out, "%s%s=", out->str[out->len - 1] == '{' ? "" : ",", name);
    ibh_put_quoted(out, clean);
}

static void put_labels(GString *out, const IbhNode *node, const char *labels)
{
    g_auto(GStrv) keys = g_strsplit(labels, " ", -1);

    for (char **key = keys; *key; key++) {
        g_autofree char *number = g_strdup_printf("%" G_GINT64_FORMAT, ibh_node_number(node, *key));

        put_label(out, g_str_equal(*key, "iface") ? "device" : *key,
                  g_str_equal(*key, "table") ? number : ibh_node_text(node, *key));
    }
}

/* A metric of each item of a list: its labels, and the key of its value. */
typedef struct {
    const char *name, *help;
    const char *list, *labels;
    const char *value; /* NULL: 1; items without it have no series */
    const char *one;   /* the text that counts as 1, others as 0; NULL: its value is a number */
} Metric;

static const Metric check_metrics[] = {
    {"ib_hook_rail_info", "What a rail is.", "rails", "iface main manager rdma table type", NULL, NULL},
    {"ib_hook_rail_ok", "Whether nothing is wrong with a rail: no error and no warning.", "rails", "iface", "ok", NULL},
};

#define PAIRS "pairs", "iface peer source"

static const Metric probe_metrics[] = {
    {"ib_hook_probe_ok", "Whether a rail and a peer have no problem.", PAIRS, "ok", NULL},
    {"ib_hook_probe_sent", "Echoes sent.", PAIRS, "sent", NULL},
    {"ib_hook_probe_received", "Echoes answered.", PAIRS, "received", NULL},
    {"ib_hook_probe_rtt_seconds", "The shortest round trip.", PAIRS, "rtt_ms", NULL},
    {"ib_hook_probe_path_mtu_bytes", "The longest packet that came through.", PAIRS, "path_mtu", NULL},
    {"ib_hook_probe_rdma_answered", "Whether the peer answered by RDMA.", PAIRS, "rdma", "answered"},
};

static void put_metric(GString *out, const IbhNode *tree, const Metric *metric)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];

    put_family(out, metric->name, metric->help);
    IBH_EACH_POINTER (const IbhNode, item, ibh_node_items(tree, metric->list)) {
        const IbhNode *value = metric->value ? ibh_node_get(item, metric->value) : NULL;
        double number = !value                          ? 1
                        : metric->one                   ? g_str_equal(value->text, metric->one)
                        : value->kind == IBH_NODE_MILLI ? (double)value->number / G_USEC_PER_SEC
                                                        : (double)value->number;

        if (metric->value && !value)
            continue;
        g_string_append_printf(out, "%s{", metric->name);
        put_labels(out, item, metric->labels);
        g_string_append_printf(out, "} %s\n", g_ascii_formatd(text, sizeof text, "%.9g", number));
    }
}

static int compare_texts(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add_series(GPtrArray *series, const IbhNode *finding, const char *iface)
{
    GString *labels = g_string_new("{");

    put_label(labels, "code", ibh_node_text(finding, "code"));
    put_label(labels, "device", iface);
    put_label(labels, "severity", ibh_node_text(finding, "severity"));
    g_ptr_array_add(series, g_string_free(labels, FALSE));
}

/* A series may exist only once: findings that differ in their message alone are counted. Of the host: the device is "".
 */
static void put_findings(GString *out, const IbhNode *tree, const char *name)
{
    g_autoptr(GPtrArray) series = g_ptr_array_new_with_free_func(g_free);
    guint count = 0;

    put_family(out, name, "What was found, by the code that ib-hook(8) explains.");
    IBH_EACH_POINTER (const IbhNode, finding, ibh_node_items(tree, "findings")) {
        const GPtrArray *ifaces = ibh_node_items(finding, "ifaces");

        for (guint i = 0; i < MAX(ifaces->len, 1); i++)
            add_series(series, finding, ifaces->len ? ((const IbhNode *)g_ptr_array_index(ifaces, i))->text : "");
    }
    g_ptr_array_sort(series, compare_texts);
    for (guint i = 0; i < series->len; i++) {
        const char *labels = g_ptr_array_index(series, i);

        count++;
        if (i + 1 == series->len || !g_str_equal(labels, g_ptr_array_index(series, i + 1))) {
            g_string_append_printf(out, "%s%s} %u\n", name, labels, count);
            count = 0;
        }
    }
}

static void put_number(GString *out, const char *name, const char *help, guint number)
{
    put_family(out, name, help);
    g_string_append_printf(out, "%s %u\n", name, number);
}

/* Those of --probe have other names than those of --check: both may lie in one directory of the textfile collector. */
char *ibh_write_prometheus(IbhAction action, const IbhNode *tree, const IbhStyle *style G_GNUC_UNUSED)
{
    const guint ok = ibh_node_number(tree, "ok") != 0;
    GString *out = g_string_new(NULL);

    if (action == IBH_ACTION_PROBE) {
        put_number(out, "ib_hook_probe_all_ok", "Whether nothing is wrong between this host and the peers.", ok);
        IBH_EACH_ROW (const Metric, metric, probe_metrics)
            put_metric(out, tree, metric);
        put_findings(out, tree, "ib_hook_probe_findings");
        return g_string_free(out, FALSE);
    }
    put_family(out, "ib_hook_info", "The ib-hook that looked.");
    g_string_append(out, "ib_hook_info{version=\"" IBH_VERSION "\"} 1\n");
    put_number(out, "ib_hook_check_ok", "Whether nothing is wrong with this host: no error and no warning.", ok);
    IBH_EACH_ROW (const Metric, metric, check_metrics)
        put_metric(out, tree, metric);
    put_number(out, "ib_hook_rails", "NICs that are rails.", ibh_node_items(tree, "rails")->len);
    put_findings(out, tree, "ib_hook_findings");
    return g_string_free(out, FALSE);
}
