/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reports for people. --show and --check are the same: the host's verdict, then a line for each NIC or cause.
 */
#include "cli/report.h"

#include "cli/table.h"
#include "cli/text_probe.h"

#include <string.h>

#define HOST "host" /* findings of no interface */
#define APPLY "sudo ib-hook --apply"
#define WIDTH 80

static const char *const colors[] = {[IBH_ERROR] = IBH_RED, [IBH_WARNING] = IBH_YELLOW, [IBH_INFO] = NULL};

/* ---- findings by NIC ---- */

static gboolean is_of(const IbhFinding *finding, const char *owner)
{
    return !owner || ibh_finding_is_about(finding, g_str_equal(owner, HOST) ? "" : owner);
}

static void add_owner(GPtrArray *owners, const char *name)
{
    if (!g_ptr_array_find_with_equal_func(owners, name, g_str_equal, NULL))
        g_ptr_array_add(owners, (char *)(guintptr)name);
}

/* Who has a line: the NICs in their order (of --check those with a finding, and the rails), then other names. */
static GPtrArray *list_owners(const IbhReport *report, const IbhStyle *style, gboolean all)
{
    GPtrArray *owners = g_ptr_array_new();

    IBH_EACH_POINTER (const IbhNic, nic, report->rails->nics) {
        gboolean told = (all || nic->status == IBH_NIC_RAIL) && ibh_report_lists(report, nic, style->verbose);

        IBH_EACH_POINTER (const IbhFinding, finding, report->findings)
            told = told || is_of(finding, nic->link->name);
        if (told)
            add_owner(owners, nic->link->name);
    }
    IBH_EACH_POINTER (const IbhFinding, finding, report->findings)
        add_owner(owners, finding->iface[0] ? finding->iface : HOST);
    return owners;
}

static IbhSeverity find_worst(const GPtrArray *findings, const char *owner)
{
    IbhSeverity worst = IBH_INFO;

    IBH_EACH_POINTER (const IbhFinding, finding, findings)
        worst = is_of(finding, owner) ? MIN(worst, finding->severity) : worst;
    return worst;
}

/* Its different codes, the worst first; the message, where there is only one. */
static char *describe_findings(const GPtrArray *findings, const char *owner)
{
    g_autoptr(GPtrArray) codes = g_ptr_array_new();
    const char *message = NULL;

    for (int severity = IBH_ERROR; severity <= IBH_INFO; severity++) {
        IBH_EACH_POINTER (const IbhFinding, finding, findings) {
            if ((int)finding->severity != severity || !is_of(finding, owner) || (severity == IBH_INFO && codes->len) ||
                g_ptr_array_find_with_equal_func(codes, finding->code, g_str_equal, NULL))
                continue;
            g_ptr_array_add(codes, (char *)(guintptr)finding->code);
            message = finding->message;
        }
    }
    g_ptr_array_add(codes, NULL);
    g_autofree char *names = g_strjoinv(", ", (char **)codes->pdata);

    return codes->len == 2 ? g_strdup_printf("%s: %s", names, message) : g_steal_pointer(&names);
}

/* ---- the host's line ---- */

static guint count_rails(const IbhReport *report)
{
    guint count = 0;

    IBH_EACH_POINTER (const IbhNic, nic, report->rails->nics)
        count += nic->status == IBH_NIC_RAIL && ibh_report_lists(report, nic, FALSE);
    return count;
}

/* The one command that cures all problems; NULL: there is none. */
static const char *find_command(const GPtrArray *findings)
{
    const char *command = NULL;
    gboolean by_apply = TRUE, same = TRUE;

    IBH_EACH_POINTER (const IbhFinding, finding, findings) {
        if (finding->severity == IBH_INFO)
            continue;
        by_apply = by_apply && finding->by_apply;
        same = same && finding->fix && (!command || g_str_equal(command, finding->fix));
        command = finding->fix;
    }
    return by_apply ? APPLY : same ? command : NULL;
}

/* The one problem that the host has; NULL: it has several. */
static const IbhFinding *find_only_problem(const GPtrArray *findings)
{
    const IbhFinding *only = NULL;

    IBH_EACH_POINTER (const IbhFinding, finding, findings) {
        if (finding->severity != IBH_INFO && only)
            return NULL;
        only = finding->severity != IBH_INFO ? finding : only;
    }
    return only;
}

/* "2 of 8 NICs wrong: ib1, ib3" */
static void append_wrong(GString *text, const IbhReport *report, const IbhStyle *style, gboolean names)
{
    g_autoptr(GPtrArray) owners = list_owners(report, style, FALSE), wrong = g_ptr_array_new();
    g_autofree char *list = NULL;
    guint nics = 0;

    IBH_EACH_POINTER (const char, owner, owners) {
        gboolean host = g_str_equal(owner, HOST);

        nics += !host;
        if (!host && find_worst(report->findings, owner) != IBH_INFO)
            g_ptr_array_add(wrong, (char *)(guintptr)owner);
    }
    if (!wrong->len)
        return;
    g_string_append_printf(text, "%u of %u NIC%s wrong", wrong->len, nics, nics == 1 ? "" : "s");
    g_ptr_array_add(wrong, NULL);
    list = g_strjoinv(", ", (char **)wrong->pdata);
    if (names && text->len + strlen(list) + strlen("warning: : ; why: ib-hook --check --verbose") <= WIDTH)
        g_string_append_printf(text, ": %s", list);
    g_string_append(text, "; ");
}

