/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reports for people: the host's verdict, then a line for each NIC or cause. --probe is in text_probe.c.
 */
#include "check/missing.h"
#include "cli/cli.h"

#include "plan/want.h"

#include <string.h>

/* ---- lines ---- */

#define CELLS_MAX 5

static char **split(const char *row)
{
    char **cells = g_strsplit(row, "\t", CELLS_MAX);

    for (char **cell = cells; *cell; cell++) {
        g_autofree char *raw = *cell;

        *cell = ibh_text_printable(raw);
    }
    return cells;
}

/* What does not fit goes on in a line of its own behind a semicolon, or is cut. */
static void put_last(GString *out, const char *cell, glong room, glong indent)
{
    const gboolean fits = g_utf8_strlen(cell, -1) <= room;
    const char *cut = g_utf8_offset_to_pointer(cell, fits ? 0 : MAX(room, 3) - 3),
               *half = fits ? NULL : g_strrstr_len(cell, cut - cell, "; ");

    if (fits)
        g_string_append_printf(out, "%s\n", cell);
    else if (!half)
        g_string_append_printf(out, "%.*s...\n", (int)(cut - cell), cell);
    else {
        g_string_append_printf(out, "%.*s;\n%*s", (int)(half - cell), cell, (int)indent, "");
        put_last(out, half + 2, room, indent);
    }
}

/* The first word of each line that says how something is. */
static gboolean paint(const GMatchInfo *match, GString *out, gpointer data G_GNUC_UNUSED)
{
    g_autofree char *before = g_match_info_fetch(match, 1), *word = g_match_info_fetch(match, 2);
    const int color = g_str_equal(word, "ok") ? 32 : g_str_equal(word, "warning") ? 33 : 31;

    g_string_append_printf(out, "%s\033[%dm%s\033[0m", before, color, word);
    return FALSE;
}

static void put_rows(const IbhReport *report)
{
    GString *out = report->out;
    const GPtrArray *rows = report->rows;
    const IbhStyle *style = report->style;
    glong widths[CELLS_MAX] = {0};

    IBH_EACH_POINTER (const char, row, rows) {
        g_auto(GStrv) cells = split(row);

        for (int i = 0; cells[i + 1]; i++)
            widths[i] = MAX(widths[i], *cells[i] ? g_utf8_strlen(cells[i], -1) + 2 : 0);
    }
    IBH_EACH_POINTER (const char, row, rows) {
        g_auto(GStrv) cells = split(row);
        glong room = cells[1] && style->width ? (glong)style->width : G_MAXINT;
        int i = 0;

        for (; cells[i + 1]; room -= widths[i++])
            g_string_append_printf(out, "%s%*s", cells[i], (int)(widths[i] - g_utf8_strlen(cells[i], -1)), "");
        put_last(out, cells[i], room, (glong)style->width - room);
    }
    if (style->color) {
        g_autoptr(GRegex) words = g_regex_new("^(\\S.*?)??\\b(error|failed|warning|ok)\\b", G_REGEX_MULTILINE, 0, NULL);
        g_autofree char *painted = g_regex_replace_eval(words, out->str, -1, 0, 0, paint, NULL, NULL);

        g_string_assign(out, painted);
    }
}

/* ---- findings ---- */

/* Each whole, with its fix or advice; notes, too, unless only problems are wanted. */
static void add_whole_findings(const IbhReport *report)
{
    IBH_EACH_POINTER (const IbhFinding, finding, report->findings) {
        g_autofree char *names = finding->ifaces->len ? ibh_texts_join(finding->ifaces, ",") : g_strdup("host");

        if (finding->severity == IBH_INFO && report->style->quiet)
            continue;
        ibh_rows_add(report, "%s: %s %s: %s", names, ibh_severity_name(finding->severity), finding->code,
                     finding->message);
        if (finding->fix)
            ibh_rows_add(report, "    fix: %s", finding->fix);
        if (finding->advice)
            ibh_rows_add(report, "    advice: %s", finding->advice);
    }
}

/* "mlx5_1/1": which cable; "": a NIC without one. */
static const char *name_port(const IbhReport *report, const char *iface)
{
    const IbhLink *link = ibh_snapshot_link_by_name(report->rails->snapshot, iface);

    for (guint i = 0; !link && report->missed && i < report->missed->len; i++) {
        const IbhKnownRail *known = &g_array_index(report->missed, IbhKnownRail, i);

        if (g_str_equal(known->iface, iface))
            return known->port;
    }
    return link ? link->rdma : "";
}

/* Notes are for --verbose, but who edits the configuration waits for its effect. */
static gboolean is_shown(const IbhFinding *finding)
{
    return finding->severity < IBH_INFO || ibh_finding_is_down(finding) || g_str_equal(finding->code, "not-in-force");
}

