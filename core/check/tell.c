/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A finding of a NIC, in words. */
#include "check/check.h"

const char *ibh_check_link_name(const IbhCheck *check, int ifindex)
{
    const IbhLink *link = ibh_snapshot_link(check->rails->snapshot, ifindex);

    return link ? link->name : "no interface";
}

IbhFinding *ibh_check_tell(const IbhCheck *check, const IbhNic *nic, const char *code, const char *owner,
                           IbhRemedy remedy, const char *format, ...)
{
    IbhFinding *finding = owner ? ibh_findings_find(check->findings, code, NULL, owner) : NULL;
    const char *iface = nic ? nic->link->name : "";
    const IbhCode *row = ibh_code_find(code);
    g_autofree char *message = NULL;
    va_list args;

    if (finding) {
        ibh_finding_hits(finding, iface);
        g_free(remedy.fix);
        g_free(remedy.advice);
        return finding;
    }
    va_start(args, format);
    message = g_strdup_vprintf(format, args);
    va_end(args);
    if (!remedy.fix && !remedy.advice)
        remedy.advice = g_strdup(row->advice);
    finding = ibh_finding_add(check->findings, iface, row->severity, row->code, remedy, "%s", message);
    finding->owner = owner && owner[0] ? g_strdup(owner) : NULL;
    return finding;
}
