/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --probe of IPv6, beside the echo: a TCP SYN to a port where nobody listens. A reply to an echo leaves by the NIC that
 * the echo came in on, and proves nothing of the peer's rules; the RST leaves as these rules say. The hardware address
 * that it comes from tells which NIC of the peer that is. Pure.
 */
#pragma once

#include "check/probe.h"

#define IBH_SYN_PORT 1    /* tcpmux: nobody's, for decades */
#define IBH_SYN_LENGTH 20 /* bytes of a segment */

guint16 ibh_probe_syn_port(const IbhProbe *probe); /* ours */

/* Whether the pair is to be asked: an IPv6 neighbour that answers echoes. */
gboolean ibh_probe_wants_syn(const IbhProbe *probe, const IbhProbePair *pair);
/* The segment; the kernel writes its checksum. */
void ibh_probe_syn(const IbhProbe *probe, guint pair, guint8 segment[IBH_SYN_LENGTH]);
/* What came in from IBH_SYN_PORT: `icmp` has the segment. A SYN with ACK, where somebody listens, is as good as a RST.
 * TRUE: it is the first answer to one of ours. */
gboolean ibh_probe_syn_answered(IbhProbe *probe, const IbhProbeReply *reply);

/* Why it is not known by which NIC the peer replies, for people; NULL: it is known, or was not to be asked. */
const char *ibh_probe_syn_why(const IbhProbePair *pair);

/* A part of ibh_probe_judge(): the peer replies by another NIC than the one that has the address. */
gboolean ibh_probe_syn_is_wrong(const IbhProbePair *pair);
