/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first line of --show and --check for people: the verdict on the host. --probe has it only if no NIC asks. */
#include "check/missing.h"
#include "report/report.h"

#include <string.h>

#define APPLY "sudo ib-hook --apply"

/* TRUE for carrier-down (the NIC is down, or has no carrier) and nic-gone (the NIC or its RDMA device is gone, or the
 * NIC is used elsewhere). If the administrator set the NIC down, or if it is used elsewhere, for example by a pod, the
 * finding is only a note, but reports show the note, because the NIC does not work as a rail. */
gboolean ibh_finding_is_down(const IbhFinding *finding)
{
    return g_str_equal(finding->code, "carrier-down") || g_str_equal(finding->code, "nic-gone");
}

static void add_name(GPtrArray *names, const char *name)
{
    if (!ibh_names_have(names, name))
        g_ptr_array_add(names, (char *)(guintptr)name);
}

/* Returns the ": " before the cause in a text such as "CONSEQUENCE: CAUSE"; NULL if there is none. A colon that ends an
 * IPv6 address ("fd00:16::") does not count. */
static const char *find_cause(const char *said)
{
    const char *at = said ? strstr(said, ": ") : NULL;

    while (at && at > said && at[-1] == ':')
        at = strstr(at + 1, ": ");
    return at;
}

/* Returns which NICs have the problem, and what the problem is. If packets of some of these NICs go astray, names only
 * these NICs:
 * - If packets of several NICs go astray: "ib0 and ib1 use the wrong NIC".
 * - If one NIC is named, and the finding has a text for this NIC, "CONSEQUENCE: CAUSE": the consequence.
 * - In all other cases: the finding's message.
 * In the first two cases, the cause follows with `whole`; without `whole`, it is left out, because the NIC's row has
 * the cause, too. */
static char *say_problem(const IbhFinding *finding, gboolean whole)
{
    g_autoptr(GPtrArray) hit = g_ptr_array_new();
    g_autofree char *names = NULL;
    const char *said, *cause;

    /* `hit`: the NICs to name. For these, the finding is more than a note. */
    IBH_EACH_POINTER (char, iface, finding->astray->len ? finding->astray : finding->ifaces) {
        if (ibh_finding_severity_for(finding, iface) != IBH_INFO)
            g_ptr_array_add(hit, iface);
    }
    said = hit->len ? ibh_finding_text(finding, hit->pdata[0]) : NULL;
    cause = find_cause(said);
    names = ibh_names_shorten(hit);
    if (finding->astray->len > 1)
        return g_strdup_printf("%s use the wrong NIC%s", names, whole && cause ? cause : "");
    if (said && hit->len == 1)
        return g_strdup_printf("%s: %.*s", names, whole || !cause ? G_MAXINT : (int)(cause - said), said);
    return g_strdup_printf("%s%s%s", names, names[0] ? ": " : "", finding->message);
}

/* Adds a line that add_wrong() may choose: `wrong`, then `word` ("fix" or "why") and the remedy. If `problem` is not
 * NULL, first adds a longer line, which says `problem` instead of `wrong`. */
static void add_remedy(GPtrArray *lines, const char *severity, const char *problem, const char *wrong, const char *word,
                       const char *remedy)
{
    if (problem)
        g_ptr_array_add(lines, g_strdup_printf("%s: %s; %s: %s", severity, problem, word, remedy));
    g_ptr_array_add(lines, g_strdup_printf("%s: %s; %s: %s", severity, wrong, word, remedy));
}

/* Adds the fullest line that fits the terminal; if none fits, the last. A line says what is wrong, and then which
 * command fixes everything. If no single command does, or no line with the command fits, the line says instead where to
 * read more. If there is a single problem, and no command fixes it, two lines are tried first: the whole problem with
 * its cause, and the same up to the first "; ". */
