/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --probe --rdma: which pairs are asked by RDMA, and what their answers say. Pure.
 *
 * Any answer of the peer's connection manager, a refusal too, proves both devices and what lies between them. It proves
 * nothing of the peer's rules.
 */
#pragma once

#include "check/probe.h"

/* Whether the peer gave a sign of life: without one, an echo's finding says all there is to say. */
gboolean ibh_probe_wants_rdma(const IbhProbePair *pair);
/* Takes an outcome that another process sent. FALSE: there is no such pair, or it has its outcome. */
gboolean ibh_probe_take_rdma(IbhProbe *probe, guint pair, const IbhRdmaAnswer *answer);

/* Why it was not answered, for people; NULL: it was, or was not asked for. */
char *ibh_probe_rdma_why(const IbhProbe *probe, const IbhProbePair *pair);

/* Parts of ibh_probe_judge(): a pair's faults; the findings. */
void ibh_probe_judge_rdma(IbhProbePair *pair);
void ibh_probe_report_rdma(IbhProbe *probe);
