/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The report of an action: a tree (node.h) in three languages. Pure: each is written into a string.
 */
#pragma once

#include "check/check.h"
#include "cli/node.h"
#include "cli/options.h"
#include "fabric/fabric.h"
#include "plan/plan.h"
#include "plan/known.h"

typedef struct {
    gboolean color;
    gboolean verbose;
    gboolean quiet;
    guint width; /* of the terminal; 0: none, lines are whole */
} IbhStyle;

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
} IbhReport;

/* `verbose`: of every netdev, and more of each. */
IbhNode *ibh_report_tree(const IbhReport *report, gboolean verbose);

typedef char *IbhWriter(IbhAction action, const IbhNode *tree, const IbhStyle *style);
IbhWriter ibh_write_text, ibh_write_json, ibh_write_prometheus;

/* As a string of JSON; of printable text, a label of Prometheus, too. */
void ibh_put_quoted(GString *out, const char *text);

char *ibh_report(const IbhReport *report, IbhWriter *writer, const IbhStyle *style);
