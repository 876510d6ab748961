/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an action reports: text for people, one JSON object, or Prometheus metrics. Pure.
 */
#pragma once

#include "check/check.h"
#include "fabric/fabric.h"
#include "plan/known.h"
#include "plan/plan.h"
#include "probe/probe.h"

/* The exit status. JSON repeats the status of an error. */
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
    gboolean verbose; /* show every netdev, and more of each */
    gboolean quiet;   /* show problems only */
    gboolean color;
    guint width;         /* of the terminal, in columns: longer rows are continued or cut; 0: there is no terminal */
    const char *program; /* how ib-hook was called; the line that asks for --confirm names this command */
} IbhStyle;

/* What there is to report: an error (`message`); or else changes (`ops`); or else findings (--probe, --show, --check);
 * or else that --confirm succeeded. Parts that an action does not have are NULL. */
typedef struct {
    IbhAction action;
    const IbhRails *rails;
    int status; /* the exit status of an error, whose text is `message` */
    const char *message;
    const GPtrArray *ops;      /* const IbhOp *: what --apply would do (--plan), or what was done and not taken back */
    const GPtrArray *errors;   /* char *: messages about operations that failed */
    gboolean forgets;          /* --undo: no hold could be saved */
    gboolean holds;            /* --undo: the saved state has holds */
    int confirm;               /* --apply: seconds until the previous state comes back, unless confirmed; 0: never */
    const GPtrArray *findings; /* IbhFinding * */
    const IbhProbe *probe;     /* --probe; already judged */
    const IbhCheck *check;     /* --check and --show, like the next three; already judged */
    const IbhFacts *facts;
    const GArray *missed; /* IbhKnownRail: missing rails */
    const IbhFabric *fabric;
    /* set by ibh_report() */
    const IbhStyle *style;
    const GPtrArray *shown; /* const IbhNic *: the NICs to report: the rails, then the others */
    const GPtrArray *shown_rails, *shown_others;
    const GPtrArray *shown_missed; /* const IbhKnownRail * */
    gboolean failed;               /* there is a message, or an operation failed */
    GString *out;                  /* the report */
    GPtrArray *rows;               /* char **: the lines for people, in cells, before the columns are aligned */
} IbhReport;

typedef void IbhWriter(const IbhReport *report);
IbhWriter ibh_report_text, ibh_report_json, ibh_report_prometheus;

/* Returns the text that the writer makes of the report. The caller frees the text with g_free(). */
char *ibh_report(const IbhReport *report, IbhWriter *writer, const IbhStyle *style);

/* TRUE if no finding is an error or a warning, and --probe was not interrupted. When a writer calls this function, also
 * FALSE if the action failed: only the copy that ibh_report() gives to writers has `failed` set. */
gboolean ibh_report_is_ok(const IbhReport *report);

/* ---- what the writers share ---- */

/* FALSE if the NIC has the finding carrier-down, which is also about a link that the administrator set down. Looks at
 * no other finding: TRUE even if another one, such as port-not-active, says that the NIC has no carrier. */
gboolean ibh_report_has_carrier(const IbhReport *report, const IbhNic *nic);
guint ibh_report_count_standing(const IbhReport *report); /* counts the shown rails without carrier-down */
/* IBH_ADDRESSES_UNCHECKED are single addresses (/32 or /128) from which --check asks about no packet to another host,
 * mostly because the rail has neither a subnet, nor remote= or gateway=, nor an on-link route to other hosts.
 * IBH_ADDRESSES_CHECKED are all other addresses. */
typedef enum { IBH_ADDRESSES_ALL, IBH_ADDRESSES_CHECKED, IBH_ADDRESSES_UNCHECKED } IbhAddresses;
/* Returns the NIC's addresses that count (ibh_address_counts()), as texts (char *) such as "172.16.34.2/24". */
GPtrArray *ibh_report_addresses(const IbhReport *report, const IbhNic *nic, IbhAddresses which);
/* 1: no problem; 0: problems; -1: the only problem is that it is not known which NIC of the peer answered */
int ibh_pair_verdict(const IbhProbePair *pair);
const char *ibh_pair_rdma_text(const IbhProbe *probe, const IbhProbePair *pair); /* NULL if RDMA was not asked for */
char *ibh_texts_join(const GPtrArray *texts, const char *separator);
/* Appends a JSON string, or null if `text` is NULL. The values of Prometheus labels are quoted in the same way, if the
 * text is printable, so prometheus.c uses this function, too. */
void ibh_json_put_quoted(GString *out, const char *text);

/* ---- lines for people; each unprintable character becomes `?` (ibh_text_printable()) ---- */

/* Adds a line. A line with tabs is a row of a table: columns are as wide as their widest cell, and on a terminal a
 * last cell that does not fit is broken or cut. */
G_GNUC_PRINTF(2, 3)
void ibh_rows_add(const IbhReport *report, const char *format, ...);
void ibh_rows_put(const IbhReport *report);      /* writes all lines to the report */
char *ibh_names_shorten(const GPtrArray *names); /* returns "ib1, ib3, ib4 and 5 more"; free it with g_free() */
/* TRUE for carrier-down and nic-gone (verdict.c). */
gboolean ibh_finding_is_down(const IbhFinding *finding);

void ibh_rows_add_verdict(const IbhReport *report); /* verdict.c: adds the line about the host */
void ibh_rows_add_pairs(const IbhReport *report);   /* pairs.c: adds the rows of --probe */
