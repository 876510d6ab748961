/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text that several actions share.
 */
#pragma once

#include "cli/report.h"

/* The first `most` addresses of a NIC, and how many more; the caller frees it. */
char *ibh_join_addresses(const IbhNic *nic, guint most);
/* The rails among what the run is about. */
guint ibh_count_rails(const IbhReport *report);

/* A line per NIC, each begins with `lead`: why it is, or is not, engaged. Rails only with `rails`. */
void ibh_put_reasons(GString *out, const IbhReport *report, const IbhStyle *style, const char *lead, gboolean rails);
/* Each finding whole, with its fix or advice. */
void ibh_put_findings(GString *out, const IbhReport *report, const IbhStyle *style);
/* That there are no rails. */
void ibh_put_nothing(GString *out, const IbhReport *report, const IbhStyle *style);
/* Facts that were checked and are right, or are not known. */
void ibh_put_checked(GString *out, const IbhReport *report, const IbhStyle *style);
