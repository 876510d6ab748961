#include "report.h"

#include "spread.h"

#include <string.h>

#define RED "31"
#define GREEN "32"
#define YELLOW "33"
#define BOLD "1"

static void put(GString *out, const IbhStyle *style, const char *color, const char *text)
{
    g_autofree char *safe = ibh_report_clean(text);

    if (style->color && color)
        g_string_append_printf(out, "\033[%sm%s\033[0m", color, safe);
    else
        g_string_append(out, safe);
}

G_GNUC_PRINTF(4, 5)
static void putf(GString *out, const IbhStyle *style, const char *color, const char *format, ...)
{
    g_autofree char *text = NULL;
    va_list args;

    va_start(args, format);
    text = g_strdup_vprintf(format, args);
    va_end(args);
    put(out, style, color, text);
}

static void put_line(GString *out, const IbhStyle *style, const char *color, const char *text)
{
    put(out, style, color, text);
    g_string_append_c(out, '\n');
}

/* ---- the table of --show ---- */

enum {
    COLUMN_IFACE,
    COLUMN_RDMA,
    COLUMN_LINK,
    COLUMN_TABLE,
    COLUMN_RULES,
    COLUMN_ARP,
    COLUMN_MAIN,
    COLUMN_MANAGER,
    COLUMN_VERDICT,
    COLUMN_ADDRESSES,
    N_COLUMNS
};

typedef struct {
    char *cells[N_COLUMNS];
    const char *color; /* of the verdict */
} Row;

static void row_clear(gpointer data)
{
    Row *row = data;

    for (int i = 0; i < N_COLUMNS; i++)
        g_free(row->cells[i]);
}

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
    g_autofree char *connection = manager && manager->connection ? ibh_report_clean(manager->connection) : NULL;

    if (!connection)
        return g_strdup(manager ? manager->name : "-");
    return g_strdup_printf("%s (%s)", manager->name, connection);
}

static char *join_addresses(const IbhRails *rails, const IbhNic *nic)
{
    g_autoptr(GPtrArray) addresses = ibh_report_addresses(rails, nic);
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

    for (guint i = 0; i < findings->len; i++) {
        const IbhFinding *finding = g_ptr_array_index(findings, i);

        if (g_str_equal(finding->iface, iface) && finding->severity != IBH_INFO &&
            (!worst || finding->severity < worst->severity))
            worst = finding;
    }
    return worst;
}

static void set_verdict(Row *row, const IbhReport *report, const IbhNic *nic)
{
    const IbhFinding *worst = worst_finding(report->findings, nic->link->name);

    if (nic->status != IBH_NIC_RAIL) {
        row->cells[COLUMN_VERDICT] = g_strdup(nic->status == IBH_NIC_BLOCKED ? nic->code : "no rail");
        row->color = nic->status == IBH_NIC_BLOCKED ? RED : NULL;
    } else if (worst) {
        row->cells[COLUMN_VERDICT] = g_strdup(worst->code);
        row->color = worst->severity == IBH_ERROR ? RED : YELLOW;
    } else {
        row->cells[COLUMN_VERDICT] = g_strdup("ok");
        row->color = GREEN;
    }
}

static Row make_row(const IbhReport *report, const IbhNic *nic)
{
    gboolean rail = nic->status == IBH_NIC_RAIL;
    Row row = {.cells = {
                   [COLUMN_IFACE] = ibh_report_clean(nic->link->name),
                   [COLUMN_RDMA] = ibh_report_clean(nic->link->rdma[0] ? nic->link->rdma : "-"),
                   [COLUMN_LINK] = g_strdup(link_state(nic->link)),
                   [COLUMN_TABLE] = rail ? g_strdup_printf("%u", nic->table) : g_strdup("-"),
                   [COLUMN_RULES] = rail ? count_rules(report->rails, nic) : g_strdup("-"),
                   [COLUMN_ARP] = describe_sysctls(nic),
                   [COLUMN_MAIN] = g_strdup(!rail                                ? "-"
                                            : ibh_spread_has(report->rails, nic) ? "spread"
                                                                                 : "keep"),
                   [COLUMN_MANAGER] = describe_manager(report->rails->snapshot, nic),
                   [COLUMN_ADDRESSES] = join_addresses(report->rails, nic),
               }};

    set_verdict(&row, report, nic);
    return row;
}

