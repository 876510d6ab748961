/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/finding.h"

#include "model/model.h"

#include <string.h>

const char *ibh_severity_name(IbhSeverity severity)
{
    static const char *const names[] = {[IBH_ERROR] = "error", [IBH_WARNING] = "warning", [IBH_INFO] = "info"};

    return names[severity];
}

/* ---- findings ---- */

static void free_finding(gpointer data)
{
    IbhFinding *finding = data;

    g_ptr_array_unref(finding->ifaces);
    g_ptr_array_unref(finding->says);
    g_ptr_array_unref(finding->astray);
    g_array_unref(finding->limits);
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

char *ibh_text_fill_in(const char *text, IbhValueOf *value_of, gconstpointer of)
{
    g_auto(GStrv) parts = g_strsplit_set(text ? text : "", "{}", -1);

    /* Every second part was in braces. As braces come in pairs, a text that is not empty has an odd number of parts: so
     * `i`, which is odd, meets the NULL behind the last part. An empty text has no parts. */
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

    /* If the text begins with sudo, each of its commands has sudo already (ibh_owner_deletion()). */
    if (!plain || g_str_has_prefix(plain, "sudo "))
        return g_steal_pointer(&plain);
    if (strchr(plain, '>')) { /* a redirection: root's shell has to open the file */
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
    finding->limits = IBH_NEW_ARRAY(IbhSeverity);
    finding->severity = severity;
    finding->code = code;
    finding->fix = ibh_command_with_sudo(remedy.fix);
    finding->advice = remedy.advice;
    va_start(args, format);
    finding->message = g_strdup_vprintf(format, args);
    va_end(args);
    ibh_finding_add_iface(finding, iface);
    g_ptr_array_add(findings, finding);
    return finding;
}

void ibh_finding_set_remedy(IbhFinding *finding, IbhRemedy remedy)
{
    if (!remedy.fix && !remedy.advice)
        return;
    g_free(finding->fix);
    g_free(finding->advice);
    finding->fix = ibh_command_with_sudo(remedy.fix);
    finding->advice = remedy.advice;
}

void ibh_finding_add_iface(IbhFinding *finding, const char *iface)
{
    if (iface[0] && !ibh_finding_is_about(finding, iface))
        g_ptr_array_add(finding->ifaces, g_strdup(iface));
    /* A new interface has no text (NULL) and no limit (IBH_ERROR, which is 0) yet. */
    g_ptr_array_set_size(finding->says, (gint)finding->ifaces->len);
    g_array_set_size(finding->limits, finding->ifaces->len);
}

static gboolean find_place(const IbhFinding *finding, const char *iface, guint *ret_place)
{
    return g_ptr_array_find_with_equal_func(finding->ifaces, iface, g_str_equal, ret_place);
}

void ibh_finding_add_text(IbhFinding *finding, const char *iface, IbhSeverity severity, char *text)
{
    guint place;

    ibh_finding_add_iface(finding, iface);
    if (find_place(finding, iface, &place) && !finding->says->pdata[place]) {
        finding->says->pdata[place] = g_steal_pointer(&text);
        g_array_index(finding->limits, IbhSeverity, place) = severity;
    }
    g_free(text);
}

void ibh_finding_set_astray(IbhFinding *finding, const char *iface)
{
    if (!ibh_names_have(finding->astray, iface))
        g_ptr_array_add(finding->astray, g_strdup(iface));
}

IbhSeverity ibh_finding_severity_for(const IbhFinding *finding, const char *iface)
{
    guint place;

    /* A higher number is less severe (IbhSeverity). */
    return find_place(finding, iface, &place)
               ? MAX(finding->severity, g_array_index(finding->limits, IbhSeverity, place))
               : finding->severity;
}

const char *ibh_finding_text(const IbhFinding *finding, const char *iface)
{
    guint place;

    return find_place(finding, iface, &place) ? finding->says->pdata[place] : NULL;
}

gboolean ibh_finding_is_about(const IbhFinding *finding, const char *iface)
{
    return iface[0] ? ibh_names_have(finding->ifaces, iface) : !finding->ifaces->len;
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
    IbhSeverity worst_severity = IBH_INFO;

    IBH_EACH_POINTER (const IbhFinding, finding, findings) {
        const IbhSeverity severity = iface ? ibh_finding_severity_for(finding, iface) : finding->severity;

        if (severity < worst_severity && (!iface || ibh_finding_is_about(finding, iface))) {
            worst = finding;
            worst_severity = severity;
        }
    }
    return worst;
}