static void add_wrong(const IbhReport *report, const IbhFinding *worst)
{
    const char *severity = ibh_severity_name(worst->severity);
    const char *command;          /* fixes all problems; NULL: no single command does */
    const char *first_fix = NULL; /* of the first problem */
    gboolean fixes_differ = FALSE;
    gboolean applies_all = FALSE; /* a fix is --apply without --iface, which includes each --apply --iface */
    g_autoptr(GPtrArray) nics = g_ptr_array_new(), lines = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *names = NULL, *wrong = NULL, *whole = say_problem(worst, TRUE),
                    *problem = say_problem(worst, FALSE);
    guint problems = 0, best = 0;

    /* The rails come first, in the report's order; the findings below add the other NICs. */
    IBH_EACH_POINTER (const IbhNic, rail, report->shown_rails) {
        if (ibh_findings_worst(report->findings, rail->link->name))
            add_name(nics, rail->link->name);
    }
    IBH_EACH_POINTER (const IbhFinding, finding, report->findings)
        applies_all |= finding->severity != IBH_INFO && g_strcmp0(finding->fix, APPLY) == 0;
    IBH_EACH_POINTER (const IbhFinding, finding, report->findings) {
        const char *fix = applies_all && finding->fix && g_str_has_prefix(finding->fix, APPLY) ? APPLY : finding->fix;

        if (finding->severity == IBH_INFO)
            continue;
        if (!problems)
            first_fix = fix;
        fixes_differ |= g_strcmp0(fix, first_fix) != 0;
        problems++;
        IBH_EACH_POINTER (char, iface, finding->ifaces) {
            if (ibh_finding_severity_for(finding, iface) != IBH_INFO)
                add_name(nics, iface);
        }
    }
    command = fixes_differ ? NULL : first_fix;
    names = ibh_names_shorten(nics);
    wrong = nics->len ? g_strdup_printf("%s %s wrong", names, nics->len == 1 ? "is" : "are")
                      : g_strdup_printf("%u problems", problems);
    if (problems == 1 && !command) {
        const char *more = strstr(whole, "; "); /* a shorter line ends here */

        g_ptr_array_add(lines, g_strdup_printf("%s: %s", severity, whole));
        g_ptr_array_add(lines, g_strdup_printf("%s: %.*s", severity, more ? (int)(more - whole) : G_MAXINT, whole));
    }
    if (command)
        add_remedy(lines, severity, problems == 1 ? problem : NULL, wrong, "fix", command);
    add_remedy(lines, severity, problems == 1 ? problem : NULL, wrong, "why", "ib-hook --check -v");
    for (; best + 1 < lines->len && report->style->width; best++) {
        g_autofree char *line = ibh_text_printable(lines->pdata[best]);

        if (g_utf8_strlen(line, -1) <= (glong)report->style->width)
            break;
    }
    ibh_rows_add(report, "%s", (char *)lines->pdata[best]);
}

/* Says how many rails work, and which are down or away. Called only if no finding is worse than a note, so a rail that
 * is down or away has a note. */
static void add_right(const IbhReport *report)
{
    g_autoptr(GString) text = g_string_new(NULL);
    const guint right = ibh_report_count_standing(report);

    IBH_EACH_POINTER (const IbhFinding, finding, report->findings) {
        g_autofree char *names = ibh_texts_join(finding->ifaces, ",");

        /* If another NIC now has the name of a rail that is away, the finding about the rail names no interface. */
        if (ibh_finding_is_down(finding))
            g_string_append_printf(text, "; %s is %s", finding->ifaces->len ? names : "another rail",
                                   g_str_equal(finding->code, "nic-gone") ? "away" : "down");
    }
    if (right)
        ibh_rows_add(report, "ok: %u rail%s%s", right, right == 1 ? "" : "s", text->str);
    else
        ibh_rows_add(report, "no rails%s", text->str);
}

/* Says why there is no rail, and which NICs were rails or could be. */
static void add_no_rails(const IbhReport *report)
{
    g_autoptr(GPtrArray) missing = g_ptr_array_new(), unmanaged = g_ptr_array_new(), advertised = g_ptr_array_new();
    g_autofree char *names = NULL;
    const char *why = "";

    for (guint i = 0; report->missed && i < report->missed->len; i++) { /* --probe has no list */
        const IbhKnownRail *missed = &g_array_index(report->missed, IbhKnownRail, i);

        add_name(missing, ibh_known_name(missed));
        why = ibh_missing_text(missed->why);
    }
    IBH_EACH_POINTER (const IbhNic, nic, report->rails->nics) {
        if (nic->status == IBH_NIC_UNMANAGED)
            add_name(unmanaged, nic->link->name);
        if (nic->reason.why == IBH_WHY_ADVERTISED)
            add_name(advertised, nic->link->name);
    }
    names = ibh_names_shorten(missing->len ? missing : unmanaged->len ? unmanaged : advertised);
    if (missing->len == 1)
        ibh_rows_add(report, "no rails: %s is missing: %s", names, why);
    else if (missing->len)
        ibh_rows_add(report, "no rails: %s are missing (ib-hook --show says why)", names);
    else if (unmanaged->len)
        ibh_rows_add(report, "no rails: manage=no switches off %s", names);
    else if (advertised->len)
        ibh_rows_add(report, "no rails: the subnet of %s is advertised: no rails without manage=yes", names);
    else
        ibh_rows_add(report, "no rails: no two RDMA NICs share a subnet here (ib-hook --show --verbose lists all)");
}

void ibh_rows_add_verdict(const IbhReport *report)
{
    const IbhFinding *worst = ibh_findings_worst(report->findings, NULL);

    if (worst)
        add_wrong(report, worst);
    else if (report->shown_rails->len)
        add_right(report);
    else
        add_no_rails(report);
}
