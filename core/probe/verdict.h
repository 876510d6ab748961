/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The findings of --probe: one for each cause, keyed by who is at fault: a rail of this host, a peer, a pair, the wire.
 *
 * Each pair is charged with what is wrong with it, in words that name neither rail nor peer. Charges in the same words
 * have the same cause; which pairs have it, and which have not, tells who is at fault. Pure.
 */
#pragma once

#include "probe/probe.h"

#define IBH_PROBE_NAMED 4 /* peers, rails or pairs that a finding names */

typedef enum {
    IBH_AT_HOME,  /* this host is at fault, on the rails that have it */
    IBH_AT_PEER,  /* the peer is, whichever rails saw it */
    IBH_AT_EITHER /* the pairs that have it tell */
} IbhProbePlace;

typedef struct {
    guint pair;
    IbhProbePlace place;
    IbhSeverity severity;
    const char *code;
    const char *peer_code;   /* where a peer is at fault; NULL: the same */
    char *why;               /* owned */
    char *fix, *advice;      /* owned; for the first pair that has it */
    const char *peer_advice; /* where a peer is at fault; NULL: the same */
} IbhProbeCharge;

GArray *ibh_probe_charges_new(void); /* of IbhProbeCharge */

void ibh_probe_charge(GArray *charges, const IbhProbeCharge *what); /* takes its texts */
void ibh_probe_blame(IbhProbePair *pair, IbhProbeFault fault);
/* The text with "{if}", "{peer}" and "{from}" replaced by this pair's; NULL: the template is. */
char *ibh_probe_fill_in(const IbhProbe *probe, const IbhProbePair *pair, const char *template);

/* Parts of ibh_probe_judge(): peers that mix their NICs. */
void ibh_probe_judge_mixed(const IbhProbe *probe);
void ibh_probe_charge_mixed(const IbhProbe *probe, GArray *charges);

/* A finding for each cause among the charges. */
void ibh_probe_report_charges(IbhProbe *probe, const GArray *charges);

/* Parts of ibh_probe_judge(): rails without a carrier, and those that asked no peer; the run as a whole. */
void ibh_probe_report_rails(IbhProbe *probe);
void ibh_probe_report_whole(IbhProbe *probe);

/* "172.16.34.1-.8, 172.16.35.1 and 3 more"; IbhIp. Consecutive ones are one, and at
 * most `max` are named. */
char *ibh_probe_name_peers(const GArray *peers, guint max);
