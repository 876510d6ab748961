/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A finding says what is wrong, why it matters, and what to do. Its code stands in a row of check/rows.c, fabric/rows.c
 * or probe/causes.c, or in the function that adds the finding. Monitoring depends on code, severity and interfaces, and
 * not on the texts.
 */
#pragma once

#include "model/operation.h"

typedef enum { IBH_ERROR, IBH_WARNING, IBH_INFO } IbhSeverity; /* the worst first */

const char *ibh_severity_name(IbhSeverity severity);

typedef struct {
    GPtrArray *ifaces; /* char *: the interfaces that the finding is about; empty: it is about the host */
    GPtrArray *says;   /* char *: a text for each element of `ifaces`; NULL: the interface has none, and `message` is
                          used. A text is "CONSEQUENCE: CAUSE", or one of the two alone. With severity info, the
                          text may instead be an exception to what the report says of the interface: "but 172.16.34.0/26
                          through eth0: CAUSE" */
    GPtrArray *astray; /* char *: those of `ifaces` whose packets leave through another NIC */
    GArray *limits;    /* IbhSeverity: a limit for each element of `ifaces`: for this interface, the finding counts as
                          no worse than the limit (IBH_ERROR: no limit) */
    IbhSeverity severity; /* for the worst interface */
    const char *code;     /* never changes between versions */
    char *owner; /* what is to blame, in words, such as a rule, a route, a sysctl or a peer; NULL: the NIC or the host
                    itself. --check merges findings with the same code and owner; IbhRow.owner says when it merges
                    those with NULL */
    char *message;
    char *fix;    /* a command that solves this problem, can be pasted as it is, and does no harm; NULL: none */
    char *advice; /* a step for a person; NULL: none */
} IbhFinding;

/* What to do about a finding: see IbhFinding. `fix` may still lack sudo, which the functions below add. A remedy is
 * empty if both members are NULL. */
typedef struct {
    char *fix, *advice;
} IbhRemedy;

G_GNUC_PRINTF(1, 2)
IbhRemedy ibh_remedy_advice(const char *format, ...);

/* Returns the value of a word; the caller frees the value. */
typedef char *IbhValueOf(gconstpointer of, const char *word);
/* Returns a copy of `text`, such as "{port} is {state}", with each word in braces replaced by its value (a NULL value
 * by ""). The caller frees the copy. NULL if `text` is NULL. `of` is passed to `value_of`. */
char *ibh_text_fill_in(const char *text, IbhValueOf *value_of, gconstpointer of);

/* Returns the command (or several: "A; B") with sudo where necessary, so that a person can paste the text; NULL if
 * `command` is NULL. Frees `command`. */
char *ibh_command_with_sudo(char *command);

/* Returns an empty list of IbhFinding *. The list owns its findings. */
GPtrArray *ibh_findings_new(void);
/* Adds a finding about an interface ("": the host) and returns the finding, which the list owns. Takes over the strings
 * of `remedy`. `code` is not copied. */
G_GNUC_PRINTF(6, 7)
IbhFinding *ibh_finding_add(GPtrArray *findings, const char *iface, IbhSeverity severity, const char *code,
                            IbhRemedy remedy, const char *format, ...);

/* Replaces the remedy, unless the new remedy is empty. Takes over the strings of the new remedy. */
void ibh_finding_set_remedy(IbhFinding *finding, IbhRemedy remedy);
/* Adds the interface to `ifaces`, unless it is "" or is there already. */
void ibh_finding_add_iface(IbhFinding *finding, const char *iface);
/* Adds the interface. If the interface has no text yet, gives it this text, and sets its limit to `severity`. Takes
 * over the text in any case. */
void ibh_finding_add_text(IbhFinding *finding, const char *iface, IbhSeverity severity, char *text);
/* Notes that packets of this interface, which is in `ifaces`, leave through another NIC. */
void ibh_finding_set_astray(IbhFinding *finding, const char *iface);
/* Returns the finding's severity, or the interface's limit if the limit is less severe. */
IbhSeverity ibh_finding_severity_for(const IbhFinding *finding, const char *iface);
const char *ibh_finding_text(const IbhFinding *finding, const char *iface);  /* NULL if it has none */
gboolean ibh_finding_is_about(const IbhFinding *finding, const char *iface); /* "": the host */

/* Returns the first finding with this code, about this interface ("": the host; NULL: any), with this owner ("": none;
 * NULL: any), or NULL. */
IbhFinding *ibh_findings_find(const GPtrArray *findings, const char *code, const char *iface, const char *owner);
/* Returns the worst finding about this interface ("": the host), judged by ibh_finding_severity_for(). If `iface` is
 * NULL, returns the worst of all findings. Findings of severity info do not count; NULL if there are no others. */
const IbhFinding *ibh_findings_worst(const GPtrArray *findings, const char *iface);
