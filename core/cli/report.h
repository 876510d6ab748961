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

/* ---- for people: coloured words, and tables of them; control characters are removed ---- */

typedef enum { IBH_PLAIN = 1, IBH_BOLD, IBH_RED, IBH_GREEN, IBH_YELLOW } IbhColor;

/* A format that ends in "\n" ends a line. */
G_GNUC_PRINTF(4, 5)
void ibh_put(GString *out, const IbhReport *report, IbhColor color, const char *format, ...);

/* A row of a table, a list of char *: its cells, with tabs between them. */
G_GNUC_PRINTF(3, 4)
void ibh_add_row(GPtrArray *table, IbhColor color, const char *format, ...);
/* Columns are as wide as their widest cell; on a terminal the last one is cut at a word. `colored`: the column whose
 * cells have the colours of their rows; a bold row is bold as a whole. */
void ibh_put_table(GString *out, const IbhReport *report, const GPtrArray *table, int columns, int colored);

gboolean ibh_add_name(GPtrArray *names, const char *name); /* FALSE: it is there already */
char *ibh_join(const GPtrArray *texts, const char *separator);
void ibh_put_verdict(GString *out, const IbhReport *report); /* the host's line */
void ibh_put_probe(GString *out, const IbhReport *report);   /* text_probe.c */
