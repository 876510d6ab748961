/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --check and --probe for Prometheus, in the text format that the textfile collector of the node exporter reads. The
 * label of an interface is `device`, as in the node exporter's own metrics, so that both can be joined. Metrics of
 * --probe have other names than those of --check, because both files may lie in the collector's directory.
 */
#include "report/report.h"

/* Begins a metric family: all series of one name. */
static void put_family(GString *out, const char *name, const char *help)
{
    g_string_append_printf(out, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
}

/* Returns labels such as {code="...",device="..."}. `names` has the names, with blanks between them; a value (const
 * char *) for each name follows. */
static char *make_labels(const char *names, ...)
{
    g_auto(GStrv) all = g_strsplit(names, " ", -1);
    GString *labels = g_string_new(NULL);
    va_list values;

    va_start(values, names);
    for (char **name = all; *name; name++) {
        g_autofree char *value = ibh_text_printable(va_arg(values, const char *));

        g_string_append_printf(labels, "%c%s=", labels->len ? ',' : '{', *name);
        ibh_json_put_quoted(labels, value);
    }
    va_end(values);
    return g_string_free(g_string_append_c(labels, '}'), FALSE);
}

/* Writes a series for each rail. Rails whose names differ only in unprintable characters share a series: its value is
 * 1 only if all these rails are ok. */
static void put_rails(const IbhReport *report)
{
    /* labels → whether a rail with these labels is wrong */
    g_autoptr(GHashTable) wrong = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

    put_family(report->out, "ib_hook_rail_ok", "Whether nothing is wrong with a rail: no error and no warning.");
    IBH_EACH_POINTER (const IbhNic, nic, report->shown_rails) {
        char *labels = make_labels("device", nic->link->name);
        const gboolean is_wrong =
            g_hash_table_lookup(wrong, labels) || ibh_findings_worst(report->findings, nic->link->name) != NULL;

        g_hash_table_insert(wrong, labels, GINT_TO_POINTER(is_wrong));
    }
    IBH_EACH_POINTER (const IbhNic, nic, report->shown_rails) {
        g_autofree char *labels = make_labels("device", nic->link->name);

        if (!g_hash_table_contains(wrong, labels)) /* its series has been written */
            continue;
        g_string_append_printf(report->out, "ib_hook_rail_ok%s %d\n", labels, !g_hash_table_lookup(wrong, labels));
        g_hash_table_remove(wrong, labels);
    }
}

/* Writes a series about a pair. A value below 0 is unknown: then writes nothing. */
static void put_pair(GString *out, const IbhProbePair *pair, const char *name, double value)
{
    const IbhProbeSource *source = ibh_probe_source(pair);
    char peer[IBH_IP_STRLEN], from[IBH_IP_STRLEN];
    g_autofree char *labels = make_labels("device peer source", source->nic->link->name,
                                          ibh_ip_format(ibh_probe_peer(pair), peer), ibh_ip_format(&source->ip, from));

    if (value >= 0)
        g_string_append_printf(out, "%s%s %.9g\n", name, labels, value);
}

/* Writes one series for each code, device and severity. Its value is how many findings have all three, because
 * Prometheus takes a series only once. For a finding about the host, the device is "". */
static void put_findings(const IbhReport *report, const char *name)
{
    g_autoptr(GHashTable) counts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL); /* labels → count */
    g_autoptr(GList) series = NULL;

    put_family(report->out, name, "What was found, by the code that ib-hook(8) explains.");
    IBH_EACH_POINTER (const IbhFinding, finding, report->findings) {
        for (guint i = 0; i < MAX(finding->ifaces->len, 1); i++) {
            const char *device = finding->ifaces->len ? finding->ifaces->pdata[i] : "";
            const IbhSeverity severity = ibh_finding_severity_for(finding, device);
            char *labels = make_labels("code device severity", finding->code, device, ibh_severity_name(severity));
            const guint before = GPOINTER_TO_UINT(g_hash_table_lookup(counts, labels));

            g_hash_table_insert(counts, labels, GUINT_TO_POINTER(before + 1));
        }
    }
    series = g_list_sort(g_hash_table_get_keys(counts), (GCompareFunc)strcmp);
    for (const GList *at = series; at; at = at->next)
        g_string_append_printf(report->out, "%s%s %u\n", name, (const char *)at->data,
                               GPOINTER_TO_UINT(g_hash_table_lookup(counts, at->data)));
}

void ibh_report_prometheus(const IbhReport *report)
{
    const IbhProbe *probe = report->probe;
    GString *out = report->out;
    guint with_link = 0;

    if (report->message || report->ops || !report->findings) /* an error, changes or a confirmation: no metrics */
        return;
    if (probe) {
        put_family(out, "ib_hook_probe_all_ok", "Whether nothing is wrong between this host and the peers.");
        g_string_append_printf(out, "ib_hook_probe_all_ok %d\n", ibh_report_is_ok(report));
        put_family(out, "ib_hook_probe_ok", "Whether a rail and a peer have no problem.");
        IBH_EACH (const IbhProbePair, pair, probe->pairs)
            put_pair(out, pair, "ib_hook_probe_ok", ibh_pair_verdict(pair));
        put_family(out, "ib_hook_probe_rtt_seconds", "The shortest round trip.");
        IBH_EACH (const IbhProbePair, pair, probe->pairs)
            put_pair(out, pair, "ib_hook_probe_rtt_seconds", (double)pair->rtt / G_USEC_PER_SEC);
        put_findings(report, "ib_hook_probe_findings");
    } else {
        put_family(out, "ib_hook_info", "The version of ib-hook.");
        g_string_append(out, "ib_hook_info{version=\"" IBH_VERSION "\"} 1\n");
        put_family(out, "ib_hook_check_ok", "Whether nothing is wrong with this host: no error and no warning.");
        g_string_append_printf(out, "ib_hook_check_ok %d\n", ibh_report_is_ok(report));
        put_family(out, "ib_hook_rails", "Rails that have a link.");
        IBH_EACH_POINTER (const IbhNic, rail, report->shown_rails)
            with_link += ibh_nic_is_usable(rail) ? 1 : 0;
        g_string_append_printf(out, "ib_hook_rails %u\n", with_link);
        put_rails(report);
        put_findings(report, "ib_hook_findings");
    }
}
