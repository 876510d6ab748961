/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --check and --probe for Prometheus: the text exposition format, for the textfile collector of its node exporter.
 * Interfaces are called `device`, as in the node exporter's own metrics, so that both can be joined. Those of --probe
 * have other names than those of --check: both may lie in one directory of the collector.
 */
#include "cli/cli.h"

static void put_family(GString *out, const char *name, const char *help)
{
    g_string_append_printf(out, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
}

static void put_number(GString *out, const char *name, const char *help, int number)
{
    put_family(out, name, help);
    g_string_append_printf(out, "%s %d\n", name, number);
}

static void put_label(GString *out, const char *name, const char *value)
{
    g_autofree char *clean = ibh_text_printable(value);

    g_string_append_printf(out, "%s%s=", out->str[out->len - 1] == '{' ? "" : ",", name);
    ibh_json_put_quoted(out, clean);
}

/* A series may exist only once: findings that differ in their message alone are counted. Of the host: the device is "".
 */
static void put_findings(const IbhReport *report)
{
    const char *name = report->probe ? "ib_hook_probe_findings" : "ib_hook_findings";
    g_autoptr(GHashTable) counts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL); /* by labels */
    g_autoptr(GList) series = NULL;

    put_family(report->out, name, "What was found, by the code that ib-hook(8) explains.");
    IBH_EACH_POINTER (const IbhFinding, finding, report->findings) {
        for (guint i = 0; i < MAX(finding->ifaces->len, 1); i++) {
            GString *labels = g_string_new("{");
            guint before;

            put_label(labels, "code", finding->code);
            put_label(labels, "device", finding->ifaces->len ? finding->ifaces->pdata[i] : "");
            put_label(labels, "severity", ibh_severity_name(finding->severity));
            before = GPOINTER_TO_UINT(g_hash_table_lookup(counts, labels->str));
            g_hash_table_insert(counts, g_string_free(labels, FALSE), GUINT_TO_POINTER(before + 1));
        }
    }
    series = g_list_sort(g_hash_table_get_keys(counts), (GCompareFunc)strcmp);
    for (const GList *at = series; at; at = at->next)
        g_string_append_printf(report->out, "%s%s} %u\n", name, (const char *)at->data,
                               GPOINTER_TO_UINT(g_hash_table_lookup(counts, at->data)));
}

/* ---- --check ---- */

/* Names that differ in what cannot be printed look alike, and share a series. */
static void put_rails(GString *out, const IbhReport *report)
{
    g_autoptr(GHashTable) wrong = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GHashTable) written = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

    put_family(out, "ib_hook_rail_ok", "Whether nothing is wrong with a rail: no error and no warning.");
    IBH_EACH_POINTER (const IbhNic, nic, report->nics[TRUE]) {
        if (ibh_findings_worst(report->findings, nic->link->name))
            g_hash_table_add(wrong, ibh_text_printable(nic->link->name));
    }
    IBH_EACH_POINTER (const IbhNic, nic, report->nics[TRUE]) {
        char *device = ibh_text_printable(nic->link->name);

        if (!g_hash_table_add(written, device))
            continue;
        g_string_append(out, "ib_hook_rail_ok{");
        put_label(out, "device", device);
        g_string_append_printf(out, "} %d\n", !g_hash_table_contains(wrong, device));
    }
}

static void put_look(const IbhReport *report)
{
    GString *out = report->out;

    put_family(out, "ib_hook_info", "The version of ib-hook.");
    g_string_append(out, "ib_hook_info{version=\"" IBH_VERSION "\"} 1\n");
    put_number(out, "ib_hook_check_ok", "Whether nothing is wrong with this host: no error and no warning.",
               ibh_report_is_ok(report));
    put_number(out, "ib_hook_rails", "Rails that have a link.", (int)ibh_report_count_standing(report));
    put_rails(out, report);
}

/* ---- --probe ---- */

/* No series where the value is not known, and so below 0. */
static void put_pair(GString *out, const IbhProbePair *pair, const char *name, double value)
{
    const IbhProbeSource *source = ibh_probe_source(pair);
    char text[IBH_IP_STRLEN];

    if (value < 0)
        return;
    g_string_append_printf(out, "%s{", name);
    put_label(out, "device", source->nic->link->name);
    put_label(out, "peer", ibh_ip_format(ibh_probe_peer(pair), text));
    put_label(out, "source", ibh_ip_format(&source->ip, text));
    g_string_append_printf(out, "} %.9g\n", value);
}

static void put_probe(const IbhReport *report)
{
    const IbhProbe *probe = report->probe;
    GString *out = report->out;

    put_number(out, "ib_hook_probe_all_ok", "Whether nothing is wrong between this host and the peers.",
               ibh_report_is_ok(report));
    put_family(out, "ib_hook_probe_ok", "Whether a rail and a peer have no problem.");
    IBH_EACH (const IbhProbePair, pair, probe->pairs)
        put_pair(out, pair, "ib_hook_probe_ok", ibh_pair_verdict(pair));
    put_family(out, "ib_hook_probe_rtt_seconds", "The shortest round trip.");
    IBH_EACH (const IbhProbePair, pair, probe->pairs)
        put_pair(out, pair, "ib_hook_probe_rtt_seconds", (double)pair->rtt / G_USEC_PER_SEC);
}

void ibh_report_prometheus(const IbhReport *report)
{
    static const IbhLanguage language = {.probe = put_probe, .look = put_look, .findings = put_findings};

    ibh_report_walk(report, &language);
}
