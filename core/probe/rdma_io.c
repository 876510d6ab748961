/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --probe --rdma uses the kernel's own interface, /dev/infiniband/rdma_cm, without a library or verbs. It sends SIDR
 * requests (service ID resolution), with which a connection manager asks another host's connection manager for a
 * datagram service. Any answer of the peer's connection manager, even "no such service", proves that RDMA works.
 *
 * With Soft-RoCE, a process that ends a request can block for ever in the kernel if this host's firewall drops the
 * packets. So child processes send the requests, and --probe does not wait until these processes end. For each
 * request, the parent sends the index of a pair to a child, and the child tells the parent how far the request came.
 */
#include "host/tree.h"
#include "probe/prober_io.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <rdma/rdma_user_cm.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define DEVICE "/dev/infiniband/rdma_cm"
#define ROCE_PORT 4791
#define QUEUE_PAIR_UD 4 /* enum ib_qp_type: unreliable datagrams, which SIDR sets up */
#define ADDRESS_MS 500  /* how long the kernel may take to resolve an address */
#define ROUTE_MS 1000   /* how long the kernel may take to find a path; on InfiniBand, it asks the subnet manager */

/* Those events of <rdma/rdma_cma.h> that matter here. The header belongs to the library that we do not use. */
enum {
    EVENT_ADDR_RESOLVED,
    EVENT_ADDR_ERROR,
    EVENT_ROUTE_RESOLVED,
    EVENT_ROUTE_ERROR,
    EVENT_UNREACHABLE = 7,
    EVENT_REJECTED = 8,
    EVENT_ESTABLISHED = 9
};

/* How far the request of a pair has come. */
typedef struct {
    guint32 pair;   /* the index of the pair */
    IbhCause cause; /* IBH_RDMA_*: what failed, or the step that is under way; IBH_CAUSE_NONE: the peer has answered */
    int error;      /* the errno of the failure; 0: none */
} Result;

/* ---- the child ---- */

typedef struct {
    const IbhProbe *probe;
    int parent;  /* the socket to the parent, which sends the index of a pair (guint32), and receives Results */
    int channel; /* DEVICE; -1 if it could not be opened */
    int error;   /* the errno with which opening DEVICE failed; ENOENT: no driver, or no file in /dev; 0: it is open */
} Asker;

static void tell_parent(const Asker *asker, guint32 pair, IbhCause cause, int error)
{
    const Result result = {.pair = pair, .cause = cause, .error = error};

    if (send(asker->parent, &result, sizeof result, MSG_NOSIGNAL) != (gssize)sizeof result) /* the parent is gone */
        _exit(1);
}

/* Gives the kernel a command: one write() with a header and `in`. If the command has an answer, the kernel puts at most
 * `answer_size` bytes of it at the address in the member `response` of `in`. Returns 0 or an errno. The commands used
 * here do not wait for the network. */
static int command(const Asker *asker, guint32 number, const void *in, gsize size, gsize answer_size)
{
    guint8 bytes[sizeof(struct rdma_ucm_cmd_hdr) + sizeof(struct rdma_ucm_connect)]; /* "connect" is the longest */
    const struct rdma_ucm_cmd_hdr header = {.cmd = number, .in = (guint16)size, .out = (guint16)answer_size};

    memcpy(bytes, &header, sizeof header);
    memcpy(bytes + sizeof header, in, size);
    return write(asker->channel, bytes, sizeof header + size) < 0 ? errno : 0;
}

/* Writes the address, and returns its size. */
static guint16 put_address(struct __kernel_sockaddr_storage *to, const IbhIp *ip)
{
    socklen_t size;
    const IbhSockAddress address = ibh_socket_address(ip, &size);

    memcpy(to, &address, size);
    return (guint16)size;
}

/* Begins the request of the pair with the index `i`; take_event() goes on. `uid` is not 0, because the kernel reports
 * no events of a request whose uid is 0. */
