/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --probe at full size: whether packets as long as the rail's MTU get to the peer and back in one piece, and if not,
 * how long they may be. Pure.
 *
 * A packet's size is that of its IP header and all behind it. Its number is its size, so that a reply tells it.
 */
#pragma once

#include "probe/probe.h"

#define IBH_PROBE_SIZES_MAX 32 /* of one pair in one round */
#define IBH_PROBE_SIZE_MAX 65535

/* The sizes to send to this pair in this round, from 0 on, all at once; 0: no more. */
guint ibh_probe_sizes(const IbhProbe *probe, const IbhProbePair *pair, guint round, guint sizes[IBH_PROBE_SIZES_MAX]);

/* A packet that was sent to the pair, and had no answer in time. */
void ibh_probe_size_is_lost(IbhProbePair *pair, guint size);
/* A whole reply, as it was delivered, in `icmp`. TRUE: it answers one of our packets. */
gboolean ibh_probe_size_received(IbhProbe *probe, const IbhProbeReply *reply);
/* The first bytes of a whole reply, as it came in: if it is not delivered, too, this host drops it. */
void ibh_probe_size_seen(IbhProbe *probe, const IbhProbeReply *reply);
/* The first fragment of a reply, of so many bytes with its header. */
void ibh_probe_size_fragment(IbhProbe *probe, const IbhProbeReply *reply, guint bytes);
/* A host reports that packets from here to there are too long for it. `limit`: its own; 0: not reported. */
void ibh_probe_size_refused(IbhProbe *probe, guint source, const IbhIp *to, const IbhIp *by, guint limit);

/* A part of ibh_probe_judge(): a pair's fault, added to the charges (verdict.h). */
void ibh_probe_judge_size(const IbhProbe *probe, guint pair, GArray *charges);
