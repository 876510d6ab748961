/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reports for people: the host's verdict, then a line for each NIC or cause. --probe is in text_probe.c.
 */
#include "cli/report.h"

#include <string.h>

#define APPLY "sudo ib-hook --apply"
#define WIDTH 80

static void put_line(GString *out, const IbhReport *report, const char *lead, const char *text)
{
    ibh_put(out, report, IBH_PLAIN, "%s%s", lead, text);
    g_string_append_c(out, '\n');
}

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
        put_line(out, report, ": ", finding->message);
        if (finding->fix)
            put_line(out, report, "    fix: ", finding->fix);
        if (finding->advice)
            put_line(out, report, "    advice: ", finding->advice);
    }
}

/* ---- the host's line ---- */

/* The one command that cures all problems; NULL: there is none. --apply without a name does what it does with one. */
static const char *find_command(const IbhReport *report)
{
    const char *command = NULL;

    IBH_EACH_POINTER (const IbhFinding, finding, report->findings) {
        const char *own = finding->fix && g_str_has_prefix(finding->fix, APPLY) ? APPLY : finding->fix;

        if (!is_problem(finding))
            continue;
        if (!own || (command && !g_str_equal(command, own)))
            return NULL;
        command = own;
    }
    return command;
}

/* That command, or the one cause, or how many NICs. */
static void put_wrong(GString *out, const IbhReport *report, const IbhFinding *worst)
{
    g_autoptr(GPtrArray) wrong = g_ptr_array_new(), all = g_ptr_array_new(); /* NICs */
    g_autoptr(GString) text = g_string_new(NULL);
    const char *command = find_command(report);
    guint problems = 0;

    IBH_EACH_POINTER (const IbhNic, rail, report->nics[TRUE])
        ibh_add_name(all, rail->link->name);
    IBH_EACH_POINTER (const IbhFinding, finding, report->findings) {
        problems += is_problem(finding) ? 1 : 0;
        IBH_EACH_POINTER (const char, iface, finding->ifaces) {
            if (is_problem(finding) && ibh_add_name(wrong, iface))
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
    put_line(out, report, ": ", text->str);
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
    put_line(out, report, ": ", text->str);
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

/* The first `most` addresses. */
static char *join_addresses(const IbhNic *nic, guint most)
{
    g_autoptr(GPtrArray) addresses = ibh_told_addresses(nic);
    const guint more = addresses->len > most ? addresses->len - most : 0;
    g_autofree char *first = NULL;

    g_ptr_array_set_size(addresses, (gint)(addresses->len - more));
    first = addresses->len ? ibh_join(addresses, " ") : g_strdup("-");
    return more ? g_strdup_printf("%s and %u more", first, more) : g_steal_pointer(&first);
}

/* Of --check: a right rail, or a problem and which NICs it hits. */
static void put_lines(GString *out, const IbhReport *report)
{
    g_autoptr(GPtrArray) table = ibh_table_new("");

    IBH_EACH_POINTER (const IbhNic, rail, report->nics[TRUE]) {
        g_autofree char *addresses = join_addresses(rail, 3);

        if (find_worst(report, rail->link->name) || !has_carrier(report, rail))
            continue;
        ibh_table_add(table, IBH_PLAIN, "%s", rail->link->name);
        ibh_table_add(table, IBH_GREEN, "ok");
        ibh_table_add(table, IBH_PLAIN, "%s leaves by it (table %u)", addresses, rail->table);
    }
    IBH_EACH_POINTER (const IbhFinding, finding, report->findings) {
        const guint hit = finding->ifaces->len;
        g_autofree char *ifaces = ibh_join(finding->ifaces, ",");

        if ((!is_problem(finding) && !is_down(finding)) || report->style->verbose) /* then each follows whole */
            continue;
        if (hit > 2 && report->style->width)
            ibh_table_add(table, IBH_PLAIN, "%u NICs", hit);
        else
            ibh_table_add(table, IBH_PLAIN, "%s", hit ? ifaces : "host");
        ibh_table_add(table, color_of(finding), "%s", ibh_severity_name(finding->severity));
        ibh_table_add(table, IBH_PLAIN, "%s: %s", finding->code, finding->message);
    }
    ibh_put_table(out, report, table, 3, report->style->width);
}

/* The NIC's worst problem, or what it is and why. */
static void add_state(GPtrArray *table, const IbhReport *report, const char *iface, const char *state, const char *why)
{
    const IbhFinding *worst = find_worst(report, iface);
    const IbhColor color = g_str_equal(state, "ok") ? IBH_GREEN : IBH_PLAIN;

    ibh_table_add(table, worst ? color_of(worst) : color, "%s: %s", worst ? worst->code : state,
                  worst ? worst->message : why);
}

static void add_nic(GPtrArray *table, const IbhReport *report, const IbhNic *nic)
{
    g_autofree char *addresses = join_addresses(nic, report->style->width ? 1 : 3);

    ibh_table_add(table, IBH_PLAIN, "%s", nic->link->name);
    ibh_table_add(table, IBH_PLAIN, "%s", addresses);
    ibh_table_add(table, IBH_PLAIN, "%s", ibh_told_link(nic));
    add_state(table, report, nic->link->name,
              nic->status != IBH_NIC_RAIL ? "no rail"
              : has_carrier(report, nic)  ? "ok"
                                          : "down",
              nic->why);
}

/* Of --show. What is missing may be among the others, too. */
static void put_nics(GString *out, const IbhReport *report)
{
    g_autoptr(GPtrArray) table = ibh_table_new("IFACE ADDRESS LINK STATE"), seen = g_ptr_array_new();

    for (int rail = TRUE; rail >= FALSE; rail--) {
        IBH_EACH_POINTER (const IbhNic, nic, report->nics[rail]) {
            ibh_add_name(seen, nic->link->name);
            add_nic(table, report, nic);
        }
    }
    IBH_EACH (const IbhMissed, missed, report->missed) {
        if (!ibh_add_name(seen, missed->known.iface))
            continue;
        ibh_table_add(table, IBH_PLAIN, "%s", missed->known.iface);
        ibh_table_add(table, IBH_PLAIN, "-");
        ibh_table_add(table, IBH_PLAIN, "-");
        add_state(table, report, missed->known.iface, "missing", ibh_missing_text(missed->why));
    }
    if (seen->len)
        ibh_put_table(out, report, table, 4, report->style->width);
}

/* Why each NIC is, or is not, engaged; and what is known of it. */
static void put_reasons(GString *out, const IbhReport *report, const char *lead)
{
    for (int rail = TRUE; rail >= FALSE; rail--) {
        IBH_EACH_POINTER (const IbhNic, nic, report->nics[rail]) {
            g_autofree char *facts = ibh_told_facts(report, nic);

            ibh_put(out, report, IBH_PLAIN, "%s%s: %s: %s%s%s", lead, nic->link->name, rail ? "engaged" : "not engaged",
                    nic->why, facts ? "; " : "", facts ? facts : "");
            g_string_append_c(out, '\n');
        }
    }
}

/* The hash policy of the spread is a global setting, which we do not change. */
static void put_hash_policy(GString *out, const IbhReport *report)
{
    const int policy = report->rails->snapshot->hash_policy;

    if (report->rails->main == IBH_MAIN_SPREAD)
        g_string_append_printf(out, "main=spread: by %s (net.ipv4.fib_multipath_hash_policy=%d)\n",
                               policy == 0   ? "peer"
                               : policy == 1 ? "flow"
                                             : "the kernel's choice",
                               policy);
}

/* ---- the actions ---- */

/* With --quiet each error and warning whole, as scripts read it. */
static void put_look(GString *out, const IbhReport *report)
{
    if (!report->style->quiet) {
        ibh_put_verdict(out, report);
        (report->action == IBH_ACTION_SHOW ? put_nics : put_lines)(out, report);
        put_hash_policy(out, report);
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
        put_line(out, report, "left alone until --apply or a reboot: ", held);
    if (!report->failed && !held)
        put_reasons(out, report, "");
    if (report->confirm)
        g_string_append_printf(out, "undone again in %d s, unless: ib-hook --confirm\n", report->confirm);
}

static void put_error(GString *out, const IbhReport *report)
{
    g_auto(GStrv) lines = g_strsplit(report->message, "\n", -1);

    for (char **line = lines; *line; line++)
        put_line(out, report, "ib-hook: ", *line);
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
