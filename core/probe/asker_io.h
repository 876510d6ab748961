/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process that asks by RDMA, for --probe: a child, since the kernel may not let it go. It says what it found
 * through a pipe.
 */
#pragma once

#include "probe/probe.h"

/* Each answer comes within so many µs after the last one, or none will. */
#define IBH_RDMA_ASKER_SILENCE (6 * G_USEC_PER_SEC)

typedef struct {
    guint32 pair;
    IbhRdmaAnswer answer;
} IbhRdmaResult;

typedef struct {
    int pid; /* 0: none */
    int fd;  /* IbhRdmaResult after IbhRdmaResult, then the end; -1: none */
} IbhRdmaAsker;

/* `pairs`: guint, of `probe`. FALSE: no process, or no pipe. */
gboolean ibh_rdma_asker_start(IbhRdmaAsker *asker, const IbhProbe *probe, const GArray *pairs);
/* Ends it, if it can be ended. Does not wait. */
void ibh_rdma_asker_stop(IbhRdmaAsker *asker);
