/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/finding.h"

const char *ibh_severity_name(IbhSeverity severity)
{
    static const char *const names[] = {[IBH_ERROR] = "error", [IBH_WARNING] = "warning", [IBH_INFO] = "info"};

    return names[severity];
}

static void free_finding(gpointer data)
{
    IbhFinding *finding = data;

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

IbhRemedy ibh_fix_by_apply(char *command)
{
    return (IbhRemedy){.fix = command, .by_apply = TRUE};
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

void ibh_finding_add(GPtrArray *findings, const char *iface, IbhSeverity severity, const char *code, IbhRemedy remedy,
                     const char *format, ...)
{
    IbhFinding *finding = g_new0(IbhFinding, 1);
    va_list args;

    g_strlcpy(finding->iface, iface, sizeof finding->iface);
    finding->severity = severity;
    finding->code = code;
    finding->fix = remedy.fix;
    finding->advice = remedy.advice;
    finding->by_apply = remedy.by_apply;
    va_start(args, format);
    finding->message = g_strdup_vprintf(format, args);
    va_end(args);
    g_ptr_array_add(findings, finding);
}

gboolean ibh_findings_have(const GPtrArray *findings, const char *iface, const char *code)
{
    IBH_EACH_POINTER (const IbhFinding, finding, findings) {
        if (g_str_equal(finding->iface, iface) && g_str_equal(finding->code, code))
            return TRUE;
    }
    return FALSE;
}

gboolean ibh_findings_are_ok(const GPtrArray *findings, const char *iface)
{
    IBH_EACH_POINTER (const IbhFinding, finding, findings) {
        if (finding->severity != IBH_INFO && (!iface || g_str_equal(finding->iface, iface)))
            return FALSE;
    }
    return TRUE;
}
