/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The codes of --check's findings: one table. Monitoring depends on the codes, and on nothing else of a finding.
 */
#pragma once

#include "model/model.h"

typedef enum { IBH_ERROR, IBH_WARNING, IBH_INFO } IbhSeverity;

const char *ibh_severity_name(IbhSeverity severity);

typedef struct {
    const char *code;
    IbhSeverity severity; /* unless a finding has its own */
    const char *text;     /* what it says about a host */
    const char *advice;   /* what to do, unless a finding has its own; NULL: it always has */
} IbhCode;

const IbhCode *ibh_code(const char *code); /* NULL: none of --check */
const IbhCode *ibh_codes(guint *ret_count);