static void begin_request(const Asker *asker, guint32 i)
{
    const IbhProbePair *pair = ibh_probe_pair(asker->probe, i);
    const IbhProbeSource *source = ibh_probe_source(pair);
    struct rdma_ucm_create_id_resp answer = {0};
    const struct rdma_ucm_create_id create = {
        .uid = (guint64)i + 1, .response = (guint64)(guintptr)&answer, .ps = RDMA_PS_UDP, .qp_type = QUEUE_PAIR_UD};
    struct rdma_ucm_bind bind = {0};
    struct rdma_ucm_resolve_addr resolve = {.timeout_ms = ADDRESS_MS};
    int error = asker->error;
    /* What to tell if a step fails. With ENOENT, the module is not loaded; but if sysfs has the device, only its file
     * is missing, in a container's /dev. */
    IbhCause cause = error == ENOENT && access("/sys/class/misc/rdma_cm", F_OK) ? IBH_RDMA_NO_MODULE : IBH_RDMA_REFUSED;

    bind.addr_size = put_address(&bind.addr, &source->ip);
    resolve.dst_size = put_address(&resolve.dst_addr, ibh_probe_peer(pair));
    error = error ? error : command(asker, RDMA_USER_CM_CMD_CREATE_ID, &create, sizeof create, sizeof answer);
    bind.id = resolve.id = answer.id;
    if (!error) {
        error = command(asker, RDMA_USER_CM_CMD_BIND, &bind, sizeof bind, 0);
        cause = error == ENODEV ? IBH_RDMA_NO_GID : cause;
    }
    error = error ? error : command(asker, RDMA_USER_CM_CMD_RESOLVE_ADDR, &resolve, sizeof resolve, 0);
    /* If the NIC has no RDMA device, neither the module, nor a file in /dev (ENOENT), nor a GID would help. So tell
     * only that the RDMA device is missing. */
    if ((cause != IBH_RDMA_REFUSED || error == ENOENT) && !source->nic->link->rdma[0])
        cause = IBH_RDMA_NO_DEVICE;
    /* without an error, IBH_RDMA_NO_WAY says that the kernel is resolving the address */
    tell_parent(asker, i, error ? cause : IBH_RDMA_NO_WAY, error);
}

/* Does the next step of the request that the event is about, and tells the parent. If the status of an event is
 * positive, the peer has answered; if the status is negative, it is an errno of the kernel, negated. Requests go to
 * port 0, where no program can listen, so an answer says "no such service"; but EVENT_ESTABLISHED, whose status is 0,
 * would be an answer, too. This process does not end finished requests, because to end a request may block. */
static void take_event(const Asker *asker, const struct rdma_ucm_event_resp *event)
{
    const struct rdma_ucm_resolve_route route = {.id = event->id, .timeout_ms = ROUTE_MS};
    const struct rdma_ucm_connect ask = {.id = event->id, .conn_param.valid = 1};
    const int status = (int)event->status;
    int error = status < 0 ? -status : 0;
    IbhCause cause = IBH_RDMA_SILENT;

    switch (event->event) {
    case EVENT_ADDR_RESOLVED:
        error = command(asker, RDMA_USER_CM_CMD_RESOLVE_ROUTE, &route, sizeof route, 0);
        cause = error ? IBH_RDMA_REFUSED : IBH_RDMA_NO_PATH;
        break;
    case EVENT_ROUTE_RESOLVED:
        /* Kernels before 5.8 have a shorter struct rdma_ucm_connect, so the command ends with the last member that
         * these kernels know: `reserved`, which follows `id`. */
        error = command(asker, RDMA_USER_CM_CMD_CONNECT, &ask,
                        offsetof(struct rdma_ucm_connect, id) + 2 * sizeof ask.id, 0);
        cause = error ? IBH_RDMA_REFUSED : IBH_RDMA_SILENT;
        break;
    case EVENT_ADDR_ERROR:
    case EVENT_ROUTE_ERROR:
        error = error ? error : ETIMEDOUT;
        cause = event->event == EVENT_ADDR_ERROR ? IBH_RDMA_NO_WAY : IBH_RDMA_NO_PATH;
        break;
    case EVENT_UNREACHABLE:
    case EVENT_REJECTED:
    case EVENT_ESTABLISHED:
        if (status > 0 || event->event == EVENT_ESTABLISHED)
            cause = IBH_CAUSE_NONE;
        break;
    default: /* for example, the RDMA device is gone */
        break;
    }
    tell_parent(asker, (guint32)(event->uid - 1), cause, cause ? error : 0);
}

/* Runs the child. The child exits when the parent closes the socket, but the kernel may block the exit for ever. So the
 * child begins by closing all other descriptors that it inherited: a program that reads the parent's output waits until
 * no process has the output open. The child opens the channel itself, because the kernel accepts commands only from the
 * process that opened the channel. */
