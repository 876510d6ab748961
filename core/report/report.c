/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/report.h"

#include <linux/if_arp.h>

char *ibh_report(const IbhReport *report, IbhWriter *writer, const IbhStyle *style)
{
    g_autoptr(GPtrArray) shown = g_ptr_array_new(), rails = g_ptr_array_new(), others = g_ptr_array_new();
    g_autoptr(GPtrArray) missed = g_ptr_array_new();
    g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);
    const char *const *only = report->rails ? report->rails->only : NULL;
    IbhReport whole = *report;

    /* If NICs were named, report only these NICs, and missing rails with these names. Otherwise report candidates and
     * RDMA-capable NICs (with --verbose, every netdev), and all missing rails. */
    for (guint i = 0; report->rails && i < report->rails->nics->len; i++) {
        IbhNic *nic = g_ptr_array_index(report->rails->nics, i);
        const gboolean is_capable = nic->rank || nic->link->rdma[0] || nic->link->type == ARPHRD_INFINIBAND;

        if (only && !ibh_nic_is_selected(nic, only))
            continue;
        if (only || style->verbose || is_capable)
            g_ptr_array_add(nic->status == IBH_NIC_RAIL ? rails : others, nic);
    }
    IBH_EACH_POINTER (IbhNic, nic, rails)
        g_ptr_array_add(shown, nic);
    IBH_EACH_POINTER (IbhNic, nic, others)
        g_ptr_array_add(shown, nic);
    for (guint i = 0; report->missed && i < report->missed->len; i++) {
        IbhKnownRail *one = &g_array_index(report->missed, IbhKnownRail, i);

        if (!only || g_strv_contains(only, ibh_known_name(one)))
            g_ptr_array_add(missed, one);
    }
    whole.style = style;
    whole.shown = shown;
    whole.shown_rails = rails;
    whole.shown_others = others;
    whole.shown_missed = missed;
    whole.failed = report->message || (report->errors && report->errors->len);
    whole.out = g_string_new(NULL);
    whole.rows = rows;
    writer(&whole);
    return g_string_free(whole.out, FALSE);
}

gboolean ibh_report_is_ok(const IbhReport *report)
{
    const gboolean is_whole = !report->failed && !(report->probe && report->probe->interrupted);

    return is_whole && (!report->findings || !ibh_findings_worst(report->findings, NULL));
}

gboolean ibh_report_has_carrier(const IbhReport *report, const IbhNic *nic)
{
    return !ibh_findings_find(report->findings, "carrier-down", nic->link->name, NULL);
}

guint ibh_report_count_standing(const IbhReport *report)
{
    guint standing = 0;

    IBH_EACH_POINTER (const IbhNic, rail, report->shown_rails)
        standing += ibh_report_has_carrier(report, rail) ? 1 : 0;
    return standing;
}

GPtrArray *ibh_report_addresses(const IbhReport *report, const IbhNic *nic, IbhAddresses which)
{
    GPtrArray *list = g_ptr_array_new_with_free_func(g_free);
    char text[IBH_PREFIX_STRLEN];

    IBH_EACH_POINTER (const IbhAddress, address, nic->addresses) {
        const IbhPrefix shown = {.ip = address->local, .length = address->subnet.length};
        const gboolean is_unchecked =
            report->check && ibh_address_is_host(address) && !ibh_check_asks_from(report->check, nic, &address->local);
        const IbhAddresses kind = is_unchecked ? IBH_ADDRESSES_UNCHECKED : IBH_ADDRESSES_CHECKED;

        if (ibh_address_counts(address) && (which == IBH_ADDRESSES_ALL || which == kind))
            g_ptr_array_add(list, g_strdup(ibh_prefix_format(&shown, text)));
    }
    return list;
}

int ibh_pair_verdict(const IbhProbePair *pair)
{
    g_autoptr(GPtrArray) problems = ibh_probe_problems(pair);

    if (problems->len == 1 && ibh_probe_has(pair, IBH_BACK_NOT_KNOWN))
        return -1;
    return problems->len == 0;
}

/* From IBH_RDMA_NO_WAY on, the request was begun, and not answered: "silent". */
const char *ibh_pair_rdma_text(const IbhProbe *probe, const IbhProbePair *pair)
{
    return !probe->rdma                       ? NULL
           : pair->rdma == IBH_CAUSE_NONE     ? "answered"
           : pair->rdma >= IBH_RDMA_NO_WAY    ? "silent"
           : pair->rdma == IBH_RDMA_NO_DEVICE ? "no-device"
           : pair->rdma == IBH_RDMA_NO_ECHO   ? "no-echo"
                                              : "not-asked";
}

char *ibh_texts_join(const GPtrArray *texts, const char *separator)
{
    GString *all = g_string_new(NULL);

    IBH_EACH_POINTER (const char, text, texts)
        g_string_append_printf(all, "%s%s", all->len ? separator : "", text);
    return g_string_free(all, FALSE);
}
