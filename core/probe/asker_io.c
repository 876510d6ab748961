/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/asker_io.h"

#include "probe/rdma_cm_io.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* The kernel keeps events of a request without a tag to itself. */
#define TAG(pair) ((guint64)(pair) + 1)
#define PAIR(tag) ((guint32)((tag)-1))

typedef struct {
    const IbhProbe *probe;
    int channel; /* -1: there is none, because of this error */
    int error;
    int parent;
} Asker;

static void tell(const Asker *asker, guint32 pair, IbhRdmaOutcome outcome, IbhRdmaStep step, int error)
{
    const IbhRdmaResult result = {.pair = pair, .answer = {.outcome = outcome, .step = step, .error = error}};

    if (send(asker->parent, &result, sizeof result, MSG_NOSIGNAL) != (gssize)sizeof result) /* the reader has gone */
        _exit(1);
}

/* Of a step that the kernel took on, or refuses at once. */
static void tell_step(const Asker *asker, guint32 pair, IbhRdmaStep step, int error)
{
    tell(asker, pair, error ? IBH_RDMA_REFUSED : IBH_RDMA_SILENT, step, error);
}

static void begin(const Asker *asker, guint32 i)
{
    const IbhProbePair *pair = ibh_probe_pair(asker->probe, i);
    const IbhProbeSource *source = ibh_probe_source(asker->probe, pair);
    guint32 id;
    int error = asker->error;

    if (error == ENOENT) {
        tell(asker, i, IBH_RDMA_NO_MODULE, IBH_RDMA_AT_ADDRESS, error);
        return;
    }
    error = error ? error : ibh_rdma_cm_create(asker->channel, TAG(i), &id);
    if (!error && (error = ibh_rdma_cm_bind(asker->channel, id, &source->ip)) == ENODEV) {
        tell(asker, i, source->nic->link->rdma[0] ? IBH_RDMA_NO_GID : IBH_RDMA_NO_DEVICE, IBH_RDMA_AT_ADDRESS, 0);
        return;
    }
    error = error ? error : ibh_rdma_cm_resolve_address(asker->channel, id, ibh_probe_peer(asker->probe, pair));
    tell_step(asker, i, IBH_RDMA_AT_ADDRESS, error);
}

/* Requests that are over are left to the end of this process: ending one takes time, or for ever. */
static void take(const Asker *asker, const IbhRdmaCmEvent *event)
{
    const guint32 i = PAIR(event->tag);

    switch (event->type) {
    case IBH_RDMA_CM_HAS_ADDRESS:
        tell_step(asker, i, IBH_RDMA_AT_ROUTE, ibh_rdma_cm_resolve_route(asker->channel, event->id));
        return;
    case IBH_RDMA_CM_HAS_ROUTE:
        tell_step(asker, i, IBH_RDMA_AT_PEER, ibh_rdma_cm_ask(asker->channel, event->id));
        return;
    case IBH_RDMA_CM_NO_ADDRESS:
        tell(asker, i, IBH_RDMA_SILENT, IBH_RDMA_AT_ADDRESS, event->error ? event->error : ETIMEDOUT);
        return;
    case IBH_RDMA_CM_NO_ROUTE:
        tell(asker, i, IBH_RDMA_SILENT, IBH_RDMA_AT_ROUTE, event->error);
        return;
    case IBH_RDMA_CM_ANSWER:
        tell(asker, i, IBH_RDMA_ANSWERED, IBH_RDMA_AT_PEER, 0);
        return;
    default:
        tell(asker, i, IBH_RDMA_SILENT, IBH_RDMA_AT_PEER, event->error);
    }
}

/* Nothing that the parent has open, its output above all, is kept open by a process that may never end. */
static void detach(int *parent)
{
    long max = sysconf(_SC_OPEN_MAX);
    sigset_t none;
    int null;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    *parent = fcntl(*parent, F_DUPFD_CLOEXEC, 3);
    for (int fd = 0; fd < (int)CLAMP(max, 256, 65536); fd++) {
        if (fd != *parent)
            close(fd);
    }
    null = open("/dev/null", O_RDWR); /* 0 */
    (void)dup2(null, STDOUT_FILENO);
    (void)dup2(null, STDERR_FILENO);
}

G_GNUC_NORETURN static void live(const IbhProbe *probe, int parent)
{
    Asker asker = {.probe = probe, .channel = -1, .parent = parent};
    IbhRdmaCmEvent event;
    guint32 pair;

    detach(&asker.parent);
    asker.error = ibh_rdma_cm_open(&asker.channel);
    for (;;) {
        struct pollfd fds[] = {{.fd = asker.parent, .events = POLLIN},
                               {.fd = asker.error ? -1 : asker.channel, .events = POLLIN}};

        if (poll(fds, G_N_ELEMENTS(fds), -1) < 0 && errno != EINTR)
            _exit(1);
        if (fds[0].revents && recv(asker.parent, &pair, sizeof pair, 0) != (gssize)sizeof pair)
            _exit(0);
        if (fds[0].revents)
            begin(&asker, pair);
        while (!asker.error && !ibh_rdma_cm_take_event(asker.channel, &event))
            take(&asker, &event);
    }
}

gboolean ibh_rdma_asker_start(IbhRdmaAsker *asker, const IbhProbe *probe)
{
    int ends[2];

    *asker = (IbhRdmaAsker){.fd = -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return FALSE;
    asker->pid = fork();
    if (asker->pid == 0)
        live(probe, ends[1]);
    close(ends[1]);
    asker->fd = ends[0];
    if (asker->pid > 0)
        return TRUE;
    ibh_rdma_asker_stop(asker);
    return FALSE;
}

/* A zombie ends with its parent; one that the kernel keeps is init's then. */
void ibh_rdma_asker_stop(IbhRdmaAsker *asker)
{
    if (asker->fd >= 0)
        close(asker->fd);
    if (asker->pid > 0) {
        (void)kill(asker->pid, SIGKILL);
        (void)waitpid(asker->pid, NULL, WNOHANG);
    }
    *asker = (IbhRdmaAsker){.fd = -1};
}
