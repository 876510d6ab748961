/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an action tells: for people, as one object of JSON, or as metrics of Prometheus. Pure.
 */
#pragma once

#include "check/check.h"
#include "fabric/fabric.h"
#include "plan/known.h"
#include "plan/plan.h"
#include "probe/probe.h"

/* The exit status; JSON has that of an error, too. */
#define IBH_EXIT_OK 0
#define IBH_EXIT_FINDINGS 1
#define IBH_EXIT_USAGE 2
#define IBH_EXIT_SYSTEM 3
#define IBH_EXIT_INTERRUPTED 130

typedef enum {
    IBH_ACTION_SHOW,
    IBH_ACTION_CHECK,
    IBH_ACTION_PLAN,
    IBH_ACTION_APPLY,
    IBH_ACTION_UNDO,
    IBH_ACTION_CONFIRM,
    IBH_ACTION_RENDER,
    IBH_ACTION_WATCH,
    IBH_ACTION_PROBE,
    IBH_ACTION_VERSION,
    IBH_ACTION_HELP
} IbhAction;

/* How a report looks. */
typedef struct {
    gboolean verbose; /* of every netdev, and more of each */
    gboolean quiet;
    gboolean color;
    guint width;         /* of the terminal; 0: none, lines are whole */
    const char *program; /* how it was called: what to run next is named so */
} IbhStyle;

/* What there is to tell: an error; or else changes (`ops`); or else findings, of a probe or of a look (--show,
 * --check); or else that changes were confirmed. Parts that an action does not have are NULL. */
typedef struct {
    IbhAction action;
    const IbhRails *rails;
    int status; /* of an error, with its message */
    const char *message;
    const GPtrArray *ops;      /* const IbhOp *: what --plan would do; what --apply and --undo did, and stands */
    const GPtrArray *errors;   /* char *: operations that failed */
    gboolean forgets;          /* --undo: no hold could be saved */
    gboolean holds;            /* --undo: a hold was saved */
    int confirm;               /* --apply: seconds after which the state before comes back, if it is not confirmed */
    const GPtrArray *findings; /* IbhFinding * */
    const IbhProbe *probe;     /* --probe: judged */
    const IbhCheck *check;     /* --check, --show: judged; so are those below */
    const IbhFacts *facts;
    const GArray *missed; /* IbhKnownRail */
    const IbhFabric *fabric;
    /* set by ibh_report() */
    const IbhStyle *style;
    const GPtrArray *nics[2]; /* const IbhNic *: of those asked about, others and (TRUE) rails */
    gboolean failed;
    GString *out;    /* what is written */
    GPtrArray *rows; /* char **: for people, lines in cells, before these are made even */
} IbhReport;

typedef void IbhWriter(const IbhReport *report);
IbhWriter ibh_report_text, ibh_report_json, ibh_report_prometheus;

/* The caller frees it. */
char *ibh_report(const IbhReport *report, IbhWriter *writer, const IbhStyle *style);

gboolean ibh_report_is_ok(const IbhReport *report);

/* ---- what the writers share ---- */

gboolean ibh_report_has_carrier(const IbhReport *report, const IbhNic *nic);
guint ibh_report_count_standing(const IbhReport *report); /* the rails that have carrier */
/* Around a single address, main may have nothing on the link; if the NIC has no subnet, nothing was asked about such an
 * address. */
typedef enum { IBH_ADDRESSES_ALL, IBH_ADDRESSES_CHECKED, IBH_ADDRESSES_UNCHECKED } IbhAddresses;
GPtrArray *ibh_report_addresses(const IbhReport *report, const IbhNic *nic, IbhAddresses which); /* char * */
int ibh_pair_verdict(const IbhProbePair *pair); /* -1: who answered is not known, and nothing else is wrong */
const char *ibh_pair_rdma_text(const IbhProbe *probe, const IbhProbePair *pair); /* NULL: not asked for */
char *ibh_texts_join(const GPtrArray *texts, const char *separator);
/* As a string of JSON; of printable text, a label of Prometheus, too. NULL: null */
void ibh_json_put_quoted(GString *out, const char *text);

/* ---- for people: lines, which end as text without control characters ---- */

/* With tabs it is a row of a table: columns are as wide as their widest cell, and on a terminal the last one is cut. */
G_GNUC_PRINTF(2, 3)
void ibh_rows_add(const IbhReport *report, const char *format, ...);
void ibh_rows_put(const IbhReport *report);
char *ibh_names_shorten(const GPtrArray *names); /* "ib1, ib3, ib4 and 5 more"; the caller frees it */
gboolean ibh_finding_is_down(const IbhFinding *finding);

void ibh_rows_add_verdict(const IbhReport *report); /* verdict.c: the host's line */
void ibh_rows_add_pairs(const IbhReport *report);   /* pairs.c: --probe */
