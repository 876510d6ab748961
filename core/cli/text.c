/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reports for people: the host's verdict, then a line for each NIC or cause. --probe is in text_probe.c.
 */
#include "cli/report.h"

#include "plan/want.h"

#include <string.h>

#define APPLY "sudo ib-hook --apply"
#define WIDTH 80

gboolean ibh_add_name(GPtrArray *names, const char *name)
{
    const gboolean known = g_ptr_array_find_with_equal_func(names, name, g_str_equal, NULL);

    if (!known)
        g_ptr_array_add(names, (char *)(guintptr)name);
    return !known;
}

char *ibh_join(const GPtrArray *texts, const char *separator)
{
    GString *all = g_string_new(NULL);

    IBH_EACH_POINTER (const char, text, texts)
        g_string_append_printf(all, "%s%s", all->len ? separator : "", text);
    return g_string_free(all, FALSE);
}

/* ---- findings ---- */

static gboolean is_problem(const IbhFinding *finding)
{
    return finding->severity != IBH_INFO;
}

static IbhColor color_of(const IbhFinding *finding)
{
    static const IbhColor colors[] = {[IBH_ERROR] = IBH_RED, [IBH_WARNING] = IBH_YELLOW, [IBH_INFO] = IBH_PLAIN};

    return colors[finding->severity];
}

/* The worst problem of this NIC, or (NULL) of all; NULL: none. */
static const IbhFinding *find_worst(const IbhReport *report, const char *iface)
{
    const IbhFinding *worst = NULL;

    IBH_EACH_POINTER (const IbhFinding, finding, report->findings) {
        if (is_problem(finding) && (!iface || ibh_finding_is_about(finding, iface)) &&
            (!worst || finding->severity < worst->severity))
            worst = finding;
    }
    return worst;
}

/* Each finding whole, with its fix or advice. */
static void put_findings(GString *out, const IbhReport *report)
{
    IBH_EACH_POINTER (const IbhFinding, finding, report->findings) {
        g_autofree char *ifaces = ibh_join(finding->ifaces, ",");

        if (!is_problem(finding) && report->style->quiet)
            continue;
        ibh_put(out, report, IBH_PLAIN, "%s: ", ifaces[0] ? ifaces : "-");
        ibh_put(out, report, color_of(finding), "%s %s", ibh_severity_name(finding->severity), finding->code);
        ibh_put(out, report, IBH_PLAIN, ": %s\n", finding->message);
        if (finding->fix)
            ibh_put(out, report, IBH_PLAIN, "    fix: %s\n", finding->fix);
        if (finding->advice)
            ibh_put(out, report, IBH_PLAIN, "    advice: %s\n", finding->advice);
    }
}

/* ---- the host's line ---- */

/* The one command that cures all problems (--apply without a name does what it does with one), or the one cause, or how
 * many NICs. */
static void put_wrong(GString *out, const IbhReport *report, const IbhFinding *worst)
{
    g_autoptr(GPtrArray) wrong = g_ptr_array_new(), all = g_ptr_array_new(); /* NICs */
    g_autoptr(GString) text = g_string_new(NULL);
    const char *command = NULL;
    guint problems = 0;

    IBH_EACH_POINTER (const IbhNic, rail, report->nics[TRUE])
        ibh_add_name(all, rail->link->name);
    IBH_EACH_POINTER (const IbhFinding, finding, report->findings) {
        const char *own = finding->fix && g_str_has_prefix(finding->fix, APPLY) ? APPLY : finding->fix;

        if (!is_problem(finding))
            continue;
        command = !problems++ || g_strcmp0(command, own) == 0 ? own : NULL;
        IBH_EACH_POINTER (const char, iface, finding->ifaces) {
            ibh_add_name(wrong, iface);
            ibh_add_name(all, iface);
        }
    }
    if (wrong->len)
        g_string_append_printf(text, "%u of %u NIC%s wrong; ", wrong->len, all->len, all->len == 1 ? "" : "s");
    if (command && text->len + strlen("warning: fix: ") + strlen(command) <= WIDTH)
        g_string_append_printf(text, "fix: %s", command);
    else if (problems == 1)
        g_string_printf(text, "%s%s%s", wrong->len == 1 ? (char *)g_ptr_array_index(wrong, 0) : "",
                        wrong->len == 1 ? ": " : "", worst->message);
    else
        g_string_append(text, "why: ib-hook --check --verbose");
    ibh_put(out, report, color_of(worst), "%s", ibh_severity_name(worst->severity));
    ibh_put(out, report, IBH_PLAIN, ": %s\n", text->str);
}

/* A NIC that is administratively down: a note, and no right rail. */
static gboolean is_down(const IbhFinding *finding)
{
    return g_str_equal(finding->code, "carrier-down");
}

static gboolean has_carrier(const IbhReport *report, const IbhNic *nic)
{
    return !ibh_findings_have(report->findings, nic->link->name, "carrier-down");
}

