/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command line of ib-hook: words → values; and the report of an action in three languages. Pure.
 */
#pragma once

#include "check/check.h"
#include "fabric/fabric.h"
#include "plan/known.h"
#include "plan/plan.h"
#include "probe/probe.h"

/* The exit status. */
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

typedef struct {
    IbhAction action;
    IbhStyle style;     /* its first two are options */
    char **ifaces;      /* NULL: all */
    const char *config; /* NULL: the system's */
    const char *render; /* the format of --render, one that is known */
    const char *sysfs;
    gboolean json;
    gboolean prometheus;
    int confirm; /* seconds after which the state before --apply comes back; 0: it stays */
    IbhProbeRequest probe;
    GPtrArray *names; /* const char *: peers by name, which are not among probe.peers yet */
} IbhOptions;

/* Sets `ret_options` in any case, `json` also after an error, which is reported as asked. It keeps words of `argv`. */
gboolean ibh_options_parse(char **argv, IbhOptions *ret_options, GError **error);
void ibh_options_clear(IbhOptions *options);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IbhOptions, ibh_options_clear)

void ibh_options_help(GString *out);

/* names_io.c: asks the resolver for the peers that are named; `said` tells which addresses they have. */
gboolean ibh_options_resolve(IbhOptions *options, GString *said, GError **error);

/* caller_io.c: "--apply, SUDO_USER=alice, loginuid=1000, tty=/dev/pts/0": of these, what can be seen. The caller frees
 * it. */
char *ibh_caller(const char *action);

/* ---- reports ---- */

/* What there is to tell; parts that an action does not have are NULL. */
typedef struct {
    IbhAction action;
    const IbhRails *rails;
    const IbhFacts *facts;     /* --check, --show */
    const GPtrArray *ops;      /* const IbhOp *: what --plan would do; what --apply and --undo did, and stands */
    const GPtrArray *errors;   /* char *: operations that failed */
    const GPtrArray *findings; /* IbhFinding * */
    const IbhCheck *check;     /* --check, --show: judged */
    const GArray *missed;      /* --check, --show: IbhKnownRail */
    const IbhFabric *fabric;   /* --check, --show */
    gboolean forgets;          /* --undo: no hold could be saved */
    gboolean holds;            /* --undo: a hold was saved */
    int confirm;               /* --apply: seconds after which the state before comes back, if it is not confirmed */
    const IbhProbe *probe;     /* --probe: judged */
    int status;                /* of an error, with its message: nothing else counts then */
    const char *message;
    /* set by ibh_report() */
    GString *out;    /* what is written */
    GPtrArray *rows; /* char *: for people, its lines before they are made even */
    const IbhStyle *style;
    const GPtrArray *nics[2]; /* const IbhNic *: of those asked about, others and (TRUE) rails */
    gboolean failed;
} IbhReport;

/* Writes one part of a report in one language. */
typedef void IbhPart(const IbhReport *report);

/* A language; NULL: it has no words for this part. ibh_report_walk() decides which parts there are, and their order. */
typedef struct {
    IbhPart *begin;
    IbhPart *error;     /* nothing else is told then */
    IbhPart *changes;   /* --plan, --apply, --undo */
    IbhPart *probe;     /* --probe */
    IbhPart *look;      /* --show, --check */
    IbhPart *findings;  /* of both */
    IbhPart *confirmed; /* --confirm: there is nothing else */
    IbhPart *end;
} IbhLanguage;

void ibh_report_walk(const IbhReport *report, const IbhLanguage *language);

typedef IbhPart IbhWriter;
IbhWriter ibh_report_text, ibh_report_json, ibh_report_prometheus;

char *ibh_report(const IbhReport *report, IbhWriter *writer, const IbhStyle *style);

/* ---- what the writers share ---- */

gboolean ibh_report_is_ok(const IbhReport *report);
/* As a string of JSON; of printable text, a label of Prometheus, too. */
void ibh_json_put_quoted(GString *out, const char *text);
GPtrArray *ibh_nic_address_texts(const IbhNic *nic); /* char * */
/* Main has nothing on the link around a single address, and the NIC has no subnet: nothing was asked about these. */
GPtrArray *ibh_report_unchecked(const IbhReport *report, const IbhNic *rail); /* char * */
int ibh_pair_verdict(const IbhProbePair *pair); /* -1: who answered is not known, and nothing else is wrong */
const char *ibh_pair_rdma_text(const IbhProbe *probe, const IbhProbePair *pair); /* NULL: not asked for */

char *ibh_texts_join(const GPtrArray *texts, const char *separator);

/* ---- for people: a list of lines, which end as text without control characters ---- */

/* With tabs it is a row of a table: columns are as wide as their widest cell, and on a terminal the last one is cut. */
G_GNUC_PRINTF(2, 3)
void ibh_rows_add(const IbhReport *report, const char *format, ...);
gboolean ibh_finding_is_down(const IbhFinding *finding);
char *ibh_names_shorten(const GPtrArray *names); /* "ib1, ib3, ib4 and 5 more"; the caller frees it */
gboolean ibh_report_has_carrier(const IbhReport *report, const IbhNic *nic);
guint ibh_report_count_standing(const IbhReport *report); /* the rails that have carrier */

void ibh_rows_add_verdict(const IbhReport *report); /* the host's line */
void ibh_rows_add_probe(const IbhReport *report);   /* text_probe.c */
void ibh_rows_add_matrix(const IbhReport *report);  /* text_matrix.c: where many peers differ */
/* char *: how many peers each rail reaches, where there is a matrix; NULL: there is none. */
GPtrArray *ibh_matrix_sum_up(const IbhProbe *probe);
