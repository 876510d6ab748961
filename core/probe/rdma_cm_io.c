/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/rdma_cm_io.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <rdma/rdma_user_cm.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#define DEVICE "/dev/infiniband/rdma_cm"
#define QUEUE_PAIR_UD 4 /* enum ib_qp_type: unreliable datagrams, which is what SIDR is for */
#define ADDRESS_MS 500
#define ROUTE_MS 1000 /* of InfiniBand: the subnet manager's answer */

/* Events of <rdma/rdma_cma.h>, which is the library's header. */
enum {
    EVENT_ADDR_RESOLVED,
    EVENT_ADDR_ERROR,
    EVENT_ROUTE_RESOLVED,
    EVENT_ROUTE_ERROR,
    EVENT_UNREACHABLE = 7,
    EVENT_REJECTED = 8,
    EVENT_ESTABLISHED = 9
};

int ibh_rdma_cm_open(int *ret_fd)
{
    *ret_fd = open(DEVICE, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (*ret_fd >= 0)
        return 0;
    return errno == ENXIO || errno == ENODEV ? ENOENT : errno; /* a node without a driver */
}

/* One write is one command: the header, then `in`; the kernel puts its answer where `in` says. */
static int command(int fd, guint32 number, const void *in, gsize size, gsize answer_size)
{
    guint8 bytes[sizeof(struct rdma_ucm_cmd_hdr) + sizeof(struct rdma_ucm_connect)];
    const struct rdma_ucm_cmd_hdr header = {.cmd = number, .in = (guint16)size, .out = (guint16)answer_size};

    g_return_val_if_fail(sizeof header + size <= sizeof bytes, EINVAL);
    memcpy(bytes, &header, sizeof header);
    memcpy(bytes + sizeof header, in, size);
    return write(fd, bytes, sizeof header + size) < 0 ? errno : 0;
}

static guint16 put_address(struct __kernel_sockaddr_storage *to, const IbhIp *ip)
{
    struct sockaddr_in four = {.sin_family = AF_INET};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6};

    if (ip->family == AF_INET6) {
        memcpy(&six.sin6_addr, ip->bytes, 16);
        memcpy(to, &six, sizeof six);
        return sizeof six;
    }
    memcpy(&four.sin_addr, ip->bytes, 4);
    memcpy(to, &four, sizeof four);
    return sizeof four;
}

int ibh_rdma_cm_create(int fd, guint64 tag, guint32 *ret_id)
{
    struct rdma_ucm_create_id_resp answer = {0};
    const struct rdma_ucm_create_id create = {
        .uid = tag, .response = (guint64)(guintptr)&answer, .ps = RDMA_PS_UDP, .qp_type = QUEUE_PAIR_UD};
    int error = command(fd, RDMA_USER_CM_CMD_CREATE_ID, &create, sizeof create, sizeof answer);

    *ret_id = answer.id;
    return error;
}

int ibh_rdma_cm_bind(int fd, guint32 id, const IbhIp *source)
{
    struct rdma_ucm_bind bind = {.id = id};

    bind.addr_size = put_address(&bind.addr, source);
    return command(fd, RDMA_USER_CM_CMD_BIND, &bind, sizeof bind, 0);
}

int ibh_rdma_cm_resolve_address(int fd, guint32 id, const IbhIp *peer)
{
    struct rdma_ucm_resolve_addr resolve = {.id = id, .timeout_ms = ADDRESS_MS};

    resolve.dst_size = put_address(&resolve.dst_addr, peer);
    return command(fd, RDMA_USER_CM_CMD_RESOLVE_ADDR, &resolve, sizeof resolve, 0);
}

int ibh_rdma_cm_resolve_route(int fd, guint32 id)
{
    const struct rdma_ucm_resolve_route resolve = {.id = id, .timeout_ms = ROUTE_MS};

    return command(fd, RDMA_USER_CM_CMD_RESOLVE_ROUTE, &resolve, sizeof resolve, 0);
}

/* To port 0, where no program can listen. Kernels before 5.8 have less behind `id` than today's header. */
int ibh_rdma_cm_ask(int fd, guint32 id)
{
    const struct rdma_ucm_connect connect = {.id = id, .conn_param.valid = 1};

    return command(fd, RDMA_USER_CM_CMD_CONNECT, &connect, offsetof(struct rdma_ucm_connect, id) + 2 * sizeof id, 0);
}

/* A positive status of SIDR comes from the peer, a negative errno from the kernel. */
static IbhRdmaCmEventType classify(guint32 event, int status)
{
    switch (event) {
    case EVENT_ADDR_RESOLVED:
        return IBH_RDMA_CM_HAS_ADDRESS;
    case EVENT_ADDR_ERROR:
        return IBH_RDMA_CM_NO_ADDRESS;
    case EVENT_ROUTE_RESOLVED:
        return IBH_RDMA_CM_HAS_ROUTE;
    case EVENT_ROUTE_ERROR:
        return IBH_RDMA_CM_NO_ROUTE;
    case EVENT_ESTABLISHED:
        return IBH_RDMA_CM_ANSWER;
    case EVENT_UNREACHABLE:
    case EVENT_REJECTED:
        return status > 0 ? IBH_RDMA_CM_ANSWER : IBH_RDMA_CM_FAILURE;
    default:
        return IBH_RDMA_CM_FAILURE;
    }
}

int ibh_rdma_cm_take_event(int fd, IbhRdmaCmEvent *ret_event)
{
    struct {
        struct rdma_ucm_event_resp event;
        guint8 more[64]; /* of later kernels */
    } answer = {.event = {0}};
    const struct rdma_ucm_get_event get = {.response = (guint64)(guintptr)&answer};
    int error = command(fd, RDMA_USER_CM_CMD_GET_EVENT, &get, sizeof get, sizeof answer), status;

    if (error)
        return error;
    status = (int)answer.event.status;
    *ret_event = (IbhRdmaCmEvent){.type = classify(answer.event.event, status),
                                  .tag = answer.event.uid,
                                  .id = answer.event.id,
                                  .error = status < 0 ? -status : 0};
    return 0;
}