static void put_row(GString *out, const IbhStyle *style, const Row *row, const int *widths, gboolean heading)
{
    for (int i = 0; i < N_COLUMNS; i++) {
        gboolean last = i == N_COLUMNS - 1;

        put(out, style, heading ? BOLD : i == COLUMN_VERDICT ? row->color : NULL, row->cells[i]);
        if (!last)
            g_string_append_printf(out, "%*s", widths[i] - (int)g_utf8_strlen(row->cells[i], -1) + 2, "");
    }
    g_string_append_c(out, '\n');
}

static void put_table(GString *out, const IbhReport *report, const IbhStyle *style)
{
    const Row heading = {.cells = {(char *)(guintptr) "INTERFACE", (char *)(guintptr) "RDMA", (char *)(guintptr) "LINK",
                                   (char *)(guintptr) "TABLE", (char *)(guintptr) "RULES",
                                   (char *)(guintptr) "RP/FILTER/ANNOUNCE/IGNORE", (char *)(guintptr) "MAIN",
                                   (char *)(guintptr) "MANAGER", (char *)(guintptr) "VERDICT",
                                   (char *)(guintptr) "ADDRESSES"}};
    g_autoptr(GArray) rows = g_array_new(FALSE, TRUE, sizeof(Row));
    int widths[N_COLUMNS];

    g_array_set_clear_func(rows, row_clear);
    for (guint i = 0; i < report->rails->nics->len; i++) {
        const IbhNic *nic = g_ptr_array_index(report->rails->nics, i);
        Row row;

        if (!ibh_report_lists(report, nic, style->verbose))
            continue;
        row = make_row(report, nic);
        g_array_append_val(rows, row);
    }
    if (!rows->len)
        return;
    for (int i = 0; i < N_COLUMNS; i++) {
        widths[i] = (int)strlen(heading.cells[i]);
        for (guint j = 0; j < rows->len; j++)
            widths[i] = MAX(widths[i], (int)g_utf8_strlen(g_array_index(rows, Row, j).cells[i], -1));
    }
    put_row(out, style, &heading, widths, TRUE);
    for (guint j = 0; j < rows->len; j++)
        put_row(out, style, &g_array_index(rows, Row, j), widths, FALSE);
    g_string_append_c(out, '\n');
}

/* ---- parts ---- */

static guint count_rails(const IbhReport *report)
{
    guint count = 0;

    for (guint i = 0; i < report->rails->nics->len; i++) {
        const IbhNic *nic = g_ptr_array_index(report->rails->nics, i);

        count += nic->status == IBH_NIC_RAIL && ibh_report_lists(report, nic, FALSE);
    }
    return count;
}

/* Why each NIC is, or is not, engaged. */
static void put_reasons(GString *out, const IbhReport *report, const IbhStyle *style, const char *lead, gboolean rails)
{
    for (guint i = 0; i < report->rails->nics->len; i++) {
        const IbhNic *nic = g_ptr_array_index(report->rails->nics, i);
        gboolean rail = nic->status == IBH_NIC_RAIL;

        if (!ibh_report_lists(report, nic, style->verbose) || (rail && !rails))
            continue;
        putf(out, style, NULL, "%s%s: %s: %s", lead, nic->link->name, rail ? "engaged" : "not engaged", nic->why);
        g_string_append_c(out, '\n');
    }
}

static void put_findings(GString *out, const IbhReport *report, const IbhStyle *style)
{
    static const char *const colors[] = {[IBH_ERROR] = RED, [IBH_WARNING] = YELLOW, [IBH_INFO] = NULL};

    for (guint i = 0; i < report->findings->len; i++) {
        const IbhFinding *finding = g_ptr_array_index(report->findings, i);

        if (finding->severity == IBH_INFO && style->quiet)
            continue;
        putf(out, style, NULL, "%s: ", finding->iface[0] ? finding->iface : "-");
        putf(out, style, colors[finding->severity], "%s %s", ibh_severity_name(finding->severity), finding->code);
        putf(out, style, NULL, ": %s", finding->message);
        g_string_append(out, "\n    ");
        putf(out, style, NULL, "fix: %s", finding->fix);
        g_string_append_c(out, '\n');
    }
}

