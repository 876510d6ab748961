/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reports for people: the host's verdict, then a line for each NIC or cause. --probe is in text_probe.c.
 */
#include "cli/text.h"

#include <string.h>

#define APPLY "sudo ib-hook --apply"
#define WIDTH 80

/* ---- findings ---- */

static gboolean is_problem(const IbhNode *finding)
{
    return !g_str_equal(ibh_node_text(finding, "severity"), "info");
}

static const char *color_of(const IbhNode *finding)
{
    const char *severity = ibh_node_text(finding, "severity");

    return g_str_equal(severity, "error") ? IBH_RED : g_str_equal(severity, "warning") ? IBH_YELLOW : NULL;
}

static gboolean is_about(const IbhNode *finding, const char *iface)
{
    IBH_EACH_POINTER (const IbhNode, name, ibh_node_items(finding, "ifaces")) {
        if (g_str_equal(name->text, iface))
            return TRUE;
    }
    return FALSE;
}

/* The worst problem of this NIC, or (NULL) of all; NULL: none. */
static const IbhNode *find_worst(const IbhNode *tree, const char *iface)
{
    const IbhNode *worst = NULL;

    IBH_EACH_POINTER (const IbhNode, finding, ibh_node_items(tree, "findings")) {
        if (!is_problem(finding) || (iface && !is_about(finding, iface)))
            continue;
        if (!worst || (g_str_equal(color_of(finding), IBH_RED) && !g_str_equal(color_of(worst), IBH_RED)))
            worst = finding;
    }
    return worst;
}

/* Each finding whole, with its fix or advice. */
static void put_findings(GString *out, const IbhNode *tree, const IbhStyle *style)
{
    IBH_EACH_POINTER (const IbhNode, finding, ibh_node_items(tree, "findings")) {
        g_autofree char *ifaces = ibh_node_join(finding, "ifaces", ",");

        if (!is_problem(finding) && style->quiet)
            continue;
        ibh_putf(out, style, NULL, "%s: ", ifaces[0] ? ifaces : "-");
        ibh_putf(out, style, color_of(finding), "%s %s", ibh_node_text(finding, "severity"),
                 ibh_node_text(finding, "code"));
        ibh_put_line(out, style, ": ", ibh_node_text(finding, "message"));
        if (ibh_node_get(finding, "fix"))
            ibh_put_line(out, style, "    fix: ", ibh_node_text(finding, "fix"));
        if (ibh_node_get(finding, "advice"))
            ibh_put_line(out, style, "    advice: ", ibh_node_text(finding, "advice"));
    }
}

/* ---- the host's line ---- */

gboolean ibh_add_name(GPtrArray *names, const char *name)
{
    const gboolean known = g_ptr_array_find_with_equal_func(names, name, g_str_equal, NULL);

    if (!known)
        g_ptr_array_add(names, (char *)(guintptr)name);
    return !known;
}

/* The one command that cures all problems; NULL: there is none. --apply without a name does what it does with one. */
static const char *find_command(const IbhNode *tree)
{
    const char *command = NULL;

    IBH_EACH_POINTER (const IbhNode, finding, ibh_node_items(tree, "findings")) {
        const char *fix = ibh_node_text(finding, "fix"), *own = g_str_has_prefix(fix, APPLY) ? APPLY : fix;

        if (is_problem(finding) && (!own[0] || (command && !g_str_equal(command, own))))
            return NULL;
        command = is_problem(finding) ? own : command;
    }
    return command;
}

/* That command, or the one cause, or how many NICs. */
static void put_wrong(GString *out, const IbhNode *tree, const IbhStyle *style, const IbhNode *worst)
{
    g_autoptr(GPtrArray) wrong = g_ptr_array_new(), all = g_ptr_array_new(); /* NICs */
    g_autoptr(GString) text = g_string_new(NULL);
    const char *command = find_command(tree);
    guint problems = 0;

    IBH_EACH_POINTER (const IbhNode, rail, ibh_node_items(tree, "rails"))
        ibh_add_name(all, ibh_node_text(rail, "iface"));
    IBH_EACH_POINTER (const IbhNode, finding, ibh_node_items(tree, "findings")) {
        problems += is_problem(finding) ? 1 : 0;
        IBH_EACH_POINTER (const IbhNode, name, ibh_node_items(finding, "ifaces")) {
            if (is_problem(finding) && ibh_add_name(wrong, name->text))
                ibh_add_name(all, name->text);
        }
    }
    if (wrong->len)
        g_string_append_printf(text, "%u of %u NIC%s wrong; ", wrong->len, all->len, all->len == 1 ? "" : "s");
    if (command && text->len + strlen("warning: fix: ") + strlen(command) <= WIDTH)
        g_string_append_printf(text, "fix: %s", command);
    else if (problems == 1)
        g_string_printf(text, "%s%s%s", wrong->len == 1 ? (char *)g_ptr_array_index(wrong, 0) : "",
                        wrong->len == 1 ? ": " : "", ibh_node_text(worst, "message"));
    else
        g_string_append(text, "why: ib-hook --check --verbose");
    ibh_put(out, style, color_of(worst), ibh_node_text(worst, "severity"));
    ibh_put_line(out, style, ": ", text->str);
}