/* It has a row for this NIC alone. */
static gboolean is_told_alone(const IbhFinding *finding, const char *iface)
{
    return ibh_finding_said(finding, iface) || finding->ifaces->len == 1;
}

/* What is no error says so. */
static const char *weighs(IbhSeverity severity)
{
    return severity == IBH_ERROR ? "" : severity == IBH_WARNING ? "warning: " : "note: ";
}

static void add_finding_of(const IbhReport *report, const IbhFinding *finding, const char *iface)
{
    const char *said = ibh_finding_said(finding, iface);

    ibh_rows_add(report, "%s\t%s\t%s%s", iface, name_port(report, iface), weighs(ibh_finding_weight(finding, iface)),
                 said ? said : finding->message);
}

static gboolean is_among_rails(const IbhReport *report, const char *iface)
{
    IBH_EACH_POINTER (const IbhNic, rail, report->nics[TRUE]) {
        if (g_str_equal(rail->link->name, iface))
            return TRUE;
    }
    return FALSE;
}

/* Of NICs that are no rails, of several at once, and of the host. */
static void add_other_findings(const IbhReport *report)
{
    IBH_EACH_POINTER (const IbhFinding, finding, report->findings) {
        g_autoptr(GPtrArray) together = g_ptr_array_new();
        g_autofree char *names = NULL;

        if (!is_shown(finding))
            continue;
        IBH_EACH_POINTER (char, iface, finding->ifaces) {
            if (!is_told_alone(finding, iface))
                g_ptr_array_add(together, iface);
            else if (!is_among_rails(report, iface))
                add_finding_of(report, finding, iface);
        }
        names = ibh_names_shorten(together);
        if (together->len)
            ibh_rows_add(report, "%u NICs\t\t%s%s: %s", together->len, weighs(finding->severity), names,
                         finding->message);
        else if (!finding->ifaces->len)
            ibh_rows_add(report, "host\t\t%s%s", weighs(finding->severity), finding->message);
    }
}

/* ---- a line for each NIC or cause ---- */

/* On a terminal the first address, and how many more. */
static char *join_addresses(const IbhReport *report, const GPtrArray *addresses, gboolean with_length)
{
    IBH_EACH_POINTER (char, address, addresses) {
        if (!with_length)
            address[strcspn(address, "/")] = '\0';
    }
    if (addresses->len > 1 && report->style->width)
        return g_strdup_printf("%s and %u more", (char *)addresses->pdata[0], addresses->len - 1);
    return addresses->len ? ibh_texts_join(addresses, " ") : g_strdup("-");
}

/* What it does not lead through itself, as a note says; NULL: nothing. */
static const char *find_exception(const IbhReport *report, const char *iface)
{
    IBH_EACH_POINTER (const IbhFinding, finding, report->findings) {
        const char *said = finding->severity == IBH_INFO ? ibh_finding_said(finding, iface) : NULL;

        if (said)
            return said;
    }
    return NULL;
}

static void leave_out(GPtrArray *texts, const GPtrArray *those)
{
    IBH_EACH_POINTER (const char, text, those) {
        guint place;

        if (g_ptr_array_find_with_equal_func(texts, text, g_str_equal, &place))
            g_ptr_array_remove_index(texts, place);
    }
}

static char *say_ok(const IbhReport *report, const IbhNic *rail, const char *but)
{
    const guint32 decides = report->check ? ibh_check_find_table(report->check, rail) : 0,
                  table = decides ? decides : rail->table;
    g_autoptr(GPtrArray) addresses = ibh_nic_address_texts(rail), unchecked = ibh_report_unchecked(report, rail);
    g_autofree char *led = NULL, *left = join_addresses(report, unchecked, TRUE),
                    *number = g_strdup_printf("%u", table);
    GString *text = g_string_new(NULL);
    gboolean is_led;

    leave_out(addresses, unchecked);
    led = join_addresses(report, addresses, !but);
    is_led = addresses->len || !unchecked->len;
    if (is_led && but)
        g_string_append_printf(text, "ok: %s through it, %s", led, but);
    else if (is_led)
        g_string_append_printf(text, "ok: %s leaves through it (table %s)", led,
                               table == IBH_TABLE_MAIN ? "main" : number);
    if (unchecked->len)
        g_string_append_printf(text, "%snot checked: %s (no subnet)", text->len ? "; " : "", left);
    return g_string_free(text, FALSE);
}

