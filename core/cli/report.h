/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The report of a run: text for people, JSON for programs, metrics for Prometheus. Pure: it writes into a string.
 *
 * A writer is one table of functions; run.c knows no format.
 */
#pragma once

#include "plan/apply.h"
#include "check/check.h"
#include "plan/known.h"
#include "probe/probe.h"

typedef struct {
    gboolean color;
    gboolean verbose;
    gboolean quiet;
    guint width; /* of the terminal; 0: none, lines are whole */
} IbhStyle;

/* The contents of a report; parts that an action does not have are NULL. */
typedef struct {
    const IbhRails *rails;
    const char *const *only;
    const IbhPlan *plan;       /* --plan */
    const GPtrArray *done;     /* --apply, --undo: const IbhOp *, done and not rolled back */
    const GPtrArray *errors;   /* char *, the operations that failed */
    const GPtrArray *findings; /* --check, --show: IbhFinding * */
    const GArray *missed;      /* --check, --show: IbhMissed */
    const GArray *questions;   /* --check, --show: IbhQuestion, answered */
    const char *held;          /* --undo: the interfaces left alone from now on */
    const IbhProbe *probe;     /* --probe: judged; its findings are in `findings` */
} IbhReport;

typedef struct {
    char *(*show)(const IbhReport *report, const IbhStyle *style);
    char *(*check)(const IbhReport *report, const IbhStyle *style);
    char *(*plan)(const IbhReport *report, const IbhStyle *style);
    char *(*change)(const IbhReport *report, const IbhStyle *style); /* --apply, --undo */
    char *(*probe)(const IbhReport *report, const IbhStyle *style);
    char *(*error)(int status, const char *message);
} IbhWriter;

extern const IbhWriter ibh_text_writer;
extern const IbhWriter ibh_json_writer;
extern const IbhWriter ibh_prometheus_writer; /* `check`, `probe` and `error` only */

/* Shared by the writers. */
char *ibh_report_error(int status, const char *message); /* for people, on standard error */
/* The NICs asked about by name; without names, every candidate and RDMA-capable NIC, or with `verbose` every netdev. */
gboolean ibh_report_lists(const IbhReport *report, const IbhNic *nic, gboolean verbose);
GPtrArray *ibh_report_addresses(const IbhNic *nic); /* char *, "172.16.34.1/16" */
const IbhNic *ibh_report_nic(const IbhReport *report, const char *name);
const char *ibh_report_link(const IbhLink *link); /* "up", "no carrier", "down" */
/* Of a rail: RDMA port, manager, table, rules, sysctls, in a line. */
char *ibh_report_facts(const IbhReport *report, const IbhNic *nic);
/* Facts that were checked and are right, or are not known: char *, a line each. */
GPtrArray *ibh_report_checked(const IbhReport *report);
char *ibh_report_lladdr(const guint8 *lladdr, guint length);           /* "02:00:…" */
const char *ibh_report_main(const IbhRails *rails, const IbhNic *nic); /* "keep", "spread" */