/* A NIC that is administratively down, of this name or (NULL) any: a note, and no right rail. */
static gboolean is_down(const IbhNode *finding, const char *iface)
{
    return g_str_equal(ibh_node_text(finding, "code"), "carrier-down") && (!iface || is_about(finding, iface));
}

static gboolean has_carrier(const IbhNode *tree, const IbhNode *nic)
{
    IBH_EACH_POINTER (const IbhNode, finding, ibh_node_items(tree, "findings")) {
        if (is_down(finding, ibh_node_text(nic, "iface")))
            return FALSE;
    }
    return TRUE;
}

static void put_right(GString *out, const IbhNode *tree, const IbhStyle *style)
{
    g_autoptr(GString) text = g_string_new(NULL);
    guint right = 0;

    IBH_EACH_POINTER (const IbhNode, rail, ibh_node_items(tree, "rails"))
        right += has_carrier(tree, rail) ? 1 : 0;
    g_string_append_printf(text, "%u rail%s", right, right == 1 ? "" : "s");
    IBH_EACH_POINTER (const IbhNode, finding, ibh_node_items(tree, "findings")) {
        g_autofree char *name = is_down(finding, NULL) ? ibh_node_join(finding, "ifaces", ",") : NULL;

        if (name)
            g_string_append_printf(text, "; %s is down", name);
    }
    ibh_put(out, style, IBH_GREEN, "ok");
    ibh_put_line(out, style, ": ", text->str);
}

void ibh_put_verdict(GString *out, const IbhNode *tree, const IbhStyle *style)
{
    const IbhNode *worst = find_worst(tree, NULL);
    guint rails = ibh_node_items(tree, "rails")->len, others = ibh_node_items(tree, "others")->len;

    if (worst) {
        put_wrong(out, tree, style, worst);
    } else if (rails) {
        put_right(out, tree, style);
    } else if (others) {
        g_string_append_printf(out, "no rails: %u NIC%s, none is engaged (ib-hook --show)\n", others,
                               others == 1 ? "" : "s");
    } else {
        ibh_put_line(out, style,
                     "no rails: ", "no two RDMA NICs share a subnet here (ib-hook --show --verbose lists all)");
    }
}

/* ---- a line for each NIC or cause ---- */

/* The first `most` addresses. */
static char *join_addresses(const IbhNode *nic, guint most)
{
    const GPtrArray *addresses = ibh_node_items(nic, "addresses");
    GString *text = g_string_new(addresses->len ? NULL : "-");

    for (guint i = 0; i < addresses->len && i < most; i++)
        g_string_append_printf(text, "%s%s", i ? " " : "", ((const IbhNode *)g_ptr_array_index(addresses, i))->text);
    if (addresses->len > most)
        g_string_append_printf(text, " and %u more", addresses->len - most);
    return g_string_free(text, FALSE);
}

static char *describe(const IbhNode *finding)
{
    return g_strdup_printf("%s: %s", ibh_node_text(finding, "code"), ibh_node_text(finding, "message"));
}