/* Of --check: a row for each rail, or for each of its problems. */
static void add_rail(const IbhReport *report, const IbhNic *rail)
{
    const char *iface = rail->link->name;
    g_autofree char *ok = NULL;

    IBH_EACH_POINTER (const IbhFinding, finding, report->findings) {
        const gboolean is_its_own = ibh_finding_is_about(finding, iface) && is_told_alone(finding, iface);

        if (is_shown(finding) && is_its_own && !report->style->verbose)
            add_finding_of(report, finding, iface);
    }
    if (ibh_findings_worst(report->findings, iface) || !ibh_report_has_carrier(report, rail))
        return;
    ok = say_ok(report, rail, find_exception(report, iface));
    ibh_rows_add(report, "%s\t%s\t%s", iface, rail->link->rdma, ok);
}

static void add_rails(const IbhReport *report)
{
    IBH_EACH_POINTER (const IbhNic, rail, report->nics[TRUE])
        add_rail(report, rail);
}

/* Of --show: its worst problem, or what it is and why. */
static void add_nic(const IbhReport *report, const char *iface, const IbhNic *nic, const char *why)
{
    const IbhFinding *worst = ibh_findings_worst(report->findings, iface);
    const char *said = worst ? ibh_finding_said(worst, iface) : NULL;
    g_autoptr(GPtrArray) texts = nic ? ibh_nic_address_texts(nic) : NULL;
    g_autofree char *addresses = nic ? join_addresses(report, texts, TRUE) : g_strdup("-");
    const char *link = !nic ? "-" : !(nic->link->flags & IFF_UP) ? "down" : nic->link->carrier ? "up" : "no carrier";
    const char *state = !nic                                  ? "missing"
                        : nic->status != IBH_NIC_RAIL         ? "no rail"
                        : ibh_report_has_carrier(report, nic) ? "ok"
                                                              : "down";

    if (worst)
        ibh_rows_add(report, "%s\t%s\t%s\t%s %s: %s", iface, addresses, link,
                     ibh_severity_name(ibh_finding_weight(worst, iface)), worst->code, said ? said : worst->message);
    else
        ibh_rows_add(report, "%s\t%s\t%s\t%s: %s", iface, addresses, link, state, why);
}

/* What is missing may be among the others, too. */
static void add_nics(const IbhReport *report)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);

    if (report->nics[TRUE]->len || report->nics[FALSE]->len || report->missed->len)
        ibh_rows_add(report, "IFACE\tADDRESS\tLINK\tSTATE");
    for (int rail = TRUE; rail >= FALSE; rail--) {
        IBH_EACH_POINTER (IbhNic, nic, report->nics[rail]) {
            g_autofree char *why = ibh_nic_why(nic);

            g_hash_table_add(seen, (char *)(guintptr)nic->link->name);
            add_nic(report, nic->link->name, nic, why);
        }
    }
    IBH_EACH (IbhKnownRail, missed, report->missed) {
        if (g_hash_table_add(seen, missed->iface))
            add_nic(report, missed->iface, NULL, ibh_missing_text(missed->why));
        else if (!missed->link) /* another NIC has its name now */
            ibh_rows_add(report, "%s\t-\t-\tmissing: %s", missed->iface, ibh_missing_text(missed->why));
    }
}

/* " on NUMA node 0, nearest GPU 0000:17:00.0 (PCIe switch)" */
static void append_place(GString *text, const IbhFabric *fabric, const IbhNic *nic)
{
    const IbhPortNic *own = fabric ? ibh_fabric_nic(fabric, nic->link->name) : NULL;
    const IbhPort *port = own ? ibh_fabric_port(fabric, own) : NULL;
    const IbhRdmaDevice *device = port ? ibh_fabric_device(fabric, port) : NULL;
    const IbhGpu *nearest = NULL;
    IbhNearness best = IBH_FAR;

    if (!device)
        return;
    if (device->place.node >= 0)
        g_string_append_printf(text, " on NUMA node %d", device->place.node);
    IBH_EACH (const IbhGpu, gpu, fabric->gpus) {
        IbhNearness near = ibh_place_compare(&gpu->place, &device->place);

        nearest = near > best ? gpu : nearest;
        best = MAX(best, near);
    }
    if (nearest)
        g_string_append_printf(text, ", nearest GPU %s (%s)", nearest->name, ibh_nearness_name(best));
}

