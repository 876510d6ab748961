#include "cli/report.h"

#include "cli/table.h"
#include "cli/text_probe.h"

/* ---- the table of --show ---- */

static const char *link_state(const IbhLink *link)
{
    if (!(link->flags & IFF_UP))
        return "down";
    return link->carrier ? "up" : "no carrier";
}

/* How many of the wanted rules stand. */
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

static char *join_addresses(const IbhNic *nic)
{
    g_autoptr(GPtrArray) addresses = ibh_report_addresses(nic);
    GString *text = g_string_new(addresses->len ? NULL : "-");

    for (guint i = 0; i < addresses->len && i < 3; i++)
        g_string_append_printf(text, "%s%s", i ? " " : "", (const char *)g_ptr_array_index(addresses, i));
    if (addresses->len > 3)
        g_string_append_printf(text, " and %u more", addresses->len - 3);
    return g_string_free(text, FALSE);
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
    ibh_table_add(table, join_addresses(nic), NULL);
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

/* ---- parts ---- */

static guint count_rails(const IbhReport *report)
{
    guint count = 0;

    IBH_EACH_POINTER (const IbhNic, nic, report->rails->nics)
        count += nic->status == IBH_NIC_RAIL && ibh_report_lists(report, nic, FALSE);
    return count;
}

/* Why each NIC is, or is not, engaged. */
static void put_reasons(GString *out, const IbhReport *report, const IbhStyle *style, const char *lead, gboolean rails)
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

static void put_findings(GString *out, const IbhReport *report, const IbhStyle *style)
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

static void put_ok_rails(GString *out, const IbhReport *report, const IbhStyle *style)
{
    IBH_EACH_POINTER (const IbhNic, nic, report->rails->nics) {
        g_autofree char *addresses = NULL;

        if (nic->status != IBH_NIC_RAIL || !ibh_report_lists(report, nic, style->verbose) ||
            !ibh_findings_are_ok(report->findings, nic->link->name))
            continue;
        addresses = join_addresses(nic);
        ibh_putf(out, style, NULL, "%s: ", nic->link->name);
        ibh_put(out, style, IBH_GREEN, "ok");
        ibh_putf(out, style, NULL, ": %s leaves and arrives by it (table %u)", addresses, nic->table);
        g_string_append_c(out, '\n');
    }
}

/* By what the kernel spreads is global, and not ours to change. */
static void put_hash_policy(GString *out, const IbhReport *report, const IbhStyle *style)
{
    static const char *const kinds[] = {"peer", "flow", "inner flow", "own choice of fields"};
    int policy = report->rails->snapshot->hash_policy;

    ibh_putf(out, style, NULL, "main=spread: by %s (net.ipv4.fib_multipath_hash_policy=%d); IPv6 stays as it is",
             policy >= 0 && policy < (int)G_N_ELEMENTS(kinds) ? kinds[policy] : "the kernel's choice", policy);
    g_string_append_c(out, '\n');
}

static void put_nothing(GString *out, const IbhReport *report, const IbhStyle *style)
{
    IBH_EACH_POINTER (const IbhNic, nic, report->rails->nics) {
        if (nic->rank && nic->status != IBH_NIC_ALONE && nic->status != IBH_NIC_NO_ADDRESS) {
            ibh_put_line(out, style, NULL, "no rails (ib-hook --show says why)");
            return;
        }
    }
    ibh_put_line(out, style, NULL,
                 "no rails: no two RDMA NICs share a subnet here (ib-hook --show --verbose lists what there is)");
}

/* So that silence is never ambiguous. */
static void put_checked(GString *out, const IbhReport *report, const IbhStyle *style)
{
    g_autoptr(GPtrArray) lines = ibh_report_checked(report);

    IBH_EACH_POINTER (const char, line, lines) {
        ibh_putf(out, style, NULL, "checked: %s", line);
        g_string_append_c(out, '\n');
    }
}

/* ---- the actions ---- */

/* Neither links nor addresses, rules or routes are in a captured tree. */
static char *show_captured(const IbhReport *report, const IbhStyle *style, gboolean checked)
{
    GString *out = g_string_new(NULL);

    put_findings(out, report, style);
    if (checked)
        put_checked(out, report, style);
    if (!style->quiet) {
        ibh_putf(out, style, NULL, "captured: ");
        if (ibh_findings_are_ok(report->findings, NULL))
            ibh_put(out, style, IBH_GREEN, "ok");
        else
            ibh_put(out, style, IBH_RED, "not ok");
        ibh_put_line(out, style, NULL,
                     ": only RDMA ports and their interfaces were judged; rules, routes and sysctls are not in it");
    }
    return g_string_free(out, FALSE);
}

static char *show(const IbhReport *report, const IbhStyle *style)
{
    GString *out = NULL;

    if (report->captured)
        return show_captured(report, style, !style->quiet);
    out = g_string_new(NULL);
    put_nics(out, report, style);
    if (!style->quiet)
        put_reasons(out, report, style, "", TRUE);
    if (!style->quiet && report->rails->main == IBH_MAIN_SPREAD)
        put_hash_policy(out, report, style);
    if (!report->only && !count_rails(report))
        put_nothing(out, report, style);
    if (report->findings->len)
        g_string_append_c(out, '\n');
    put_findings(out, report, style);
    if (style->verbose)
        put_checked(out, report, style);
    return g_string_free(out, FALSE);
}

static char *check(const IbhReport *report, const IbhStyle *style)
{
    GString *out = NULL;

    if (report->captured)
        return show_captured(report, style, style->verbose);
    out = g_string_new(NULL);
    put_findings(out, report, style);
    if (style->verbose)
        put_checked(out, report, style);
    if (!style->quiet)
        put_ok_rails(out, report, style);
    if (style->verbose)
        put_reasons(out, report, style, "", TRUE);
    if (!style->quiet && !report->only && !count_rails(report))
        put_nothing(out, report, style);
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
        put_reasons(out, report, style, "# ", TRUE);
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
        put_reasons(out, report, style, "", TRUE);
    return g_string_free(out, FALSE);
}

static char *probe(const IbhReport *report, const IbhStyle *style)
{
    GString *out = g_string_new(NULL);

    ibh_put_probe(out, report->probe, style);
    if (report->findings->len && out->len)
        g_string_append_c(out, '\n');
    put_findings(out, report, style);
    if (!style->quiet && !report->probe->nics->len)
        put_nothing(out, report, style);
    return g_string_free(out, FALSE);
}

const IbhWriter ibh_text_writer = {
    .show = show, .check = check, .plan = plan, .change = change, .probe = probe, .error = ibh_report_error};