static void put_right(GString *out, const IbhReport *report)
{
    g_autoptr(GString) text = g_string_new(NULL);
    guint right = 0;

    IBH_EACH_POINTER (const IbhNic, rail, report->nics[TRUE])
        right += has_carrier(report, rail) ? 1 : 0;
    g_string_append_printf(text, "%u rail%s", right, right == 1 ? "" : "s");
    IBH_EACH_POINTER (const IbhFinding, finding, report->findings) {
        g_autofree char *name = ibh_join(finding->ifaces, ",");

        if (is_down(finding))
            g_string_append_printf(text, "; %s is down", name);
    }
    ibh_put(out, report, IBH_GREEN, "ok");
    ibh_put(out, report, IBH_PLAIN, ": %s\n", text->str);
}

void ibh_put_verdict(GString *out, const IbhReport *report)
{
    const IbhFinding *worst = find_worst(report, NULL);
    const guint others = report->nics[FALSE]->len;

    if (worst)
        put_wrong(out, report, worst);
    else if (report->nics[TRUE]->len)
        put_right(out, report);
    else if (others)
        g_string_append_printf(out, "no rails: %u NIC%s, none is engaged (ib-hook --show)\n", others,
                               others == 1 ? "" : "s");
    else
        g_string_append(out, "no rails: no two RDMA NICs share a subnet here (ib-hook --show --verbose lists all)\n");
}

/* ---- a line for each NIC or cause ---- */

/* On a terminal the first address, and how many more. */
static char *join_addresses(const IbhReport *report, const IbhNic *nic)
{
    g_autoptr(GPtrArray) addresses = ibh_told_addresses(nic);

    if (addresses->len > 1 && report->style->width)
        return g_strdup_printf("%s and %u more", (char *)addresses->pdata[0], addresses->len - 1);
    return addresses->len ? ibh_join(addresses, " ") : g_strdup("-");
}

/* Of --check: a right rail, or a problem and which NICs it hits. With --verbose each problem follows whole. */
static void put_lines(GString *out, const IbhReport *report)
{
    g_autoptr(GPtrArray) table = g_ptr_array_new_with_free_func(g_free);

    IBH_EACH_POINTER (const IbhNic, rail, report->nics[TRUE]) {
        g_autofree char *addresses = join_addresses(report, rail);

        if (!find_worst(report, rail->link->name) && has_carrier(report, rail))
            ibh_add_row(table, IBH_GREEN, "%s\tok\t%s leaves by it (table %u)", rail->link->name, addresses,
                        rail->table);
    }
    IBH_EACH_POINTER (const IbhFinding, finding, report->findings) {
        const guint hit = finding->ifaces->len;
        g_autofree char *ifaces =
            hit > 2 && report->style->width ? g_strdup_printf("%u NICs", hit) : ibh_join(finding->ifaces, ",");

        if ((is_problem(finding) || is_down(finding)) && !report->style->verbose)
            ibh_add_row(table, color_of(finding), "%s\t%s\t%s: %s", hit ? ifaces : "host",
                        ibh_severity_name(finding->severity), finding->code, finding->message);
    }
    ibh_put_table(out, report, table, 3, 1);
}

/* Of --show: its worst problem, or what it is and why. */
static void add_nic(GPtrArray *table, const IbhReport *report, const char *iface, const IbhNic *nic, const char *why)
{
    const IbhFinding *worst = find_worst(report, iface);
    const gboolean ok = nic && nic->status == IBH_NIC_RAIL && has_carrier(report, nic);
    const char *state = !nic ? "missing" : ok ? "ok" : nic->status == IBH_NIC_RAIL ? "down" : "no rail";
    g_autofree char *addresses = nic ? join_addresses(report, nic) : g_strdup("-");
    const char *link = !nic ? "-" : !(nic->link->flags & IFF_UP) ? "down" : nic->link->carrier ? "up" : "no carrier";
    const IbhColor color = ok ? IBH_GREEN : IBH_PLAIN;

    ibh_add_row(table, worst ? color_of(worst) : color, "%s\t%s\t%s\t%s: %s", iface, addresses, link,
                worst ? worst->code : state, worst ? worst->message : why);
}

