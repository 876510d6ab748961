/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The findings of --probe: one for each cause, keyed by who is at fault: a rail of this host, a peer, a pair, the wire.
 *
 * Each pair is charged with what is wrong with it, in words that name neither rail nor peer. Charges in the same words
 * have the same cause; which pairs have it, and which have not, tells who is at fault. Pure.
 */
#pragma once

#include "probe/causes.h"

#define IBH_PROBE_NAMED 4 /* peers, rails or pairs that a finding names */

typedef struct {
    guint pair;
    IbhCause cause;
} IbhProbeCharge;

/* Parts of ibh_probe_judge(). A finding for each cause among the charges. */
void ibh_probe_report_charges(IbhProbe *probe, const GArray *charges);
/* Hosts that answer for this host's addresses; rails without a carrier, and those that asked no peer; the run. */
void ibh_probe_report_strangers(IbhProbe *probe);
void ibh_probe_report_rails(IbhProbe *probe);
void ibh_probe_report_whole(IbhProbe *probe);
