/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A report for people. --show: the host's verdict, then a row for each NIC. --check: the host's verdict, then rows for
 * rails and findings. --plan, and --apply and --undo with --verbose: the changes. --probe: the rows of pairs.c,
 * then the findings. --confirm, and an error: one line.
 */
#include "check/missing.h"
#include "report/report.h"

/* ---- findings ---- */

/* Adds each finding in full, with its fix and its advice. With --quiet, leaves out notes: findings of severity info. */
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

/* Returns the word before a finding; "" for an error. */
static const char *severity_prefix(IbhSeverity severity)
{
    return severity == IBH_ERROR ? "" : severity == IBH_WARNING ? "warning: " : "note: ";
}

static gboolean is_among_rails(const IbhReport *report, const char *iface)
{
    IBH_EACH_POINTER (const IbhNic, rail, report->shown_rails) {
        if (g_str_equal(rail->link->name, iface))
            return TRUE;
    }
    return FALSE;
}

/* With a rail, adds a row for each finding that is about this rail alone, or that has a text for this rail. If `rail`
 * is NULL, adds the other rows:
 * - for each NIC that is not among the shown rails: the same rows
 * - for a finding about several NICs: one row for all of its NICs for which it has no text
 * - for a finding about the host: one row
 * The row of a single NIC has its port, such as "mlx5_1/1", which identifies the cable. */
static void add_findings(const IbhReport *report, const IbhNic *rail)
{
    IBH_EACH_POINTER (const IbhFinding, finding, report->findings) {
        g_autoptr(GPtrArray) together = g_ptr_array_new();
        g_autofree char *names = NULL;

        /* Leave out notes, but not a note that a rail is down or away, or that the configuration is not in force:
         * whoever edits the configuration expects an effect. */
        const gboolean shows_notes = ibh_finding_is_down(finding) || g_str_equal(finding->code, "not-in-force");

        if (finding->severity == IBH_INFO && !shows_notes)
            continue;
        IBH_EACH_POINTER (char, iface, finding->ifaces) {
            const IbhSeverity severity = ibh_finding_severity_for(finding, iface);
            const char *said = ibh_finding_text(finding, iface);
            const IbhLink *link = ibh_snapshot_link_by_name(report->rails->snapshot, iface);
            const char *port = link ? link->rdma : "";

            if (severity == IBH_INFO && !shows_notes)
                continue;
            if (!said && finding->ifaces->len > 1) {
                g_ptr_array_add(together, iface);
                continue;
            }
            /* For a NIC that is gone, take the port that it had. If several entries have its name, the first counts. */
            IBH_EACH_BACK (const IbhKnownRail, known, report->missed)
                port = !link && g_str_equal(known->iface, iface) ? known->port : port;
            if (rail ? g_str_equal(rail->link->name, iface) : !is_among_rails(report, iface))
                ibh_rows_add(report, "%s\t%s\t%s%s", iface, port, severity_prefix(severity),
                             said ? said : finding->message);
        }
        names = ibh_names_shorten(together);
        if (!rail && together->len)
            ibh_rows_add(report, "%u NIC%s\t\t%s%s: %s", together->len, together->len == 1 ? "" : "s",
                         severity_prefix(finding->severity), names, finding->message);
        if (!rail && !finding->ifaces->len)
            ibh_rows_add(report, "host\t\t%s%s", severity_prefix(finding->severity), finding->message);
    }
}

/* ---- rows about NICs ---- */

/* Joins the addresses; on a terminal, returns only the first address, and how many more there are. "-" for none. */
static char *join_addresses(const IbhReport *report, const GPtrArray *addresses)
{
    if (addresses->len > 1 && report->style->width)
        return g_strdup_printf("%s and %u more", (char *)addresses->pdata[0], addresses->len - 1);
    return addresses->len ? ibh_texts_join(addresses, " ") : g_strdup("-");
}

/* Returns the text for a rail without problems: which addresses leave through it, what a note adds, and which addresses
 * were not checked. If all addresses are unchecked, the text says only that. */
