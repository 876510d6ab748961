/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --check and --probe for Prometheus: the text exposition format, for the textfile collector of its node exporter.
 * Interfaces are called `device`, as in the node exporter's own metrics, so that both can be joined.
 */
#include "cli/report.h"

#include <linux/if_arp.h>

static void put_family(GString *out, const char *name, const char *help)
{
    g_string_append_printf(out, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
}

/* Values are UTF-8. Other bytes, and control characters of terminals, are written as \xff, byte by byte, and so is a
 * backslash: two names stay two. */
static void put_label(GString *out, const char *name, const char *value)
{
    char last = out->str[out->len - 1];

    g_string_append_printf(out, "%s%s=\"", last == '{' ? "" : ",", name);
    for (const char *at = value ? value : ""; *at; at++) {
        gunichar c = g_utf8_get_char_validated(at, -1);
        gboolean valid = c != (gunichar)-1 && c != (gunichar)-2;

        if (c == '"') {
            g_string_append(out, "\\\"");
        } else if (valid && c != '\\' && g_unichar_isprint(c)) {
            g_string_append_unichar(out, c);
            at += g_utf8_skip[(guchar)*at] - 1;
        } else {
            g_string_append_printf(out, "\\\\x%02x", (guchar)*at);
        }
    }
    g_string_append_c(out, '"');
}

static gboolean is_told(const IbhReport *report, const IbhNic *nic)
{
    return nic->status == IBH_NIC_RAIL && ibh_report_lists(report, nic, FALSE);
}

static void put_rail_info(GString *out, const IbhReport *report, const IbhNic *nic)
{
    const IbhManager *manager = ibh_snapshot_manager(report->rails->snapshot, nic->link->ifindex);
    g_autofree char *table = g_strdup_printf("%u", nic->table);

    g_string_append(out, "ib_hook_rail_info{");
    put_label(out, "device", nic->link->name);
    put_label(out, "main", ibh_report_main(report->rails, nic));
    put_label(out, "manager", manager ? manager->name : NULL);
    put_label(out, "rdma", nic->link->rdma);
    put_label(out, "table", table);
    put_label(out, "type", nic->link->type == ARPHRD_INFINIBAND ? "infiniband" : "ethernet");
    g_string_append(out, "} 1\n");
}

static void put_rails(GString *out, const IbhReport *report)
{
    const GPtrArray *nics = report->rails->nics;
    guint n = 0;

    put_family(out, "ib_hook_rail_info", "What a rail is.");
    IBH_EACH_POINTER (const IbhNic, nic, nics) {
        if (is_told(report, nic))
            put_rail_info(out, report, nic);
    }
    put_family(out, "ib_hook_rail_ok", "Whether nothing is wrong with a rail: no error and no warning.");
    IBH_EACH_POINTER (const IbhNic, nic, nics) {
        if (!is_told(report, nic))
            continue;
        n++;
        g_string_append(out, "ib_hook_rail_ok{");
        put_label(out, "device", nic->link->name);
        g_string_append_printf(out, "} %d\n", ibh_findings_are_ok(report->findings, nic->link->name));
    }
    put_family(out, "ib_hook_rails", "NICs that are rails.");
    g_string_append_printf(out, "ib_hook_rails %u\n", n);
}

/* A series may exist only once: findings that differ in their message alone are counted. Of the host: the device is "".
 */
static void put_findings(GString *out, const char *name, const GPtrArray *findings)
{
    g_autoptr(GPtrArray) order = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GHashTable) counts = g_hash_table_new(g_str_hash, g_str_equal);

    put_family(out, name, "What was found, by the code that ib-hook(8) explains.");
    IBH_EACH_POINTER (const IbhFinding, finding, findings) {
        for (guint i = 0; i < MAX(finding->ifaces->len, 1); i++) {
            g_autoptr(GString) labels = g_string_new("{");
            gpointer count = NULL;

            put_label(labels, "code", finding->code);
            put_label(labels, "device", finding->ifaces->len ? g_ptr_array_index(finding->ifaces, i) : "");
            put_label(labels, "severity", ibh_severity_name(finding->severity));
            if (!g_hash_table_lookup_extended(counts, labels->str, NULL, &count))
                g_ptr_array_add(order, g_strdup(labels->str));
            g_hash_table_insert(counts, count ? labels->str : g_ptr_array_index(order, order->len - 1),
                                GUINT_TO_POINTER(GPOINTER_TO_UINT(count) + 1));
        }
    }
    IBH_EACH_POINTER (const char, labels, order)
        g_string_append_printf(out, "%s%s} %u\n", name, labels, GPOINTER_TO_UINT(g_hash_table_lookup(counts, labels)));
}

