/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process that asks by RDMA, for --probe: a child, since the kernel may not let it go. It gets the number of a pair
 * for each request, and says how far the request came.
 */
#pragma once

#include "probe/probe.h"

typedef struct {
    guint32 pair;
    IbhRdmaAnswer answer; /* IBH_RDMA_SILENT: by now */
} IbhRdmaResult;

typedef struct {
    int pid; /* 0: none */
    int fd;  /* guint32 goes there, IbhRdmaResult comes; -1: none */
} IbhRdmaAsker;

/* FALSE: no process, or no socket. */
gboolean ibh_rdma_asker_start(IbhRdmaAsker *asker, const IbhProbe *probe);
/* Ends it, if it can be ended. Does not wait. */
void ibh_rdma_asker_stop(IbhRdmaAsker *asker);
