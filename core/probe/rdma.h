/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --probe --rdma: which pairs are asked by RDMA, and what their answers prove. Pure.
 *
 * Any answer of the peer's connection manager, a refusal too, proves both devices and the way between them. It proves
 * nothing of the peer's rules.
 */
#pragma once

#include "probe/probe.h"

/* Whether the peer answered anything: if not, the echo's finding is enough. */
gboolean ibh_probe_wants_rdma(const IbhProbePair *pair);
/* Takes a result that another process sent. FALSE: there is no such pair, or it has its result already. */
gboolean ibh_probe_take_rdma(IbhProbe *probe, guint pair, const IbhRdmaAnswer *answer);

/* Why RDMA was not answered, for people; NULL: it was, or was not asked for. */
char *ibh_probe_rdma_why(const IbhProbe *probe, const IbhProbePair *pair);

/* Parts of ibh_probe_judge(): a pair's faults; the findings. */
void ibh_probe_judge_rdma(IbhProbePair *pair);
void ibh_probe_report_rdma(IbhProbe *probe);
