/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of a report, and the verdict of a rail. */
#include "cli/cli.h"

#include <string.h>

#define APPLY "sudo ib-hook --apply"
#define WIDTH 80
#define NAMES_MAX 3

void ibh_add_row(GPtrArray *rows, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    g_ptr_array_add(rows, g_strdup_vprintf(format, args));
    va_end(args);
}

/* A NIC that is administratively down: a note, and no right rail. */
gboolean ibh_finding_is_down(const IbhFinding *finding)
{
    return g_str_equal(finding->code, "carrier-down");
}

gboolean ibh_report_has_carrier(const IbhReport *report, const IbhNic *nic)
{
    return !ibh_findings_find(report->findings, "carrier-down", nic->link->name, NULL);
}

/* The one command that cures all problems (--apply without a name does what it does with one), or the one cause, or how
 * many NICs. */
static void add_wrong(GPtrArray *rows, const IbhReport *report, const IbhFinding *worst)
{
    g_autoptr(GHashTable) wrong = g_hash_table_new(g_str_hash, g_str_equal); /* NICs */
    g_autoptr(GString) text = g_string_new(NULL);
    const char *command = NULL;
    guint problems = 0, hit, all;

    IBH_EACH_POINTER (const IbhFinding, finding, report->findings) {
        const char *own = finding->fix && g_str_has_prefix(finding->fix, APPLY) ? APPLY : finding->fix;

        if (finding->severity == IBH_INFO)
            continue;
        command = !problems++ || g_strcmp0(command, own) == 0 ? own : NULL;
        IBH_EACH_POINTER (char, iface, finding->ifaces)
            g_hash_table_add(wrong, iface);
    }
    all = hit = g_hash_table_size(wrong);
    IBH_EACH_POINTER (const IbhNic, rail, report->nics[TRUE])
        all += !g_hash_table_contains(wrong, rail->link->name);
    if (hit)
        g_string_append_printf(text, "%u of %u NIC%s wrong; ", hit, all, all == 1 ? "" : "s");
    if (command && text->len + strlen("warning: fix: ") + strlen(command) <= WIDTH)
        g_string_append_printf(text, "fix: %s", command);
    else if (problems == 1)
        g_string_printf(text, "%s%s%s", hit == 1 ? (char *)worst->ifaces->pdata[0] : "", hit == 1 ? ": " : "",
                        worst->message);
    else
        g_string_append(text, "why: ib-hook --check --verbose");
    ibh_add_row(rows, "%s: %s", ibh_severity_name(worst->severity), text->str);
}

static void add_right(GPtrArray *rows, const IbhReport *report)
{
    g_autoptr(GString) text = g_string_new(NULL);
    guint right = 0;

    IBH_EACH_POINTER (const IbhNic, rail, report->nics[TRUE])
        right += ibh_report_has_carrier(report, rail) ? 1 : 0;
    IBH_EACH_POINTER (const IbhFinding, finding, report->findings) {
        g_autofree char *names = ibh_join(finding->ifaces, ",");

        if (ibh_finding_is_down(finding))
            g_string_append_printf(text, "; %s is down", names);
    }
    ibh_add_row(rows, "ok: %u rail%s%s", right, right == 1 ? "" : "s", text->str);
}

/* "ib1, ib3 and 5 more"; the caller frees it. */
static char *name_some(const GPtrArray *names)
{
    GString *text = g_string_new(NULL);
    const guint shown = names->len > NAMES_MAX + 1 ? NAMES_MAX : names->len;

    for (guint i = 0; i < shown; i++)
        g_string_append_printf(text, "%s%s", !i ? "" : i + 1 == names->len ? " and " : ", ", (char *)names->pdata[i]);
    if (shown < names->len)
        g_string_append_printf(text, " and %u more", names->len - shown);
    return g_string_free(text, FALSE);
}

/* No rail stands: what was one, or could be. */
static void add_no_rails(GPtrArray *rows, const IbhReport *report)
{
    g_autoptr(GPtrArray) missing = g_ptr_array_new(), unmanaged = g_ptr_array_new();
    g_autofree char *names = NULL;

    for (guint i = 0; report->missed && i < report->missed->len; i++)
        g_ptr_array_add(missing, g_array_index(report->missed, IbhMissed, i).known.iface);
    IBH_EACH_POINTER (const IbhNic, nic, report->rails->nics) {
        if (nic->status == IBH_NIC_UNMANAGED)
            g_ptr_array_add(unmanaged, (char *)(guintptr)nic->link->name);
    }
    names = name_some(missing->len ? missing : unmanaged);
    if (missing->len)
        ibh_add_row(rows, "no rails: %s %s known and missing: %s", names, missing->len == 1 ? "is" : "are",
                    ibh_missing_text(g_array_index(report->missed, IbhMissed, 0).why));
    else if (unmanaged->len)
        ibh_add_row(rows, "no rails: manage=no switches off %s", names);
    else
        ibh_add_row(rows, "no rails: no two RDMA NICs share a subnet here (ib-hook --show --verbose lists all)");
}

void ibh_add_verdict(GPtrArray *rows, const IbhReport *report)
{
    const IbhFinding *worst = ibh_findings_worst(report->findings, NULL);

    if (worst)
        add_wrong(rows, report, worst);
    else if (report->nics[TRUE]->len)
        add_right(rows, report);
    else
        add_no_rails(rows, report);
}