/* Of a rail, in a line: where it is, and what it has. NULL: it is none, or so much was not asked for. */
static char *tell_facts(const IbhReport *report, const IbhNic *nic)
{
    const IbhManager *manager;
    GString *text;

    if (nic->status != IBH_NIC_RAIL || !report->style->verbose || !report->findings)
        return NULL;
    manager = ibh_facts_manager(report->facts, nic->link->ifindex);
    text = g_string_new(nic->link->rdma[0] ? nic->link->rdma : "no RDMA port");
    append_place(text, report->fabric, nic);
    g_string_append_printf(text, ", %s", manager ? manager->name : "no manager known");
    if (manager && manager->connection)
        g_string_append_printf(text, " (%s)", manager->connection);
    g_string_append_printf(text, ", table %u, wants %u rules", nic->table, nic->rules->len);
    for (int key = 0; key <= IBH_SYSCTL_ARP_IGNORE; key++)
        g_string_append_printf(text, "%s%s=%d", key ? " " : ", ", ibh_sysctl_name((IbhSysctl)key),
                               nic->link->sysctl[key]);
    return g_string_free(text, FALSE);
}

/* Why each NIC is, or is not, engaged; and what is known of it. */
static void add_reasons(const IbhReport *report, const char *lead)
{
    for (int rail = TRUE; rail >= FALSE; rail--) {
        IBH_EACH_POINTER (const IbhNic, nic, report->nics[rail]) {
            g_autofree char *facts = tell_facts(report, nic), *why = ibh_nic_why(nic);

            ibh_rows_add(report, "%s%s: %s: %s%s%s", lead, nic->link->name, rail ? "engaged" : "not engaged", why,
                         facts ? "; " : "", facts ? facts : "");
        }
    }
}

/* ---- the parts ---- */

static void tell_error(const IbhReport *report)
{
    ibh_rows_add(report, "ib-hook: %s", report->message);
}

static void tell_operations(const IbhReport *report)
{
    IBH_EACH_POINTER (const IbhOp, op, report->ops) {
        g_autofree char *command = ibh_op_command(op), *why = ibh_op_why(report->rails, op);

        ibh_rows_add(report, "%s  # %s: %s", command, op->iface[0] ? op->iface : "-", why);
    }
}

static void tell_plan(const IbhReport *report)
{
    add_reasons(report, "# ");
    tell_operations(report);
    if (!report->ops->len)
        ibh_rows_add(report, "# nothing to do");
}

static void tell_outcome(const IbhReport *report)
{
    const gboolean undo = report->action == IBH_ACTION_UNDO;
    const guint changes = report->ops->len;
    const char *done = undo ? "undone" : "applied",
               *until = report->holds && changes ? ", until --apply or a reboot" : "";

    if (report->style->verbose)
        tell_operations(report);
    if (report->failed) {
        done = "failed";
        until = " in force; what failed is on standard error";
    } else if (report->forgets) {
        until = ", until the next event";
    }
    ibh_rows_add(report, "%s: %u change%s%s", done, changes, changes == 1 ? "" : "s", until);
    if (report->confirm) {
        g_autofree char *program = ibh_text_printable(report->style->program);

        ibh_rows_add(report, "the previous state comes back in %d s, unless you run: sudo %s --confirm",
                     report->confirm, program);
    }
}

static void tell_changes(const IbhReport *report)
{
    if (report->action == IBH_ACTION_PLAN)
        tell_plan(report);
    else
        tell_outcome(report);
}

static void tell_confirmed(const IbhReport *report)
{
    ibh_rows_add(report, "confirmed: the changes stay");
}

static void tell_probe(const IbhReport *report)
{
    if (!report->style->quiet)
        ibh_rows_add_probe(report);
}

static void tell_look(const IbhReport *report)
{
    if (report->style->quiet)
        return;
    ibh_rows_add_verdict(report);
    if (report->action == IBH_ACTION_SHOW)
        add_nics(report);
    else
        add_rails(report);
}

/* With --quiet each error and warning whole, as scripts read it; --show has each NIC's worst problem in its row. */
static void tell_findings(const IbhReport *report)
{
    const IbhStyle *style = report->style;

    if (report->probe || style->quiet || (style->verbose && report->action == IBH_ACTION_CHECK))
        add_whole_findings(report);
    else if (report->action == IBH_ACTION_CHECK)
        add_other_findings(report);
    if (report->probe && !style->quiet)
        ibh_rows_add_matrix(report);
    if (report->probe)
        return;
    if (!style->quiet && report->rails->main == IBH_MAIN_SPREAD) /* a global setting, which we do not change */
        ibh_rows_add(report, "main=spread: net.ipv4.fib_multipath_hash_policy=%d (0: by peer, 1: by flow)",
                     report->facts->hash_policy);
    if (style->verbose)
        add_reasons(report, "");
}

void ibh_report_text(const IbhReport *report)
{
    static const IbhLanguage language = {.error = tell_error,
                                         .changes = tell_changes,
                                         .confirmed = tell_confirmed,
                                         .probe = tell_probe,
                                         .look = tell_look,
                                         .findings = tell_findings,
                                         .end = put_rows};

    ibh_report_walk(report, &language);
}
