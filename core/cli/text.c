/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/report.h"

#include "cli/table.h"
#include "cli/text_check.h"
#include "cli/text_parts.h"
#include "cli/text_probe.h"

/* ---- the table of --show ---- */

static const char *link_state(const IbhLink *link)
{
    if (!(link->flags & IFF_UP))
        return "down";
    return link->carrier ? "up" : "no carrier";
}

/* How many of the wanted rules exist. */
static char *count_rules(const IbhRails *rails, const IbhNic *nic)
{
    guint wanted, found = ibh_report_rules(rails, nic, &wanted);

    return g_strdup_printf("%u/%u", found, wanted);
}

static char *describe_sysctls(const IbhNic *nic)
{
    const int *value = nic->link->sysctl;

    return g_strdup_printf("%d/%d/%d/%d", value[IBH_SYSCTL_RP_FILTER], value[IBH_SYSCTL_ARP_FILTER],
                           value[IBH_SYSCTL_ARP_ANNOUNCE], value[IBH_SYSCTL_ARP_IGNORE]);
}

static char *describe_manager(const IbhSnapshot *snapshot, const IbhNic *nic)
{
    const IbhManager *manager = ibh_snapshot_manager(snapshot, nic->link->ifindex);
    g_autofree char *connection = manager && manager->connection ? ibh_printable(manager->connection) : NULL;

    if (!connection)
        return g_strdup(manager ? manager->name : "-");
    return g_strdup_printf("%s (%s)", manager->name, connection);
}

static const IbhFinding *worst_finding(const GPtrArray *findings, const char *iface)
{
    const IbhFinding *worst = NULL;

    IBH_EACH_POINTER (const IbhFinding, finding, findings) {
        if (g_str_equal(finding->iface, iface) && finding->severity != IBH_INFO &&
            (!worst || finding->severity < worst->severity))
            worst = finding;
    }
    return worst;
}

static void add_verdict(IbhTable *table, const IbhReport *report, const IbhNic *nic)
{
    const IbhFinding *worst = worst_finding(report->findings, nic->link->name);

    if (nic->status != IBH_NIC_RAIL)
        ibh_table_add(table, g_strdup(nic->status == IBH_NIC_BLOCKED ? nic->code : "no rail"),
                      nic->status == IBH_NIC_BLOCKED ? IBH_RED : NULL);
    else if (worst)
        ibh_table_add(table, g_strdup(worst->code), worst->severity == IBH_ERROR ? IBH_RED : IBH_YELLOW);
    else
        ibh_table_add(table, g_strdup("ok"), IBH_GREEN);
}

static void add_nic(IbhTable *table, const IbhReport *report, const IbhNic *nic)
{
    gboolean rail = nic->status == IBH_NIC_RAIL;

    ibh_table_add(table, g_strdup(nic->link->name), NULL);
    ibh_table_add(table, g_strdup(nic->link->rdma[0] ? nic->link->rdma : "-"), NULL);
    ibh_table_add(table, g_strdup(link_state(nic->link)), NULL);
    ibh_table_add(table, rail ? g_strdup_printf("%u", nic->table) : g_strdup("-"), NULL);
    ibh_table_add(table, rail ? count_rules(report->rails, nic) : g_strdup("-"), NULL);
    ibh_table_add(table, describe_sysctls(nic), NULL);
    ibh_table_add(table, g_strdup(rail ? ibh_report_main(report->rails, nic) : "-"), NULL);
    ibh_table_add(table, describe_manager(report->rails->snapshot, nic), NULL);
    add_verdict(table, report, nic);
    ibh_table_add(table, ibh_join_addresses(nic, 3), NULL);
}

static void put_nics(GString *out, const IbhReport *report, const IbhStyle *style)
{
    static const char *const heading[] = {
        "INTERFACE", "RDMA",    "LINK",    "TABLE",     "RULES", "RP/FILTER/ANNOUNCE/IGNORE",
        "MAIN",      "MANAGER", "VERDICT", "ADDRESSES", NULL};
    g_autoptr(IbhTable) table = ibh_table_new(G_N_ELEMENTS(heading) - 1);

    ibh_table_add_heading(table, heading);
    IBH_EACH_POINTER (const IbhNic, nic, report->rails->nics) {
        if (ibh_report_lists(report, nic, style->verbose))
            add_nic(table, report, nic);
    }
    if (table->cells->len < G_N_ELEMENTS(heading))
        return;
    ibh_put_table(out, style, table);
    g_string_append_c(out, '\n');
}

