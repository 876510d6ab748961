/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/finding.h"

static void free_finding(gpointer data)
{
    IbhFinding *finding = data;

    g_ptr_array_unref(finding->ifaces);
    g_free(finding->owner);
    g_free(finding->message);
    g_free(finding->fix);
    g_free(finding->advice);
    g_free(finding);
}

GPtrArray *ibh_findings_new(void)
{
    return g_ptr_array_new_with_free_func(free_finding);
}

IbhRemedy ibh_fix(char *command)
{
    return (IbhRemedy){.fix = command};
}

IbhRemedy ibh_advice(const char *format, ...)
{
    IbhRemedy remedy = {0};
    va_list args;

    va_start(args, format);
    remedy.advice = g_strdup_vprintf(format, args);
    va_end(args);
    return remedy;
}

static IbhFinding *new_finding(GPtrArray *findings, const char *code, IbhSeverity severity, const char *iface)
{
    IbhFinding *finding = g_new0(IbhFinding, 1);

    finding->ifaces = g_ptr_array_new_with_free_func(g_free);
    finding->severity = severity;
    finding->code = code;
    ibh_finding_hits(finding, iface);
    g_ptr_array_add(findings, finding);
    return finding;
}

IbhFinding *ibh_finding_add(GPtrArray *findings, const char *iface, IbhSeverity severity, const char *code,
                            IbhRemedy remedy, const char *format, ...)
{
    IbhFinding *finding = new_finding(findings, code, severity, iface);
    va_list args;

    finding->fix = remedy.fix;
    finding->advice = remedy.advice;
    va_start(args, format);
    finding->message = g_strdup_vprintf(format, args);
    va_end(args);
    return finding;
}

void ibh_finding_hits(IbhFinding *finding, const char *iface)
{
    if (!iface[0] || ibh_finding_is_about(finding, iface))
        return;
    if (!finding->ifaces->len)
        g_strlcpy(finding->iface, iface, sizeof finding->iface);
    g_ptr_array_add(finding->ifaces, g_strdup(iface));
}

IbhFinding *ibh_finding_of(GPtrArray *findings, const char *code, const char *owner, const char *iface)
{
    const IbhCode *row = ibh_code(code);
    IbhFinding *finding;

    IBH_EACH_POINTER (IbhFinding, other, findings) {
        if (g_str_equal(other->code, code) && g_strcmp0(other->owner, owner) == 0) {
            ibh_finding_hits(other, iface);
            return other;
        }
    }
    finding = new_finding(findings, code, row->severity, iface);
    finding->owner = g_strdup(owner);
    finding->advice = g_strdup(row->advice);
    return finding;
}

gboolean ibh_finding_is_about(const IbhFinding *finding, const char *iface)
{
    IBH_EACH_POINTER (const char, other, finding->ifaces) {
        if (g_str_equal(other, iface))
            return TRUE;
    }
    return !iface[0] && !finding->ifaces->len;
}

gboolean ibh_findings_have(const GPtrArray *findings, const char *iface, const char *code)
{
    IBH_EACH_POINTER (const IbhFinding, finding, findings) {
        if (g_str_equal(finding->code, code) && ibh_finding_is_about(finding, iface))
            return TRUE;
    }
    return FALSE;
}

gboolean ibh_findings_are_ok(const GPtrArray *findings, const char *iface)
{
    IBH_EACH_POINTER (const IbhFinding, finding, findings) {
        if (finding->severity != IBH_INFO && (!iface || ibh_finding_is_about(finding, iface)))
            return FALSE;
    }
    return TRUE;
}
