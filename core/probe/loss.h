/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Echoes of --probe without an answer: finds the host at fault. Causes on this host come first; then a second ARP
 * request tells about the peer. Pure.
 */
#pragma once

#include "probe/probe.h"

/* Parts of ibh_probe_judge(): why a pair lost echoes; the findings, one for each cause. */
void ibh_probe_judge_loss(const IbhProbe *probe, IbhProbePair *pair);
void ibh_probe_report_down_peers(IbhProbe *probe, gboolean *ret_down); /* those that are reported, of all peers */
void ibh_probe_report_losses(IbhProbe *probe, const IbhNic *nic, const gboolean *down);

/* "172.16.16.1, 172.16.16.2, … and 3 more": one name after the other, then the end. */
void ibh_probe_add_name(GString *names, guint n, const char *name);
void ibh_probe_end_names(GString *names, guint n);
