/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A finding: the problem, why it matters, and what to do.
 */
#pragma once

#include "model/model.h"

typedef enum { IBH_ERROR, IBH_WARNING, IBH_INFO } IbhSeverity;

const char *ibh_severity_name(IbhSeverity severity);

typedef struct {
    char iface[IFNAMSIZ]; /* "": the host's */
    IbhSeverity severity;
    const char *code; /* stable: monitoring depends on it */
    char *message;
    char *fix;         /* NULL; or a command that cures this problem, can be pasted as it is, and does no other harm */
    char *advice;      /* NULL; or a step for a person */
    gboolean by_apply; /* ib-hook --apply cures it, too */
} IbhFinding;

/* What to do about a finding. */
typedef struct {
    char *fix, *advice;
    gboolean by_apply;
} IbhRemedy;

IbhRemedy ibh_fix(char *command);          /* takes it */
IbhRemedy ibh_fix_by_apply(char *command); /* the same, where --apply does what this command does */
G_GNUC_PRINTF(1, 2)
IbhRemedy ibh_advice(const char *format, ...);

/* A list of IbhFinding *, which it owns. */
GPtrArray *ibh_findings_new(void);
/* Takes what `remedy` holds. */
G_GNUC_PRINTF(6, 7)
void ibh_finding_add(GPtrArray *findings, const char *iface, IbhSeverity severity, const char *code, IbhRemedy remedy,
                     const char *format, ...);

gboolean ibh_findings_have(const GPtrArray *findings, const char *iface, const char *code);
/* FALSE where there is an error or a warning: about one interface, or (NULL) about any. */
gboolean ibh_findings_are_ok(const GPtrArray *findings, const char *iface);