/* The one command that cures it, or the one cause, or which NICs. */
static void put_wrong(GString *out, const IbhReport *report, const IbhStyle *style)
{
    const IbhSeverity worst = find_worst(report->findings, NULL);
    const char *command = find_command(report->findings);
    const IbhFinding *only = find_only_problem(report->findings);
    g_autoptr(GString) text = g_string_new(NULL);

    append_wrong(text, report, style, FALSE);
    if (command && text->len + strlen("warning: fix: ") + strlen(command) <= WIDTH) {
        g_string_append_printf(text, "fix: %s", command);
    } else if (only) {
        if (only->ifaces->len <= 1)
            g_string_printf(text, "%s%s", only->iface, only->iface[0] ? ": " : "");
        g_string_append(text, only->message);
    } else {
        g_string_truncate(text, 0);
        append_wrong(text, report, style, TRUE);
        g_string_append(text,
                        style->verbose ? "what to do stands with each finding" : "why: ib-hook --check --verbose");
    }
    ibh_put(out, style, colors[worst], ibh_severity_name(worst));
    ibh_put_line(out, style, ": ", text->str);
}

static void put_verdict(GString *out, const IbhReport *report, const IbhStyle *style)
{
    guint rails = count_rails(report);
    gboolean candidates = FALSE;

    IBH_EACH_POINTER (const IbhNic, nic, report->rails->nics)
        candidates |= nic->rank && nic->status != IBH_NIC_ALONE && nic->status != IBH_NIC_NO_ADDRESS;
    if (!ibh_findings_are_ok(report->findings, NULL)) {
        put_wrong(out, report, style);
    } else if (rails) {
        ibh_put(out, style, IBH_GREEN, "ok");
        ibh_putf(out, style, NULL, ": %u rail%s", rails, rails == 1 ? "" : "s");
        g_string_append_c(out, '\n');
    }
    if (!rails && !report->only)
        ibh_put_line(out, style, "no rails",
                     candidates ? " (ib-hook --show says why)"
                                : ": no two RDMA NICs share a subnet here (ib-hook --show --verbose lists all)");
}

/* ---- a line for each NIC ---- */

static char *join_addresses(const IbhNic *nic, guint most)
{
    g_autoptr(GPtrArray) addresses = ibh_report_addresses(nic);
    GString *text = g_string_new(addresses->len ? NULL : "-");

    for (guint i = 0; i < addresses->len && i < most; i++)
        g_string_append_printf(text, "%s%s", i ? " " : "", (const char *)g_ptr_array_index(addresses, i));
    if (addresses->len > most)
        g_string_append_printf(text, " and %u more", addresses->len - most);
    return g_string_free(text, FALSE);
}

static void put_lines(GString *out, const IbhReport *report, const IbhStyle *style)
{
    g_autoptr(GPtrArray) owners = list_owners(report, style, FALSE);
    static const guint least[] = {0, sizeof "warning" - 1, 0};
    g_autoptr(IbhTable) table = ibh_table_new(3);

    table->least = least;
    IBH_EACH_POINTER (const char, owner, owners) {
        const IbhNic *nic = ibh_report_nic(report, owner);
        IbhSeverity worst = find_worst(report->findings, owner);
        gboolean ok = nic && worst == IBH_INFO && nic->status == IBH_NIC_RAIL;
        g_autofree char *addresses = ok ? join_addresses(nic, 3) : NULL;

        ibh_table_add(table, g_strdup(owner), NULL);
        ibh_table_add(table, g_strdup(ok ? "ok" : ibh_severity_name(worst)), ok ? IBH_GREEN : colors[worst]);
        ibh_table_add(table,
                      ok ? g_strdup_printf("%s leaves by it (table %u)", addresses, nic->table)
                         : describe_findings(report->findings, owner),
                      NULL);
    }
    ibh_put_table(out, style, table, style->width);
}

static void add_state(IbhTable *table, const IbhReport *report, const IbhNic *nic, const char *owner)
{
    IbhSeverity worst = find_worst(report->findings, owner);

    if (worst != IBH_INFO || !nic)
        ibh_table_add(table, describe_findings(report->findings, owner), colors[worst]);
    else if (nic->status == IBH_NIC_RAIL)
        ibh_table_add(table, g_strdup_printf("ok: %s", nic->why), IBH_GREEN);
    else
        ibh_table_add(table,
                      g_strdup_printf("%s: %s", nic->status == IBH_NIC_BLOCKED ? nic->code : "no rail", nic->why),
                      nic->status == IBH_NIC_BLOCKED ? IBH_RED : NULL);
}

