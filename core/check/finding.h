/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A finding: the problem, why it matters, and what to do. Its code is a row of one table: monitoring depends on the
 * codes, and on nothing else of a finding.
 */
#pragma once

#include "model/operation.h"

typedef enum { IBH_ERROR, IBH_WARNING, IBH_INFO } IbhSeverity; /* the worst first */

const char *ibh_severity_name(IbhSeverity severity);

typedef struct {
    GPtrArray *ifaces; /* char *: all that it hits; empty: the host's */
    GPtrArray *says;   /* char *: what it says of each of them, "CONSEQUENCE: CAUSE"; NULL: the message does */
    GPtrArray *astray; /* char *: those whose packets leave through another NIC */
    GPtrArray *spared; /* char *: those whose packets go as they should all the same */
    IbhSeverity severity;
    const char *code; /* stable: monitoring depends on it */
    char *owner;      /* the rule, route, sysctl, port or peer that is the cause, in words; NULL: its NIC itself */
    char *message;
    char *fix;    /* NULL; or a command that cures this problem, can be pasted as it is, and does no other harm */
    char *advice; /* NULL; or a step for a person */
} IbhFinding;

/* What to do about a finding. */
typedef struct {
    char *fix, *advice;
} IbhRemedy;

G_GNUC_PRINTF(1, 2)
IbhRemedy ibh_remedy_advice(const char *format, ...);

/* "{port} is {state}": a text with words in braces. `value_of` says what stands for a word; the caller frees it. */
typedef char *IbhValueOf(gconstpointer of, const char *word);
char *ibh_text_fill_in(const char *text, IbhValueOf *value_of, gconstpointer of); /* NULL: NULL */

/* A person who asks is not root. NULL: NULL. It frees what it takes. */
char *ibh_command_with_sudo(char *command);

/* A list of IbhFinding *, which it owns. */
GPtrArray *ibh_findings_new(void);
/* Takes what `remedy` holds. The finding belongs to the list. */
G_GNUC_PRINTF(6, 7)
IbhFinding *ibh_finding_add(GPtrArray *findings, const char *iface, IbhSeverity severity, const char *code,
                            IbhRemedy remedy, const char *format, ...);

/* In the place of its remedy, which stays where there is none. */
void ibh_finding_set_remedy(IbhFinding *finding, IbhRemedy remedy);
void ibh_finding_add_iface(IbhFinding *finding, const char *iface); /* once each */
/* Hits it, and takes what it says of it, unless it has said something before. */
void ibh_finding_add_text(IbhFinding *finding, const char *iface, char *text);
void ibh_finding_set_astray(IbhFinding *finding, const char *iface); /* which it hits */
void ibh_finding_set_spared(IbhFinding *finding, const char *iface); /* which it hits */
/* How bad it is for this one. */
IbhSeverity ibh_finding_severity_for(const IbhFinding *finding, const char *iface);
const char *ibh_finding_text(const IbhFinding *finding, const char *iface); /* NULL: nothing of its own */
gboolean ibh_finding_is_about(const IbhFinding *finding, const char *iface);

/* Of this code, that hits this interface ("": the host), of this owner ("": none); NULL for these: any. */
IbhFinding *ibh_findings_find(const GPtrArray *findings, const char *code, const char *iface, const char *owner);
/* The worst problem of one interface, or (NULL) of all; NULL: none, notes at most. */
const IbhFinding *ibh_findings_worst(const GPtrArray *findings, const char *iface);
