/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reports for people: the host's verdict, then a line for each NIC or cause. --probe is in text_probe.c.
 */
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

        *cell = ibh_printable(raw);
    }
    return cells;
}

static void put_last(GString *out, const char *cell, glong room)
{
    const gboolean fits = g_utf8_strlen(cell, -1) <= room;
    const char *end = fits ? strchr(cell, '\0') : g_utf8_offset_to_pointer(cell, MAX(room, 3) - 3);

    g_string_append_printf(out, "%.*s%s\n", (int)(end - cell), cell, fits ? "" : "...");
}

/* The first word of each line that says how something is. */
static gboolean paint(const GMatchInfo *match, GString *out, gpointer data G_GNUC_UNUSED)
{
    g_autofree char *before = g_match_info_fetch(match, 1), *word = g_match_info_fetch(match, 2);
    const int color = g_str_equal(word, "ok") ? 32 : g_str_equal(word, "warning") ? 33 : 31;

    g_string_append_printf(out, "%s\033[%dm%s\033[0m", before, color, word);
    return FALSE;
}

static void put_rows(GString *out, const GPtrArray *rows, const IbhStyle *style)
{
    glong widths[CELLS_MAX] = {0};

    IBH_EACH_POINTER (const char, row, rows) {
        g_auto(GStrv) cells = split(row);

        for (int i = 0; cells[i + 1]; i++)
            widths[i] = MAX(widths[i], g_utf8_strlen(cells[i], -1) + 2);
    }
    IBH_EACH_POINTER (const char, row, rows) {
        g_auto(GStrv) cells = split(row);
        glong room = cells[1] && style->width ? (glong)style->width : G_MAXINT;
        int i = 0;

        for (; cells[i + 1]; room -= widths[i++])
            g_string_append_printf(out, "%s%*s", cells[i], (int)(widths[i] - g_utf8_strlen(cells[i], -1)), "");
        put_last(out, cells[i], room);
    }
    if (style->color) {
        g_autoptr(GRegex) words = g_regex_new("^(\\S.*?)??\\b(error|failed|warning|ok)\\b", G_REGEX_MULTILINE, 0, NULL);
        g_autofree char *painted = g_regex_replace_eval(words, out->str, -1, 0, 0, paint, NULL, NULL);

        g_string_assign(out, painted);
    }
}

/* ---- findings ---- */

/* What is wrong, and which NICs it hits. `whole`: with its fix or advice, and notes, unless only problems are wanted.
 */
static void add_findings(GPtrArray *rows, const IbhReport *report, gboolean whole)
{
    IBH_EACH_POINTER (const IbhFinding, finding, report->findings) {
        const guint hit = finding->ifaces->len;
        g_autofree char *all = ibh_join(finding->ifaces, ",");
        g_autofree char *names =
            hit > 2 && report->style->width && !whole ? g_strdup_printf("%u NICs", hit) : g_strdup(hit ? all : "host");

        if (finding->severity == IBH_INFO && (report->style->quiet || !(whole || ibh_finding_is_down(finding))))
            continue;
        ibh_add_row(rows, whole ? "%s: %s %s: %s" : "%s\t%s %s: %s", names, ibh_severity_name(finding->severity),
                    finding->code, finding->message);
        if (whole && finding->fix)
            ibh_add_row(rows, "    fix: %s", finding->fix);
        if (whole && finding->advice)
            ibh_add_row(rows, "    advice: %s", finding->advice);
    }
}

/* ---- the host's line ---- */

/* ---- a line for each NIC or cause ---- */

/* On a terminal the first address, and how many more. */
static char *join_addresses(const IbhReport *report, const IbhNic *nic)
{
    g_autoptr(GPtrArray) addresses = ibh_told_addresses(nic);

    if (addresses->len > 1 && report->style->width)
        return g_strdup_printf("%s and %u more", (char *)addresses->pdata[0], addresses->len - 1);
    return addresses->len ? ibh_join(addresses, " ") : g_strdup("-");
}

/* Of --check. */
static void add_right_rails(GPtrArray *rows, const IbhReport *report)
{
    IBH_EACH_POINTER (const IbhNic, rail, report->nics[TRUE]) {
        g_autofree char *addresses = join_addresses(report, rail);

        if (!ibh_findings_worst(report->findings, rail->link->name) && ibh_report_has_carrier(report, rail))
            ibh_add_row(rows, "%s\tok: %s leaves by it (table %u)", rail->link->name, addresses, rail->table);
    }
}

/* Of --show: its worst problem, or what it is and why. */
static void add_nic(GPtrArray *rows, const IbhReport *report, const char *iface, const IbhNic *nic, const char *why)
{
    const IbhFinding *worst = ibh_findings_worst(report->findings, iface);
    g_autofree char *addresses = nic ? join_addresses(report, nic) : g_strdup("-");
    const char *link = !nic ? "-" : !(nic->link->flags & IFF_UP) ? "down" : nic->link->carrier ? "up" : "no carrier";
    const char *state = !nic                                  ? "missing"
                        : nic->status != IBH_NIC_RAIL         ? "no rail"
                        : ibh_report_has_carrier(report, nic) ? "ok"
                                                              : "down";

    if (worst)
        ibh_add_row(rows, "%s\t%s\t%s\t%s %s: %s", iface, addresses, link, ibh_severity_name(worst->severity),
                    worst->code, worst->message);
    else
        ibh_add_row(rows, "%s\t%s\t%s\t%s: %s", iface, addresses, link, state, why);
}

