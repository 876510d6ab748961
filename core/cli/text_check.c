/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/text_check.h"

#include "cli/table.h"
#include "cli/text_parts.h"

#include <string.h>
#include <sys/socket.h>

#define WIDTH 80
#define HOST "host" /* findings of no interface */
#define APPLY "sudo ib-hook --apply"

static const char *const colors[] = {[IBH_ERROR] = IBH_RED, [IBH_WARNING] = IBH_YELLOW, [IBH_INFO] = NULL};

/* ---- findings by NIC ---- */

static const char *owner_of(const IbhFinding *finding)
{
    return finding->iface[0] ? finding->iface : HOST;
}

/* The names of all that have a line: char *, the NICs in their order, then names with findings only. */
static GPtrArray *list_owners(const IbhReport *report, const IbhStyle *style)
{
    GPtrArray *owners = g_ptr_array_new_with_free_func(g_free);

    IBH_EACH_POINTER (const IbhNic, nic, report->rails->nics) {
        gboolean told = nic->status == IBH_NIC_RAIL && ibh_report_lists(report, nic, style->verbose);

        IBH_EACH_POINTER (const IbhFinding, finding, report->findings)
            told = told || g_str_equal(finding->iface, nic->link->name);
        if (told)
            g_ptr_array_add(owners, g_strdup(nic->link->name));
    }
    IBH_EACH_POINTER (const IbhFinding, finding, report->findings) {
        if (!g_ptr_array_find_with_equal_func(owners, owner_of(finding), g_str_equal, NULL))
            g_ptr_array_add(owners, g_strdup(owner_of(finding)));
    }
    return owners;
}

static IbhSeverity find_worst(const GPtrArray *findings, const char *owner)
{
    IbhSeverity worst = IBH_INFO;

    IBH_EACH_POINTER (const IbhFinding, finding, findings) {
        if (!owner || g_str_equal(owner_of(finding), owner))
            worst = MIN(worst, finding->severity);
    }
    return worst;
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

/* ---- the host's line ---- */

static void put_wrong(GString *out, const IbhReport *report, const IbhStyle *style)
{
    g_autoptr(GPtrArray) owners = list_owners(report, style);
    IbhSeverity worst = find_worst(report->findings, NULL);
    const char *command = find_command(report->findings);
    gsize start = out->len;
    guint wrong = 0, nics = 0;

    IBH_EACH_POINTER (const char, owner, owners) {
        gboolean host = g_str_equal(owner, HOST);

        nics += !host;
        wrong += !host && find_worst(report->findings, owner) != IBH_INFO;
    }
    ibh_put(out, style, colors[worst], ibh_severity_name(worst));
    if (wrong)
        ibh_putf(out, style, NULL, ": %u of %u NIC%s wrong; ", wrong, nics, nics == 1 ? "" : "s");
    else
        ibh_putf(out, style, NULL, ": of the whole host; ");
    if (command && out->len - start + strlen("fix: ") + strlen(command) <= WIDTH)
        ibh_putf(out, style, NULL, "fix: %s", command);
    else if (style->verbose)
        ibh_putf(out, style, NULL, "what to do stands with each finding");
    else
        ibh_putf(out, style, NULL, "why, and what to do: ib-hook --check --verbose");
    g_string_append_c(out, '\n');
}

void ibh_put_verdict(GString *out, const IbhReport *report, const IbhStyle *style)
{
    guint rails = ibh_count_rails(report);

    if (!ibh_findings_are_ok(report->findings, NULL)) {
        put_wrong(out, report, style);
        return;
    }
    if (!rails)
        return;
    ibh_put(out, style, IBH_GREEN, "ok");
    ibh_putf(out, style, NULL, ": %u rail%s", rails, rails == 1 ? "" : "s");
    g_string_append_c(out, '\n');
}

/* ---- a line per NIC ---- */

/* Cut at a word, where it would be longer than `width`. */
static void append_cut(GString *line, const char *text, gsize width)
{
    const char *end = text + MIN(strlen(text), width);

    if (strlen(text) <= width) {
        g_string_append(line, text);
        return;
    }
    end -= strlen("...");
    while (end > text && *end != ' ')
        end--;
    while (end > text && strchr(" ,:;(", end[-1]))
        end--;
    g_string_append_len(line, text, end - text);
    g_string_append(line, "...");
}

/* Different codes, the worst first; the message, where there is only one. */
static void append_findings(GString *line, const IbhReport *report, const char *owner, gsize width)
{
    g_autoptr(GPtrArray) codes = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GString) text = g_string_new(NULL);
    const char *message = NULL;

    for (int severity = IBH_ERROR; severity <= IBH_INFO; severity++) {
        IBH_EACH_POINTER (const IbhFinding, finding, report->findings) {
            if ((int)finding->severity != severity || !g_str_equal(owner_of(finding), owner) ||
                (severity == IBH_INFO && codes->len) ||
                g_ptr_array_find_with_equal_func(codes, finding->code, g_str_equal, NULL))
                continue;
            g_ptr_array_add(codes, g_strdup(finding->code));
            message = finding->message;
        }
    }
    IBH_EACH_POINTER (const char, code, codes)
        g_string_append_printf(text, "%s%s", text->len ? ", " : "", code);
    if (codes->len == 1)
        g_string_append_printf(text, ": %s", message);
    append_cut(line, text->str, width);
}