static char *say_ok(const IbhReport *report, const IbhNic *rail)
{
    const guint32 found = report->check ? ibh_check_find_table(report->check, rail) : 0,
                  table = found ? found : rail->table;
    g_autoptr(GPtrArray) addresses = ibh_report_addresses(report, rail, IBH_ADDRESSES_CHECKED),
                         unchecked = ibh_report_addresses(report, rail, IBH_ADDRESSES_UNCHECKED);
    g_autofree char *checked_text = NULL, *unchecked_text = join_addresses(report, unchecked),
                    *number = g_strdup_printf("%u", table);
    GString *text = g_string_new(NULL);
    const char *note = NULL;

    IBH_EACH_POINTER (const IbhFinding, finding, report->findings) {
        if (!note && ibh_finding_severity_for(finding, rail->link->name) == IBH_INFO)
            note = ibh_finding_text(finding, rail->link->name);
    }
    if (note) { /* cut off the prefix lengths, to leave room for the note */
        IBH_EACH_POINTER (char, address, addresses)
            address[strcspn(address, "/")] = '\0';
    }
    checked_text = join_addresses(report, addresses);
    if (addresses->len || !unchecked->len) {
        if (note)
            g_string_append_printf(text, "ok: %s through it, %s", checked_text, note);
        else
            g_string_append_printf(text, "ok: %s leaves through it (table %s)", checked_text,
                                   table == IBH_TABLE_MAIN ? "main" : number);
    }
    if (unchecked->len)
        g_string_append_printf(text, "%snot checked: %s (no subnet)", text->len ? "; " : "", unchecked_text);
    return g_string_free(text, FALSE);
}

/* Adds the rows of --check about rails. A rail that is ok has one row, which says so. Any other rail has the rows of
 * add_findings(): its problems, or the note that it is down. A problem that several NICs share in the same words gets
 * one row for all of them, from add_findings() with NULL. With --verbose, add_whole_findings() writes the problems and
 * notes instead. */
static void add_rails(const IbhReport *report)
{
    IBH_EACH_POINTER (const IbhNic, rail, report->shown_rails) {
        const char *iface = rail->link->name;

        if (!report->style->verbose)
            add_findings(report, rail);
        if (!ibh_findings_worst(report->findings, iface) && ibh_report_has_carrier(report, rail)) {
            g_autofree char *ok = say_ok(report, rail);

            ibh_rows_add(report, "%s\t%s\t%s", iface, rail->link->rdma, ok);
        }
    }
}

/* Adds a row of --show: the NIC's worst problem, or its state and why. `nic` is NULL for a missing rail. */
static void add_nic(const IbhReport *report, const char *iface, const IbhNic *nic, const char *why)
{
    const IbhFinding *worst = ibh_findings_worst(report->findings, iface);
    const char *said = worst ? ibh_finding_text(worst, iface) : NULL;
    g_autoptr(GPtrArray) texts = nic ? ibh_report_addresses(report, nic, IBH_ADDRESSES_ALL) : NULL;
    g_autofree char *addresses = nic ? join_addresses(report, texts) : g_strdup("-");
    const char *link = !nic ? "-" : !(nic->link->flags & IFF_UP) ? "down" : nic->link->carrier ? "up" : "no carrier";
    const char *state = !nic                                  ? "missing"
                        : nic->status != IBH_NIC_RAIL         ? "no rail"
                        : ibh_report_has_carrier(report, nic) ? "ok"
                                                              : "down";

    if (worst)
        ibh_rows_add(report, "%s\t%s\t%s\t%s %s: %s", iface, addresses, link,
                     ibh_severity_name(ibh_finding_severity_for(worst, iface)), worst->code,
                     said ? said : worst->message);
    else
        ibh_rows_add(report, "%s\t%s\t%s\t%s: %s", iface, addresses, link, state, why);
}

/* Adds the rows of --show. If the NIC of a missing rail is there, and only lacks something, such as carrier, the NIC's
 * row also stands for the missing rail. Without such a row, the missing rail gets its own. */
static void add_nics(const IbhReport *report)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);

    if (report->shown->len || report->shown_missed->len)
        ibh_rows_add(report, "IFACE\tADDRESS\tLINK\tSTATE");
    IBH_EACH_POINTER (const IbhNic, nic, report->shown) {
        g_autofree char *why = ibh_nic_why(nic);

        g_hash_table_add(seen, (char *)(guintptr)nic->link->name);
        add_nic(report, nic->link->name, nic, why);
    }
    IBH_EACH_POINTER (const IbhKnownRail, missed, report->shown_missed) {
        const char *name = ibh_known_name(missed);

        if (g_hash_table_add(seen, (char *)(guintptr)name))
            add_nic(report, name, NULL, ibh_missing_text(missed->why));
        else if (!missed->link) /* an earlier row is that of another NIC or missing rail with this name */
            ibh_rows_add(report, "%s\t-\t-\tmissing: %s", name, ibh_missing_text(missed->why));
    }
}

