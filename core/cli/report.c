/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/cli.h"

#include <linux/if_arp.h>

/* The NICs asked about by name; without names, every candidate and RDMA-capable NIC, or with --verbose every netdev. */
static gboolean lists(const IbhReport *report, const IbhNic *nic, gboolean verbose)
{
    if (report->rails->only)
        return ibh_nic_is_selected(nic, report->rails->only);
    return verbose || nic->rank || nic->link->rdma[0] || nic->link->type == ARPHRD_INFINIBAND;
}

char *ibh_report(const IbhReport *report, IbhWriter *writer, const IbhStyle *style)
{
    g_autoptr(GPtrArray) rails = g_ptr_array_new(), others = g_ptr_array_new();
    g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func(g_free);
    IbhReport whole = *report;

    for (guint i = 0; report->rails && i < report->rails->nics->len; i++) {
        IbhNic *nic = g_ptr_array_index(report->rails->nics, i);

        if (lists(report, nic, style->verbose))
            g_ptr_array_add(nic->status == IBH_NIC_RAIL ? rails : others, nic);
    }
    whole.out = g_string_new(NULL);
    whole.rows = rows;
    whole.style = style;
    whole.nics[TRUE] = rails;
    whole.nics[FALSE] = others;
    whole.failed = report->message || (report->errors && report->errors->len);
    writer(&whole);
    return g_string_free(whole.out, FALSE);
}

static void tell(IbhPart *part, const IbhReport *report)
{
    if (part)
        part(report);
}

void ibh_report_walk(const IbhReport *report, const IbhLanguage *language)
{
    tell(language->begin, report);
    if (report->message)
        tell(language->error, report);
    else if (report->ops)
        tell(language->changes, report);
    else if (report->findings) {
        tell(report->probe ? language->probe : language->look, report);
        tell(language->findings, report);
    } else
        tell(language->confirmed, report);
    tell(language->end, report);
}

gboolean ibh_report_is_ok(const IbhReport *report)
{
    const gboolean is_whole = !report->failed && !(report->probe && report->probe->interrupted);

    return is_whole && (!report->findings || !ibh_findings_worst(report->findings, NULL));
}

char *ibh_texts_join(const GPtrArray *texts, const char *separator)
{
    GString *all = g_string_new(NULL);

    IBH_EACH_POINTER (const char, text, texts)
        g_string_append_printf(all, "%s%s", all->len ? separator : "", text);
    return g_string_free(all, FALSE);
}

/* ---- of a NIC ---- */

GPtrArray *ibh_nic_address_texts(const IbhNic *nic)
{
    GPtrArray *list = g_ptr_array_new_with_free_func(g_free);
    char text[IBH_PREFIX_STRLEN];

    IBH_EACH_POINTER (const IbhAddress, address, nic->addresses) {
        const IbhPrefix shown = {.ip = address->local, .length = address->subnet.length};

        if (ibh_address_counts(address))
            g_ptr_array_add(list, g_strdup(ibh_prefix_format(&shown, text)));
    }
    return list;
}

GPtrArray *ibh_report_unchecked(const IbhReport *report, const IbhNic *rail)
{
    GPtrArray *list = g_ptr_array_new_with_free_func(g_free);
    char text[IBH_PREFIX_STRLEN];

    IBH_EACH_POINTER (const IbhAddress, address, rail->addresses) {
        if (report->check && ibh_address_counts(address) && ibh_address_is_host(address) &&
            !ibh_check_asks_from(report->check, rail, &address->local))
            g_ptr_array_add(list, g_strdup(ibh_prefix_format(&address->subnet, text)));
    }
    return list;
}

/* ---- of a pair ---- */

int ibh_pair_verdict(const IbhProbePair *pair)
{
    g_autoptr(GPtrArray) problems = ibh_probe_problems(pair);

    return problems->len == 1 && ibh_probe_has(pair, IBH_WAY_NOT_KNOWN) ? -1 : !problems->len;
}

const char *ibh_pair_rdma_text(const IbhProbe *probe, const IbhProbePair *pair)
{
    return !probe->rdma                       ? NULL
           : pair->rdma == IBH_CAUSE_NONE     ? "answered"
           : pair->rdma >= IBH_RDMA_NO_WAY    ? "silent"
           : pair->rdma == IBH_RDMA_NO_DEVICE ? "no-device"
           : pair->rdma == IBH_RDMA_NO_ECHO   ? "no-echo"
                                              : "not-asked";
}