static const IbhNic *find_nic(const IbhReport *report, const char *name)
{
    IBH_EACH_POINTER (const IbhNic, nic, report->rails->nics) {
        if (g_str_equal(nic->link->name, name))
            return nic;
    }
    return NULL;
}

static void append_right(GString *line, const IbhNic *nic, gsize width)
{
    g_autofree char *text = NULL;

    for (guint most = 3; most && (!text || strlen(text) > width); most--) {
        g_autofree char *addresses = ibh_join_addresses(nic, most);

        g_free(text);
        text = g_strdup_printf("%s leaves and arrives by it (table %u)", addresses, nic->table);
    }
    append_cut(line, text, width);
}

static void put_line(GString *out, const IbhReport *report, const IbhStyle *style, const char *owner, int name_width)
{
    const IbhNic *nic = find_nic(report, owner);
    IbhSeverity worst = find_worst(report->findings, owner);
    gboolean ok = nic && worst == IBH_INFO && nic->status == IBH_NIC_RAIL;
    const char *word = ok ? "ok" : ibh_severity_name(worst);
    g_autoptr(GString) text = g_string_new(NULL);
    gsize width = WIDTH - (gsize)name_width - strlen("  warning  ");

    if (ok)
        append_right(text, nic, width);
    else
        append_findings(text, report, owner, width);
    ibh_putf(out, style, NULL, "%-*s  ", name_width, owner);
    ibh_put(out, style, ok ? IBH_GREEN : colors[worst], word);
    ibh_putf(out, style, NULL, "%*s  %s", (int)(strlen("warning") - strlen(word)), "", text->str);
    g_string_append_c(out, '\n');
}

static void put_lines(GString *out, const IbhReport *report, const IbhStyle *style)
{
    g_autoptr(GPtrArray) owners = list_owners(report, style);
    int width = 0;

    IBH_EACH_POINTER (const char, owner, owners)
        width = MAX(width, (int)strlen(owner));
    IBH_EACH_POINTER (const char, owner, owners)
        put_line(out, report, style, owner, width);
}

/* ---- the whole ---- */

/* With --quiet each error and warning whole, as scripts read it. */
static void put_result(GString *out, const IbhReport *report, const IbhStyle *style)
{
    if (!style->quiet) {
        ibh_put_verdict(out, report, style);
        put_lines(out, report, style);
    }
    if (style->verbose && out->len)
        g_string_append_c(out, '\n');
    if (style->verbose || style->quiet)
        ibh_put_findings(out, report, style);
}

char *ibh_text_check(const IbhReport *report, const IbhStyle *style)
{
    GString *out = g_string_new(NULL);

    put_result(out, report, style);
    if (style->verbose) {
        ibh_put_checked(out, report, style);
        ibh_put_reasons(out, report, style, "", TRUE);
    }
    if (!style->quiet && !report->only && !ibh_count_rails(report))
        ibh_put_nothing(out, report, style);
    return g_string_free(out, FALSE);
}