/* Appends " on NUMA node 0, nearest GPU 0000:17:00.0 (PCIe switch)", as far as known. */
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

/* Says whether each NIC is a rail, and why; each line begins with `lead`. --plan always says this. --show and --check
 * say this only with --verbose; for a rail, they then add its port, place, manager, table, rules and sysctls. */
static void add_reasons(const IbhReport *report, const char *lead)
{
    IBH_EACH_POINTER (const IbhNic, nic, report->shown) {
        const IbhLink *link = nic->link;
        const gboolean is_rail = nic->status == IBH_NIC_RAIL;
        g_autofree char *why = ibh_nic_why(nic);
        g_autoptr(GString) text = g_string_new(NULL);

        g_string_printf(text, "%s%s: %s: %s", lead, link->name, is_rail ? "engaged" : "not engaged", why);
        if (is_rail && report->style->verbose && report->findings) { /* --plan has no findings, and no facts */
            const IbhManager *manager = ibh_facts_manager(report->facts, link->ifindex);

            g_string_append_printf(text, "; %s", link->rdma[0] ? link->rdma : "no RDMA port");
            append_place(text, report->fabric, nic);
            g_string_append_printf(text, ", %s", manager ? manager->name : "no manager known");
            if (manager && manager->connection)
                g_string_append_printf(text, " (%s)", manager->connection);
            g_string_append_printf(text, ", table %u, wants %u rules", nic->table, nic->rules->len);
            for (IbhSysctl key = 0; key < IBH_N_SYSCTLS; key++)
                g_string_append_printf(text, "%s%s=%d", key ? " " : ", ", ibh_sysctl_name(key), link->sysctl[key]);
        }
        ibh_rows_add(report, "%s", text->str);
    }
}

/* ---- the whole ---- */

/* Reports --plan, --apply or --undo. */
static void add_changes(const IbhReport *report)
{
    const gboolean plans = report->action == IBH_ACTION_PLAN;
    const guint changes = report->ops->len;
    const char *done = report->action == IBH_ACTION_UNDO ? "undone" : "applied",
               *ending = report->holds && changes ? ", until --apply or a reboot" : "";

    if (plans)
        add_reasons(report, "# ");
    IBH_EACH_POINTER (const IbhOp, op, report->ops) {
        g_autofree char *command = ibh_op_command(op), *why = ibh_op_why(report->rails, op);

        if (plans || report->style->verbose)
            ibh_rows_add(report, "%s  # %s: %s", command, op->iface[0] ? op->iface : "-", why);
    }
    if (plans && !changes)
        ibh_rows_add(report, "# nothing to do");
    if (plans)
        return;
    if (report->failed) {
        done = "failed";
        ending = " in force; what failed is on standard error";
    } else if (report->forgets) {
        ending = ", until the next event"; /* no hold was saved, so the next event applies all again */
    }
    ibh_rows_add(report, "%s: %u change%s%s", done, changes, changes == 1 ? "" : "s", ending);
    if (report->confirm)
        ibh_rows_add(report, "the previous state comes back in %d s, unless you run: sudo %s --confirm",
                     report->confirm, report->style->program);
}

/* Reports --show or --check. With --quiet, each error and warning is written in full, for scripts. --show has each
 * NIC's worst problem in its row. */
static void add_show_or_check(const IbhReport *report)
{
    const IbhStyle *style = report->style;
    const gboolean checks = report->action == IBH_ACTION_CHECK;

    if (!style->quiet) {
        ibh_rows_add_verdict(report);
        (checks ? add_rails : add_nics)(report);
    }
    if (style->quiet || (style->verbose && checks))
        add_whole_findings(report);
    else if (checks)
        add_findings(report, NULL);
    if (!style->quiet && report->rails->main == IBH_MAIN_SPREAD) /* a global setting, which we do not change */
        ibh_rows_add(report, "main=spread: net.ipv4.fib_multipath_hash_policy=%d (0: by peer, 1: by flow)",
                     report->facts->hash_policy);
    if (style->verbose)
        add_reasons(report, "");
}

void ibh_report_text(const IbhReport *report)
{
    if (report->message)
        ibh_rows_add(report, "ib-hook: %s", report->message);
    else if (report->ops)
        add_changes(report);
    else if (report->probe) {
        if (!report->style->quiet)
            ibh_rows_add_pairs(report);
        add_whole_findings(report);
    } else if (report->findings)
        add_show_or_check(report);
    else
        ibh_rows_add(report, "confirmed: the changes stay");
    ibh_rows_put(report);
}
