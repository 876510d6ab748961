/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The RDMA connection manager by the kernel's own interface, /dev/infiniband/rdma_cm: no library, no verbs.
 *
 * It sends SIDR requests, the connection manager's question for a datagram service. Each answer of the peer's
 * connection manager came by RDMA, even "no such service".
 *
 * Each function returns 0 or an errno. None waits for the network; but a process that ends a request can block for ever
 * in the kernel if its own firewall drops the packets (Soft-RoCE). So a process must ask that no other process waits
 * for.
 */
#pragma once

#include "model/model.h"

/* Opens a channel; `*ret_fd` does not block. The kernel takes requests only from a process with the capabilities that
 * it had when it opened the channel. ENOENT: the module rdma_ucm is not loaded. */
int ibh_rdma_cm_open(int *ret_fd);

/* A request of that channel; events about it carry `tag`. */
int ibh_rdma_cm_create(int fd, guint64 tag, guint32 *ret_id);
/* Chooses the device. ENODEV: none has this address. */
int ibh_rdma_cm_bind(int fd, guint32 id, const IbhIp *source);
/* Each is answered by an event. */
int ibh_rdma_cm_resolve_address(int fd, guint32 id, const IbhIp *peer);
int ibh_rdma_cm_resolve_route(int fd, guint32 id);
int ibh_rdma_cm_ask(int fd, guint32 id);

typedef enum {
    IBH_RDMA_CM_HAS_ADDRESS,
    IBH_RDMA_CM_NO_ADDRESS,
    IBH_RDMA_CM_HAS_ROUTE,
    IBH_RDMA_CM_NO_ROUTE,
    IBH_RDMA_CM_ANSWER, /* the peer's: yes or no */
    IBH_RDMA_CM_FAILURE /* no answer, or the device went away */
} IbhRdmaCmEventType;

typedef struct {
    IbhRdmaCmEventType type;
    guint64 tag;
    guint32 id;
    int error; /* errno; 0: none */
} IbhRdmaCmEvent;

/* EAGAIN: there is no event now. */
int ibh_rdma_cm_take_event(int fd, IbhRdmaCmEvent *ret_event);
