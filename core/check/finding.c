/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/finding.h"

#include "model/model.h"

#include <string.h>

static const IbhCode codes[] = {
    {"rule-missing", IBH_ERROR, NULL},
    {"route-missing", IBH_ERROR, NULL},
    {"stale", IBH_WARNING, NULL},
    {"sysctl-wrong", IBH_WARNING, NULL},
    {"held", IBH_WARNING, NULL},
    {"table-clash", IBH_WARNING,
     "find the program that writes into this table, or give the rail another one: table= in the configuration"},
    {"local-rule-late", IBH_ERROR,
     "restore the rule: sudo ip rule add priority 0 lookup local (IPv6: sudo ip -6 rule ...); if a VRF set-up needs it "
     "elsewhere, ib-hook cannot help"},
    {"duplicate-address", IBH_ERROR, "take the address from one of the two"},
    {"address-unusable", IBH_ERROR, NULL},
    {"foreign-rule", IBH_ERROR,
     "find the program that made the rule; it leaves the rails alone if its priority is above 32766, or if no packet "
     "of a rail matches its selectors"},
    {"foreign-route", IBH_ERROR, "find the program that made the route, and let it leave the rails' subnet alone"},
    {"effective-sysctl", IBH_ERROR, NULL},
    {"foreign-nic-answers", IBH_INFO,
     "sudo ib-hook --probe PEER shows which NIC answers; with arp_ignore=1, this NIC answers only for its own "
     "addresses, and peers lose this host's other addresses that no other NIC answers for"},
    {"gateway-missing", IBH_WARNING,
     "set gateway= in the configuration to a gateway that the rail can reach, or add a default route through the rail "
     "to the main table"},
    {"unbound", IBH_WARNING,
     "restore what is missing: the main table's route to the rails' subnet, or the rule 32766: from all lookup main"},
    {"address-silent", IBH_WARNING,
     "give the address to a rail, or write arp=keep for the rails into the configuration and run sudo ib-hook --apply"},
    {"prefix-differs", IBH_WARNING, NULL},
    {"arp-off", IBH_WARNING, NULL},
    {"proxy-arp", IBH_WARNING, NULL},
    {"neighbour-static", IBH_WARNING, NULL},
    {"duplicate-mac", IBH_WARNING, "give one of the two a hardware address of its own"},
    {"link-group", IBH_ERROR, NULL},
    {"router-mtu", IBH_WARNING, NULL},
    {"not-known", IBH_WARNING, "\"ip rule\" and \"ip route get\" show what the kernel does"},
    {"port-not-active", IBH_ERROR, NULL},
    {"carrier-down", IBH_ERROR,
     "look at the cable, the transceiver, the switch's port and, on InfiniBand, the subnet manager"},
    {"nic-gone", IBH_ERROR, NULL},
    {"no-address", IBH_WARNING, NULL},
    {"sm-missing", IBH_ERROR, NULL},
    {"module-missing", IBH_ERROR, NULL},
    {"gid-missing", IBH_ERROR, NULL},
    {"mode-mtu", IBH_WARNING, NULL},
    {"pkey-unknown", IBH_ERROR, NULL},
    {"pkey-differs", IBH_WARNING, NULL},
    {"pkey-limited", IBH_INFO, NULL},
    {"port-degraded", IBH_WARNING, NULL},
    {"port-errors", IBH_WARNING, NULL},
    {"subnet-prefix-differs", IBH_WARNING, NULL},
    {"sm-differs", IBH_WARNING, NULL},
    {"guid-duplicate", IBH_ERROR, NULL},
    {"memlock-low", IBH_INFO, NULL},
    {"hook-inactive", IBH_WARNING,
     "restore the hook's symbolic link (reinstall the package); under SELinux, install ib-hook-selinux and run "
     "restorecon"},
    {"manager-removes-foreign", IBH_WARNING, NULL},
    {"legacy-script", IBH_INFO, "look at the script, then delete the lines that route these NICs: ib-hook does that"},
    {"not-engaged", IBH_WARNING,
     "ib-hook --show says why each NIC is, or is not, a rail; manage=yes makes a NIC a rail"},
    {"rails-missing", IBH_ERROR,
     "see which card, cable, driver or address is missing; if that is right, set rails= to the number of rails"},
    {"section-unmatched", IBH_INFO, NULL},
    {"not-in-force", IBH_INFO, NULL},
    {"table-moved", IBH_INFO, "if programs need a fixed number, set table= in the configuration"},
};

const char *ibh_severity_name(IbhSeverity severity)
{
    static const char *const names[] = {[IBH_ERROR] = "error", [IBH_WARNING] = "warning", [IBH_INFO] = "info"};

    return names[severity];
}

const IbhCode *ibh_code_find(const char *code)
{
    IBH_EACH_ROW (const IbhCode, row, codes) {
        if (g_str_equal(row->code, code))
            return row;
    }
    return NULL;
}

/* ---- findings ---- */