/* Of --check: a right rail, or a problem and which NICs it hits. */
static void put_lines(GString *out, const IbhNode *tree, const IbhStyle *style)
{
    g_autoptr(IbhTable) table = ibh_table_new(3);

    IBH_EACH_POINTER (const IbhNode, rail, ibh_node_items(tree, "rails")) {
        const char *iface = ibh_node_text(rail, "iface");
        g_autofree char *addresses = join_addresses(rail, 3);

        if (find_worst(tree, iface) || !has_carrier(tree, rail))
            continue;
        ibh_table_add(table, g_strdup(iface), NULL);
        ibh_table_add(table, g_strdup("ok"), IBH_GREEN);
        ibh_table_add(
            table, g_strdup_printf("%s leaves by it (table %d)", addresses, (int)ibh_node_number(rail, "table")), NULL);
    }
    IBH_EACH_POINTER (const IbhNode, finding, ibh_node_items(tree, "findings")) {
        const GPtrArray *ifaces = ibh_node_items(finding, "ifaces");

        if ((!is_problem(finding) && !is_down(finding, NULL)) || style->verbose) /* then each follows whole */
            continue;
        ibh_table_add(table,
                      ifaces->len > 2 && style->width ? g_strdup_printf("%u NICs", ifaces->len)
                      : ifaces->len                   ? ibh_node_join(finding, "ifaces", ",")
                                                      : g_strdup("host"),
                      NULL);
        ibh_table_add(table, g_strdup(ibh_node_text(finding, "severity")), color_of(finding));
        ibh_table_add(table, describe(finding), NULL);
    }
    ibh_put_table(out, style, table, style->width);
}

static void add_nic(IbhTable *table, const IbhNode *tree, const IbhNode *nic, const IbhStyle *style)
{
    const IbhNode *worst = find_worst(tree, ibh_node_text(nic, "iface"));
    const gboolean rail = ibh_node_number(nic, "engaged") != 0;

    ibh_table_add(table, g_strdup(ibh_node_text(nic, "iface")), NULL);
    ibh_table_add(table, join_addresses(nic, style->width ? 1 : 3), NULL);
    ibh_table_add(table, g_strdup(ibh_node_get(nic, "link") ? ibh_node_text(nic, "link") : "-"), NULL);
    ibh_table_add(table,
                  worst ? describe(worst)
                        : g_strdup_printf("%s: %s",
                                          rail                           ? has_carrier(tree, nic) ? "ok" : "down"
                                          : ibh_node_get(nic, "engaged") ? "no rail"
                                                                         : "missing",
                                          ibh_node_text(nic, "why")),
                  worst                            ? color_of(worst)
                  : rail && has_carrier(tree, nic) ? IBH_GREEN
                                                   : NULL);
}

/* Of --show. What is missing may be among the others, too. */
static void put_nics(GString *out, const IbhNode *tree, const IbhStyle *style)
{
    static const char *const headings[] = {"IFACE", "ADDRESS", "LINK", "STATE"};
    static const char *const lists[] = {"rails", "others", "missing"};
    g_autoptr(IbhTable) table = ibh_table_new(4);
    g_autoptr(GPtrArray) seen = g_ptr_array_new();

    for (guint i = 0; i < G_N_ELEMENTS(headings); i++)
        ibh_table_add(table, g_strdup(headings[i]), IBH_BOLD);
    for (guint i = 0; i < G_N_ELEMENTS(lists); i++) {
        IBH_EACH_POINTER (const IbhNode, nic, ibh_node_items(tree, lists[i])) {
            if (ibh_add_name(seen, ibh_node_text(nic, "iface")))
                add_nic(table, tree, nic, style);
        }
    }
    if (seen->len)
        ibh_put_table(out, style, table, style->width);
}

/* Why each NIC is, or is not, engaged; and what is known of it. */
static void put_reasons(GString *out, const IbhNode *tree, const IbhStyle *style, const char *lead)
{
    static const char *const lists[] = {"rails", "others"};

    for (guint i = 0; i < G_N_ELEMENTS(lists); i++) {
        IBH_EACH_POINTER (const IbhNode, nic, ibh_node_items(tree, lists[i])) {
            const char *facts = ibh_node_text(nic, "facts");

            ibh_putf(out, style, NULL, "%s%s: %s: %s%s%s", lead, ibh_node_text(nic, "iface"),
                     ibh_node_number(nic, "engaged") ? "engaged" : "not engaged", ibh_node_text(nic, "why"),
                     facts[0] ? "; " : "", facts);
            g_string_append_c(out, '\n');
        }
    }
}