static void put_ok_rails(GString *out, const IbhReport *report, const IbhStyle *style)
{
    for (guint i = 0; i < report->rails->nics->len; i++) {
        const IbhNic *nic = g_ptr_array_index(report->rails->nics, i);
        g_autofree char *addresses = NULL;

        if (nic->status != IBH_NIC_RAIL || !ibh_report_lists(report, nic, style->verbose) ||
            !ibh_check_is_ok(report->findings, nic->link->name))
            continue;
        addresses = join_addresses(report->rails, nic);
        putf(out, style, NULL, "%s: ", nic->link->name);
        put(out, style, GREEN, "ok");
        putf(out, style, NULL, ": %s leaves and arrives by it (table %u)", addresses, nic->table);
        g_string_append_c(out, '\n');
    }
}

/* By what the kernel spreads is global, and not ours to change. */
static void put_hash_policy(GString *out, const IbhReport *report, const IbhStyle *style)
{
    static const char *const kinds[] = {"peer", "flow", "inner flow", "own choice of fields"};
    int policy = report->rails->snapshot->hash_policy;

    putf(out, style, NULL, "main=spread: by %s (net.ipv4.fib_multipath_hash_policy=%d); IPv6 stays as it is",
         policy >= 0 && policy < (int)G_N_ELEMENTS(kinds) ? kinds[policy] : "the kernel's choice", policy);
    g_string_append_c(out, '\n');
}

static void put_nothing(GString *out, const IbhReport *report, const IbhStyle *style)
{
    for (guint i = 0; i < report->rails->nics->len; i++) {
        const IbhNic *nic = g_ptr_array_index(report->rails->nics, i);

        if (nic->rank && nic->status != IBH_NIC_ALONE && nic->status != IBH_NIC_NO_ADDRESS) {
            put_line(out, style, NULL, "no rails (ib-hook --show says why)");
            return;
        }
    }
    put_line(out, style, NULL,
             "no rails: no two RDMA NICs share a subnet here (ib-hook --show --verbose lists what there is)");
}

/* So that silence is never ambiguous. */
static void put_checked(GString *out, const IbhReport *report, const IbhStyle *style)
{
    g_autoptr(GPtrArray) lines = ibh_report_checked(report);

    for (guint i = 0; i < lines->len; i++) {
        putf(out, style, NULL, "checked: %s", (const char *)g_ptr_array_index(lines, i));
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
        putf(out, style, NULL, "captured: ");
        if (ibh_check_is_ok(report->findings, NULL))
            put(out, style, GREEN, "ok");
        else
            put(out, style, RED, "not ok");
        put_line(out, style, NULL,
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
    put_table(out, report, style);
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
    for (guint i = 0; i < ops->len; i++) {
        const IbhOp *op = g_ptr_array_index(ops, i);
        g_autofree char *command = ibh_op_command(op);

        put(out, style, BOLD, command);
        if (reasons)
            putf(out, style, NULL, "  # %s: %s", op->iface[0] ? op->iface : "-", op->why);
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
        put_line(out, style, NULL, "# nothing to do");
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
    put(out, style, report->errors->len ? RED : NULL, word);
    if (report->done->len || report->errors->len)
        putf(out, style, NULL, ": %u change%s%s", report->done->len, report->done->len == 1 ? "" : "s",
             report->errors->len ? " stand; what failed is on standard error" : "");
    else
        put(out, style, NULL, ": nothing to do");
    g_string_append_c(out, '\n');
    if (report->held && report->held[0]) {
        putf(out, style, NULL, "left alone until --apply or a reboot: %s", report->held);
        g_string_append_c(out, '\n');
    }
    if (!report->held && !report->errors->len)
        put_reasons(out, report, style, "", TRUE);
    return g_string_free(out, FALSE);
}

static char *error(int status, const char *message)
{
    g_auto(GStrv) lines = g_strsplit(message, "\n", -1);
    GString *out = g_string_new(NULL);

    (void)status;
    for (char **line = lines; *line; line++) {
        g_autofree char *text = ibh_report_clean(*line);

        g_string_append_printf(out, "ib-hook: %s\n", text);
    }
    return g_string_free(out, FALSE);
}

const IbhWriter ibh_text_writer = {.show = show, .check = check, .plan = plan, .change = change, .error = error};
