/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/text_parts.h"

#include "cli/table.h"

char *ibh_join_addresses(const IbhNic *nic, guint most)
{
    g_autoptr(GPtrArray) addresses = ibh_report_addresses(nic);
    GString *text = g_string_new(addresses->len ? NULL : "-");

    for (guint i = 0; i < addresses->len && i < most; i++)
        g_string_append_printf(text, "%s%s", i ? " " : "", (const char *)g_ptr_array_index(addresses, i));
    if (addresses->len > most)
        g_string_append_printf(text, " and %u more", addresses->len - most);
    return g_string_free(text, FALSE);
}

guint ibh_count_rails(const IbhReport *report)
{
    guint count = 0;

    IBH_EACH_POINTER (const IbhNic, nic, report->rails->nics)
        count += nic->status == IBH_NIC_RAIL && ibh_report_lists(report, nic, FALSE);
    return count;
}

/* Why each NIC is, or is not, engaged. */
void ibh_put_reasons(GString *out, const IbhReport *report, const IbhStyle *style, const char *lead, gboolean rails)
{
    IBH_EACH_POINTER (const IbhNic, nic, report->rails->nics) {
        gboolean rail = nic->status == IBH_NIC_RAIL;

        if (!ibh_report_lists(report, nic, style->verbose) || (rail && !rails))
            continue;
        ibh_putf(out, style, NULL, "%s%s: %s: %s", lead, nic->link->name, rail ? "engaged" : "not engaged", nic->why);
        g_string_append_c(out, '\n');
    }
}

static void put_remedy(GString *out, const IbhStyle *style, const char *word, const char *remedy)
{
    if (!remedy)
        return;
    ibh_putf(out, style, NULL, "    %s: %s", word, remedy);
    g_string_append_c(out, '\n');
}

void ibh_put_findings(GString *out, const IbhReport *report, const IbhStyle *style)
{
    static const char *const colors[] = {[IBH_ERROR] = IBH_RED, [IBH_WARNING] = IBH_YELLOW, [IBH_INFO] = NULL};

    IBH_EACH_POINTER (const IbhFinding, finding, report->findings) {
        if (finding->severity == IBH_INFO && style->quiet)
            continue;
        ibh_putf(out, style, NULL, "%s: ", finding->iface[0] ? finding->iface : "-");
        ibh_putf(out, style, colors[finding->severity], "%s %s", ibh_severity_name(finding->severity), finding->code);
        ibh_putf(out, style, NULL, ": %s", finding->message);
        g_string_append_c(out, '\n');
        put_remedy(out, style, "fix", finding->fix);
        put_remedy(out, style, "advice", finding->advice);
    }
}

void ibh_put_nothing(GString *out, const IbhReport *report, const IbhStyle *style)
{
    IBH_EACH_POINTER (const IbhNic, nic, report->rails->nics) {
        if (nic->rank && nic->status != IBH_NIC_ALONE && nic->status != IBH_NIC_NO_ADDRESS) {
            ibh_put_line(out, style, NULL, "no rails (ib-hook --show says why)");
            return;
        }
    }
    ibh_put_line(out, style, NULL,
                 "no rails: no two RDMA NICs share a subnet here (ib-hook --show --verbose lists all)");
}

/* So that an empty report is never ambiguous. */
void ibh_put_checked(GString *out, const IbhReport *report, const IbhStyle *style)
{
    g_autoptr(GPtrArray) lines = ibh_report_checked(report);

    IBH_EACH_POINTER (const char, line, lines) {
        ibh_putf(out, style, NULL, "checked: %s", line);
        g_string_append_c(out, '\n');
    }
}