/* The hash policy of the spread is a global setting, which we do not change. */
static void put_hash_policy(GString *out, const IbhNode *tree, const IbhStyle *style)
{
    const IbhNode *policy = ibh_node_get(tree, "fib_multipath_hash_policy");

    if (policy)
        ibh_putf(out, style, NULL, "main=spread: by %s (net.ipv4.fib_multipath_hash_policy=%d)",
                 policy->number == 0   ? "peer"
                 : policy->number == 1 ? "flow"
                                       : "the kernel's choice",
                 (int)policy->number);
    g_string_append(out, policy ? "\n" : "");
}

/* ---- the actions ---- */

/* With --quiet each error and warning whole, as scripts read it. */
static void put_look(GString *out, const IbhNode *tree, const IbhStyle *style, gboolean show)
{
    if (!style->quiet) {
        ibh_put_verdict(out, tree, style);
        (show ? put_nics : put_lines)(out, tree, style);
        put_hash_policy(out, tree, style);
    }
    if (style->verbose || style->quiet)
        put_findings(out, tree, style);
    if (style->verbose)
        put_reasons(out, tree, style, "");
}

static void put_operations(GString *out, const IbhNode *tree, const IbhStyle *style)
{
    IBH_EACH_POINTER (const IbhNode, op, ibh_node_items(tree, "operations")) {
        const char *iface = ibh_node_text(op, "iface");

        ibh_put(out, style, IBH_BOLD, ibh_node_text(op, "command"));
        if (!style->quiet)
            ibh_putf(out, style, NULL, "  # %s: %s", iface[0] ? iface : "-", ibh_node_text(op, "why"));
        g_string_append_c(out, '\n');
    }
}

static void put_plan(GString *out, const IbhNode *tree, const IbhStyle *style)
{
    if (!style->quiet)
        put_reasons(out, tree, style, "# ");
    put_operations(out, tree, style);
    if (!style->quiet && !ibh_node_number(tree, "changed"))
        ibh_put_line(out, style, "", "# nothing to do");
}

static void put_change(GString *out, const IbhNode *tree, const IbhStyle *style)
{
    const gboolean failed = ibh_node_get(tree, "error") != NULL, undo = ibh_node_get(tree, "held") != NULL;
    const guint changes = ibh_node_items(tree, "operations")->len;
    g_autofree char *held = ibh_node_join(tree, "held", " ");

    if (style->verbose)
        put_operations(out, tree, style);
    ibh_put(out, style, failed ? IBH_RED : NULL, failed ? "failed" : undo ? "undone" : "applied");
    if (changes || failed)
        ibh_putf(out, style, NULL, ": %u change%s%s", changes, changes == 1 ? "" : "s",
                 failed ? " stand; what failed is on standard error" : "");
    else
        ibh_put(out, style, NULL, ": nothing to do");
    g_string_append_c(out, '\n');
    if (held[0])
        ibh_put_line(out, style, "left alone until --apply or a reboot: ", held);
    if (!failed)
        put_reasons(out, tree, style, "");
    if (ibh_node_get(tree, "confirm"))
        g_string_append_printf(out, "undone again in %d s, unless: ib-hook --confirm\n",
                               (int)ibh_node_number(tree, "confirm"));
}

static void put_error(GString *out, const IbhNode *tree)
{
    const IbhStyle plain = {0};
    g_auto(GStrv) lines = g_strsplit(ibh_node_text(ibh_node_get(tree, "error"), "message"), "\n", -1);

    for (char **line = lines; *line; line++)
        ibh_put_line(out, &plain, "ib-hook: ", *line);
}

char *ibh_write_text(IbhAction action, const IbhNode *tree, const IbhStyle *style)
{
    GString *out = g_string_new(NULL);
    const gboolean failed = !ibh_node_get(tree, "operations") && ibh_node_get(tree, "error");

    if (failed)
        put_error(out, tree);
    else if (action == IBH_ACTION_PLAN)
        put_plan(out, tree, style);
    else if (action == IBH_ACTION_APPLY || action == IBH_ACTION_UNDO)
        put_change(out, tree, style);
    else if (action == IBH_ACTION_CONFIRM)
        g_string_append(out, "confirmed: it stays\n");
    else if (action == IBH_ACTION_PROBE) {
        if (!style->quiet)
            ibh_put_probe(out, tree, style);
        if (out->len && ibh_node_items(tree, "findings")->len)
            g_string_append_c(out, '\n');
        put_findings(out, tree, style);
    } else
        put_look(out, tree, style, action == IBH_ACTION_SHOW);
    return g_string_free(out, FALSE);
}