/* What is missing may be among the others, too. */
static void put_nics(GString *out, const IbhReport *report)
{
    g_autoptr(GPtrArray) table = g_ptr_array_new_with_free_func(g_free), seen = g_ptr_array_new();

    ibh_add_row(table, IBH_BOLD, "IFACE\tADDRESS\tLINK\tSTATE");
    for (int rail = TRUE; rail >= FALSE; rail--) {
        IBH_EACH_POINTER (const IbhNic, nic, report->nics[rail]) {
            ibh_add_name(seen, nic->link->name);
            add_nic(table, report, nic->link->name, nic, nic->why);
        }
    }
    IBH_EACH (const IbhMissed, missed, report->missed) {
        if (ibh_add_name(seen, missed->known.iface))
            add_nic(table, report, missed->known.iface, NULL, ibh_missing_text(missed->why));
    }
    if (seen->len)
        ibh_put_table(out, report, table, 4, 3);
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
    routes = ibh_want_routes(report->rails, nic, NULL);
    rules = ibh_want_rules(report->rails, nic, routes);
    g_string_append_printf(text, ", table %u, main=%s, wants %u rules", nic->table,
                           ibh_spread_has(report->rails, nic) ? "spread" : "keep", rules->len);
    for (int key = 0; key <= IBH_SYSCTL_ARP_IGNORE; key++)
        g_string_append_printf(text, "%s%s=%d", key ? " " : ", ", ibh_sysctl_name((IbhSysctl)key),
                               nic->link->sysctl[key]);
    return g_string_free(text, FALSE);
}

/* Why each NIC is, or is not, engaged; and what is known of it. */
static void put_reasons(GString *out, const IbhReport *report, const char *lead)
{
    for (int rail = TRUE; rail >= FALSE; rail--) {
        IBH_EACH_POINTER (const IbhNic, nic, report->nics[rail]) {
            g_autofree char *facts = tell_facts(report, nic);

            ibh_put(out, report, IBH_PLAIN, "%s%s: %s: %s%s%s\n", lead, nic->link->name,
                    rail ? "engaged" : "not engaged", nic->why, facts ? "; " : "", facts ? facts : "");
        }
    }
}

/* ---- the actions ---- */

/* With --quiet each error and warning whole, as scripts read it. */
static void put_look(GString *out, const IbhReport *report)
{
    if (!report->style->quiet) {
        ibh_put_verdict(out, report);
        (report->action == IBH_ACTION_SHOW ? put_nics : put_lines)(out, report);
        if (report->rails->main == IBH_MAIN_SPREAD) /* a global setting, which we do not change */
            g_string_append_printf(out, "main=spread: net.ipv4.fib_multipath_hash_policy=%d (0: by peer, 1: by flow)\n",
                                   report->rails->snapshot->hash_policy);
    }
    if (report->style->verbose || report->style->quiet)
        put_findings(out, report);
    if (report->style->verbose)
        put_reasons(out, report, "");
}

static void put_operations(GString *out, const IbhReport *report)
{
    IBH_EACH_POINTER (const IbhOp, op, report->ops) {
        g_autofree char *command = ibh_op_command(op);

        ibh_put(out, report, IBH_BOLD, "%s", command);
        if (!report->style->quiet)
            ibh_put(out, report, IBH_PLAIN, "  # %s: %s", op->iface[0] ? op->iface : "-", op->why);
        g_string_append_c(out, '\n');
    }
}

static void put_plan(GString *out, const IbhReport *report)
{
    if (!report->style->quiet)
        put_reasons(out, report, "# ");
    put_operations(out, report);
    if (!report->style->quiet && !report->ops->len)
        g_string_append(out, "# nothing to do\n");
}

static void put_change(GString *out, const IbhReport *report)
{
    const guint changes = report->ops->len;
    g_autofree char *held = report->held ? ibh_join(report->held, " ") : NULL;

    if (report->style->verbose)
        put_operations(out, report);
    ibh_put(out, report, report->failed ? IBH_RED : IBH_PLAIN, "%s",
            report->failed ? "failed"
            : held         ? "undone"
                           : "applied");
    if (changes || report->failed)
        g_string_append_printf(out, ": %u change%s%s\n", changes, changes == 1 ? "" : "s",
                               report->failed ? " stand; what failed is on standard error" : "");
    else
        g_string_append(out, ": nothing to do\n");
    if (held && held[0])
        ibh_put(out, report, IBH_PLAIN, "left alone until --apply or a reboot: %s\n", held);
    if (!report->failed && !held)
        put_reasons(out, report, "");
    if (report->confirm)
        g_string_append_printf(out, "undone again in %d s, unless: ib-hook --confirm\n", report->confirm);
}

static void put_error(GString *out, const IbhReport *report)
{
    g_auto(GStrv) lines = g_strsplit(report->message, "\n", -1);

    for (char **line = lines; *line; line++)
        ibh_put(out, report, IBH_PLAIN, "ib-hook: %s\n", *line);
}

void ibh_write_text(GString *out, const IbhReport *report)
{
    if (report->message)
        put_error(out, report);
    else if (report->action == IBH_ACTION_PLAN)
        put_plan(out, report);
    else if (report->action == IBH_ACTION_APPLY || report->action == IBH_ACTION_UNDO)
        put_change(out, report);
    else if (report->action == IBH_ACTION_CONFIRM)
        g_string_append(out, "confirmed: it stays\n");
    else if (report->action == IBH_ACTION_PROBE) {
        if (!report->style->quiet)
            ibh_put_probe(out, report);
        if (out->len && report->findings->len)
            g_string_append_c(out, '\n');
        put_findings(out, report);
    } else
        put_look(out, report);
}
