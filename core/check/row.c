/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "check/row.h"

#include <string.h>
#include <sys/socket.h>

void ibh_subject_say(IbhSubject *about, const char *format, ...)
{
    va_list args;

    g_string_append_c(about->words, '\n');
    va_start(args, format);
    g_string_append_vprintf(about->words, format, args);
    va_end(args);
}

/* Returns the value of a word; if the word was set twice, the last value. A word that was not set stays in its braces,
 * so that tests notice the mistake. */
static char *find_word(gconstpointer of, const char *word)
{
    const IbhSubject *about = of;
    g_autofree char *key = g_strdup_printf("\n%s=", word);
    const char *at = g_strrstr(about->words->str, key);

    return at ? g_strndup(at + strlen(key), strcspn(at + strlen(key), "\n")) : g_strdup_printf("{%s}", word);
}

/* Fills in and returns the remedy that the predicate has set or, if the predicate has set none, the remedy of the row.
 * People paste remedies, so in a remedy, unlike in the row's other texts, {iface} is quoted for the shell. */
static IbhRemedy make_remedy(IbhSubject *about, const IbhRow *row)
{
    g_autofree char *iface = ibh_text_shell_word(about->iface), *filled = NULL;

    ibh_subject_say(about, "iface=%s", iface);
    filled = ibh_text_fill_in(about->remedy ? about->remedy : row->remedy, find_word, about);
    if (g_str_has_prefix(filled, "$ "))
        return (IbhRemedy){.fix = g_strdup(filled + strlen("$ "))};
    return (IbhRemedy){.advice = g_steal_pointer(&filled)};
}

/* Returns the finding with this message, or NULL. RDMA findings without an owner are merged if their messages are
 * equal, as when two ports of a card have the same fault. */
static IbhFinding *find_message(const GPtrArray *findings, const char *text)
{
    IBH_EACH_POINTER (IbhFinding, finding, findings) {
        if (g_strcmp0(finding->message, text) == 0)
            return finding;
    }
    return NULL;
}

/* Adds the finding of a row. But if about->finding is set, adds the subject's interfaces to that finding instead. If
 * the row's finding is merged with an earlier one (IbhRow.owner), adds the interfaces to the earlier finding; and if
 * the severity for this subject is worse, the new severity and remedy replace the earlier ones. Returns the finding. */
static IbhFinding *add_row_finding(IbhSubject *about, const IbhRow *row)
{
    char ip[IBH_IP_STRLEN] = "";
    g_autofree char *text = NULL, *owner = NULL, *said = NULL;
    const IbhSeverity severity = about->severity >= 0 ? (IbhSeverity)about->severity : row->severity;
    IbhFinding *finding = about->finding;

    ibh_subject_say(about, "iface=%s\nother=%s\nversion=%c\nip=%s", about->iface,
                    about->other ? about->other->link->name : "", about->family == AF_INET6 ? '6' : '4',
                    about->ip ? ibh_ip_format(about->ip, ip) : "");
    text = ibh_text_fill_in(row->text, find_word, about);
    owner = ibh_text_fill_in(about->owner ? about->owner : row->owner, find_word, about);
    ibh_subject_say(about, "text=%s", text);
    /* Fill in this text, too, before make_remedy() sets {iface} again, quoted for the shell. */
    said = ibh_text_fill_in(row->says, find_word, about);
    if (!finding && owner)
        finding = ibh_findings_find(about->findings, row->code, NULL, owner);
    else if (!finding && about->fabric)
        finding = find_message(about->findings, text);
    if (!finding) {
        finding =
            ibh_finding_add(about->findings, about->iface, severity, row->code, make_remedy(about, row), "%s", text);
        finding->owner = owner && owner[0] ? g_steal_pointer(&owner) : NULL;
    } else if (severity < finding->severity && !about->finding) { /* lower is worse; the worst interface decides */
        finding->severity = severity;
        ibh_finding_set_remedy(finding, make_remedy(about, row));
    }
    ibh_finding_add_iface(finding, about->iface);
    if (about->iface[0] && said && said[0])
        ibh_finding_add_text(finding, about->iface, severity, g_steal_pointer(&said));
    if (about->astray)
        ibh_finding_set_astray(finding, about->iface);
    for (guint i = 0; about->others && i < about->others->len; i++)
        ibh_finding_add_iface(finding, about->others->pdata[i]);
    return finding;
}

IbhFinding *ibh_subject_ask(IbhSubject *about, int scope)
{
    const gsize before = about->words->len;
    IbhFinding *finding = NULL;

    for (const IbhRow *row = about->rows; row->code; row++) {
        if (row->scope != scope)
            continue;
        about->severity = -1;
        about->remedy = about->owner = NULL;
        about->astray = FALSE;
        if (!row->is_so || row->is_so(about))
            finding = add_row_finding(about, row);
        g_string_truncate(about->words, before);
    }
    return finding;
}
