/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The report of an action in three languages. Pure: each is written into a string.
 */
#pragma once

#include "check/check.h"
#include "cli/options.h"
#include "fabric/fabric.h"
#include "plan/plan.h"
#include "plan/known.h"

/* What there is to tell; parts that an action does not have are NULL. */
typedef struct {
    IbhAction action;
    const IbhRails *rails;
    const char *const *only;
    const GPtrArray *ops;      /* const IbhOp *: what --plan would do; what --apply and --undo did, and stands */
    const GPtrArray *errors;   /* char *: operations that failed */
    const GPtrArray *findings; /* IbhFinding * */
    const GArray *missed;      /* --check, --show: IbhMissed */
    const IbhFabric *fabric;   /* --check, --show */
    const GPtrArray *held;     /* --undo: char *, the interfaces left alone from now on */
    int confirm;               /* --apply: after so many seconds it is undone, if it is not confirmed; 0: it stays */
    const IbhProbe *probe;     /* --probe: judged */
    int status;                /* of an error, with its message: nothing else counts then */
    const char *message;
    /* set by ibh_report() */
    const IbhStyle *style;
    const GPtrArray *nics[2]; /* const IbhNic *: of those asked about, others and (TRUE) rails */
    gboolean failed;
} IbhReport;

typedef void IbhWriter(GString *out, const IbhReport *report);
IbhWriter ibh_write_text, ibh_write_json, ibh_write_prometheus;

char *ibh_report(const IbhReport *report, IbhWriter *writer, const IbhStyle *style);

/* ---- what the writers share ---- */

gboolean ibh_report_is_ok(const IbhReport *report);
/* As a string of JSON; of printable text, a label of Prometheus, too. */
void ibh_put_quoted(GString *out, const char *text);
GPtrArray *ibh_told_addresses(const IbhNic *nic); /* char * */
int ibh_told_ok(const IbhProbePair *pair);        /* -1: who answered is not known, and nothing else is wrong */
const char *ibh_told_rdma(const IbhProbe *probe, const IbhProbePair *pair); /* NULL: not asked for */

char *ibh_join(const GPtrArray *texts, const char *separator);

/* ---- for people: a list of lines, which end as text without control characters ---- */

/* With tabs it is a row of a table: columns are as wide as their widest cell, and on a terminal the last one is cut. */
G_GNUC_PRINTF(2, 3)
void ibh_add_row(GPtrArray *rows, const char *format, ...);
void ibh_put_rows(GString *out, const GPtrArray *rows, const IbhStyle *style);

void ibh_add_verdict(GPtrArray *rows, const IbhReport *report); /* the host's line */
void ibh_add_probe(GPtrArray *rows, const IbhReport *report);   /* text_probe.c */