/* ---- main=spread ---- */

/* The hash policy of the spread is a global setting, which we do not change. */
static void put_hash_policy(GString *out, const IbhReport *report, const IbhStyle *style)
{
    static const char *const kinds[] = {"peer", "flow", "inner flow", "own choice of fields"};
    int policy = report->rails->snapshot->hash_policy;

    ibh_putf(out, style, NULL, "main=spread: by %s (net.ipv4.fib_multipath_hash_policy=%d); IPv6 stays as it is",
             policy >= 0 && policy < (int)G_N_ELEMENTS(kinds) ? kinds[policy] : "the kernel's choice", policy);
    g_string_append_c(out, '\n');
}

/* ---- the actions ---- */

static char *show(const IbhReport *report, const IbhStyle *style)
{
    GString *out = NULL;

    out = g_string_new(NULL);
    put_nics(out, report, style);
    if (!style->quiet)
        ibh_put_reasons(out, report, style, "", TRUE);
    if (!style->quiet && report->rails->main == IBH_MAIN_SPREAD)
        put_hash_policy(out, report, style);
    if (!report->only && !ibh_count_rails(report))
        ibh_put_nothing(out, report, style);
    g_string_append(out, out->len && !style->quiet ? "\n" : "");
    if (!style->quiet)
        ibh_put_verdict(out, report, style);
    if (style->verbose || style->quiet)
        ibh_put_findings(out, report, style);
    if (style->verbose)
        ibh_put_checked(out, report, style);
    return g_string_free(out, FALSE);
}

static void put_operations(GString *out, const GPtrArray *ops, const IbhStyle *style, gboolean reasons)
{
    IBH_EACH_POINTER (const IbhOp, op, ops) {
        g_autofree char *command = ibh_op_command(op);

        ibh_put(out, style, IBH_BOLD, command);
        if (reasons)
            ibh_putf(out, style, NULL, "  # %s: %s", op->iface[0] ? op->iface : "-", op->why);
        g_string_append_c(out, '\n');
    }
}

static char *plan(const IbhReport *report, const IbhStyle *style)
{
    GString *out = g_string_new(NULL);

    if (!style->quiet)
        ibh_put_reasons(out, report, style, "# ", TRUE);
    put_operations(out, report->plan->ops, style, !style->quiet);
    if (!style->quiet && !report->plan->ops->len)
        ibh_put_line(out, style, NULL, "# nothing to do");
    return g_string_free(out, FALSE);
}

static char *change(const IbhReport *report, const IbhStyle *style)
{
    const char *word = report->errors->len ? "failed" : report->held ? "undone" : "applied";
    GString *out = g_string_new(NULL);

    if (style->quiet)
        return g_string_free(out, FALSE);
    if (style->verbose)
        put_operations(out, report->done, style, TRUE);
    ibh_put(out, style, report->errors->len ? IBH_RED : NULL, word);
    if (report->done->len || report->errors->len)
        ibh_putf(out, style, NULL, ": %u change%s%s", report->done->len, report->done->len == 1 ? "" : "s",
                 report->errors->len ? " stand; what failed is on standard error" : "");
    else
        ibh_put(out, style, NULL, ": nothing to do");
    g_string_append_c(out, '\n');
    if (report->held && report->held[0]) {
        ibh_putf(out, style, NULL, "left alone until --apply or a reboot: %s", report->held);
        g_string_append_c(out, '\n');
    }
    if (!report->held && !report->errors->len)
        ibh_put_reasons(out, report, style, "", TRUE);
    return g_string_free(out, FALSE);
}

static char *probe(const IbhReport *report, const IbhStyle *style)
{
    GString *out = g_string_new(NULL);

    ibh_put_probe(out, report->probe, style);
    if (report->findings->len && out->len)
        g_string_append_c(out, '\n');
    ibh_put_findings(out, report, style);
    if (!style->quiet && !report->probe->nics->len)
        ibh_put_nothing(out, report, style);
    return g_string_free(out, FALSE);
}

const IbhWriter ibh_text_writer = {
    .show = show, .check = ibh_text_check, .plan = plan, .change = change, .probe = probe, .error = ibh_report_error};
