/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --check as text: a line for the host, then a line per NIC, 80 columns wide; with --verbose all findings in full.
 */
#pragma once

#include "cli/report.h"

char *ibh_text_check(const IbhReport *report, const IbhStyle *style);
/* Of an archive of --capture: its RDMA ports. With `checked`, also the facts that were checked and are right. */
char *ibh_text_captured(const IbhReport *report, const IbhStyle *style, gboolean checked);
/* One line: whether the host is right, how many NICs are not, and the one command that helps. */
void ibh_put_verdict(GString *out, const IbhReport *report, const IbhStyle *style);