static void free_finding(gpointer data)
{
    IbhFinding *finding = data;

    g_ptr_array_unref(finding->ifaces);
    g_ptr_array_unref(finding->says);
    g_ptr_array_unref(finding->astray);
    g_ptr_array_unref(finding->spared);
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

IbhRemedy ibh_remedy_advice(const char *format, ...)
{
    IbhRemedy remedy = {0};
    va_list args;

    va_start(args, format);
    remedy.advice = g_strdup_vprintf(format, args);
    va_end(args);
    return remedy;
}

IbhRemedy ibh_remedy_fix(const char *command, const char *word, ...)
{
    g_autofree char *plain = NULL, *quoted = NULL;
    va_list args;

    va_start(args, word);
    plain = g_strdup_vprintf(word, args);
    va_end(args);
    quoted = ibh_text_shell_word(plain);
    return (IbhRemedy){.fix = g_strdup_printf("%s %s", command, quoted)};
}

char *ibh_text_fill_in(const char *text, IbhValueOf *value_of, gconstpointer of)
{
    g_auto(GStrv) parts = g_strsplit_set(text ? text : "", "{}", -1);

    for (guint i = 1; parts[0] && parts[i]; i += 2) {
        char *value = value_of(of, parts[i]);

        g_free(parts[i]);
        parts[i] = value ? value : g_strdup("");
    }
    return text ? g_strjoinv("", parts) : NULL;
}

char *ibh_command_with_sudo(char *command)
{
    g_autofree char *plain = command, *quoted = NULL, *all = NULL;
    g_auto(GStrv) commands = NULL;

    if (!plain || g_str_has_prefix(plain, "sudo "))
        return g_steal_pointer(&plain);
    if (strchr(plain, '>')) { /* the shell that writes has to be root's */
        quoted = ibh_text_shell_word(plain);
        return g_strconcat("sudo sh -c ", quoted, NULL);
    }
    commands = g_strsplit(plain, "; ", -1);
    all = g_strjoinv("; sudo ", commands);
    return g_strconcat("sudo ", all, NULL);
}

IbhFinding *ibh_finding_add(GPtrArray *findings, const char *iface, IbhSeverity severity, const char *code,
                            IbhRemedy remedy, const char *format, ...)
{
    IbhFinding *finding = g_new0(IbhFinding, 1);
    va_list args;

    finding->ifaces = g_ptr_array_new_with_free_func(g_free);
    finding->says = g_ptr_array_new_with_free_func(g_free);
    finding->astray = g_ptr_array_new_with_free_func(g_free);
    finding->spared = g_ptr_array_new_with_free_func(g_free);
    finding->severity = severity;
    finding->code = code;
    finding->fix = ibh_command_with_sudo(remedy.fix);
    finding->advice = remedy.advice;
    va_start(args, format);
    finding->message = g_strdup_vprintf(format, args);
    va_end(args);
    ibh_finding_hits(finding, iface);
    g_ptr_array_add(findings, finding);
    return finding;
}

void ibh_finding_cure(IbhFinding *finding, IbhRemedy remedy)
{
    if (!remedy.fix && !remedy.advice)
        return;
    g_free(finding->fix);
    g_free(finding->advice);
    finding->fix = ibh_command_with_sudo(remedy.fix);
    finding->advice = remedy.advice;
}

void ibh_finding_hits(IbhFinding *finding, const char *iface)
{
    if (iface[0] && !ibh_finding_is_about(finding, iface))
        g_ptr_array_add(finding->ifaces, g_strdup(iface));
    g_ptr_array_set_size(finding->says, (gint)finding->ifaces->len);
}

static char **find_said(const IbhFinding *finding, const char *iface)
{
    guint place;

    return g_ptr_array_find_with_equal_func(finding->ifaces, iface, g_str_equal, &place)
               ? (char **)&finding->says->pdata[place]
               : NULL;
}

void ibh_finding_says(IbhFinding *finding, const char *iface, char *text)
{
    char **said;

    ibh_finding_hits(finding, iface);
    said = find_said(finding, iface);
    if (said && !*said)
        *said = g_steal_pointer(&text);
    g_free(text);
}

void ibh_finding_leads_astray(IbhFinding *finding, const char *iface)
{
    if (!g_ptr_array_find_with_equal_func(finding->astray, iface, g_str_equal, NULL))
        g_ptr_array_add(finding->astray, g_strdup(iface));
}

void ibh_finding_spares(IbhFinding *finding, const char *iface)
{
    g_ptr_array_add(finding->spared, g_strdup(iface));
}

IbhSeverity ibh_finding_weight(const IbhFinding *finding, const char *iface)
{
    return g_ptr_array_find_with_equal_func(finding->spared, iface, g_str_equal, NULL)
               ? MAX(finding->severity, IBH_WARNING)
               : finding->severity;
}

const char *ibh_finding_said(const IbhFinding *finding, const char *iface)
{
    char *const *said = find_said(finding, iface);

    return said ? *said : NULL;
}

gboolean ibh_finding_is_about(const IbhFinding *finding, const char *iface)
{
    return iface[0] ? g_ptr_array_find_with_equal_func(finding->ifaces, iface, g_str_equal, NULL)
                    : !finding->ifaces->len;
}

IbhFinding *ibh_findings_find(const GPtrArray *findings, const char *code, const char *iface, const char *owner)
{
    IBH_EACH_POINTER (IbhFinding, finding, findings) {
        if (g_str_equal(finding->code, code) && (!iface || ibh_finding_is_about(finding, iface)) &&
            (!owner || g_str_equal(finding->owner ? finding->owner : "", owner)))
            return finding;
    }
    return NULL;
}

const IbhFinding *ibh_findings_worst(const GPtrArray *findings, const char *iface)
{
    const IbhFinding *worst = NULL;

    IBH_EACH_POINTER (const IbhFinding, finding, findings) {
        if (finding->severity < (worst ? worst->severity : IBH_INFO) &&
            (!iface || ibh_finding_is_about(finding, iface)))
            worst = finding;
    }
    return worst;
}