static char *check(const IbhReport *report, const IbhStyle *style)
{
    GString *out = g_string_new(NULL);

    (void)style;
    put_family(out, "ib_hook_info", "The ib-hook that looked.");
    g_string_append(out, "ib_hook_info{version=\"" IBH_VERSION "\"} 1\n");
    put_family(out, "ib_hook_check_ok", "Whether nothing is wrong with this host: no error and no warning.");
    g_string_append_printf(out, "ib_hook_check_ok %d\n", ibh_findings_are_ok(report->findings, NULL));
    put_rails(out, report);
    put_findings(out, "ib_hook_findings", report->findings);
    return g_string_free(out, FALSE);
}

/* ---- --probe ---- */

/* A pair's value; negative: it has none. */
typedef double PairValue(const IbhProbePair *pair);

static double get_ok(const IbhProbePair *pair)
{
    return pair->faults == 0;
}

static double get_sent(const IbhProbePair *pair)
{
    return pair->sent;
}

static double get_received(const IbhProbePair *pair)
{
    return pair->received;
}

static double get_rtt(const IbhProbePair *pair)
{
    return pair->rtt < 0 ? -1 : (double)pair->rtt / G_USEC_PER_SEC;
}

static double get_path_mtu(const IbhProbePair *pair)
{
    return pair->mtu.passed ? (double)pair->mtu.passed : -1;
}

static double get_rdma(const IbhProbePair *pair)
{
    return pair->rdma.outcome == IBH_RDMA_UNWANTED ? -1 : pair->rdma.outcome == IBH_RDMA_ANSWERED;
}

static void put_pairs(GString *out, const IbhProbe *probe, const char *name, const char *help, PairValue *value)
{
    put_family(out, name, help);
    IBH_EACH (const IbhProbePair, pair, probe->pairs) {
        const IbhProbeSource *source = ibh_probe_source(probe, pair);
        char text[G_ASCII_DTOSTR_BUF_SIZE], ip[IBH_IP_STRLEN];

        if (value(pair) < 0)
            continue;
        g_string_append_printf(out, "%s{", name);
        put_label(out, "device", source->nic->link->name);
        put_label(out, "peer", ibh_ip_format(ibh_probe_peer(probe, pair), ip));
        put_label(out, "source", ibh_ip_format(&source->ip, ip));
        g_string_append_printf(out, "} %s\n", g_ascii_formatd(text, sizeof text, "%.9g", value(pair)));
    }
}

/* Other names than those of --check: both may lie in one directory of the textfile collector. */
static char *probe(const IbhReport *report, const IbhStyle *style)
{
    const IbhProbe *what = report->probe;
    GString *out = g_string_new(NULL);

    (void)style;
    put_family(out, "ib_hook_probe_all_ok", "Whether nothing is wrong between this host and the peers.");
    g_string_append_printf(out, "ib_hook_probe_all_ok %d\n", ibh_findings_are_ok(report->findings, NULL));
    put_pairs(out, what, "ib_hook_probe_ok", "Whether a rail and a peer have no problem.", get_ok);
    put_pairs(out, what, "ib_hook_probe_sent", "Echoes sent.", get_sent);
    put_pairs(out, what, "ib_hook_probe_received", "Echoes answered.", get_received);
    put_pairs(out, what, "ib_hook_probe_rtt_seconds", "The shortest round trip.", get_rtt);
    put_pairs(out, what, "ib_hook_probe_path_mtu_bytes", "The longest packet that came through.", get_path_mtu);
    put_pairs(out, what, "ib_hook_probe_rdma_answered", "Whether the peer answered by RDMA.", get_rdma);
    put_findings(out, "ib_hook_probe_findings", report->findings);
    return g_string_free(out, FALSE);
}

const IbhWriter ibh_prometheus_writer = {.check = check, .probe = probe, .error = ibh_report_error};