G_GNUC_NORETURN static void run_child(const IbhProbe *probe, int parent)
{
    Asker asker = {.probe = probe, .parent = parent};
    const long max = sysconf(_SC_OPEN_MAX);
    struct {
        struct rdma_ucm_event_resp event;
        guint8 more[64]; /* room for what later kernels add */
    } answer = {.event = {0}};
    const struct rdma_ucm_get_event get = {.response = (guint64)(guintptr)&answer};
    guint32 pair;

    /* `max` may be -1 (no limit), or so high that a loop over all numbers takes seconds */
    for (int fd = 0; fd < (int)CLAMP(max, 256, 65536); fd++) {
        if (fd != parent)
            close(fd);
    }
    asker.channel = open(DEVICE, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    asker.error = asker.channel >= 0 ? 0 : errno;
    if (asker.error == ENXIO || asker.error == ENODEV) /* the device file is there, but no driver has it */
        asker.error = ENOENT;
    for (;;) {
        struct pollfd fds[] = {{.fd = parent, .events = POLLIN}, {.fd = asker.channel, .events = POLLIN}};

        if (poll(fds, G_N_ELEMENTS(fds), -1) < 0 && errno != EINTR)
            _exit(1);
        if (fds[0].revents && recv(parent, &pair, sizeof pair, 0) != (gssize)sizeof pair)
            _exit(0);
        if (fds[0].revents)
            begin_request(&asker, pair);
        while (asker.channel >= 0 && !command(&asker, RDMA_USER_CM_CMD_GET_EVENT, &get, sizeof get, sizeof answer))
            take_event(&asker, &answer.event);
    }
}

/* Returns the socket to a new child; -1 on failure. */
static int start_asker(const IbhProbe *probe)
{
    int ends[2], pid;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -1;
    pid = fork();
    if (pid == 0)
        run_child(probe, ends[1]);
    close(ends[1]);
    if (pid < 0)
        close(ends[0]);
    return pid < 0 ? -1 : ends[0];
}

/* ---- the parent ---- */

/* TRUE if the rail's RDMA device is Soft-RoCE, and this host's firewall or the NIC's queue drops the requests of the
 * device. Requests of Soft-RoCE go through the firewall and the queue; those of adapters go through neither. To test
 * the firewall and the queue, sends an empty datagram to RoCE's UDP port. If the firewall drops the datagram in the
 * hook output or postrouting, the kernel returns EPERM; if the hook egress or a full queue drops it, ENOBUFS. Only
 * Soft-RoCE has the attribute "parent" in sysfs. */
static gboolean drops_requests(const IbhProbePair *pair, const char *sysfs)
{
    const IbhProbeSource *source = ibh_probe_source(pair);
    const char *rdma = source->nic->link->rdma;
    const int length = (int)strcspn(rdma, "/"); /* of the device's name; 0: no device */
    g_auto(IbhTree) tree = ibh_tree_of(sysfs);
    socklen_t size;
    IbhSockAddress to = ibh_socket_address(ibh_probe_peer(pair), &size);
    gboolean is_dropped;
    int fd;

    if (!length || !ibh_tree_has(&tree, "sys/class/infiniband/%.*s/parent", length, rdma))
        return FALSE;
    fd = socket(source->ip.family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return FALSE;
    to.four.sin_port = g_htons(ROCE_PORT); /* struct sockaddr_in6 has the port at the same offset */
    is_dropped = ibh_socket_bind(fd, source) == 0 && sendto(fd, "", 0, 0, &to.generic, size) < 0 &&
                 (errno == EPERM || errno == ENOBUFS);
    close(fd);
    return is_dropped;
}

int ibh_prober_send_rdma(IbhProber *prober, IbhProbePair *pair)
{
    const guint32 i = (guint32)(pair - ibh_probe_pair(prober->probe, 0));
    int *asker = &prober->fds[IBH_ASKER + 2 * pair->source].fd;

    if (drops_requests(pair, prober->sysfs)) {
        pair->rdma = IBH_RDMA_FILTERED;
        return EPERM;
    }
    if (*asker < 0)
        *asker = start_asker(prober->probe);
    if (*asker < 0) { /* if the pair had no result, the report would say that the process hangs */
        pair->rdma = IBH_RDMA_REFUSED;
        pair->rdma_error = EAGAIN; /* the usual reason why fork() fails */
        return EAGAIN;
    }
    /* If send() fails, or if the child hangs and reads nothing, `pair->rdma` stays as it is. If `pair->rdma` is still
     * IBH_RDMA_UNASKED when the pair has no more questions, flight.c sets IBH_RDMA_BLOCKED. */
    (void)send(*asker, &i, sizeof i, MSG_DONTWAIT | MSG_NOSIGNAL);
    return 0;
}

void ibh_prober_take_rdma(IbhProber *prober, int *asker)
{
    Result result;
    gssize length;

    while ((length = recv(*asker, &result, sizeof result, MSG_DONTWAIT)) == (gssize)sizeof result)
        (void)ibh_probe_take_rdma(prober->probe, result.pair, result.cause, result.error);
    if (length < 0 && errno == EAGAIN)
        return;
    close(*asker);
    *asker = -1;
}
