#include "cli/report.h"

#include <string.h>

#define RED "31"
#define GREEN "32"
#define YELLOW "33"
#define BOLD "1"

static void put(GString *out, const IbhStyle *style, const char *color, const char *text)
{
    g_autofree char *safe = ibh_printable(text);

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
    g_autofree char *connection = manager && manager->connection ? ibh_printable(manager->connection) : NULL;

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

    IBH_EACH_POINTER (const IbhFinding, finding, findings) {
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
                   [COLUMN_IFACE] = ibh_printable(nic->link->name),
                   [COLUMN_RDMA] = ibh_printable(nic->link->rdma[0] ? nic->link->rdma : "-"),
                   [COLUMN_LINK] = g_strdup(link_state(nic->link)),
                   [COLUMN_TABLE] = rail ? g_strdup_printf("%u", nic->table) : g_strdup("-"),
                   [COLUMN_RULES] = rail ? count_rules(report->rails, nic) : g_strdup("-"),
                   [COLUMN_ARP] = describe_sysctls(nic),
                   [COLUMN_MAIN] = g_strdup(rail ? ibh_report_main(report->rails, nic) : "-"),
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
    IBH_EACH_POINTER (const IbhNic, nic, report->rails->nics) {
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
        putf(out, style, NULL, "%s%s: %s: %s", lead, nic->link->name, rail ? "engaged" : "not engaged", nic->why);
        g_string_append_c(out, '\n');
    }
}

static void put_findings(GString *out, const IbhReport *report, const IbhStyle *style)
{
    static const char *const colors[] = {[IBH_ERROR] = RED, [IBH_WARNING] = YELLOW, [IBH_INFO] = NULL};

    IBH_EACH_POINTER (const IbhFinding, finding, report->findings) {
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
    IBH_EACH_POINTER (const IbhNic, nic, report->rails->nics) {
        g_autofree char *addresses = NULL;

        if (nic->status != IBH_NIC_RAIL || !ibh_report_lists(report, nic, style->verbose) ||
            !ibh_findings_are_ok(report->findings, nic->link->name))
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
    IBH_EACH_POINTER (const IbhNic, nic, report->rails->nics) {
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

    IBH_EACH_POINTER (const char, line, lines) {
        putf(out, style, NULL, "checked: %s", line);
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
        if (ibh_findings_are_ok(report->findings, NULL))
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
    IBH_EACH_POINTER (const IbhOp, op, ops) {
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

/* ---- --probe ---- */

#define MATRIX_PEERS 16  /* up to so many, each is a column */
#define MATRIX_WIDTH 100 /* where the columns' addresses would make it wider, they are numbered */

static const char *fault_color(const IbhProbePair *pair)
{
    return !pair->faults ? GREEN : pair->faults & ~(1u << IBH_PROBE_FLUX | 1u << IBH_PROBE_PEER_SENDER) ? RED : YELLOW;
}

static const char *link_name(const IbhProbe *probe, int ifindex)
{
    const IbhLink *link = ibh_snapshot_link(probe->rails->snapshot, ifindex);

    return link ? link->name : "?";
}

static gboolean has_fault(const IbhProbePair *pair, IbhProbeFault fault)
{
    return (pair->faults & 1u << fault) != 0;
}

/* "0.12", "lost 1/3", "0.12 reply by ib0": what a matrix has room for. */
static char *describe_pair(const IbhProbe *probe, const IbhProbePair *pair)
{
    GString *text = g_string_new(NULL);

    if (pair->rtt >= 0)
        g_string_append_printf(text, "%d.%02d ", (int)(pair->rtt / 1000), (int)(pair->rtt % 1000 / 10));
    if (has_fault(pair, IBH_PROBE_UNSENT))
        g_string_append(text, "not sent ");
    if (has_fault(pair, IBH_PROBE_LOST))
        g_string_append_printf(text, "lost %d/%d ", pair->sent - pair->received, pair->sent);
    if (has_fault(pair, IBH_PROBE_DROPPED))
        g_string_append_printf(text, "dropped from %s ", link_name(probe, pair->reply_ifindex));
    else if (has_fault(pair, IBH_PROBE_REPLY))
        g_string_append_printf(text, "reply by %s ", link_name(probe, pair->reply_ifindex));
    if (has_fault(pair, IBH_PROBE_ROUTE))
        g_string_append_printf(text, "leaves by %s ", pair->route.error ? "no NIC" : link_name(probe, pair->route.oif));
    if (has_fault(pair, IBH_PROBE_FLUX))
        g_string_append(text, "flux ");
    else if (has_fault(pair, IBH_PROBE_PEER_SENDER))
        g_string_append(text, "peer's NICs ");
    g_string_truncate(text, text->len - 1);
    return g_string_free(text, FALSE);
}

/* Cells of equal width per column; the first row is the heading. */
typedef struct {
    guint rows, columns;
    char **cells; /* row by row */
    const char **colors;
} Grid;

static void grid_set(Grid *grid, guint row, guint column, char *text, const char *color)
{
    grid->cells[row * grid->columns + column] = ibh_printable(text);
    grid->colors[row * grid->columns + column] = color;
    g_free(text);
}

static guint grid_width(const Grid *grid, guint column)
{
    glong width = 0;

    for (guint row = 0; row < grid->rows; row++)
        width = MAX(width, g_utf8_strlen(grid->cells[row * grid->columns + column], -1));
    return (guint)width;
}

static void put_grid(GString *out, const IbhStyle *style, const Grid *grid)
{
    for (guint row = 0; row < grid->rows; row++) {
        for (guint column = 0; column < grid->columns; column++) {
            const char *cell = grid->cells[row * grid->columns + column];
            int pad = (int)grid_width(grid, column) - (int)g_utf8_strlen(cell, -1) + 2;

            put(out, style, row ? grid->colors[row * grid->columns + column] : BOLD, cell);
            if (column + 1 < grid->columns)
                g_string_append_printf(out, "%*s", pad, "");
        }
        g_string_append_c(out, '\n');
    }
}

/* Each row is a source: a rail, and its address towards these peers. */
static void fill_matrix(Grid *grid, const IbhProbe *probe)
{
    char ip[IBH_IP_STRLEN];

    grid_set(grid, 0, 0, g_strdup("RAIL"), NULL);
    grid_set(grid, 0, 1, g_strdup("SOURCE"), NULL);
    for (guint i = 0; i < probe->peers->len; i++)
        grid_set(grid, 0, i + 2, g_strdup(ibh_ip_format(&g_array_index(probe->peers, IbhIp, i), ip)), NULL);
    for (guint row = 1; row < grid->rows; row++) {
        const IbhProbeSource *source = &g_array_index(probe->sources, IbhProbeSource, row - 1);

        grid_set(grid, row, 0, g_strdup(source->nic->link->name), NULL);
        grid_set(grid, row, 1, g_strdup(ibh_ip_format(&source->ip, ip)), NULL);
        for (guint i = 0; i < probe->peers->len; i++) {
            const IbhProbePair *pair = ibh_probe_find(probe, source->nic, i);

            if (pair && pair->source == row - 1)
                grid_set(grid, row, i + 2, describe_pair(probe, pair), fault_color(pair));
            else
                grid_set(grid, row, i + 2, g_strdup("-"), NULL);
        }
    }
}

/* Whether the columns had to be numbered: then the list below says who is who. */
static gboolean put_matrix(GString *out, const IbhProbe *probe, const IbhStyle *style)
{
    Grid grid = {.rows = probe->sources->len + 1, .columns = probe->peers->len + 2};
    guint width = 0;

    grid.cells = g_new0(char *, grid.rows *grid.columns + 1);
    grid.colors = g_new0(const char *, grid.rows *grid.columns);
    fill_matrix(&grid, probe);
    for (guint column = 0; column < grid.columns; column++)
        width += grid_width(&grid, column) + 2;
    for (guint i = 0; width > MATRIX_WIDTH && i < probe->peers->len; i++) {
        g_free(grid.cells[i + 2]);
        grid.cells[i + 2] = g_strdup_printf("[%u]", i + 1);
    }
    put_grid(out, style, &grid);
    put_line(out, style, NULL, "the shortest round trip in ms");
    g_strfreev(grid.cells);
    g_free((gpointer)(guintptr)grid.colors);
    return width > MATRIX_WIDTH;
}

static gboolean same_lladdr(const IbhProbePair *a, const IbhProbePair *b)
{
    return a->lladdr_len == b->lladdr_len && memcmp(a->lladdr, b->lladdr, a->lladdr_len) == 0;
}

/* How many rails know another hardware address of this peer than the first that knows one. */
static guint count_lladdrs(const IbhProbe *probe, guint peer, const IbhProbePair **ret_first)
{
    guint others = 0;

    *ret_first = NULL;
    IBH_EACH_POINTER (const IbhNic, nic, probe->nics) {
        const IbhProbePair *pair = ibh_probe_find(probe, nic, peer);

        if (!pair || !pair->lladdr_len)
            continue;
        *ret_first = *ret_first ? *ret_first : pair;
        others += same_lladdr(*ret_first, pair) ? 0 : 1;
    }
    return *ret_first ? others + 1 : 0;
}

/* " 02:00:00:00:10:00", or each rail's. */
static void put_lladdrs(GString *out, const IbhProbe *probe, const IbhStyle *style, guint peer)
{
    const IbhProbePair *first;
    guint count = count_lladdrs(probe, peer, &first);

    for (guint i = 0; i < probe->nics->len; i++) {
        const IbhProbePair *pair = ibh_probe_find(probe, g_ptr_array_index(probe->nics, i), peer);
        g_autofree char *lladdr = pair ? ibh_report_lladdr(pair->lladdr, pair->lladdr_len) : NULL;

        if (pair && count > 1)
            putf(out, style, NULL, " %s: %s", ibh_probe_source(probe, pair)->nic->link->name,
                 pair->lladdr_len ? lladdr : "-");
        else if (pair && pair == first)
            putf(out, style, NULL, " %s", lladdr);
        else if (pair && !first) {
            put(out, style, NULL, pair->on_link ? " unknown" : " through a gateway");
            return;
        }
    }
}

static void put_peers(GString *out, const IbhProbe *probe, const IbhStyle *style, gboolean numbered)
{
    char ip[IBH_IP_STRLEN];

    g_string_append(out, "\nhardware addresses\n");
    for (guint peer = 0; peer < probe->peers->len; peer++) {
        if (numbered)
            g_string_append_printf(out, "[%u] ", peer + 1);
        putf(out, style, NULL, "%s", ibh_ip_format(&g_array_index(probe->peers, IbhIp, peer), ip));
        put_lladdrs(out, probe, style, peer);
        g_string_append_c(out, '\n');
    }
}

/* Of many peers, a line for each with a problem (`verbose`: for each). */
static void put_list(GString *out, const IbhProbe *probe, const IbhStyle *style)
{
    const IbhProbePair *before = NULL;

    IBH_EACH (const IbhProbePair, pair, probe->pairs) {
        g_autofree char *text = NULL;
        char ip[IBH_IP_STRLEN];

        if (!pair->faults && !style->verbose)
            continue;
        text = describe_pair(probe, pair);
        if (before)
            g_string_append_c(out, before->peer == pair->peer ? ',' : '\n');
        if (!before || before->peer != pair->peer)
            putf(out, style, NULL, "%s:", ibh_ip_format(ibh_probe_peer(probe, pair), ip));
        putf(out, style, NULL, " %s ", ibh_probe_source(probe, pair)->nic->link->name);
        put(out, style, fault_color(pair), text);
        before = pair;
    }
    if (before)
        g_string_append_c(out, '\n');
}

/* "ib0 172.16.34.1: 198 of 200 peers ok, 594 of 600 replies, 0.05 to 1.20 ms" */
static void put_summary(GString *out, const IbhProbe *probe, const IbhStyle *style, guint source)
{
    const IbhProbeSource *from = &g_array_index(probe->sources, IbhProbeSource, source);
    guint peers = 0, good = 0, sent = 0, received = 0;
    gint64 least = G_MAXINT64, most = 0;
    char ip[IBH_IP_STRLEN];

    IBH_EACH (const IbhProbePair, pair, probe->pairs) {
        if (pair->source != source)
            continue;
        peers++;
        good += !pair->faults;
        sent += (guint)pair->sent;
        received += (guint)pair->received;
        least = pair->rtt >= 0 ? MIN(least, pair->rtt) : least;
        most = MAX(most, pair->rtt);
    }
    putf(out, style, NULL, "%s %s: ", from->nic->link->name, ibh_ip_format(&from->ip, ip));
    putf(out, style, good == peers ? GREEN : RED, "%u of %u peers ok", good, peers);
    putf(out, style, NULL, ", %u of %u replies", received, sent);
    if (received)
        putf(out, style, NULL, ", %.2f to %.2f ms", (double)least / 1000, (double)most / 1000);
    g_string_append_c(out, '\n');
}

static void put_own(GString *out, const IbhProbe *probe, const IbhStyle *style)
{
    char ip[IBH_IP_STRLEN];

    if (!probe->own->len)
        return;
    put(out, style, NULL, "left out, as addresses of this host:");
    for (guint i = 0; i < probe->own->len; i++)
        putf(out, style, NULL, " %s", ibh_ip_format(&g_array_index(probe->own, IbhIp, i), ip));
    g_string_append_c(out, '\n');
}

static char *probe(const IbhReport *report, const IbhStyle *style)
{
    const IbhProbe *what = report->probe;
    GString *out = g_string_new(NULL);

    if (!style->quiet && what->pairs->len && what->peers->len <= MATRIX_PEERS) {
        put_peers(out, what, style, put_matrix(out, what, style));
    } else if (what->pairs->len && what->peers->len > MATRIX_PEERS) {
        put_list(out, what, style);
        for (guint i = 0; !style->quiet && i < what->sources->len; i++)
            put_summary(out, what, style, i);
    }
    if (!style->quiet)
        put_own(out, what, style);
    if (report->findings->len && out->len)
        g_string_append_c(out, '\n');
    put_findings(out, report, style);
    if (!style->quiet && !what->nics->len)
        put_nothing(out, report, style);
    return g_string_free(out, FALSE);
}

const IbhWriter ibh_text_writer = {
    .show = show, .check = check, .plan = plan, .change = change, .probe = probe, .error = ibh_report_error};
