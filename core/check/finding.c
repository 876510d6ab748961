/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/finding.h"

#include "model/text.h"

static const IbhCode codes[] = {
    {"rule-missing", IBH_ERROR, "rules, routes or values of ib-hook's are missing or wrong", NULL},
    {"route-missing", IBH_ERROR, "routes of ib-hook's are missing", NULL},
    {"stale", IBH_WARNING, "rules or routes of ib-hook's are left over", NULL},
    {"sysctl-wrong", IBH_WARNING, "a NIC's ARP values are not those that its rail needs", NULL},
    {"held", IBH_WARNING, "--undo left the NIC alone", NULL},
    {"table-clash", IBH_WARNING, "another program's route stands in a rail's table",
     "find the program that writes into this table, or give the rail another one: table= in the configuration"},
    {"local-rule-late", IBH_ERROR, "table local is asked after the rails' rules, so they are not programmed",
     "let table local be asked first, at priority 0, as on every other host: VRF set-ups move its rule"},
    {"duplicate-address", IBH_ERROR, "two NICs have one address", "take the address from one of the two"},
    {"address-unusable", IBH_ERROR, "nothing is sent from an address, or accepted for it", NULL},
    {"foreign-rule", IBH_ERROR, "another program's rule leads a rail's traffic elsewhere",
     "find the program that made the rule; a priority above 32766 leaves the rails alone, so does a selector that no "
     "packet of a rail has"},
    {"foreign-route", IBH_ERROR, "another program's route leads a rail's traffic elsewhere",
     "find the program that made the route, and let it leave the rails' subnet alone"},
    {"effective-sysctl", IBH_ERROR, "a value that applies to all NICs breaks a rail", NULL},
    {"foreign-nic-answers", IBH_INFO, "a NIC that is no rail may answer ARP for a rail's address", NULL},
    {"gateway-missing", IBH_WARNING, "a rail has no gateway where it needs one",
     "name one that it has: gateway= in the configuration, or a default route in main"},
    {"unbound", IBH_WARNING, "traffic without a source address does not reach the rails' subnet", NULL},
    {"prefix-differs", IBH_WARNING, "rails of one subnet have different prefix lengths",
     "give both the prefix that the subnet really has, where their network manager is configured"},
    {"arp-off", IBH_WARNING, "a rail asks for no hardware address", NULL},
    {"proxy-arp", IBH_WARNING, "a NIC answers ARP for other hosts", NULL},
    {"neighbour-static", IBH_WARNING, "a permanent neighbour is wrong", NULL},
    {"duplicate-mac", IBH_WARNING, "two NICs have one hardware address",
     "give one of the two a hardware address of its own"},
    {"not-known", IBH_WARNING, "the kernel does not route as its rules and routes say",
     "\"ip rule\" and \"ip route get\" show what the kernel does"},
    {"port-not-active", IBH_ERROR, "the RDMA port is not active", NULL},
    {"carrier-down", IBH_ERROR, "the link is down, or has no carrier", NULL},
    {"nic-gone", IBH_ERROR, "a NIC that was a rail is gone", NULL},
    {"no-address", IBH_WARNING, "a NIC that was a rail has no address", NULL},
    {"sm-missing", IBH_ERROR, "no subnet manager answers", NULL},
    {"module-missing", IBH_ERROR, "a kernel module is missing", NULL},
    {"gid-missing", IBH_ERROR, "a port has no GID for the rail's address", NULL},
    {"mode-mtu", IBH_WARNING, "mode or MTU differ between rails", NULL},
    {"pkey-unknown", IBH_ERROR, "the P_Key is not in the port's table", NULL},
    {"pkey-differs", IBH_WARNING, "rails of one subnet have different P_Keys", NULL},
    {"pkey-limited", IBH_INFO, "the port is a limited member of its partition", NULL},
    {"port-degraded", IBH_WARNING, "the port is slower than it could be", NULL},
    {"port-errors", IBH_WARNING, "the port's error counters grow", NULL},
    {"subnet-prefix-differs", IBH_WARNING, "ports of one subnet have different subnet prefixes", NULL},
    {"sm-differs", IBH_WARNING, "ports of one subnet have different subnet managers", NULL},
    {"guid-duplicate", IBH_ERROR, "two ports have one GUID", NULL},
    {"memlock-low", IBH_INFO, "programs may lock little memory", NULL},
    {"hook-inactive", IBH_WARNING, "ib-hook misses events of a manager",
     "put the link back (reinstalling the package makes it), under SELinux install ib-hook-selinux and run restorecon; "
     "or let ib-hook-watch.service run"},
    {"manager-removes-foreign", IBH_WARNING, "a manager removes the routes of ib-hook", NULL},
    {"legacy-script", IBH_WARNING, "a script routes the same NICs",
     "look at it first; what it does for these NICs is not needed: take that out"},
    {"not-engaged", IBH_WARNING, "a NIC that was asked about is no rail",
     "ib-hook --show says why of all NICs; manage=yes makes one a rail"},
    {"table-moved", IBH_INFO, "a rail's table has another number", "table= promises a number, where one is needed"},
};

const char *ibh_severity_name(IbhSeverity severity)
{
    static const char *const names[] = {[IBH_ERROR] = "error", [IBH_WARNING] = "warning", [IBH_INFO] = "info"};

    return names[severity];
}

const IbhCode *ibh_code(const char *code)
{
    IBH_EACH_ROW (const IbhCode, row, codes) {
        if (g_str_equal(row->code, code))
            return row;
    }
    return NULL;
}

const IbhCode *ibh_codes(guint *ret_count)
{
    *ret_count = G_N_ELEMENTS(codes);
    return codes;
}

/* ---- findings ---- */

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

IbhRemedy ibh_fix_sysctl(const char *iface, IbhSysctl key, int value)
{
    IbhOp op = {.type = IBH_OP_SYSCTL_SET, .key = key, .to = value};

    g_strlcpy(op.iface, iface, sizeof op.iface);
    return ibh_fix(ibh_op_command(&op));
}

IbhRemedy ibh_fix_setting(const char *format, ...)
{
    g_autofree char *setting = NULL, *word = NULL;
    va_list args;

    va_start(args, format);
    setting = g_strdup_vprintf(format, args);
    va_end(args);
    word = ibh_shell_word(setting);
    return ibh_fix(g_strdup_printf("sysctl -w %s", word));
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
