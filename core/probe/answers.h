/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What --probe hears by ARP: which hosts answer for a peer, and which answer for this host's own addresses. Pure.
 *
 * Each rail asks for its own address in the form of RFC 5227, without a sender's address: only another host with the
 * same address answers. Another rail asks for it from its own address: then a proxy answers as well.
 */
#pragma once

#include "probe/probe.h"

#define IBH_PROBE_PROXY_WAIT (900 * 1000) /* µs: a proxy may take 0.8 s */

/* Another rail that shares the subnet of this source; -1: none. Indexes into sources. */
int ibh_probe_witness(const IbhProbe *probe, guint source);

/* A part of ibh_probe_judge(). */
void ibh_probe_report_strangers(IbhProbe *probe);
