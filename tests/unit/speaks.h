/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether findings say what, where, why it matters and what to do: as far as a program can tell; and whether a report
 * is the one that is kept.
 */
#pragma once

#include "check/finding.h"

const char *first_iface(const IbhFinding *finding); /* "": the host's */
const char *remedy_of(const IbhFinding *finding);   /* the fix, else the advice */
/* Of a list of IbhFinding *. */
void assert_findings_speak(const GPtrArray *findings);
/* A report is what a file in report/ holds; IBH_WRITE=1 writes that anew. */
void check_report_file(const char *name, const char *got);
