/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --check as text: a line for the host, then a line per NIC, 80 columns wide; with --verbose all findings in full.
 */
#pragma once

#include "cli/report.h"

char *ibh_text_check(const IbhReport *report, const IbhStyle *style);
/* One line: whether the host is right, how many NICs are not, and the one command that helps. */
void ibh_put_verdict(GString *out, const IbhReport *report, const IbhStyle *style);