static void put_nics(GString *out, const IbhReport *report, const IbhStyle *style)
{
    g_autoptr(GPtrArray) owners = list_owners(report, style, TRUE);
    g_autoptr(IbhTable) table = ibh_table_new(4);

    ibh_table_add_heading(table, (const char *const[]){"IFACE", "ADDRESS", "LINK", "STATE", NULL});
    IBH_EACH_POINTER (const char, owner, owners) {
        const IbhNic *nic = ibh_report_nic(report, owner);

        ibh_table_add(table, g_strdup(owner), NULL);
        ibh_table_add(table, nic ? join_addresses(nic, style->width ? 1 : 3) : g_strdup("-"), NULL);
        ibh_table_add(table, g_strdup(nic ? ibh_report_link(nic->link) : "-"), NULL);
        add_state(table, report, nic, owner);
    }
    if (owners->len)
        ibh_put_table(out, style, table, style->width);
}

/* ---- more, for --verbose ---- */

/* Why each NIC is, or is not, engaged. */
static void put_reasons(GString *out, const IbhReport *report, const IbhStyle *style, const char *lead)
{
    IBH_EACH_POINTER (const IbhNic, nic, report->rails->nics) {
        if (!ibh_report_lists(report, nic, style->verbose))
            continue;
        ibh_putf(out, style, NULL, "%s%s: %s: %s", lead, nic->link->name,
                 nic->status == IBH_NIC_RAIL ? "engaged" : "not engaged", nic->why);
        g_string_append_c(out, '\n');
    }
}

static void put_facts(GString *out, const IbhReport *report, const IbhStyle *style)
{
    IBH_EACH_POINTER (const IbhNic, nic, report->rails->nics) {
        g_autofree char *facts = nic->status == IBH_NIC_RAIL ? ibh_report_facts(report, nic) : NULL;

        if (facts && ibh_report_lists(report, nic, TRUE))
            ibh_put_line(out, style, "", facts);
    }
}

/* Each finding whole, with its fix or advice. */
static void put_findings(GString *out, const IbhReport *report, const IbhStyle *style)
{
    IBH_EACH_POINTER (const IbhFinding, finding, report->findings) {
        if (finding->severity == IBH_INFO && style->quiet)
            continue;
        ibh_putf(out, style, NULL, "%s: ", finding->iface[0] ? finding->iface : "-");
        ibh_putf(out, style, colors[finding->severity], "%s %s", ibh_severity_name(finding->severity), finding->code);
        ibh_put_line(out, style, ": ", finding->message);
        if (finding->fix)
            ibh_put_line(out, style, "    fix: ", finding->fix);
        if (finding->advice)
            ibh_put_line(out, style, "    advice: ", finding->advice);
    }
}

/* So that an empty report is never ambiguous. */
static void put_checked(GString *out, const IbhReport *report, const IbhStyle *style)
{
    g_autoptr(GPtrArray) lines = ibh_report_checked(report);

    IBH_EACH_POINTER (const char, line, lines)
        ibh_put_line(out, style, "checked: ", line);
}

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

/* With --quiet each error and warning whole, as scripts read it. */
static char *look(const IbhReport *report, const IbhStyle *style, gboolean show)
{
    GString *out = g_string_new(NULL);

    if (!style->quiet) {
        put_verdict(out, report, style);
        (show ? put_nics : put_lines)(out, report, style);
    }
    if (show && !style->quiet && report->rails->main == IBH_MAIN_SPREAD)
        put_hash_policy(out, report, style);
    if (style->verbose || style->quiet)
        put_findings(out, report, style);
    if (!style->verbose)
        return g_string_free(out, FALSE);
    if (show)
        put_facts(out, report, style);
    else
        put_checked(out, report, style);
    put_reasons(out, report, style, "");
    return g_string_free(out, FALSE);
}

static char *show(const IbhReport *report, const IbhStyle *style)
{
    return look(report, style, TRUE);
}

static char *check(const IbhReport *report, const IbhStyle *style)
{
    return look(report, style, FALSE);
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
        put_reasons(out, report, style, "# ");
    put_operations(out, report->plan->ops, style, !style->quiet);
    if (!style->quiet && !report->plan->ops->len)
        ibh_put_line(out, style, "", "# nothing to do");
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
    if (report->held && report->held[0])
        ibh_put_line(out, style, "left alone until --apply or a reboot: ", report->held);
    if (!report->held && !report->errors->len)
        put_reasons(out, report, style, "");
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
        put_verdict(out, report, style);
    return g_string_free(out, FALSE);
}

const IbhWriter ibh_text_writer = {
    .show = show, .check = check, .plan = plan, .change = change, .probe = probe, .error = ibh_report_error};