/* What is missing may be among the others, too. */
static void add_nics(GPtrArray *rows, const IbhReport *report)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);

    if (report->nics[TRUE]->len || report->nics[FALSE]->len || report->missed->len)
        ibh_add_row(rows, "IFACE\tADDRESS\tLINK\tSTATE");
    for (int rail = TRUE; rail >= FALSE; rail--) {
        IBH_EACH_POINTER (IbhNic, nic, report->nics[rail]) {
            g_hash_table_add(seen, (char *)(guintptr)nic->link->name);
            add_nic(rows, report, nic->link->name, nic, nic->why);
        }
    }
    IBH_EACH (IbhKnownRail, missed, report->missed) {
        if (g_hash_table_add(seen, missed->iface))
            add_nic(rows, report, missed->iface, NULL, ibh_missing_text(missed->why));
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
        IbhNearness near = ibh_compare_places(&gpu->place, &device->place);

        nearest = near > best ? gpu : nearest;
        best = MAX(best, near);
    }
    if (nearest)
        g_string_append_printf(text, ", nearest GPU %s (%s)", nearest->name, ibh_nearness_name(best));
}

/* Of a rail, in a line: where it is, and what it has. NULL: it is none, or so much was not asked for. */
static char *tell_facts(const IbhReport *report, const IbhNic *nic)
{
    const IbhManager *manager = ibh_snapshot_manager(report->rails->snapshot, nic->link->ifindex);
    g_autoptr(GArray) routes = NULL, rules = NULL;
    GString *text;

    if (nic->status != IBH_NIC_RAIL || !report->style->verbose || !report->findings)
        return NULL;
    text = g_string_new(nic->link->rdma[0] ? nic->link->rdma : "no RDMA port");
    append_place(text, report->fabric, nic);
    g_string_append_printf(text, ", %s", manager ? manager->name : "no manager known");
    if (manager && manager->connection)
        g_string_append_printf(text, " (%s)", manager->connection);
    routes = ibh_want_routes(report->rails, nic);
    rules = ibh_want_rules(report->rails, nic, routes);
    g_string_append_printf(text, ", table %u, wants %u rules", nic->table, rules->len);
    for (int key = 0; key <= IBH_SYSCTL_ARP_IGNORE; key++)
        g_string_append_printf(text, "%s%s=%d", key ? " " : ", ", ibh_sysctl_name((IbhSysctl)key),
                               nic->link->sysctl[key]);
    return g_string_free(text, FALSE);
}

/* Why each NIC is, or is not, engaged; and what is known of it. */
static void add_reasons(GPtrArray *rows, const IbhReport *report, const char *lead)
{
    for (int rail = TRUE; rail >= FALSE; rail--) {
        IBH_EACH_POINTER (const IbhNic, nic, report->nics[rail]) {
            g_autofree char *facts = tell_facts(report, nic);

            ibh_add_row(rows, "%s%s: %s: %s%s%s", lead, nic->link->name, rail ? "engaged" : "not engaged", nic->why,
                        facts ? "; " : "", facts ? facts : "");
        }
    }
}

/* ---- the actions ---- */

/* With --quiet each error and warning whole, as scripts read it. */
static void add_look(GPtrArray *rows, const IbhReport *report)
{
    const IbhStyle *style = report->style;

    if (!style->quiet)
        ibh_add_verdict(rows, report);
    if (!style->quiet && report->action == IBH_ACTION_SHOW)
        add_nics(rows, report);
    else {
        if (!style->quiet)
            add_right_rails(rows, report);
        add_findings(rows, report, style->verbose || style->quiet);
    }
    if (!style->quiet && report->rails->main == IBH_MAIN_SPREAD) /* a global setting, which we do not change */
        ibh_add_row(rows, "main=spread: net.ipv4.fib_multipath_hash_policy=%d (0: by peer, 1: by flow)",
                    report->rails->snapshot->hash_policy);
    if (style->verbose)
        add_reasons(rows, report, "");
}

static void add_operations(GPtrArray *rows, const IbhReport *report)
{
    IBH_EACH_POINTER (const IbhOp, op, report->ops) {
        g_autofree char *command = ibh_op_command(op);

        ibh_add_row(rows, "%s  # %s: %s", command, op->iface[0] ? op->iface : "-", op->why);
    }
}

static void add_change(GPtrArray *rows, const IbhReport *report)
{
    const gboolean undo = report->action == IBH_ACTION_UNDO;
    const guint changes = report->ops->len;

    if (report->style->verbose)
        add_operations(rows, report);
    ibh_add_row(rows, "%s: %u change%s%s",
                report->failed ? "failed"
                : undo         ? "undone"
                               : "applied",
                changes, changes == 1 ? "" : "s",
                report->failed    ? " stand; what failed is on standard error"
                : report->forgets ? ", until the next event"
                : undo && changes ? ", until --apply or a reboot"
                                  : "");
    if (report->confirm)
        ibh_add_row(rows, "the state before comes back in %d s, unless: ib-hook --confirm", report->confirm);
}

void ibh_write_text(GString *out, const IbhReport *report)
{
    g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func(g_free);

    if (report->message)
        ibh_add_row(rows, "ib-hook: %s", report->message);
    else if (report->action == IBH_ACTION_PLAN) {
        add_reasons(rows, report, "# ");
        add_operations(rows, report);
        if (!report->ops->len)
            ibh_add_row(rows, "# nothing to do");
    } else if (report->action == IBH_ACTION_APPLY || report->action == IBH_ACTION_UNDO)
        add_change(rows, report);
    else if (report->action == IBH_ACTION_CONFIRM)
        ibh_add_row(rows, "confirmed: it stays");
    else if (report->action == IBH_ACTION_PROBE) {
        if (!report->style->quiet)
            ibh_add_probe(rows, report);
        add_findings(rows, report, TRUE);
    } else
        add_look(rows, report);
    put_rows(out, rows, report->style);
}
