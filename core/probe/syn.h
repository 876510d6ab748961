/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --probe of IPv6, beside the echo: a TCP SYN to a port on which no program listens. A reply to an echo leaves by the
 * NIC that received the echo, and proves nothing of the peer's rules; the RST follows these rules. Its source hardware
 * address tells which NIC of the peer sent it. Pure.
 */
#pragma once

#include "probe/probe.h"

#define IBH_SYN_PORT 1    /* tcpmux: unused for decades */
#define IBH_SYN_LENGTH 20 /* bytes of a segment */

guint16 ibh_probe_syn_port(const IbhProbe *probe); /* ours */

/* Whether the pair is to be asked: an IPv6 neighbour that answers echoes. */
gboolean ibh_probe_wants_syn(const IbhProbe *probe, const IbhProbePair *pair);
/* The segment; the kernel writes its checksum. */
void ibh_probe_syn(const IbhProbe *probe, guint pair, guint8 segment[IBH_SYN_LENGTH]);
/* A segment from IBH_SYN_PORT, in `icmp`. A SYN with ACK, from a program that listens, is as good as a RST. TRUE: it is
 * the first answer to one of ours. */
gboolean ibh_probe_syn_answered(IbhProbe *probe, const IbhProbeReply *reply);

/* Why the peer's NIC for replies is not known, for people; NULL: it is known, or was not asked for. */
const char *ibh_probe_syn_why(const IbhProbePair *pair);

/* A part of ibh_probe_judge(): the peer replies by another NIC than the one that has the address. */
gboolean ibh_probe_syn_is_wrong(const IbhProbePair *pair);
