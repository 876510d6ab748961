/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --probe at full size: whether packets as long as the rail's MTU get to the peer and back in one piece, and if not,
 * how long they may be. Pure.
 *
 * A packet's size is that of its IP header and all behind it. Its number is its size, so that a reply tells it.
 */
#pragma once

#include "check/probe.h"

#define IBH_PROBE_SIZES_MAX 32 /* of one pair in one round */
#define IBH_PROBE_SIZE_MAX 65535

/* What is sent to this pair in this round, from 0 on, all at once; 0: nothing (more). */
guint ibh_probe_sizes(const IbhProbe *probe, const IbhProbePair *pair, guint round, guint sizes[IBH_PROBE_SIZES_MAX]);

/* One that was sent to the pair, and nothing came back in time. */
void ibh_probe_size_is_lost(IbhProbePair *pair, guint size);
/* A whole reply, as it was delivered: `icmp` has all of it. TRUE: it answers one of ours. */
gboolean ibh_probe_size_received(IbhProbe *probe, const IbhProbeReply *reply);
/* The first piece of a reply, of so many bytes, header and all. */
void ibh_probe_size_fragment(IbhProbe *probe, const IbhProbeReply *reply, guint bytes);
/* Somebody says that packets from here to there are too long for him. `limit`: 0: he does not say. */
void ibh_probe_size_refused(IbhProbe *probe, guint source, const IbhIp *to, const IbhIp *by, guint limit);

/* Parts of ibh_probe_judge(): a pair's fault; the findings. */
void ibh_probe_judge_size(const IbhProbe *probe, IbhProbePair *pair);
void ibh_probe_report_sizes(IbhProbe *probe);
