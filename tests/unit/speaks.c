/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "speaks.h"

#include "check/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

/* What follows one of these is why it matters. */
static gboolean has_consequence(const char *message)
{
    static const char *const leads[] = {": ", ", so ", ", which ", ", and ", "; "};

    for (guint i = 0; i < G_N_ELEMENTS(leads); i++) {
        if (strstr(message, leads[i]))
            return TRUE;
    }
    return FALSE;
}

/* Host-wide, or of peers: it has no interface, and names what it is about instead. */
static gboolean has_place(const IbhFinding *finding)
{
    static const char *const elsewhere[] = {"module-missing", "memlock-low",           "peer-down",
                                            "path-mtu",       "rdma-unreachable",      "no-source",
                                            "separate-wires", "neighbour-table-small", "port-not-active",
                                            "sm-missing",     "port-degraded",         "port-errors",
                                            "guid-duplicate", "gid-missing",           NULL};

    /* What main=spread has, and what is left of a NIC that is gone, names its table. */
    return finding->ifaces->len || finding->owner || g_strv_contains(elsewhere, finding->code) ||
           strstr(finding->message, "table ") || strstr(finding->message, "lookup ");
}

/* A command that changes something begins like this; people know the main table by its name. */
static gboolean can_be_pasted(const char *text)
{
    static const char *const wrong[] = {
        "(?<!sudo )(ip (-[46] )?(link set|address (add|del)|rule (add|del)|route (add|del|replace)))",
        "(?<!sudo )(sysctl -w|ib-hook --(apply|undo)|modprobe |ip (-[46] )?neigh (del|flush)|ip (-[46] )?route flush)",
        "(lookup|table) 254\\b"};

    for (guint i = 0; text && !strstr(text, "sudo sh -c ") && i < G_N_ELEMENTS(wrong); i++) {
        if (g_regex_match_simple(wrong[i], text, G_REGEX_RAW, 0))
            return FALSE;
    }
    return TRUE;
}

/* A fix is pasted as it is: it has no remarks. */
static gboolean has_remedy(const IbhFinding *finding)
{
    const char *fix = finding->fix, *advice = finding->advice;

    return (fix || advice) && can_be_pasted(fix) && can_be_pasted(advice) && (!fix || (*fix && !strpbrk(fix, "\n#"))) &&
           (!advice || (*advice && !strchr(advice, '\n')));
}

/* What was written by hand may have braces; a text of ours keeps those of a word that its predicate did not say. */
static gboolean has_all_words(const IbhFinding *finding)
{
    if (strstr(finding->message, "(null)")) /* as glibc prints a text that is none */
        return FALSE;
    return g_str_equal(finding->code, "legacy-script") ||
           !(strchr(finding->message, '{') || strchr(remedy_of(finding), '{') ||
             (finding->owner && strchr(finding->owner, '{')));
}

const char *first_iface(const IbhFinding *finding)
{
    return finding->ifaces->len ? g_ptr_array_index(finding->ifaces, 0) : "";
}

const char *remedy_of(const IbhFinding *finding)
{
    return finding->fix ? finding->fix : finding->advice;
}

void assert_findings_speak(const GPtrArray *findings)
{
    for (guint i = 0; i < findings->len; i++) {
        const IbhFinding *finding = g_ptr_array_index(findings, i);

        if (strchr(finding->message, '\n') || !has_remedy(finding) || !has_consequence(finding->message) ||
            !has_place(finding) || !has_all_words(finding))
            fail_msg("%s says too little: iface \"%s\", message \"%s\", fix \"%s\", advice \"%s\"", finding->code,
                     first_iface(finding), finding->message, finding->fix ? finding->fix : "(none)",
                     finding->advice ? finding->advice : "(none)");
    }
}

void check_report_file(const char *name, const char *got)
{
    g_autofree char *file = g_strdup_printf(IBH_TESTS "/unit/report/%s", name), *expected = NULL;

    if (g_getenv("IBH_WRITE"))
        g_file_set_contents(file, got, -1, NULL);
    if (!g_file_get_contents(file, &expected, NULL, NULL) || !g_str_equal(got, expected))
        fail_msg("%s: expected:\n%s\ngot:\n%s", file, expected ? expected : "(no such file)", got);
}
